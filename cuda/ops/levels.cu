// SPDX-License-Identifier: Apache-2.0
/* Samples go through a table of the host's: cuda/tone.cuh. */
#include "pipeline/ops/levels.h"

#include "cuda/tone.cuh"

enum { LEVELS_KEY = 0x6c657665 };

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return tone_run<levels_fill>(
        context, calls, count, levels_channel(calls[0].params, &calls[0].in), LEVELS_KEY, "levels");
}

extern "C" const struct cuda_op cuda_op_levels = { NULL, run };
