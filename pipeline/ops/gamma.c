// SPDX-License-Identifier: Apache-2.0
/* Dark tones brightened by a power; tone_rows.h looks samples up. */
#include "pipeline/ops/gamma.h"

#include "pipeline/ops/tone_rows.h"

#include <math.h>

static const struct param params[] = {
    [GAMMA_GAMMA] = { .name = "gamma",
                      .summary = "Samples are raised to 1 / gamma, over their range",
                      .type = PARAM_DECIMAL,
                      .min = 1000,
                      .max = 3000,
                      .def = 2200 },
    { .name = NULL },
};

/* MAX is a double and both are divisions, so results are equal wherever pow is. */
void gamma_fill(const struct params *values, unsigned depth, uint32_t first, uint32_t end,
                void *levels) {
    const double max = depth == 8 ? 255 : 65535;
    const double power = 1000.0 / (double)values->number[GAMMA_GAMMA];
    for (uint32_t v = first; v < end; v++)
        sample_put(levels, v - first, depth, (uint32_t)floor(max * pow(v / max, power) + 0.5));
}

static enum status gamma_run(struct op_call *call) {
    return tone_run(call, gamma_fill, TONE_ALL);
}

const struct op op_gamma = {
    .name = "gamma",
    .title = "Lighten shadows",
    .group = OP_TONE,
    .summary = "Brightens dark tones more than light ones, by a power; alpha is kept",
    .params = params,
    .scratch = tone_scratch,
    .run = gamma_run,
};
