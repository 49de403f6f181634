// SPDX-License-Identifier: Apache-2.0
/* Black point, white point and gamma; tone_rows.h looks samples up. */
#include "pipeline/ops/levels.h"

#include "pipeline/ops/stretch.h"
#include "pipeline/ops/tone_rows.h"

#include <math.h>

static const struct param params[] = {
    [LEVELS_BLACK] = { .name = "black",
                       .summary = "Samples up to it become 0",
                       .unit = "levels of 255",
                       .type = PARAM_INT,
                       .min = 0,
                       .max = 254 },
    [LEVELS_WHITE] = { .name = "white",
                       .summary = "Samples from it on become the largest value; if it is not above "
                                  "black, black + 1 takes its place",
                       .unit = "levels of 255",
                       .type = PARAM_INT,
                       .min = 1,
                       .max = 255,
                       .def = 255 },
    [LEVELS_GAMMA] = { .name = "gamma",
                       .summary = "Those between are raised to 1 / gamma, over their range",
                       .type = PARAM_DECIMAL,
                       .min = 100,
                       .max = 10000,
                       .def = 1000 },
    [LEVELS_CHANNEL] = { .name = "channel",
                         .summary = "The colour channel that changes",
                         .type = PARAM_CHOICE,
                         .choices = { "all", "red", "green", "blue" } },
    { .name = NULL },
};

/* MAX and RANGE are doubles and both are divisions, so results are equal wherever pow is. */
void levels_fill(const struct params *values, unsigned depth, uint32_t first, uint32_t end,
                 void *levels) {
    const uint32_t scale = depth == 8 ? 1 : 257, max = 255 * scale;
    const uint32_t black = scale * (uint32_t)values->number[LEVELS_BLACK];
    const long above = values->number[LEVELS_BLACK] + 1, given = values->number[LEVELS_WHITE];
    const uint32_t white = scale * (uint32_t)(given > above ? given : above);
    const long gamma = values->number[LEVELS_GAMMA];
    const double range = white - black, power = 1000.0 / (double)gamma;
    for (uint32_t v = first; v < end; v++) {
        uint32_t level = stretch(v, black, white, max);
        if (gamma != 1000 && v > black && v < white)
            level = (uint32_t)floor(max * pow((v - black) / range, power) + 0.5);
        sample_put(levels, v - first, depth, level);
    }
}

static enum status levels_run(struct op_call *call) {
    return tone_run(call, levels_fill, levels_channel(call->params, &call->in));
}

const struct op op_levels = {
    .name = "levels",
    .title = "Levels",
    .group = OP_TONE,
    .summary = "Black point, white point and gamma, of all colour channels or of one; alpha is "
               "kept",
    .params = params,
    .scratch = tone_scratch,
    .run = levels_run,
};
