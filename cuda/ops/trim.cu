// SPDX-License-Identifier: Apache-2.0
/* A part of the image: cuda/ops/move/copy.cuh. */
#include "cuda/ops/move/copy.cuh"

static struct cut cut_of(const struct op_call *call) {
    return call->cut;
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return copy_parts(context, calls, count, cut_of, "trim");
}

extern "C" const struct cuda_op cuda_op_trim = { NULL, run };
