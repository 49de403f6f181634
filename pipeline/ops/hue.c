// SPDX-License-Identifier: Apache-2.0
/* Colours turned about gray; colour_matrix_rows.h works on the pixels. */
#include "pipeline/ops/hue.h"

#include "pipeline/ops/colour_matrix_rows.h"

#include <math.h>

static const struct param params[] = {
    [HUE_DEGREES] = { .name = "degrees",
                      .summary = "How far colours turn: 120 makes red green, green blue",
                      .unit = "degrees",
                      .type = PARAM_DECIMAL,
                      .min = -360000,
                      .max = 360000,
                      .def = 90000 },
    { .name = NULL },
};

struct colour_matrix hue_weights(const struct params *values) {
    static const double quarter[3][3] = { { -0.1680, -0.3280, 0.4960 },
                                          { 0.3279, -0.0342, -0.2937 },
                                          { -1.2499, 1.0477, 0.2022 } };
    const double angle = (double)values->number[HUE_DEGREES] * M_PI / 180000;
    struct colour_matrix matrix = { { { 0 } } };
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < 3; k++)
            matrix.weight[c][k] =
                (int16_t)floor(COLOUR_MATRIX_ONE * ((1 - cos(angle)) * colour_matrix_luma(k) / 256 +
                                                    sin(angle) * quarter[c][k]) +
                               0.5);
    colour_matrix_keep_gray(&matrix);
    return matrix;
}

static enum status hue_run(struct op_call *call) {
    return colour_matrix_run(call, hue_weights(call->params));
}

const struct op op_hue = {
    .name = "hue",
    .title = "Hue",
    .group = OP_COLOUR,
    .summary = "Turns colours about gray, their luma kept; alpha is kept",
    .params = params,
    .run = hue_run,
};
