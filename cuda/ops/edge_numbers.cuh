// SPDX-License-Identifier: Apache-2.0
/* edge_numbers.cuh - what gradients are counted in, and their magnitude.
 *
 * Each kind of number adds and subtracts exactly; which one it is depends on how large gradients
 * get. halves and pairs hold two pixels in a register, so that an instruction serves both.
 *
 * halves, sobel3 of 8 bit, up to 1020: their bits are the sample itself; as numbers, sample *
 * 2^-24, the spacing of the smallest halves, so that sums and differences up to 2047 are exact,
 * signed, and cost one instruction of the floating-point pipe; the integer pipe is half as wide and
 * has the bytes to sort.
 *
 * pairs, sobel5 of 8 bit, up to 12240: two 16-bit integers that are added as one word. What the
 * lower one borrows of the upper one comes back when 2^15 is added to both at last: then neither
 * is negative.
 *
 * float, 16 bit, up to 3145680: a pixel a register, in units of 2^-22; exact up to 2^24.
 */
#ifndef BURIN_EDGE_NUMBERS_CUH
#define BURIN_EDGE_NUMBERS_CUH

#include <stdint.h>

/* ---- two pixels as halves */

struct halves {
    uint32_t bits;
};

static __device__ __forceinline__ struct halves add(struct halves a, struct halves b) {
    struct halves sum;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum.bits) : "r"(a.bits), "r"(b.bits));
    return sum;
}

static __device__ __forceinline__ struct halves subtract(struct halves a, struct halves b) {
    struct halves difference;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(difference.bits) : "r"(a.bits), "r"(b.bits));
    return difference;
}

/* 2 a + b */
static __device__ __forceinline__ struct halves twice_add(struct halves a, struct halves b) {
    struct halves sum;
    asm("fma.rn.f16x2 %0, %1, %2, %3;"
        : "=r"(sum.bits)
        : "r"(a.bits), "r"(0x40004000u), "r"(b.bits));
    return sum;
}

/* ---- two pixels as integers */

struct pair {
    uint32_t bits;
};

static __device__ __forceinline__ struct pair add(struct pair a, struct pair b) {
    return { a.bits + b.bits };
}

static __device__ __forceinline__ struct pair subtract(struct pair a, struct pair b) {
    return { a.bits - b.bits };
}

static __device__ __forceinline__ struct pair twice_add(struct pair a, struct pair b) {
    return { 2 * a.bits + b.bits };
}

/* ---- one pixel */

static __device__ __forceinline__ float add(float a, float b) {
    return __fadd_rn(a, b);
}

static __device__ __forceinline__ float subtract(float a, float b) {
    return __fadd_rn(a, -b);
}

static __device__ __forceinline__ float twice_add(float a, float b) {
    return __fmaf_rn(a, 2.f, b);
}

/* One of the two samples in WORD: under the bits of 2 they are its fraction. */
static __device__ __forceinline__ float float_of_sample(uint32_t word, bool upper) {
    return __uint_as_float(__byte_perm(word, 0x40000000u, upper ? 0x7632 : 0x7610)) - 2.f;
}

/* ---- which is which */

template <int DEPTH, int REACH> struct number_of { typedef float type; };
template <> struct number_of<8, 1> { typedef struct halves type; };
template <> struct number_of<8, 2> { typedef struct pair type; };

/* ---- two pixels as floats, in units of 2^-24 */

struct two_floats {
    float low, high;
};

static __device__ __forceinline__ struct two_floats widen(struct halves pair) {
    struct two_floats wide;
    asm("{ .reg .b16 low, high; mov.b32 {low, high}, %2;"
        " cvt.f32.f16 %0, low; cvt.f32.f16 %1, high; }"
        : "=f"(wide.low), "=f"(wide.high)
        : "r"(pair.bits));
    return wide;
}

