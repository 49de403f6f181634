// SPDX-License-Identifier: Apache-2.0
/* Samples go through a table of the host's: cuda/tone.cuh. */
#include "pipeline/ops/gamma.h"

#include "cuda/tone.cuh"

enum { GAMMA_KEY = 0x67616d6d };

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return tone_run<gamma_fill>(context, calls, count, TONE_ALL, GAMMA_KEY, "gamma");
}

extern "C" const struct cuda_op cuda_op_gamma = { NULL, run };
