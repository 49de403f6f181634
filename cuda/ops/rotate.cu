// SPDX-License-Identifier: Apache-2.0
/* Each angle has a kernel of its own: cuda/ops/move/. */
#include "pipeline/ops/rotate.h"

#include "cuda/ops/move/copy.cuh"
#include "cuda/ops/move/mirror.cuh"
#include "cuda/ops/move/turn.cuh"

static enum status copy_all(const struct cuda_context *context, const struct op_call *calls,
                            int count) {
    struct op_call bytes[CUDA_BATCH_MAX];
    for (int i = 0; i < count; i++) bytes[i] = copy_call(&calls[i], 0, 0);
    return copy_run<false>(context, bytes, count, "rotate");
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    switch (calls[0].params->number[ROTATE_ANGLE]) {
    case ROTATE_90: return turn_run<true>(context, calls, count, "rotate");
    case ROTATE_180: return mirror_run<true>(context, calls, count, "rotate");
    case ROTATE_270: return turn_run<false>(context, calls, count, "rotate");
    default: return copy_all(context, calls, count);
    }
}

extern "C" const struct cuda_op cuda_op_rotate = { NULL, run };
