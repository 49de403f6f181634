// SPDX-License-Identifier: Apache-2.0
/* Columns in the opposite order. */
#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/rows/reverse.h"

static const struct param params[] = { { .name = NULL } };

static void flop_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in;
    const struct band band = band_of(in->height, index, pool_threads(call->pool));
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++)
        reverse_pixels(image_row(in, y), image_row(&call->out, y), in->width,
                       image_pixel_bytes(in));
}

static enum status flop_run(struct op_call *call) {
    pool_run(call->pool, flop_band, call, pool_threads(call->pool));
    return progress_check(call->progress);
}

const struct op op_flop = {
    .name = "flop",
    .title = "Mirror left-right",
    .group = OP_SIZE,
    .summary = "Left becomes right",
    .params = params,
    .run = flop_run,
};
