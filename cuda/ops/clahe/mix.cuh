// SPDX-License-Identifier: Apache-2.0
/* mix.cuh - clahe_mix and clahe_scaled8, exact to the bit, without conversions to and from float.
 *
 * Used by:  pixels.cuh, blend.cuh.
 *
 * How it works. A level in the lowest bits of the float 2^23 makes the float 2^23 + level. Times a
 * weight w, minus 2^23 w (which has no more bits than w), rounded once: that is level times w,
 * rounded. The lowest bits of the sum plus 2^23 are the nearest integer. It is never above the
 * largest sample: weights are 0..1, and the two of a pair sum to 1 within 2^-24.
 */
#ifndef BURIN_CLAHE_MIX_CUH
#define BURIN_CLAHE_MIX_CUH

#include <cuda_runtime.h>

#include <stdint.h>

#define MIX_BASE      8388608.0f /* 2^23 */
#define MIX_BASE_BITS 0x4B000000 /* its bits */

struct mix_weights {
    float left, right, left_base, right_base; /* times -2^23 */
};

static __device__ __forceinline__ struct mix_weights mix_weights_of(float right) {
    const float left = 1.0f - right;
    return { left, right, left * -MIX_BASE, right * -MIX_BASE };
}

/* Levels above 2^23: byte I of a word; 16 bits. */
static __device__ __forceinline__ uint32_t mix_byte(uint32_t word, int i) {
    return __byte_perm(word, MIX_BASE_BITS, 0x7440 + i);
}

static __device__ __forceinline__ uint32_t mix_short(uint32_t level) {
    return MIX_BASE_BITS | level;
}

static __device__ __forceinline__ float mix_pair(uint32_t left, uint32_t right,
                                                 const struct mix_weights &weights) {
    return __fmaf_rn(__uint_as_float(left), weights.left, weights.left_base) +
           __fmaf_rn(__uint_as_float(right), weights.right, weights.right_base);
}

/* The level, below MIX_BASE_BITS, which the caller ignores. LEVELS: left and right above, left and
 * right below. */
static __device__ __forceinline__ uint32_t mix_levels(const uint32_t (&levels)[4],
                                                      const struct mix_weights &across, float upper,
                                                      float lower) {
    const float above = mix_pair(levels[0], levels[1], across),
                below = mix_pair(levels[2], levels[3], across);
    return __float_as_uint(above * upper + below * lower + MIX_BASE);
}

/* clahe_scaled8, whose whole part is below 2^16, in the same way; sums with floats that end at zero
 * drop the fraction. */
static __device__ __forceinline__ uint32_t mix_scaled8(uint32_t sample, uint32_t value,
                                                       uint32_t level, float reciprocal) {
    const uint32_t bits = sample * level + (value / 2 + MIX_BASE_BITS);
    const float whole = __uint_as_float(bits) - (MIX_BASE - 0.5f);
    const uint32_t scaled = __float_as_uint(__fadd_rz(whole * reciprocal, MIX_BASE));
    return value ? min(scaled, MIX_BASE_BITS + 255u) : level;
}

#endif
