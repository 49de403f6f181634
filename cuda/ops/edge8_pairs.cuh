// SPDX-License-Identifier: Apache-2.0
/* edge8_pairs.cuh - gradients two in a register, and their magnitude.
 *
 * Pairs are halves whose bits are the sample itself: as numbers, sample * 2^-24, the spacing of the
 * smallest halves, so that sums and differences up to 2047 are exact, signed, and cost one
 * instruction of the floating-point pipe for two pixels; the integer pipe is half as wide and has
 * the bytes to sort. Squares are made as floats, in units of 2^-48: n + 1/2 < 2^22 is exact there.
 * floor(sqrt(n + 1/2)) = floor(sqrt(n)), and 1/2 leaves the approximate root (relative error up to
 * 2^-22) room on both sides: below k^2 the nearest is k^2 - 1/2, 1 / 4k under k, above it is k^2 +
 * 1/2; k 2^-22 < 1 / 4k for k < 1024, and from 256 on it is clamped. tests/bench/kernels/edge.cu
 * tries every n on the device. The product with 2^-125 that brings the root down among the smallest
 * floats, spaced 2^-149, is rounded to zero: its bits are the floor.
 */
#ifndef BURIN_EDGE8_PAIRS_CUH
#define BURIN_EDGE8_PAIRS_CUH

#include <stdint.h>

static __device__ __forceinline__ uint32_t pair_add(uint32_t a, uint32_t b) {
    uint32_t sum;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
}

static __device__ __forceinline__ uint32_t pair_subtract(uint32_t a, uint32_t b) {
    uint32_t difference;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
    return difference;
}

/* 2 a + b */
static __device__ __forceinline__ uint32_t pair_twice_add(uint32_t a, uint32_t b) {
    uint32_t sum;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(0x40004000u), "r"(b));
    return sum;
}

struct two_floats {
    float low, high;
};

static __device__ __forceinline__ struct two_floats pair_widen(uint32_t pair) {
    struct two_floats wide;
    asm("{ .reg .b16 low, high; mov.b32 {low, high}, %2;"
        " cvt.f32.f16 %0, low; cvt.f32.f16 %1, high; }"
        : "=f"(wide.low), "=f"(wide.high)
        : "r"(pair));
    return wide;
}

/* ---- magnitude */

/* floor(sqrt(x^2 + y^2)) of gradients in units of 2^-24, up to 2^22 for the sum of squares; exact
 * up to 255, above it over 255. */
static __device__ __forceinline__ uint32_t root_of(float x, float y) {
    float root;
    asm("sqrt.approx.ftz.f32 %0, %1;"
        : "=f"(root)
        : "f"(__fmaf_rn(x, x, __fmaf_rn(y, y, 0x1p-49f))));
    return __float_as_uint(__fmul_rz(root, 0x1p-125f));
}

/* Four of them, each at most 255, as bytes. */
static __device__ __forceinline__ uint32_t pack_four(const uint32_t *roots) {
    uint32_t high, word;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;"
        : "=r"(high)
        : "r"(roots[3]), "r"(roots[2]), "r"(0));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;"
        : "=r"(word)
        : "r"(roots[1]), "r"(roots[0]), "r"(high));
    return word;
}

#endif
