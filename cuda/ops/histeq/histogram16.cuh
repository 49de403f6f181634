// SPDX-License-Identifier: Apache-2.0
/* histogram16 */
#ifndef BURIN_HISTEQ_HISTOGRAM16_CUH
#define BURIN_HISTEQ_HISTOGRAM16_CUH

#include "cuda/ops/histeq/layout16.cuh"

/* Counts table T's bins LOW.. of the window over this block's part of a picture. */
template <int CHANNELS, int MODE>
static __device__ __forceinline__ void count16_part(const struct picture &picture,
                                                    struct chunks part, const struct work16 &work,
                                                    int t, uint32_t low, uint32_t *window) {
    typedef layout16<CHANNELS, MODE> L;
    const uint32_t copy = threadIdx.x & ((1u << work.copies_log2) - 1);
    const uint32_t column = shared_address(window + copy);
#pragma unroll 4
    for (uint32_t index = part.first + threadIdx.x; index < part.end; index += THREADS16) {
        const struct spot spot = spot_of<L::PIXELS, L::BYTES, L::BYTES>(picture, index);
        uint32_t words[L::WORDS];
        load_chunk(words, spot.in, spot.pixels * L::BYTES, picture.aligned);
#pragma unroll
        for (int p = 0; p < L::PIXELS; p++) {
            const uint32_t bin = bin16(value16<CHANNELS, MODE>(words, p, t), work.bins) - low;
            shared_increment_below(column + (bin << (work.copies_log2 + 2)),
                                   p < spot.pixels ? bin : UINT32_MAX, work.window);
        }
    }
}

/* The window's sums into COUNTS; leaves the window zero. Eight bins a thread, so that reads
 * overlap. */
static __device__ __forceinline__ void flush16(uint32_t *window, uint32_t *counts, uint32_t bins) {
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

/* The same where each bin stands 32 times; a lane starts at its own bank. */
static __device__ __forceinline__ void flush16_copies(uint32_t *window, uint32_t *counts,
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
                   const __grid_constant__ struct work16 work) {
    extern __shared__ uint4 shared[];
    uint32_t *window = (uint32_t *)shared;
    const struct chunks share = block_share(batch);
    for (uint32_t i = threadIdx.x; i < work.window << work.copies_log2; i += 4 * THREADS16)
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (i + k * THREADS16 < work.window << work.copies_log2) window[i + k * THREADS16] = 0;
    __syncthreads();
    for (int i = picture_at(batch, share.first); i <= picture_at(batch, share.end - 1); i++) {
        const struct picture &picture = batch.pictures[i];
        const struct chunks part = picture_part(picture, share);
        for (int t = 0; t < work.tables; t++) {
            for (uint32_t low = 0; low < work.bins; low += work.window) {
                count16_part<CHANNELS, MODE>(picture, part, work, t, low, window);
                __syncthreads();
                uint32_t *counts = work.counts + (i * work.tables + t) * work.pitch + low;
                const uint32_t bins = min(work.window, work.bins - low);
                if (work.copies_log2)
                    flush16_copies(window, counts, bins);
                else
                    flush16(window, counts, bins);
                __syncthreads();
            }
        }
    }
}

#endif
