// SPDX-License-Identifier: Apache-2.0
/* pointwise.cuh - launches operators of one sample that are built in: cuda/skeletons/point.cuh.
 *
 * Used by:  cuda/ops/brightness.cu, cuda/ops/threshold.cu; cuda/skeletons/launch.cuh.
 * Fails:    as batch.cuh and check.cuh say.
 *
 * RULE is passed by value and has `uint32_t apply<DEPTH>(uint32_t sample) const`.
 */
#ifndef BURIN_POINTWISE_CUH
#define BURIN_POINTWISE_CUH

#include "cuda/batch.cuh"
#include "cuda/skeletons/point.cuh"

static inline struct alpha_mask alpha_mask_of(unsigned channels, unsigned depth) {
    struct alpha_mask alpha = {};
    const unsigned pixel = channels * depth / 8;
    for (unsigned i = 0; channels % 2 == 0 && i < 16; i++)
        if (i % pixel >= pixel - depth / 8) alpha.words[i / 4] |= 0xffu << 8 * (i % 4);
    return alpha;
}

template <int DEPTH, class RULE>
static __global__ void __launch_bounds__(POINT_THREADS)
    pointwise_kernel(const __grid_constant__ struct batch batch, const RULE rule,
                     const struct alpha_mask alpha) {
    const auto function = [&](uint32_t sample, uint32_t) {
        return rule.template apply<DEPTH>(sample);
    };
    point_chunk<DEPTH>(batch, function, 1, alpha);
}

/* NAME: the kernel's in the timing report. */
template <class RULE>
static enum status pointwise_run(const struct cuda_context *context, const struct op_call *calls,
                                 int count, const RULE &rule, const char *name) {
    struct op_call samples[CUDA_BATCH_MAX];
    struct batch batch;
    const unsigned channels = calls[0].in.channels, depth = calls[0].in.depth;
    batch_sample_calls(samples, calls, count);
    const enum status status = batch_init(&batch, samples, count, 128 / depth);
    if (status) return status;
    const unsigned blocks = (batch.chunks + POINT_THREADS - 1) / POINT_THREADS;
    const struct alpha_mask alpha = alpha_mask_of(channels, depth);
    if (depth == 8)
        pointwise_kernel<8><<<blocks, POINT_THREADS, 0, context->stream>>>(batch, rule, alpha);
    else
        pointwise_kernel<16><<<blocks, POINT_THREADS, 0, context->stream>>>(batch, rule, alpha);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, name);
    return STATUS_OK;
}

#endif
