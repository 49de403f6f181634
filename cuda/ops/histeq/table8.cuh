// SPDX-License-Identifier: Apache-2.0
/* table8.cuh - the look-up table: new levels, or the ratios that colours are multiplied by.
 *
 * Used by:  equalize8.cuh.
 */
#ifndef BURIN_HISTEQ_TABLE8_CUH
#define BURIN_HISTEQ_TABLE8_CUH

#include "cuda/ops/histeq/counters8.cuh"

/* The new level of LEVEL, or the ratio for a colour. */
template <int CHANNELS, int MODE>
static __device__ __forceinline__ uint32_t table_entry(const uint32_t *cdf, uint32_t cdf_min,
                                                       uint32_t pixels, uint32_t level,
                                                       struct histeq_rule rule) {
    const bool identity = rule.scale == HISTEQ_MINMAX && cdf_min == pixels;
    const uint32_t next = identity ? level
                                   : histeq_quantile_fixed(cdf[bin_last(level, rule.bins)], cdf_min,
                                                           pixels, LEVELS - 1, rule.scale);
    if (CHANNELS < 3 || MODE == HISTEQ_EACH) return next;
    return histeq_ratio(level, next, MODE == HISTEQ_VALUE ? HISTEQ_VALUE_BITS : HISTEQ_LUMA_BITS);
}

/* Each warp computes its share of each table and writes it to all copies. */
template <int CHANNELS, int MODE, class L>
static __device__ __forceinline__ void fill_tables(uint32_t pixels, struct histeq_rule rule,
                                                   const struct shared_memory8 &shared) {
    constexpr int SHARE = LEVELS * 32 / THREADS;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int t = 0; t < L::TABLES; t++) {
        const uint32_t entry = table_entry<CHANNELS, MODE>(
            shared.cdf + t * LEVELS, shared.cdf_min[t], pixels, SHARE * warp + lane % SHARE, rule);
        uint4 *rows = (uint4 *)shared.table + (t * LEVELS + SHARE * warp) * L::COPIES / 4;
#pragma unroll
        for (int i = lane; i < SHARE * L::COPIES / 4; i += 32) {
            const uint32_t copy = __shfl_sync(~0u, entry, i / (L::COPIES / 4));
            rows[i] = make_uint4(copy, copy, copy, copy);
        }
    }
}

/* The new level of V = 0, where the table holds ratios. */
template <int CHANNELS, int MODE>
static __device__ __forceinline__ uint32_t black_level(const struct shared_memory8 &shared,
                                                       uint32_t pixels, struct histeq_rule rule) {
    if (CHANNELS < 3 || MODE == HISTEQ_EACH || rule.scale == HISTEQ_MINMAX) return 0;
    return histeq_quantile_fixed(shared.cdf[bin_last(0, rule.bins)], 0, pixels, LEVELS - 1,
                                 rule.scale);
}

#endif
