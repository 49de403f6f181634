// SPDX-License-Identifier: Apache-2.0
/* Black up to a level, white over it. */
#include "pipeline/ops/threshold.h"

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/rows/pointwise.h"

static const struct param params[] = {
    [THRESHOLD_LEVEL] = { .name = "level",
                          .summary = "Samples over it become the largest value, all others 0",
                          .unit = "levels of 255",
                          .type = PARAM_INT,
                          .min = 0,
                          .max = 255,
                          .def = 128 },
    { .name = NULL },
};

static inline vector8 over8(vector8 v, uint32_t level) {
    return vector8_over(v, vector8_all(level));
}

static inline vector16 over16(vector16 v, uint32_t level) {
    return vector16_over(v, vector16_all(level));
}

POINTWISE_ROW(cut8, vector8, uint32_t, over8)
POINTWISE_ROW(cut16, vector16, uint32_t, over16)

static void cut_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in;
    const struct band band = band_of(in->height, index, pool_threads(call->pool));
    const uint32_t level = threshold_level(call->params->number[THRESHOLD_LEVEL], in->depth);
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++)
        (in->depth == 8 ? cut8 : cut16)(image_row(in, y), image_row(&call->out, y),
                                        image_row_bytes(in), level, in->channels);
}

static enum status threshold_run(struct op_call *call) {
    pool_run(call->pool, cut_band, call, pool_threads(call->pool));
    return progress_check(call->progress);
}

const struct op op_threshold = {
    .name = "threshold",
    .title = "Threshold",
    .group = OP_TONE,
    .summary = "White over a level, else black, each colour channel on its own; alpha is kept",
    .params = params,
    .run = threshold_run,
};
