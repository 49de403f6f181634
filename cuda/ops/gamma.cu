// SPDX-License-Identifier: Apache-2.0
/* Samples go through a table of the host's: cuda/tone.cuh. */
#include "pipeline/ops/gamma.h"

#include "cuda/tone.cuh"

static const struct tone_operator tone = { gamma_fill, tone_make16<gamma_fill>, 0x67616d6d,
                                           "gamma" };

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return tone_run(context, calls, count, TONE_ALL, tone);
}

extern "C" const struct cuda_op cuda_op_gamma = { NULL, run };
