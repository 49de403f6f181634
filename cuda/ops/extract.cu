// SPDX-License-Identifier: Apache-2.0
/* A part of the image: cuda/ops/move/copy.cuh. */
#include "pipeline/ops/extract.h"

#include "cuda/ops/move/copy.cuh"

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return copy_parts(context, calls, count, extract_rectangle, "extract");
}

extern "C" const struct cuda_op cuda_op_extract = { NULL, run };
