// SPDX-License-Identifier: Apache-2.0
/* edge_sobel.cuh - rows of levels come in one by one, edges go out: windows that slide down in
 * registers.
 *
 * The weights of sobel3 are (1 1) * (1 1) across and (1 1) * (-1 1) along. So with the sums of the
 * four levels around each corner between pixels, p = that of a pixel's lower right corner less that
 * of its upper left, q = that of its upper right less that of its lower left,
 *     gx = p + q,   gy = p - q,   gx^2 + gy^2 = 2 (p^2 + q^2).
 * sobel5 is the same with the levels smoothed by (1 2 1) both ways before: (1 1) * (1 1), so that
 * sums of four are made three times over. Both take fewer additions than gx and gy on their own,
 * and what is kept of the rows above are one row of levels and a row of sums.
 *
 * Sums are floats in units of 2^-24 that stand over an offset, the same for all, which differences
 * lose: no level is converted.
 */
#ifndef BURIN_EDGE_SOBEL_CUH
#define BURIN_EDGE_SOBEL_CUH

#include "cuda/ops/edge/luma_row.cuh"
#include "cuda/ops/edge/magnitude.cuh"

/* What is kept: the last row of levels, the last sums at corners (of the chunk and its ends), and
 * for sobel5, of the last row of each of the sums before, what two neighbours add up to; the alpha
 * of the rows whose edges have yet to come, where there is one. */
template <class KIND> struct above {
    struct levels<KIND> levels;
    uint32_t alpha[KIND::REACH][4];
    float corners[KIND::PIXELS + 1];
    float first[KIND::PIXELS + 2], second[KIND::PIXELS + 1];
};

/* The word that has the pixels at both sides of corner K, which is at the left end of pixel K. */
template <class KIND>
static __device__ __forceinline__ uint32_t word_at(const struct levels<KIND> &levels, int k) {
    if (k < 0 || k > KIND::PIXELS) return levels.aside[k > 0];
    return k % KIND::SAMPLES ? levels.words[k / KIND::SAMPLES] : levels.across[k / KIND::SAMPLES];
}

/* The sum of four levels, below 2^18, is added to the bits of 1/2: its fraction. For sobel5 16
 * times the sum is, to those of 2^-5: sums of sixteen such, below 2^22, stand over 1/2 then. */
template <class KIND>
static __device__ __forceinline__ float corner_of(const struct levels<KIND> &above,
                                                  const struct levels<KIND> &here, int k) {
    constexpr uint32_t WEIGHT = KIND::REACH == 1 ? 1 : 16,
                       OFFSET = KIND::REACH == 1 ? 0x3F000000 : 0x3D000000;
    const uint32_t up = word_at(above, k), down = word_at(here, k);
    const int inside = k > 0 && k < KIND::PIXELS ? k % KIND::SAMPLES : 0;
    if (KIND::DEPTH == 8)
        return __uint_as_float(
            __dp4a(__byte_perm(up, down, 0x5410 + (inside ? 0x1111 * (inside - 1) : 0)),
                   WEIGHT * 0x01010101u, OFFSET));
    return __uint_as_float(
        __dp2a_lo(down, WEIGHT * 0x0101u, __dp2a_lo(up, WEIGHT * 0x0101u, OFFSET)));
}

/* The alpha of the row that comes in, RAW, is kept; ALPHA is that of the row whose edges are next.
 */
template <class KIND>
static __device__ __forceinline__ void next_alpha(uint32_t (&alpha)[4], struct above<KIND> &above,
                                                  const struct raw_row<KIND> &raw) {
    if constexpr (KIND::ALPHA)
#pragma unroll
        for (int w = 0; w < 4; w++) {
            alpha[w] = above.alpha[0][w];
            above.alpha[0][w] = above.alpha[KIND::REACH - 1][w];
            above.alpha[KIND::REACH - 1][w] = alpha_word<KIND>(raw.words, w);
        }
}

/* SUMS of four: of two neighbours OF this row and the two of the last, which PAIRS has. */
template <int COUNT>
static __device__ __forceinline__ void sum_fours(float (&sums)[COUNT], float (&pairs)[COUNT],
                                                 const float (&of)[COUNT + 1]) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const float pair = of[i] + of[i + 1];
        sums[i] = pairs[i] + pair;
        pairs[i] = pair;
    }
}

/* A row of levels comes in: sums at the corners REACH - 1/2 rows above it. */
template <class KIND>
static __device__ __forceinline__ void next_corners(float (&corners)[KIND::PIXELS + 1],
                                                    struct above<KIND> &above,
                                                    const struct levels<KIND> &levels) {
    constexpr int OUTSIDE = KIND::REACH - 1, COUNT = KIND::PIXELS + 1 + 2 * OUTSIDE;
    float sums[COUNT];
#pragma unroll
    for (int i = 0; i < COUNT; i++) sums[i] = corner_of(above.levels, levels, i - OUTSIDE);
    above.levels = levels;
    if constexpr (KIND::REACH == 1) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) corners[i] = sums[i];
    } else {
        float smooth[KIND::PIXELS + 2];
        sum_fours(smooth, above.first, sums);
        sum_fours(corners, above.second, smooth);
    }
}

/* Of the row between the corners that are kept and the next, which are kept then. */
template <class KIND>
static __device__ __forceinline__ void edges_of(uint32_t (&edges)[4], struct above<KIND> &above,
                                                const float (&next)[KIND::PIXELS + 1]) {
    constexpr int SAMPLES = KIND::SAMPLES;
#pragma unroll
    for (int w = 0; w < 4; w++) {
        uint32_t roots[SAMPLES];
#pragma unroll
        for (int i = 0; i < SAMPLES; i++) {
            const int x = SAMPLES * w + i;
            const float p = next[x + 1] - above.corners[x], q = above.corners[x + 1] - next[x];
            roots[i] = KIND::DEPTH == 8 ? root_of(p, q) : root_of_wide(p, q);
        }
        edges[w] = KIND::DEPTH == 8 ? pack_four(roots) : pack_two(roots);
    }
#pragma unroll
    for (int i = 0; i <= KIND::PIXELS; i++) above.corners[i] = next[i];
}

#endif
