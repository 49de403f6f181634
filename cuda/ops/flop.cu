// SPDX-License-Identifier: Apache-2.0
/* Columns in the opposite order: cuda/ops/move/mirror.cuh. */
#include "cuda/ops/move/mirror.cuh"

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return mirror_run<false>(context, calls, count, "flop");
}

extern "C" const struct cuda_op cuda_op_flop = { NULL, run };
