// SPDX-License-Identifier: Apache-2.0
/* Stronger or weaker colours; colour_matrix_rows.h works on the pixels. */
#include "pipeline/ops/saturation.h"

#include "pipeline/ops/colour_matrix_rows.h"

static const struct param params[] = {
    [SATURATION_FACTOR] = { .name = "factor",
                            .summary = "Multiplies the distance of colours from gray; 1: no change",
                            .type = PARAM_DECIMAL,
                            .min = 0,
                            .max = 8000,
                            .def = 1500 },
    { .name = NULL },
};

static enum status saturation_run(struct op_call *call) {
    return colour_matrix_run(call, saturation_weights(call->params));
}

const struct op op_saturation = {
    .name = "saturation",
    .title = "Saturation",
    .group = OP_COLOUR,
    .summary = "Stronger or weaker colours of the same luma; alpha is kept",
    .params = params,
    .run = saturation_run,
};
