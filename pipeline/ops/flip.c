// SPDX-License-Identifier: Apache-2.0
/* Rows in the opposite order. */
#include "pipeline/band.h"
#include "pipeline/op.h"

#include <string.h>

static const struct param params[] = { { .name = NULL } };

static void flip_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in, *out = &call->out;
    const struct band band = band_of(in->height, index, pool_threads(call->pool));
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++)
        memcpy(image_row(out, y), image_row(in, in->height - 1 - y), image_row_bytes(in));
}

static enum status flip_run(struct op_call *call) {
    pool_run(call->pool, flip_band, call, pool_threads(call->pool));
    return progress_check(call->progress);
}

const struct op op_flip = {
    .name = "flip",
    .title = "Flip upside down",
    .group = OP_SIZE,
    .summary = "Top becomes bottom",
    .params = params,
    .run = flip_run,
};
