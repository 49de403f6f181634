// SPDX-License-Identifier: Apache-2.0
/* A function of the window, like a user's: cuda/skeletons/neighbourhood.cuh. Taps are constants of
 * the launch. Images with alpha are laid over the background in a launch before. */
#include "pipeline/ops/convolve.h"

#include "cuda/lay_over.cuh"
#include "cuda/skeletons/launch.cuh"

struct convolution {
    struct convolve_rule rule;
    template <class SAMPLE, int SIDE>
    __device__ uint32_t apply(const SAMPLE (&window)[SIDE][SIDE]) const {
        int32_t sum = 0;
#pragma unroll
        for (int i = 0; i < SIDE * SIDE; i++) sum += rule.taps[i] * window[i / SIDE][i % SIDE];
        return (uint32_t)convolve_result(sum, &rule);
    }
};

static size_t scratch(const struct cuda_context *context, const struct op_call *calls, int count) {
    (void)context;
    return laid_bytes(calls, count);
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    const struct convolution convolution = { convolve_rule_of(calls[0].params, calls[0].in.depth) };
    struct op_call laid[CUDA_BATCH_MAX];
    if (image_has_alpha(&calls[0].in)) {
        const long rgba = calls[0].params->number[CONVOLVE_BACKGROUND];
        const enum status status = lay_batch(context, calls, count, rgba, laid);
        if (status) return status;
        calls = laid;
    }
    if (convolution.rule.reach == 1)
        return neighbourhood_run<1>(context, calls, count, convolution, "convolve");
    return neighbourhood_run<2>(context, calls, count, convolution, "convolve");
}

extern "C" const struct cuda_op cuda_op_convolve = { scratch, run };
