// SPDX-License-Identifier: Apache-2.0
/* Contrast around mid-gray; tone_rows.h looks samples up. */
#include "pipeline/ops/contrast.h"

#include "pipeline/ops/tone_rows.h"

static const struct param params[] = {
    [CONTRAST_FACTOR] = { .name = "factor",
                          .summary = "Multiplies the distance of every sample from mid-gray; 0: "
                                     "all gray, 1: nothing changes",
                          .type = PARAM_DECIMAL,
                          .min = 0,
                          .max = 10000,
                          .def = 1200 },
    { .name = NULL },
};

void contrast_fill(const struct params *values, unsigned depth, uint32_t first, uint32_t end,
                   void *levels) {
    const int32_t factor = (int32_t)values->number[CONTRAST_FACTOR];
    const int32_t max = depth == 8 ? 255 : 65535;
    for (uint32_t v = first; v < end; v++) {
        const int32_t twice = factor * (2 * (int32_t)v - max) + 1000 * (max + 1);
        const int32_t level = twice < 0 ? 0 : twice / 2000;
        sample_put(levels, v - first, depth, (uint32_t)(level < max ? level : max));
    }
}

static enum status contrast_run(struct op_call *call) {
    return tone_run(call, contrast_fill, TONE_ALL);
}

const struct op op_contrast = {
    .name = "contrast",
    .title = "Contrast",
    .group = OP_TONE,
    .summary = "More or less contrast around mid-gray; alpha is kept",
    .params = params,
    .scratch = tone_scratch,
    .run = contrast_run,
};
