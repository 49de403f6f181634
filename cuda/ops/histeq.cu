// SPDX-License-Identifier: Apache-2.0
/* Samples of 8 and of 16 bits have different kernels: 256 counters fit into shared memory once for
 * every bank (histeq/equalize8.cuh), 65536 hardly fit at all (histeq/equalize16.cuh). */
#include "pipeline/ops/histeq.h"

#include "cuda/ops/histeq/equalize16.cuh"
#include "cuda/ops/histeq/equalize8.cuh"

template <int DEPTH, int CHANNELS, int MODE>
static enum status launch(const struct cuda_context *context, struct op_call *calls, int count) {
    if constexpr (DEPTH == 8)
        return launch8<CHANNELS, MODE>(context, calls, count);
    else
        return launch16<CHANNELS, MODE>(context, calls, count);
}

template <int DEPTH, int CHANNELS>
static enum status launch_colour(const struct cuda_context *context, struct op_call *calls,
                                 int count) {
    switch (calls[0].params->number[HISTEQ_CHANNEL]) {
    case HISTEQ_VALUE: return launch<DEPTH, CHANNELS, HISTEQ_VALUE>(context, calls, count);
    case HISTEQ_LUMA: return launch<DEPTH, CHANNELS, HISTEQ_LUMA>(context, calls, count);
    default: return launch<DEPTH, CHANNELS, HISTEQ_EACH>(context, calls, count);
    }
}

template <int DEPTH>
static enum status launch_depth(const struct cuda_context *context, struct op_call *calls,
                                int count) {
    switch (calls[0].in.channels) {
    case 1: return launch<DEPTH, 1, HISTEQ_VALUE>(context, calls, count);
    case 2: return launch<DEPTH, 2, HISTEQ_VALUE>(context, calls, count);
    case 3: return launch_colour<DEPTH, 3>(context, calls, count);
    default: return launch_colour<DEPTH, 4>(context, calls, count);
    }
}

static size_t scratch(const struct cuda_context *context, const struct op_call *calls, int count) {
    (void)context;
    return calls[0].in.depth == 16 ? histeq16_scratch(calls, count) : 0;
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    return calls[0].in.depth == 8 ? launch_depth<8>(context, calls, count)
                                  : launch_depth<16>(context, calls, count);
}

extern "C" const struct cuda_op cuda_op_histeq = { scratch, run };
