// SPDX-License-Identifier: Apache-2.0
/* Samples go through a table of the host's: cuda/tone.cuh. */
#include "pipeline/ops/contrast.h"

#include "cuda/tone.cuh"

static const struct tone_operator tone = { contrast_fill, tone_make16<contrast_fill>, 0x636f6e74,
                                           "contrast" };

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return tone_run(context, calls, count, TONE_ALL, tone);
}

extern "C" const struct cuda_op cuda_op_contrast = { NULL, run };
