// SPDX-License-Identifier: Apache-2.0
/* The brown of old photographs; colour_matrix_rows.h works on the pixels. */
#include "pipeline/ops/sepia.h"

#include "pipeline/ops/colour_matrix_rows.h"

static const struct param params[] = {
    [SEPIA_AMOUNT] = { .name = "amount",
                       .summary = "Share of the brown picture in the result; 0: nothing changes",
                       .type = PARAM_DECIMAL,
                       .min = 0,
                       .max = 1000,
                       .def = 1000 },
    { .name = NULL },
};

static enum status sepia_run(struct op_call *call) {
    return colour_matrix_run(call, sepia_weights(call->params));
}

const struct op op_sepia = {
    .name = "sepia",
    .title = "Sepia",
    .group = OP_COLOUR,
    .summary = "The brown of old photographs; gray becomes RGB, alpha is kept",
    .params = params,
    .size = colour_matrix_size,
    .run = sepia_run,
};
