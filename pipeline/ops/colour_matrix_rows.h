// SPDX-License-Identifier: Apache-2.0
/* colour_matrix_rows.h - the reference of the operators of colour_matrix.h.
 *
 * Used by:  matrix.c, sepia.c, saturation.c, hue.c, tint.c.
 * Threads:  as op.h says.
 */
#ifndef BURIN_OPS_COLOUR_MATRIX_ROWS_H
#define BURIN_OPS_COLOUR_MATRIX_ROWS_H

#include "pipeline/band.h"
#include "pipeline/colour_matrix.h"
#include "pipeline/op.h"
#include "pipeline/rows/colour_matrix.h"

#include <string.h>

struct colour_matrix_work {
    const struct op_call *call;
    struct colour_matrix matrix;
};

/* Gray becomes RGB, gray with alpha RGBA. */
static inline enum status colour_matrix_size(const struct params *params, const struct image *in,
                                             struct image *out, struct failure *failure) {
    (void)params, (void)failure;
    *out = image_shape(in->width, in->height, image_has_alpha(in) ? 4 : 3, in->depth);
    return STATUS_OK;
}

static inline void colour_matrix_band(void *argument, int index) {
    const struct colour_matrix_work *work = argument;
    const struct op_call *call = work->call;
    const struct image *in = &call->in;
    const struct band band = band_of(in->height, index, pool_threads(call->pool));
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++) {
        if (call->out.channels < 3)
            memcpy(image_row(&call->out, y), image_row(in, y), image_row_bytes(in));
        else
            colour_matrix_row(&work->matrix, image_row(in, y), image_row(&call->out, y), in->width,
                              in->channels, in->depth);
    }
}

static inline enum status colour_matrix_run(struct op_call *call, struct colour_matrix matrix) {
    struct colour_matrix_work work = { call, matrix };
    pool_run(call->pool, colour_matrix_band, &work, pool_threads(call->pool));
    return progress_check(call->progress);
}

#endif
