// SPDX-License-Identifier: Apache-2.0
/* Samples go through a table of the host's: cuda/tone.cuh. */
#include "pipeline/ops/contrast.h"

#include "cuda/tone.cuh"

enum { CONTRAST_KEY = 0x636f6e74 };

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return tone_run<contrast_fill>(context, calls, count, TONE_ALL, CONTRAST_KEY, "contrast");
}

extern "C" const struct cuda_op cuda_op_contrast = { NULL, run };
