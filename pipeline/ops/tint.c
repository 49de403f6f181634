// SPDX-License-Identifier: Apache-2.0
/* The shades of one colour; colour_matrix_rows.h works on the pixels. */
#include "pipeline/ops/tint.h"

#include "pipeline/ops/colour_matrix_rows.h"

static const struct param params[] = {
    [TINT_COLOR] = { .name = "color",
                     .summary = "Colour that white becomes where amount is 1",
                     .type = PARAM_COLOUR,
                     .def = 0xff8000ff },
    [TINT_AMOUNT] = { .name = "amount",
                      .summary = "Share of the tinted picture in the result; 0: nothing changes",
                      .type = PARAM_DECIMAL,
                      .min = 0,
                      .max = 1000,
                      .def = 500 },
    { .name = NULL },
};

static enum status tint_run(struct op_call *call) {
    return colour_matrix_run(call, tint_weights(call->params));
}

const struct op op_tint = {
    .name = "tint",
    .title = "Tint",
    .group = OP_COLOUR,
    .summary = "The shades of one colour, mixed with the picture; gray becomes RGB, alpha is kept",
    .params = params,
    .size = colour_matrix_size,
    .run = tint_run,
};
