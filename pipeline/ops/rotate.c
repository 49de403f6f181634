// SPDX-License-Identifier: Apache-2.0
/* How it works. Half a turn reverses the rows and their pixels. A quarter turn is a transposition
 * with one side reversed: clockwise, the first row of the result is the first column from the
 * bottom up; anticlockwise, the last column from the top down. */
#include "pipeline/ops/rotate.h"

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/rows/reverse.h"
#include "pipeline/rows/transpose.h"

#include <string.h>

static const struct param params[] = {
    [ROTATE_ANGLE] = { .name = "angle",
                       .summary = "Clockwise",
                       .unit = "degrees",
                       .type = PARAM_CHOICE,
                       .def = ROTATE_90,
                       .choices = { "0", "90", "180", "270" } },
    { .name = NULL },
};

static bool is_turned(const struct params *values) {
    return values->number[ROTATE_ANGLE] % 2;
}

static enum status rotate_size(const struct params *values, const struct image *in,
                               struct image *out, struct failure *failure) {
    (void)failure;
    const bool turned = is_turned(values);
    *out = image_shape(turned ? in->height : in->width, turned ? in->width : in->height,
                       in->channels, in->depth);
    return STATUS_OK;
}

/* ---- rows of the result, shared out among threads */

static void copy_rows(const struct op_call *call, struct band band) {
    const struct image *in = &call->in;
    const size_t pixel = image_pixel_bytes(in);
    const bool half = call->params->number[ROTATE_ANGLE] == ROTATE_180;
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++) {
        uint8_t *out = image_row(&call->out, y);
        if (half)
            reverse_pixels(image_row(in, in->height - 1 - y), out, in->width, pixel);
        else
            memcpy(out, image_row(in, y), image_row_bytes(in));
    }
}

/* The transposition of the whole image; rows of the result are columns of the input. */
static struct transpose whole(const struct op_call *call) {
    const struct image *in = &call->in, *out = &call->out;
    struct transpose whole = { .from = in->pixels,
                               .to = out->pixels,
                               .from_stride = (ptrdiff_t)in->stride,
                               .to_stride = (ptrdiff_t)out->stride,
                               .columns = in->width,
                               .rows = in->height,
                               .pixel_bytes = image_pixel_bytes(in) };
    if (call->params->number[ROTATE_ANGLE] == ROTATE_90) {
        whole.from = image_row(in, in->height - 1);
        whole.from_stride = -whole.from_stride;
    } else {
        whole.to = image_row(out, out->height - 1);
        whole.to_stride = -whole.to_stride;
    }
    return whole;
}

/* Transposes one strip of tiles at a time. */
static void turn_columns(const struct op_call *call, struct band band) {
    struct transpose strip = whole(call);
    strip.from += band.first * strip.pixel_bytes;
    strip.to += band.first * strip.to_stride;
    for (uint32_t x = band.first; x < band.end && !progress_check(call->progress);) {
        const uint32_t left = band.end - x;
        strip.columns = left < TRANSPOSE_TILE ? left : TRANSPOSE_TILE;
        transpose_pixels(&strip);
        x += strip.columns;
        strip.from += strip.columns * strip.pixel_bytes;
        strip.to += strip.columns * strip.to_stride;
    }
}

static void rotate_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct band band = band_of(call->out.height, index, pool_threads(call->pool));
    (is_turned(call->params) ? turn_columns : copy_rows)(call, band);
}

static enum status rotate_run(struct op_call *call) {
    pool_run(call->pool, rotate_band, call, pool_threads(call->pool));
    return progress_check(call->progress);
}

const struct op op_rotate = {
    .name = "rotate",
    .title = "Rotate",
    .group = OP_SIZE,
    .summary = "Turns the image by quarters, clockwise",
    .params = params,
    .size = rotate_size,
    .run = rotate_run,
};
