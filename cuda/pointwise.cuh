// SPDX-License-Identifier: Apache-2.0
/* pointwise.cuh - every sample becomes a function of itself; alpha stays.
 *
 * Used by:  cuda/ops/brightness.cu, cuda/ops/threshold.cu.
 * Fails:    as batch.cuh and check.cuh say.
 *
 * A row is a sequence of samples to this kernel, whatever the channels: a thread takes 16 bytes,
 * and which of them are alpha is the same in every chunk (three channels have none). RULE is passed
 * by value and has `uint32_t apply<DEPTH>(uint32_t sample) const`.
 */
#ifndef BURIN_POINTWISE_CUH
#define BURIN_POINTWISE_CUH

#include "cuda/batch.cuh"

enum { POINTWISE_THREADS = 256 };

/* All ones in the bytes of a chunk that are alpha. */
struct alpha_mask {
    uint32_t words[4];
};

static inline struct alpha_mask alpha_mask_of(unsigned channels, unsigned depth) {
    struct alpha_mask alpha = {};
    const unsigned pixel = channels * depth / 8;
    for (unsigned i = 0; channels % 2 == 0 && i < 16; i++)
        if (i % pixel >= pixel - depth / 8) alpha.words[i / 4] |= 0xffu << 8 * (i % 4);
    return alpha;
}

template <int DEPTH, class RULE>
static __global__ void __launch_bounds__(POINTWISE_THREADS)
    pointwise_kernel(const __grid_constant__ struct batch batch, const RULE rule,
                     const struct alpha_mask alpha) {
    constexpr int SAMPLES = 128 / DEPTH, BYTES = DEPTH / 8;
    const uint32_t chunk = blockIdx.x * POINTWISE_THREADS + threadIdx.x;
    if (chunk >= batch.chunks) return;
    const struct batch_image &image = batch.images[batch_find(batch, chunk)];
    const struct chunk_memory memory =
        chunk_memory_of<SAMPLES, BYTES, BYTES>(image, chunk - image.first_chunk);
    uint32_t in[4], out[4] = {};
    load_chunk(in, memory.in, memory.pixels * BYTES, image.aligned);
#pragma unroll
    for (int i = 0; i < SAMPLES; i++)
        chunk_set_sample<DEPTH>(out, i, rule.template apply<DEPTH>(chunk_sample<DEPTH>(in, i)));
#pragma unroll
    for (int i = 0; i < 4; i++) out[i] = (out[i] & ~alpha.words[i]) | (in[i] & alpha.words[i]);
    store_chunk(out, memory.out, memory.pixels * BYTES, image.aligned);
}

/* NAME: the kernel's in the timing report. */
template <class RULE>
static enum status pointwise_run(const struct cuda_context *context, const struct op_call *calls,
                                 int count, const RULE &rule, const char *name) {
    struct op_call samples[CUDA_BATCH_MAX]; /* the calls, a pixel for each sample */
    struct batch batch;
    const unsigned channels = calls[0].in.channels, depth = calls[0].in.depth;
    for (int i = 0; i < count; i++) {
        samples[i] = calls[i];
        samples[i].in.width = samples[i].out.width = calls[i].in.width * channels;
        samples[i].in.channels = samples[i].out.channels = 1;
    }
    const enum status status = batch_init(&batch, samples, count, 128 / depth);
    if (status) return status;
    const unsigned blocks = (batch.chunks + POINTWISE_THREADS - 1) / POINTWISE_THREADS;
    const struct alpha_mask alpha = alpha_mask_of(channels, depth);
    if (depth == 8)
        pointwise_kernel<8><<<blocks, POINTWISE_THREADS, 0, context->stream>>>(batch, rule, alpha);
    else
        pointwise_kernel<16><<<blocks, POINTWISE_THREADS, 0, context->stream>>>(batch, rule, alpha);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, name);
    return STATUS_OK;
}

#endif
