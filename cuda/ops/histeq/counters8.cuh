// SPDX-License-Identifier: Apache-2.0
/* counters8.cuh - the histogram in global memory that all blocks of a launch share.
 *
 * Used by:  equalize8.cuh; cuda/ops/histogram.cu and normalize.cu add to them too, but
 *           read them when their own ticket shows that they are complete.
 * Fails:    with spin_limit.cuh's trap, if the counters never become complete.
 * Threads:  all blocks run at once (cooperative.cuh), or there is only one.
 * Limits:   fewer than 2^32 pixels an image.
 * Source:   PTX ISA, chapter Memory Consistency Model: the names in quotes are its sections.
 *
 * How it works. Each block adds its counts, two counters in one 64-bit addition. Then it reads all
 * counters until they sum to the number of pixels: then they are complete, so that the counters are
 * their own barrier. Pixels with alpha 0 have a counter of their own, which is part of that sum.
 * The last block that has read an image's counters clears them for the next launch: a ticket for
 * each image counts the chunks of the blocks that have read them.
 *
 * This is well defined, although every access is relaxed:
 * - Within a kernel a pair of counters is accessed only by 64-bit relaxed operations of gpu scope:
 *   atomicAdd, ld.relaxed.gpu and st.relaxed.gpu; a vector access is several scalar ones ("Vector
 *   Data-types"). Any two of them overlap completely or not at all, so all are "Morally Strong" and
 *   there is no data race, neither of one size nor of mixed sizes ("Conflict and Data-races").
 * - Additions are atomic ("Atomicity"): none is lost, and the lower half of a pair never carries
 *   into the upper one. Until it is cleared a counter only grows, so a read returns the final count
 *   or less, and if the counts sum to the number of pixels, all are final. No order among the
 *   counters is needed, and they publish only themselves: no acquire, no release.
 * - A block draws its ticket after its reads have found that sum, and clearing waits for the
 *   tickets of all blocks of the image: no block misses the counts. Even a read of a cleared
 *   counter would only give a sum that is too small.
 * - The block that clears has itself read the final counts, so the additions precede its reads in
 *   "Observation Order", and its reads precede its clearing stores in "Causality Order" (bar.sync
 *   is between). Thus the additions precede the stores in causality order and, by the axiom
 *   "Coherence", in coherence order: none is applied to a cleared counter. (One ticket for all
 *   images would not be enough: its last block need not have read each of them.)
 * - The next kernel of the stream begins when this one has ended. No other kernel has these
 *   counters.
 */
#ifndef BURIN_HISTEQ_COUNTERS8_CUH
#define BURIN_HISTEQ_COUNTERS8_CUH

#include "cuda/ops/histeq/layout8.cuh"
#include "cuda/spin_limit.cuh"

/* Index of the counter of LEVEL. Four levels from a multiple of four on are adjacent. */
static __device__ __forceinline__ uint32_t counter_index(uint32_t level) {
    return level / 8 * SECTOR_WORDS + level % 8;
}

/* ---- add */

/* Two threads sum one level's copies; their starts are such that eight neighbours read from all
 * banks. Tables are adjacent in shared and in global memory. */
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

/* Adds the HIDDEN pixels of a warp's threads; called by all threads. */
template <class L>
static __device__ __forceinline__ void publish_hidden(uint32_t hidden, uint32_t *counts) {
#pragma unroll
    for (int step = 16; step; step /= 2) hidden += __shfl_xor_sync(~0u, hidden, step);
    if (hidden && threadIdx.x % 32 < L::TABLES)
        atomicAdd((unsigned long long *)(counts + threadIdx.x % 32 * COUNTS_WORDS + HIDDEN_WORD),
                  (unsigned long long)hidden);
}

/* ---- wait */

/* Loads four counters, 16-byte aligned, by two 64-bit reads. */
static __device__ __forceinline__ void load_counters(const uint32_t *counts, uint32_t *c) {
    uint64_t low, high;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(low), "=l"(high)
                 : "l"(counts));
    c[0] = (uint32_t)low, c[1] = (uint32_t)(low >> 32);
    c[2] = (uint32_t)high, c[3] = (uint32_t)(high >> 32);
}

/* Loads the counter of pixels with alpha 0. */
static __device__ __forceinline__ uint32_t load_hidden(const uint32_t *counts) {
    uint64_t pair;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(pair) : "l"(counts + HIDDEN_WORD));
    return (uint32_t)pair;
}

/* Eight levels of a lane: their counts, summed up from the first one on; their sum; the sum of all
 * lanes up to this one. */
struct lane_counts {
    uint32_t cumulative[8], own, upto;
};

