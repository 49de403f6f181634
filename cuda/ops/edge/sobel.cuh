// SPDX-License-Identifier: Apache-2.0
/* sobel.cuh - rows of luma in, rows of gradient magnitudes out, by one thread: a window that slides
 * down in registers.
 *
 * Used by:  edge.cu.
 *
 * How it works. The weights of sobel3 are (1 1) * (1 1) across and (1 1) * (-1 1) along. Take the
 * sums of the four pixels around each corner between pixels. With p = the sum at a pixel's lower
 * right corner minus that at its upper left, q = upper right minus lower left,
 *     gx = p + q,   gy = p - q,   gx^2 + gy^2 = 2 (p^2 + q^2).
 * sobel5 is the same after smoothing the luma by (1 2 1) both ways: (1 1) * (1 1), so that sums of
 * four are made three times over. Both take fewer additions than gx and gy separately, and only one
 * row of luma and one row of sums are kept of the rows above.
 *
 * Sums are floats in units of 2^-24 above an offset that is the same for all and cancels in
 * differences: no integer is converted to float.
 */
#ifndef BURIN_EDGE_SOBEL_CUH
#define BURIN_EDGE_SOBEL_CUH

#include "cuda/ops/edge/luma_row.cuh"

#include <stdint.h>

/* ---- magnitudes: floor(sqrt(2 (p^2 + q^2))), p and q floats in units of 2^-24, exact up to the
 * depth's largest sample; for larger results, any larger value */

static __device__ __forceinline__ float sqrt_approx(float n) {
    float root;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(n));
    return root;
}

/* Exact up to 255, above it over 255. Squares are in units of 2^-48: s + 1/4, s = p^2 + q^2, is
 * exact there below 2^22. floor(sqrt(2 s + 1/2)) = floor(sqrt(2 s)), and 1/2 leaves the approximate
 * root (relative error up to 2^-22, and 2^-25 of the root of 2) room on both sides: below k^2 the
 * nearest is k^2 - 1/2, 1 / 4k under k, above it is k^2 + 1/2; k 2^-21 < 1 / 4k for k < 512, and
 * results from 256 on are clamped, so that larger sums need no exact rounding.
 * tests/bench/kernels/edge.cu tries every p and q on the device. The product with the root of 2,
 * times 2^-125, which makes the root one of the smallest floats, spaced 2^-149, is rounded to zero:
 * its bits are the floor. */
static __device__ __forceinline__ uint32_t magnitude8(float p, float q) {
    const float root = sqrt_approx(__fmaf_rn(p, p, __fmaf_rn(q, q, 0x1p-50f)));
    return __float_as_uint(__fmul_rz(root, 0x1.6a09e6p-125f));
}

/* Exact up to 65535, above it at least 65535. With the gradients x = p + q and y = p - q it is
 * floor(sqrt(n)), n = x^2 + y^2. The approximate square root of the rounded n is within 0.02 of the
 * true one up to 65536 (2^-24 of itself, and 2^-22). So NEAREST, the integer next to it (to which
 * the smallest floats round again), is the floor or 1 more, and 1 more where n < nearest^2. The
 * rest, n - nearest^2 = y^2 - (nearest - x) (nearest + x), is then an integer below 2^17, and no
 * step towards it rounds: y^2 is the float SQUARE and the float of its rounding error. */
static __device__ __forceinline__ uint32_t magnitude16(float p, float q) {
    const float x = __fadd_rn(p, q), y = __fadd_rn(p, -q);
    const float square = __fmul_rn(y, y);
    const float root = sqrt_approx(__fmaf_rn(x, x, square));
    const float smallest = __fmul_rn(root, 0x1p-125f), nearest = __fmul_rn(smallest, 0x1p125f);
    const float beside = __fmaf_rn(__fadd_rn(x, -nearest), __fadd_rn(x, nearest), square);
    const float left = __fadd_rn(beside, __fmaf_rn(y, y, -square));
    return __float_as_uint(smallest) + (uint32_t)(__float_as_int(left) >> 31);
}

/* Packs four magnitudes, each at most 255, as bytes. */
static __device__ __forceinline__ uint32_t pack_bytes(const uint32_t *magnitudes) {
    uint32_t high, word;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;"
        : "=r"(high)
        : "r"(magnitudes[3]), "r"(magnitudes[2]), "r"(0));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;"
        : "=r"(word)
        : "r"(magnitudes[1]), "r"(magnitudes[0]), "r"(high));
    return word;
}

/* Packs two magnitudes, each at most 65535. */
static __device__ __forceinline__ uint32_t pack_halves(const uint32_t *magnitudes) {
    uint32_t word;
    asm("cvt.pack.sat.u16.s32 %0, %1, %2;" : "=r"(word) : "r"(magnitudes[1]), "r"(magnitudes[0]));
    return word;
}

/* ---- the window */

/* Kept from row to row: the last row of luma and its sums at the corners (of the chunk and its
 * ends); for sobel5 the sums of two neighbours in the last row of each smoothing step; and the
 * alpha, if any, of the rows whose edges are not stored yet. */
template <class TRAITS> struct sliding_window {
    struct luma_row<TRAITS> luma;
    uint32_t alpha[TRAITS::REACH][4];
    float corners[TRAITS::PIXELS + 1];
    float pair_sums1[TRAITS::PIXELS + 2], pair_sums2[TRAITS::PIXELS + 1];
};

/* The word with the pixels on both sides of corner K, which is at the left end of pixel K. */
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
