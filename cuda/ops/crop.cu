// SPDX-License-Identifier: Apache-2.0
/* A part of the image: cuda/ops/move/copy.cuh. */
#include "pipeline/ops/crop.h"

#include "cuda/ops/move/copy.cuh"

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return copy_parts(context, calls, count, crop_rectangle, "crop");
}

extern "C" const struct cuda_op cuda_op_crop = { NULL, run };
