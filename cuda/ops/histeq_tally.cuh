// SPDX-License-Identifier: Apache-2.0
/* histeq_tally.cuh - the counters of 256 levels in global memory, which all blocks add to, wait for
 * and read. All are 0 before a launch and after it. */
#ifndef BURIN_HISTEQ_TALLY_CUH
#define BURIN_HISTEQ_TALLY_CUH

#include "pipeline/ops/histeq.h"

#include <stdint.h>

enum { LEVELS = 256 };

/* Eight global counters share a 32-byte sector; sectors stand apart, so that additions of all
 * blocks are spread over the L2 cache instead of queueing at one slice of it. */
enum { SECTOR_WORDS = 64, COUNTS_WORDS = LEVELS / 8 * SECTOR_WORDS };

/* Additions to one sector queue up, and a small image waits for the last of them: where there is
 * but one, blocks share out several sets of counters, which are summed when they are read. */
enum { SPREAD_MAX = 4 };
struct tally {
    uint32_t *counts;           /* [set][picture][table][COUNTS_WORDS] */
    uint32_t *left;             /* blocks that have read them */
    uint32_t spread, set_words; /* sets, and words of one */
};

/* Global counter of LEVEL. */
static __device__ __forceinline__ uint32_t counter_of(uint32_t level) {
    return level / 8 * SECTOR_WORDS + level % 8;
}

static __device__ __forceinline__ void read_counts(const uint32_t *counts, uint32_t (&c)[8]) {
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
                 : "l"(counts));
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(c[4]), "=r"(c[5]), "=r"(c[6]), "=r"(c[7])
                 : "l"(counts + 4));
}

/* Eight levels' sums over all sets, asked for at once. */
static __device__ __forceinline__ void read_sets(const uint32_t *counts, struct tally tally,
                                                 uint32_t (&c)[8]) {
    uint32_t sets[SPREAD_MAX][8] = {};
#pragma unroll
    for (uint32_t s = 0; s < SPREAD_MAX; s++)
        if (s < tally.spread) read_counts(counts + s * tally.set_words, sets[s]);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        c[i] = 0;
#pragma unroll
        for (int s = 0; s < SPREAD_MAX; s++) c[i] += sets[s][i];
    }
}

/* Last of the levels that share a bin with LEVEL. */
static __device__ __forceinline__ uint32_t bin_last(uint32_t level, uint32_t bins) {
    if (bins >= LEVELS) return level;
    const uint32_t bin = histeq_bin(level, bins, LEVELS - 1);
    return ((bin + 1) * LEVELS + bins - 1) / bins - 1;
}

/* One warp, 8 levels a lane: waits until COUNTS and its other sets hold all pixels, leaves
 * inclusive sums. */
static __device__ void scan_counts(const uint32_t *counts, struct tally tally, uint32_t pixels,
                                   uint32_t bins, uint32_t *sums, uint32_t *first) {
    const unsigned lane = threadIdx.x % 32;
    uint32_t c[8], own, upto;
    for (;;) {
        read_sets(counts + lane * SECTOR_WORDS, tally, c);
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
    ((uint4 *)sums)[2 * lane] = make_uint4(c[0], c[1], c[2], c[3]);
    ((uint4 *)sums)[2 * lane + 1] = make_uint4(c[4], c[5], c[6], c[7]);
    __syncwarp();
    if (own && upto == own) *first = sums[bin_last(8 * lane + used, bins)];
}

/* The last block that has read the counters leaves zeros behind, in TABLES of each set. */
static __device__ __forceinline__ void leave_zeros(struct tally tally, int tables,
                                                   uint32_t ticket) {
    if (threadIdx.x >= 32) return;
    if (__shfl_sync(~0u, ticket, 0) != gridDim.x - 1) return;
    for (uint32_t s = 0; s < tally.spread; s++)
        for (uint32_t i = threadIdx.x; i < tables * LEVELS; i += 32)
            tally.counts[s * tally.set_words + counter_of(i)] = 0;
    if (threadIdx.x == 0) *tally.left = 0;
}

#endif