/* Called by one warp: reads until COUNTS holds all PIXELS. ALPHA: some may be hidden. */
template <bool ALPHA>
static __device__ __forceinline__ struct lane_counts wait_for_counts(const uint32_t *counts,
                                                                     uint32_t pixels) {
    const unsigned lane = threadIdx.x % 32;
    struct lane_counts c;
    const uint32_t since = (uint32_t)clock();
    while ((uint32_t)clock() - since < FIRST_LOOK_CYCLES) {
    }
    uint32_t looks = 0; /* counted at the end: otherwise the compiler repeats the loop */
    for (;;) {
        load_counters(counts + lane * SECTOR_WORDS, c.cumulative);
        load_counters(counts + lane * SECTOR_WORDS + 4, c.cumulative + 4);
        c.own = 0;
#pragma unroll
        for (int i = 0; i < 8; i++) c.cumulative[i] = c.own += c.cumulative[i];
        c.upto = c.own;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const uint32_t left = __shfl_up_sync(~0u, c.upto, step);
            if (lane >= step) c.upto += left;
        }
        const uint32_t hidden = ALPHA ? load_hidden(counts) : 0;
        if (__shfl_sync(~0u, c.upto, 31) + __shfl_sync(~0u, hidden, 0) == pixels) return c;
        if (++looks >= LOOKS_MAX) SPIN_STUCK(0);
    }
}

/* The last level that shares a bin with LEVEL. */
static __device__ __forceinline__ uint32_t bin_last(uint32_t level, uint32_t bins) {
    if (bins >= LEVELS) return level;
    const uint32_t bin = level_bin(level, bins, LEVELS - 1);
    return ((bin + 1) * LEVELS + bins - 1) / bins - 1;
}

/* Called by one warp: waits until COUNTS holds all PIXELS, then writes the cumulative counts, and
 * that of the first bin in use, if any is. */
template <bool ALPHA>
static __device__ void read_cdf(const uint32_t *counts, uint32_t pixels, uint32_t bins,
                                uint32_t *cdf, uint32_t *cdf_min) {
    const unsigned lane = threadIdx.x % 32;
    struct lane_counts c = wait_for_counts<ALPHA>(counts, pixels);
    int unused = 0; /* levels before the lane's first one in use */
#pragma unroll
    for (int i = 0; i < 8; i++) {
        unused += c.cumulative[i] == 0;
        c.cumulative[i] += c.upto - c.own;
    }
    ((uint4 *)cdf)[2 * lane] = pack_vector(c.cumulative);
    ((uint4 *)cdf)[2 * lane + 1] = pack_vector(c.cumulative + 4);
    __syncwarp();
    if (c.own && c.upto == c.own) *cdf_min = cdf[bin_last(8 * lane + unused, bins)];
}

/* ---- clear */

/* For a block that knows by its own ticket that the counters are complete: copies them to shared
 * memory, LEVELS a table, and clears them. */
template <class L>
static __device__ __forceinline__ void take_counters(uint32_t *counts, uint32_t *levels) {
    for (uint32_t i = threadIdx.x; i < L::TABLES * LEVELS; i += THREADS) {
        uint32_t *counter = counts + counter_index(i);
        levels[i] = __ldcg(counter);
        __stcg(counter, 0);
    }
    __syncthreads();
}

/* This block has read an image's counters, and COUNT chunks are its own. Returns the number of
 * chunks whose blocks had read them before. The result is not awaited here: of atomicAdd the
 * compiler makes one addition for the warp, whose result all its threads await. */
static __device__ __forceinline__ uint32_t draw_ticket(uint32_t *chunks_done, uint32_t count) {
    uint32_t before;
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(chunks_done), "r"(count)
                 : "memory");
    return before;
}

/* The last warp's first thread has the block's TICKET. If that is the LAST one of the image, clears
 * its counters and CHUNKS_DONE. */
template <class L, bool ALPHA>
static __device__ __forceinline__ void reset_counters(uint32_t *counts, uint32_t *chunks_done,
                                                      uint32_t ticket, uint32_t last) {
    if (threadIdx.x < LAST_WARP) return;
    if (__shfl_sync(~0u, ticket, 0) != last) return;
    const uint64_t zero = 0;
    const uint32_t lane = threadIdx.x - LAST_WARP;
    for (uint32_t level = 4 * lane; level < L::TABLES * LEVELS; level += 4 * 32)
        asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %1};"
                     :
                     : "l"(counts + counter_index(level)), "l"(zero)
                     : "memory");
    if (ALPHA && lane < L::TABLES)
        asm volatile(
            "st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(counts + lane * COUNTS_WORDS + HIDDEN_WORD),
            "l"(zero)
            : "memory");
    if (lane == 0) asm volatile("st.relaxed.gpu.global.u32 [%0], 0;" ::"l"(chunks_done) : "memory");
}

#endif
