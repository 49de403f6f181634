// SPDX-License-Identifier: Apache-2.0
/* The negative: M - v, which is v with every bit turned. */
#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/rows/pointwise.h"

static const struct param params[] = { { .name = NULL } };

static inline vector8 turn8(vector8 v, int unused) {
    (void)unused;
    return ~v;
}

static inline vector16 turn16(vector16 v, int unused) {
    (void)unused;
    return ~v;
}

POINTWISE_ROW(negate8, vector8, int, turn8)
POINTWISE_ROW(negate16, vector16, int, turn16)

static void negate_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in;
    const struct band band = band_of(in->height, index, pool_threads(call->pool));
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++)
        (in->depth == 8 ? negate8 : negate16)(image_row(in, y), image_row(&call->out, y),
                                              image_row_bytes(in), 0, in->channels);
}

static enum status negate_run(struct op_call *call) {
    pool_run(call->pool, negate_band, call, pool_threads(call->pool));
    return progress_check(call->progress);
}

const struct op op_negate = {
    .name = "negate",
    .title = "Negative",
    .group = OP_TONE,
    .summary = "Every colour sample becomes the largest value less it; alpha is kept",
    .params = params,
    .run = negate_run,
};
