// SPDX-License-Identifier: Apache-2.0
/* magnitude.cuh - gradient magnitudes: floor(sqrt(2 (p^2 + q^2))), p and q floats in units of
 * 2^-24, exact up to 2^24 units.
 *
 * Used by:  sobel.cuh.
 * Limits:   exact up to the depth's largest sample; above it, any value above it.
 */
#ifndef BURIN_EDGE_MAGNITUDE_CUH
#define BURIN_EDGE_MAGNITUDE_CUH

#include <stdint.h>

static __device__ __forceinline__ float sqrt_approx(float n) {
    float root;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(n));
    return root;
}

/* Exact up to 255, above it over 255. Squares are in units of 2^-48: s + 1/4, s = p^2 + q^2, is
 * exact there below 2^22. floor(sqrt(2 s + 1/2)) = floor(sqrt(2 s)), and 1/2 leaves the approximate
 * root (relative error up to 2^-22, and 2^-25 of the root of 2) room on both sides: below k^2 the
 * nearest is k^2 - 1/2, 1 / 4k under k, above it is k^2 + 1/2; k 2^-21 < 1 / 4k for k < 512, and
 * from 256 on it is clamped, so that larger sums may round as they like.
 * tests/bench/kernels/edge.cu tries every p and q on the device. The product with the root of 2,
 * times 2^-125, which brings the root down among the smallest floats, spaced 2^-149, is rounded to
 * zero: its bits are the floor. */
static __device__ __forceinline__ uint32_t magnitude8(float p, float q) {
    const float root = sqrt_approx(__fmaf_rn(p, p, __fmaf_rn(q, q, 0x1p-50f)));
    return __float_as_uint(__fmul_rz(root, 0x1.6a09e6p-125f));
}

/* Exact up to 65535, above it at least 65535. With the gradients x = p + q and y = p - q it is
 * floor(sqrt(n)), n = x^2 + y^2. The square root of the rounded n, approximate, is within 0.02 of
 * the true one up to 65536 (2^-24 of itself, and 2^-22). So NEAREST, the integer beside it (which
 * the smallest floats round to again), is the floor or 1 more, and 1 more where n < nearest^2. What
 * is left of n, n - nearest^2 = y^2 - (nearest - x) (nearest + x), is below 2^17 then, an integer,
 * and no step towards it rounds: y^2 is the float SQUARE and the float that this was rounded by. */
static __device__ __forceinline__ uint32_t magnitude16(float p, float q) {
    const float x = __fadd_rn(p, q), y = __fadd_rn(p, -q);
    const float square = __fmul_rn(y, y);
    const float root = sqrt_approx(__fmaf_rn(x, x, square));
    const float smallest = __fmul_rn(root, 0x1p-125f), nearest = __fmul_rn(smallest, 0x1p125f);
    const float beside = __fmaf_rn(__fadd_rn(x, -nearest), __fadd_rn(x, nearest), square);
    const float left = __fadd_rn(beside, __fmaf_rn(y, y, -square));
    return __float_as_uint(smallest) + (uint32_t)(__float_as_int(left) >> 31);
}

/* ---- a word of them */

/* Four of them, each at most 255, as bytes. */
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

/* Two of them, each at most 65535. */
static __device__ __forceinline__ uint32_t pack_halves(const uint32_t *magnitudes) {
    uint32_t word;
    asm("cvt.pack.sat.u16.s32 %0, %1, %2;" : "=r"(word) : "r"(magnitudes[1]), "r"(magnitudes[0]));
    return word;
}

#endif
