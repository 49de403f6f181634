// SPDX-License-Identifier: Apache-2.0
/* pointwise.cuh - samples through a function of one sample, alpha left as it is.
 *
 * A row is a run of samples to this kernel, whatever the channels: a thread takes 16 bytes, and
 * which of them are alpha is the same in every chunk (three channels have none). RULE is passed by
 * value and has `uint32_t of<DEPTH>(uint32_t sample) const`.
 */
#ifndef BURIN_POINTWISE_CUH
#define BURIN_POINTWISE_CUH

#include "cuda/launch.cuh"

enum { POINTWISE_THREADS = 256 };

/* All ones in the bytes of a chunk that are alpha. */
struct alpha_bytes {
    uint32_t words[4];
};

static inline struct alpha_bytes alpha_bytes_of(unsigned channels, unsigned depth) {
    struct alpha_bytes keep = {};
    const unsigned pixel = channels * depth / 8;
    for (unsigned i = 0; channels % 2 == 0 && i < 16; i++)
        if (i % pixel >= pixel - depth / 8) keep.words[i / 4] |= 0xffu << 8 * (i % 4);
    return keep;
}

template <int DEPTH, class RULE>
static __global__ void __launch_bounds__(POINTWISE_THREADS)
    pointwise_kernel(const __grid_constant__ struct batch batch, const RULE rule,
                     const struct alpha_bytes keep) {
    constexpr int SAMPLES = 128 / DEPTH, BYTES = DEPTH / 8;
    const uint32_t chunk = blockIdx.x * POINTWISE_THREADS + threadIdx.x;
    if (chunk >= batch.chunks) return;
    const struct picture &picture = batch.pictures[picture_at(batch, chunk)];
    const struct spot spot = spot_of<SAMPLES, BYTES, BYTES>(picture, chunk - picture.first);
    uint32_t in[4], out[4] = {};
    load_chunk(in, spot.in, spot.pixels * BYTES, picture.aligned);
#pragma unroll
    for (int i = 0; i < SAMPLES; i++)
        chunk_put<DEPTH>(out, i, rule.template of<DEPTH>(chunk_get<DEPTH>(in, i)));
#pragma unroll
    for (int i = 0; i < 4; i++) out[i] = (out[i] & ~keep.words[i]) | (in[i] & keep.words[i]);
    store_chunk(out, spot.out, spot.pixels * BYTES, picture.aligned);
}

/* NAME is the kernel's in the account. */
template <class RULE>
static enum status pointwise_run(const struct cuda_context *context, const struct op_call *calls,
                                 int count, const RULE &rule, const char *name) {
    struct op_call runs[CUDA_BATCH_MAX];
    struct batch batch;
    const unsigned channels = calls[0].in.channels, depth = calls[0].in.depth;
    for (int i = 0; i < count; i++) {
        runs[i] = calls[i];
        runs[i].in.width = runs[i].out.width = calls[i].in.width * channels;
        runs[i].in.channels = runs[i].out.channels = 1;
    }
    const enum status status = batch_make(&batch, runs, count, 128 / depth);
    if (status) return status;
    const unsigned blocks = (batch.chunks + POINTWISE_THREADS - 1) / POINTWISE_THREADS;
    const struct alpha_bytes keep = alpha_bytes_of(channels, depth);
    if (depth == 8)
        pointwise_kernel<8><<<blocks, POINTWISE_THREADS, 0, context->stream>>>(batch, rule, keep);
    else
        pointwise_kernel<16><<<blocks, POINTWISE_THREADS, 0, context->stream>>>(batch, rule, keep);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_mark(context, name);
    return STATUS_OK;
}

#endif
