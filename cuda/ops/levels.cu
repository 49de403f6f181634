// SPDX-License-Identifier: Apache-2.0
/* Samples go through a table of the host's: cuda/tone.cuh. */
#include "pipeline/ops/levels.h"

#include "cuda/tone.cuh"

static const struct tone_operator tone = { levels_fill, tone_make16<levels_fill>, 0x6c657665,
                                           "levels" };

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return tone_run(context, calls, count, levels_channel(calls[0].params, &calls[0].in), tone);
}

extern "C" const struct cuda_op cuda_op_levels = { NULL, run };
