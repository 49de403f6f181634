// SPDX-License-Identifier: Apache-2.0
/* sobel.cuh - rows of luma in, rows of gradient magnitudes out, one thread alone: a window that
 * slides down in registers.
 *
 * Used by:  kernel.cuh.
 *
 * How it works. The weights of sobel3 are (1 1) * (1 1) across and (1 1) * (-1 1) along. So with
 * the sums of the four pixels around each corner between pixels, p = that of a pixel's lower right
 * corner minus that of its upper left, q = that of its upper right minus that of its lower left,
 *     gx = p + q,   gy = p - q,   gx^2 + gy^2 = 2 (p^2 + q^2).
 * sobel5 is the same with the luma smoothed by (1 2 1) both ways before: (1 1) * (1 1), so that
 * sums of four are made three times over. Both take fewer additions than gx and gy on their own,
 * and of the rows above only one row of luma and a row of sums are kept.
 *
 * Sums are floats in units of 2^-24 above an offset that is the same for all and cancels in
 * differences: no integer is converted to float.
 */
#ifndef BURIN_EDGE_SOBEL_CUH
#define BURIN_EDGE_SOBEL_CUH

#include "cuda/ops/edge/luma_row.cuh"
#include "cuda/ops/edge/magnitude.cuh"

/* What is kept: the last row of luma and its sums at the corners (of the chunk and its ends); for
 * sobel5 the sums of two neighbours in the last row of each smoothing step; the alpha of the rows
 * whose edges are not stored yet, where there is any. */
template <class TRAITS> struct sliding_window {
    struct luma_row<TRAITS> luma;
    uint32_t alpha[TRAITS::REACH][4];
    float corners[TRAITS::PIXELS + 1];
    float pair_sums1[TRAITS::PIXELS + 2], pair_sums2[TRAITS::PIXELS + 1];
};

/* The word that holds the pixels at both sides of corner K, which is at the left end of pixel K. */
template <class TRAITS>
static __device__ __forceinline__ uint32_t samples_at_corner(const struct luma_row<TRAITS> &luma,
                                                             int k) {
    if (k < 0 || k > TRAITS::PIXELS) return luma.outer[k > 0];
    return k % TRAITS::SAMPLES ? luma.words[k / TRAITS::SAMPLES] : luma.across[k / TRAITS::SAMPLES];
}

/* The sum of four pixels, below 2^18, is added to the bits of 1/2, as its fraction; for sobel5 16
 * times the sum, to the bits of 2^-5: sums of sixteen such, below 2^22, are above 1/2 then. */
template <class TRAITS>
static __device__ __forceinline__ float corner_sum(const struct luma_row<TRAITS> &above,
                                                   const struct luma_row<TRAITS> &here, int k) {
    constexpr uint32_t WEIGHT = TRAITS::REACH == 1 ? 1 : 16,
                       OFFSET = TRAITS::REACH == 1 ? 0x3F000000 : 0x3D000000;
    const uint32_t up = samples_at_corner(above, k), down = samples_at_corner(here, k);
    const int inside = k > 0 && k < TRAITS::PIXELS ? k % TRAITS::SAMPLES : 0;
    if (TRAITS::DEPTH == 8)
        return __uint_as_float(
            __dp4a(__byte_perm(up, down, 0x5410 + (inside ? 0x1111 * (inside - 1) : 0)),
                   WEIGHT * 0x01010101u, OFFSET));
    return __uint_as_float(
        __dp2a_lo(down, WEIGHT * 0x0101u, __dp2a_lo(up, WEIGHT * 0x0101u, OFFSET)));
}

/* Keeps the alpha of the new row RAW; ALPHA becomes that of the row whose edges are next. */
template <class TRAITS>
static __device__ __forceinline__ void delay_alpha(uint32_t (&alpha)[4],
                                                   struct sliding_window<TRAITS> &window,
                                                   const struct raw_row<TRAITS> &raw) {
    if constexpr (TRAITS::ALPHA)
#pragma unroll
        for (int w = 0; w < 4; w++) {
            alpha[w] = window.alpha[0][w];
            window.alpha[0][w] = window.alpha[TRAITS::REACH - 1][w];
            window.alpha[TRAITS::REACH - 1][w] = alpha_word<TRAITS>(raw.words, w);
        }
}

/* SUMS of 2 x 2: of two neighbours OF this row and the two above them, which PAIRS holds. */
template <int COUNT>
static __device__ __forceinline__ void sum_2x2(float (&sums)[COUNT], float (&pairs)[COUNT],
                                               const float (&of)[COUNT + 1]) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const float pair = of[i] + of[i + 1];
        sums[i] = pairs[i] + pair;
        pairs[i] = pair;
    }
}

/* Takes the next row of luma; CORNERS become the sums at the corners REACH - 1/2 rows above it. */
template <class TRAITS>
static __device__ __forceinline__ void push_row(float (&corners)[TRAITS::PIXELS + 1],
                                                struct sliding_window<TRAITS> &window,
                                                const struct luma_row<TRAITS> &luma) {
    constexpr int OUTSIDE = TRAITS::REACH - 1, COUNT = TRAITS::PIXELS + 1 + 2 * OUTSIDE;
    float sums[COUNT];
#pragma unroll
    for (int i = 0; i < COUNT; i++) sums[i] = corner_sum(window.luma, luma, i - OUTSIDE);
    window.luma = luma;
    if constexpr (TRAITS::REACH == 1) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) corners[i] = sums[i];
    } else {
        float smooth[TRAITS::PIXELS + 2];
        sum_2x2(smooth, window.pair_sums1, sums);
        sum_2x2(corners, window.pair_sums2, smooth);
    }
}

/* Edges of the row between the corners in the window and the NEXT ones, which replace them. */
template <class TRAITS>
static __device__ __forceinline__ void edge_row(uint32_t (&edges)[4],
                                                struct sliding_window<TRAITS> &window,
                                                const float (&next)[TRAITS::PIXELS + 1]) {
    constexpr int SAMPLES = TRAITS::SAMPLES;
#pragma unroll
    for (int w = 0; w < 4; w++) {
        uint32_t magnitudes[SAMPLES];
#pragma unroll
        for (int i = 0; i < SAMPLES; i++) {
            const int x = SAMPLES * w + i;
            const float p = next[x + 1] - window.corners[x], q = window.corners[x + 1] - next[x];
            magnitudes[i] = TRAITS::DEPTH == 8 ? magnitude8(p, q) : magnitude16(p, q);
        }
        edges[w] = TRAITS::DEPTH == 8 ? pack_bytes(magnitudes) : pack_halves(magnitudes);
    }
#pragma unroll
    for (int i = 0; i <= TRAITS::PIXELS; i++) window.corners[i] = next[i];
}

#endif
