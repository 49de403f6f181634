// SPDX-License-Identifier: Apache-2.0
/* histogram16.cuh - the kernel that counts 16-bit samples, window by window in shared memory, and
 * its launch.
 *
 * Used by:  equalize16.cuh, cuda/ops/{histogram,normalize}.cu.
 * Fails:    as check.cuh says.
 */
#ifndef BURIN_HISTEQ_HISTOGRAM16_CUH
#define BURIN_HISTEQ_HISTOGRAM16_CUH

#include "cuda/ops/histeq/layout16.cuh"

/* Counts the bins of table T from LOW on that fit the window, over the block's share of an
 * image. */
template <int CHANNELS, int MODE>
static __device__ __forceinline__ void
count16_range(const struct batch_image &image, struct chunk_range range,
              const struct histeq16_args &args, int t, uint32_t low, uint32_t *window) {
    typedef layout16<CHANNELS, MODE> L;
    const uint32_t copy = threadIdx.x & ((1u << args.copies_log2) - 1);
    const uint32_t column = shared_address(window + copy);
#pragma unroll 4
    for (uint32_t index = range.first + threadIdx.x; index < range.end; index += THREADS16) {
        const struct chunk_memory memory =
            chunk_memory_of<L::PIXELS, L::BYTES, L::BYTES>(image, index);
        uint32_t words[L::WORDS];
        load_chunk(words, memory.in, memory.pixels * L::BYTES, image.aligned);
#pragma unroll
        for (int p = 0; p < L::PIXELS; p++) {
            const uint32_t bin =
                bin16(lookup_value16<CHANNELS, MODE>(words, p, t), args.bins) - low;
            shared_increment_below(
                column + (bin << (args.copies_log2 + 2)),
                p < memory.pixels && is_seen16<CHANNELS>(words, p) ? bin : UINT32_MAX, args.window);
        }
    }
}

/* Adds the window's counts to COUNTS and clears the window. Eight bins a thread, so that reads
 * overlap. */
static __device__ __forceinline__ void flush_window16(uint32_t *window, uint32_t *counts,
                                                      uint32_t bins) {
    for (uint32_t start = threadIdx.x; start < bins; start += 8 * THREADS16) {
        uint32_t c[8];
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const uint32_t bin = start + i * THREADS16;
            c[i] = bin < bins ? window[bin] : 0;
            if (bin < bins) window[bin] = 0;
        }
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (c[i]) atomicAdd(counts + start + i * THREADS16, c[i]);
    }
}

/* The same with 32 copies of each bin; a lane starts at its own bank. */
static __device__ __forceinline__ void flush_copies16(uint32_t *window, uint32_t *counts,
                                                      uint32_t bins) {
    for (uint32_t bin = threadIdx.x; bin < bins; bin += THREADS16) {
        uint32_t sum = 0;
#pragma unroll
        for (int i = 0; i < 32; i++) {
            uint32_t *place = window + 32 * bin + (i + bin) % 32;
            sum += *place;
            *place = 0;
        }
        if (sum) atomicAdd(counts + bin, sum);
    }
}

template <int CHANNELS, int MODE>
static __global__ void __launch_bounds__(THREADS16, 1)
    count16_kernel(const __grid_constant__ struct batch batch,
                   const __grid_constant__ struct histeq16_args args) {
    extern __shared__ uint4 dynamic_shared[];
    uint32_t *window = (uint32_t *)dynamic_shared;
    const struct chunk_range block = block_chunks(batch);
    for (uint32_t i = threadIdx.x; i < args.window << args.copies_log2; i += 4 * THREADS16)
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (i + k * THREADS16 < args.window << args.copies_log2) window[i + k * THREADS16] = 0;
    __syncthreads();
    for (int i = batch_find(batch, block.first); i <= batch_find(batch, block.end - 1); i++) {
        const struct batch_image &image = batch.images[i];
        const struct chunk_range range = image_chunks(image, block);
        for (int t = 0; t < args.tables; t++) {
            for (uint32_t low = 0; low < args.bins; low += args.window) {
                count16_range<CHANNELS, MODE>(image, range, args, t, low, window);
                __syncthreads();
                uint32_t *counts = args.counts + (i * args.tables + t) * args.pitch + low;
                const uint32_t bins = min(args.window, args.bins - low);
                if (args.copies_log2)
                    flush_copies16(window, counts, bins);
                else
                    flush_window16(window, counts, bins);
                __syncthreads();
            }
        }
    }
}

/* ---- host */

/* The widest window of 2^n bins that a block's shared memory holds. */
static inline void set_window(struct histeq16_args *args, int shared_bytes) {
    uint32_t words = 1;
    while (8 * (int)words <= shared_bytes) words *= 2;
    uint32_t bins = 1;
    while (bins < args->bins) bins *= 2;
    args->window = bins < words ? bins : words;
    args->copies_log2 = bins * 32 <= words ? 5 : 0;
}

/* Zeroes ARGS's counts of all images, then counts. */
template <int CHANNELS, int MODE>
static enum status launch_count16(const struct cuda_context *context, struct batch *batch,
                                  const struct histeq16_args &args, struct failure *failure) {
    const size_t tables = (size_t)batch->count * args.tables;
    const int window_bytes = (int)(args.window << args.copies_log2) * 4;
    CUDA_TRY(failure, cudaFuncSetAttribute(count16_kernel<CHANNELS, MODE>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           context->shared_bytes));
    CUDA_TRY(failure, cudaMemsetAsync(args.counts, 0, tables * args.pitch * 4, context->stream));
    /* A block adds up to `bins` counters to the global ones; it should have at least half as many
     * pixels. */
    const uint32_t least = args.bins / layout16<CHANNELS, MODE>::PIXELS / 2;
    const unsigned blocks = batch_divide(
        batch, least > (uint32_t)THREADS16 ? least : (uint32_t)THREADS16, context->multiprocessors);
    count16_kernel<CHANNELS, MODE>
        <<<blocks, THREADS16, window_bytes, context->stream>>>(*batch, args);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

#endif
