// SPDX-License-Identifier: Apache-2.0
/* fixed_point.h - the arithmetic of pipeline/ops/histeq.h without 64-bit divisions, for which a GPU
 * has no instruction.
 *
 * Used by:  equalize8.cuh, equalize16.cuh and their layouts; clahe/pixels.cuh.
 * Limits:   samples up to 16 bit, fewer than 2^32 pixels.
 *
 * round(c V' / V) of 8-bit samples is one multiplication: ratio = ceil(V' 2^BITS / V) is too large
 * by less than 1, so c * ratio / 2^BITS is too large by less than c / 2^BITS <= 255 / 2^20, while a
 * quotient below a rounding edge is at least 1 / (2 V) >= 1 / 510 away from it: no edge is crossed.
 * tests/cuda/ops/histeq_fixed_point.c tries every (c, V, V'). With 24 bits the result is the
 * product's top byte, but c may not exceed V; with 20 bits c may be any sample of a pixel of luma
 * V.
 */
#ifndef BURIN_HISTEQ_FIXED_POINT_H
#define BURIN_HISTEQ_FIXED_POINT_H

#include "pipeline/ops/histeq.h"

enum { HISTEQ_VALUE_BITS = 24, HISTEQ_LUMA_BITS = 20 };

/* 0 for V = 0: then the addend alone makes the result. */
HOST_DEVICE uint32_t histeq_ratio(uint32_t value, uint32_t new_value, int bits) {
    return value ? (uint32_t)((((uint64_t)new_value << bits) + value - 1) / value) : 0;
}

/* BLACK is the new level of V = 0. */
HOST_DEVICE uint32_t histeq_addend(uint32_t value, uint32_t black, int bits) {
    return value ? 1u << (bits - 1) : black << bits;
}

HOST_DEVICE uint32_t histeq_product(uint32_t sample, uint32_t ratio, uint32_t addend) {
    return sample * ratio + addend;
}

/* 16 bits: adding floor(V / 2) before the division rounds half up for odd V too, and the sum is at
 * most 65535^2 + 32767 < 2^32, so that 32 bits are enough. */
HOST_DEVICE uint32_t histeq_scaled16(uint32_t sample, uint32_t value, uint32_t new_value) {
    if (value == 0) return new_value;
    const uint32_t scaled = (sample * new_value + value / 2) / value;
    return scaled < 65535 ? scaled : 65535;
}

/* A GPU's own quotient of floats has an error of at most two units in the last place. */
#ifdef __CUDA_ARCH__
#define HISTEQ_ESTIMATE(a, b) __fdividef(a, b)
#else
#define HISTEQ_ESTIMATE(a, b) ((a) / (b))
#endif

/* histeq_quantile: an estimate that is off by one at most, since floats have 24 bits and M has 16,
 * then the one q with 2 q - 1 <= 2 M part / whole < 2 q + 1. */
HOST_DEVICE uint32_t histeq_quantile_fixed(uint32_t sum, uint32_t first, uint32_t pixels,
                                           uint32_t max, int scale) {
    const uint32_t none = scale == HISTEQ_MAXABS ? 0 : first;
    if (sum < none) return 0;
    const uint32_t part = sum - none, whole = pixels - none;
    const uint64_t wanted = (uint64_t)part * (2 * max);
    uint32_t q = (uint32_t)((float)max * HISTEQ_ESTIMATE((float)part, (float)whole) + 0.5f);
    if ((uint64_t)whole * (2 * q + 1) <= wanted) q++;
    if (q > 0 && (uint64_t)whole * (2 * q - 1) > wanted) q--;
    return q;
}

#endif
