// SPDX-License-Identifier: Apache-2.0
/* histogram8 */
#ifndef BURIN_HISTEQ_HISTOGRAM8_CUH
#define BURIN_HISTEQ_HISTOGRAM8_CUH

#include "cuda/ops/histeq/chunks8.cuh"

template <int CHANNELS, int MODE, class L>
static __device__ __forceinline__ void count_pixel(const uint32_t (&words)[L::WORDS], int p,
                                                   uint32_t column) {
#pragma unroll
    for (int t = 0; t < L::TABLES; t++)
        shared_increment(column +
                         4 * L::COPIES * (t * LEVELS + value_of<CHANNELS, MODE>(words, p, t)));
}

/* A chunk that is not whole is shifted through the place of its first pixel: less code. */
template <int CHANNELS, int MODE, class L>
static __device__ __forceinline__ void count_chunk(const uint32_t (&words)[L::WORDS],
                                                   uint32_t pixels, uint32_t column) {
    if (pixels == L::PIXELS) {
#pragma unroll
        for (int p = 0; p < L::PIXELS; p++) count_pixel<CHANNELS, MODE, L>(words, p, column);
        return;
    }
    uint32_t rest[L::WORDS];
#pragma unroll
    for (int i = 0; i < L::WORDS; i++) rest[i] = words[i];
#pragma unroll 1
    for (uint32_t p = 0; p < pixels; p++) {
        count_pixel<CHANNELS, MODE, L>(rest, 0, column);
        chunk_shift<CHANNELS>(rest);
    }
}

template <class L> static __device__ __forceinline__ void clear(uint32_t *table) {
    for (int i = threadIdx.x; i < L::TABLE_WORDS / 4; i += THREADS)
        ((uint4 *)table)[i] = make_uint4(0, 0, 0, 0);
}

/* The last step's chunks stay in HELD. */
template <int CHANNELS, int MODE, class L, bool FLAT>
static __device__ __forceinline__ void count_part(const struct picture &picture, struct chunks part,
                                                  const struct desk &desk,
                                                  uint32_t (&held)[L::HELD][L::WORDS]) {
    const uint32_t column = column_of<L>(desk.table);
    load_held<CHANNELS, L, FLAT>(held, picture, part.first, part.end, desk.stage);
    clear<L>(desk.table);
    __syncthreads();
    for (uint32_t start = part.first;;) {
#pragma unroll
        for (int h = 0; h < L::HELD; h++) {
            const uint32_t index = start + h * THREADS + threadIdx.x;
            if (index >= part.end) break;
            const struct spot spot = spot_of<L::PIXELS, CHANNELS, CHANNELS, FLAT>(picture, index);
            count_chunk<CHANNELS, MODE, L>(held[h], spot.pixels, column);
        }
        if ((start += L::STEP) >= part.end) break;
        load_held<CHANNELS, L, FLAT>(held, picture, start, part.end, desk.stage);
    }
}

#endif