/* Under the bits of 1/2 both are its fraction, 2^15 too large. */
static __device__ __forceinline__ struct two_floats widen(struct pair pair) {
    const float over = 0.5f + 0x1p-9f;
    const uint32_t bits = pair.bits + 0x80008000u;
    return { __uint_as_float(__byte_perm(bits, 0x3F000000u, 0x7610)) - over,
             __uint_as_float(__byte_perm(bits, 0x3F000000u, 0x7632)) - over };
}

/* ---- magnitudes */

static __device__ __forceinline__ float approximate_root(float n) {
    float root;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(n));
    return root;
}

/* floor(sqrt(x^2 + y^2)) of gradients in units of 2^-24; exact up to 255, above it over 255.
 * Squares are in units of 2^-48: n + 1/2 < 2^22 is exact there. floor(sqrt(n + 1/2)) =
 * floor(sqrt(n)), and 1/2 leaves the approximate root (relative error up to 2^-22) room on both
 * sides: below k^2 the nearest is k^2 - 1/2, 1 / 4k under k, above it is k^2 + 1/2; k 2^-22 < 1 /
 * 4k for k < 1024, and from 256 on it is clamped, so that larger sums may round as they like.
 * tests/bench/kernels/edge.cu tries every n on the device. The product with 2^-125 that brings the
 * root down among the smallest floats, spaced 2^-149, is rounded to zero: its bits are the floor.
 */
static __device__ __forceinline__ uint32_t root_of(float x, float y) {
    const float root = approximate_root(__fmaf_rn(x, x, __fmaf_rn(y, y, 0x1p-49f)));
    return __float_as_uint(__fmul_rz(root, 0x1p-125f));
}

/* floor(sqrt(n)), n = x^2 + y^2, of gradients in units of 2^-22; exact up to 65535, above it at
 * least 65535. The square root of the rounded n, approximate, is within 0.02 of the true one up to
 * 65536 (2^-24 of itself, and 2^-22). So NEAREST, the integer beside it (which the smallest floats
 * round to again), is the floor or 1 more, and 1 more where n < nearest^2. What is left of n,
 * n - nearest^2 = y^2 - (nearest - x) (nearest + x), is below 2^17 then, an integer, and no step
 * towards it rounds: y^2 is the float SQUARE and the float that this was rounded by. */
static __device__ __forceinline__ uint32_t root_of_wide(float x, float y) {
    const float square = __fmul_rn(y, y);
    const float root = approximate_root(__fmaf_rn(x, x, square));
    const float smallest = __fmul_rn(root, 0x1p-127f), nearest = __fmul_rn(smallest, 0x1p127f);
    const float beside = __fmaf_rn(__fadd_rn(x, -nearest), __fadd_rn(x, nearest), square);
    const float left = __fadd_rn(beside, __fmaf_rn(y, y, -square));
    return __float_as_uint(smallest) + (uint32_t)(__float_as_int(left) >> 31);
}

/* Of a slot's pixels. */
static __device__ __forceinline__ void roots_of(uint32_t *roots, struct halves gx,
                                                struct halves gy) {
    const struct two_floats x = widen(gx), y = widen(gy);
    roots[0] = root_of(x.low, y.low);
    roots[1] = root_of(x.high, y.high);
}

static __device__ __forceinline__ void roots_of(uint32_t *roots, struct pair gx, struct pair gy) {
    const struct two_floats x = widen(gx), y = widen(gy);
    roots[0] = root_of(x.low, y.low);
    roots[1] = root_of(x.high, y.high);
}

static __device__ __forceinline__ void roots_of(uint32_t *roots, float gx, float gy) {
    roots[0] = root_of_wide(gx, gy);
}

/* ---- a word of them */

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

/* Two of them, each at most 65535. */
static __device__ __forceinline__ uint32_t pack_two(const uint32_t *roots) {
    uint32_t word;
    asm("cvt.pack.sat.u16.s32 %0, %1, %2;" : "=r"(word) : "r"(roots[1]), "r"(roots[0]));
    return word;
}

#endif
