// SPDX-License-Identifier: Apache-2.0
/* rectangle.h - a part of an image, copied into an image of its own.
 *
 * Used by:  extract.c, crop.c, smartcrop.c, resize.c and their twins.
 * Fails:    STATUS_BAD_PARAM; copying: STATUS_CANCELLED, STATUS_DEADLINE.
 */
#ifndef BURIN_OPS_RECTANGLE_H
#define BURIN_OPS_RECTANGLE_H

#include "pipeline/band.h"
#include "pipeline/op.h"

#include <string.h>

/* The upper left corner in the input; the part is as large as the output. */
struct rectangle {
    uint32_t left, top;
};

/* Checks that END, the value of WHAT (a parameter or the sum of two), is at most LENGTH, the side's
 * length; else STATUS_BAD_PARAM. */
static inline enum status rectangle_side(const char *op, const char *what, long end,
                                         const struct image *in, uint32_t length,
                                         struct failure *failure) {
    if (end <= (long)length) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM,
                "%s: %s must be at most %u, not %ld: the image is %u x %u pixels", op, what, length,
                end, in->width, in->height);
}

/* Sets OUT's shape to WIDTH x HEIGHT; one of them may be 0, which keeps the whole side. */
static inline enum status rectangle_size(const char *op, long width, long height,
                                         const struct image *in, struct image *out,
                                         struct failure *failure) {
    if (!width && !height)
        return fail(failure, STATUS_BAD_PARAM, "%s: width, height or both must be given", op);
    if (!width) width = (long)in->width;
    if (!height) height = (long)in->height;
    enum status status = rectangle_side(op, "width", width, in, in->width, failure);
    if (!status) status = rectangle_side(op, "height", height, in, in->height, failure);
    if (!status) *out = image_shape((uint32_t)width, (uint32_t)height, in->channels, in->depth);
    return status;
}

struct rectangle_band {
    const struct op_call *call;
    struct rectangle from;
};

static inline void rectangle_copy_band(void *argument, int index) {
    const struct rectangle_band *job = (const struct rectangle_band *)argument;
    const struct op_call *call = job->call;
    const struct image *in = &call->in, *out = &call->out;
    const struct band band = band_of(out->height, index, pool_threads(call->pool));
    const size_t skipped = job->from.left * image_pixel_bytes(in);
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++)
        memcpy(image_row(out, y), image_row(in, job->from.top + y) + skipped, image_row_bytes(out));
}

static inline enum status rectangle_copy(struct op_call *call, struct rectangle from) {
    struct rectangle_band job = { call, from };
    pool_run(call->pool, rectangle_copy_band, &job, pool_threads(call->pool));
    return progress_check(call->progress);
}

#endif
