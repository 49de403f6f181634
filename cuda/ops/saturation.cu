// SPDX-License-Identifier: Apache-2.0
/* One pass over memory: cuda/colour_matrix.cuh. */
#include "pipeline/ops/saturation.h"

#include "cuda/colour_matrix.cuh"

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return colour_matrix_run(context, calls, count, saturation_weights(calls[0].params), true,
                             "saturation");
}

extern "C" const struct cuda_op cuda_op_saturation = { NULL, run };
