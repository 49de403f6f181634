// SPDX-License-Identifier: Apache-2.0
/* Rows in the opposite order: cuda/ops/move/copy.cuh. */
#include "cuda/ops/move/copy.cuh"

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    struct op_call bytes[CUDA_BATCH_MAX];
    for (int i = 0; i < count; i++) bytes[i] = copy_call(&calls[i], 0, 0);
    return copy_run<true>(context, bytes, count, "flip");
}

extern "C" const struct cuda_op cuda_op_flip = { NULL, run };
