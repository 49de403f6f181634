// SPDX-License-Identifier: Apache-2.0
/* counters8 */
#ifndef BURIN_HISTEQ_COUNTERS8_CUH
#define BURIN_HISTEQ_COUNTERS8_CUH

#include "cuda/ops/histeq/layout8.cuh"

/* Global counter of LEVEL. */
static __device__ __forceinline__ uint32_t counter_index(uint32_t level) {
    return level / 8 * SECTOR_WORDS + level % 8;
}

/* Two threads sum one level's copies; they start at such places that eight neighbours read from all
 * banks. Tables follow one another, in shared and in global memory. Two levels are one addition of
 * 64 bits: no sum reaches 2^32, so nothing is carried over. */
template <class L>
static __device__ __forceinline__ void publish_counts(const uint32_t *table, uint32_t *counts) {
    constexpr unsigned VECTORS = L::COPIES / 4, HALF = VECTORS / 2;
    for (unsigned i = threadIdx.x; i < 2 * L::TABLES * LEVELS; i += THREADS) {
        const unsigned level = i / 2;
        const uint4 *row = (const uint4 *)table + level * VECTORS + i % 2 * HALF;
        uint32_t sum = 0;
#pragma unroll
        for (unsigned k = 0; k < HALF; k++) {
            const uint4 four = row[(k + level * VECTORS / 8) % HALF];
            sum += four.x + four.y + four.z + four.w;
        }
        sum += __shfl_xor_sync(~0u, sum, 1);
        const unsigned long long pair = (uint64_t)__shfl_down_sync(~0u, sum, 2) << 32 | sum;
        if (pair && i % 4 == 0)
            atomicAdd((unsigned long long *)(counts + counter_index(level)), pair);
    }
}

static __device__ __forceinline__ void load_counters(const uint32_t *counts, uint32_t (&c)[8]) {
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
                 : "l"(counts));
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(c[4]), "=r"(c[5]), "=r"(c[6]), "=r"(c[7])
                 : "l"(counts + 4));
}

/* Last of the levels that share a bin with LEVEL. */
static __device__ __forceinline__ uint32_t bin_last(uint32_t level, uint32_t bins) {
    if (bins >= LEVELS) return level;
    const uint32_t bin = histeq_bin(level, bins, LEVELS - 1);
    return ((bin + 1) * LEVELS + bins - 1) / bins - 1;
}

/* One warp, 8 levels a lane: waits until COUNTS holds all pixels, leaves inclusive cdf. */
static __device__ void wait_for_counts(const uint32_t *counts, uint32_t pixels, uint32_t bins,
                                       uint32_t *cdf, uint32_t *cdf_min) {
    const unsigned lane = threadIdx.x % 32;
    uint32_t c[8], own, upto, since = (uint32_t)clock();
    while ((uint32_t)clock() - since < FIRST_LOOK_CYCLES) {
    }
    for (;;) {
        load_counters(counts + lane * SECTOR_WORDS, c);
        own = 0;
#pragma unroll
        for (int i = 0; i < 8; i++) c[i] = own += c[i];
        upto = own;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const uint32_t left = __shfl_up_sync(~0u, upto, step);
            if (lane >= step) upto += left;
        }
        if (__shfl_sync(~0u, upto, 31) == pixels) break;
    }
    int used = 0; /* levels before the lane's first one in use */
#pragma unroll
    for (int i = 0; i < 8; i++) {
        used += c[i] == 0;
        c[i] += upto - own;
    }
    ((uint4 *)cdf)[2 * lane] = make_uint4(c[0], c[1], c[2], c[3]);
    ((uint4 *)cdf)[2 * lane + 1] = make_uint4(c[4], c[5], c[6], c[7]);
    __syncwarp();
    if (own && upto == own) *cdf_min = cdf[bin_last(8 * lane + used, bins)];
}

/* The last block that has read COUNTS leaves zeros behind. */
static __device__ __forceinline__ void reset_counters(uint32_t *counts, int tables,
                                                      uint32_t ticket) {
    if (threadIdx.x < LAST_WARP) return;
    if (__shfl_sync(~0u, ticket, 0) != gridDim.x - 1) return;
    for (uint32_t i = threadIdx.x - LAST_WARP; i < tables * LEVELS; i += 32)
        counts[counter_index(i)] = 0;
}

#endif
