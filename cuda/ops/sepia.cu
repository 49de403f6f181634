// SPDX-License-Identifier: Apache-2.0
/* One pass over memory: cuda/colour_matrix.cuh. */
#include "pipeline/ops/sepia.h"

#include "cuda/colour_matrix.cuh"

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return colour_matrix_run(context, calls, count, sepia_weights(calls[0].params), false, "sepia");
}

extern "C" const struct cuda_op cuda_op_sepia = { NULL, run };
