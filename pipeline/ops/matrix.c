// SPDX-License-Identifier: Apache-2.0
/* Colours through a matrix of the client's. */
#include "pipeline/ops/matrix.h"

#include "pipeline/ops/colour_matrix_rows.h"

static const struct param params[] = {
    { .name = "matrix",
      .summary = "Red, green and blue of the result, a row each: weights of red, green and blue, "
                 "and with 12 numbers of white, which is an offset",
      .type = PARAM_MATRIX,
      .min = -7999,
      .max = 7999,
      .required = true },
    { .name = NULL },
};

static enum status matrix_run(struct op_call *call) {
    return colour_matrix_run(call, matrix_weights(call->params));
}

const struct op op_matrix = {
    .name = "matrix",
    .title = "Channel mixer",
    .group = OP_COLOUR,
    .summary = "Each colour channel as a weighted sum of all; gray becomes RGB, alpha is kept",
    .params = params,
    .size = colour_matrix_size,
    .run = matrix_run,
};
