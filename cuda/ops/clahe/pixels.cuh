// SPDX-License-Identifier: Apache-2.0
/* pixels.cuh - adjacent pixels: the values that clahe equalizes, and the results. Four are looked
 * up together; a chunk is counted: 16 of one channel of 8 bits, else four.
 *
 * Used by:  count.cuh, blend.cuh.
 *
 * How it works. A level in the lowest bits of the float 2^23 makes the float 2^23 + level. Times a
 * weight w, minus 2^23 w (which has no more bits than w), rounded once: that is level times w,
 * rounded. The lowest bits of the sum plus 2^23 are the nearest integer. It is never above the
 * largest sample: weights are 0..1, and the two of a pair sum to 1 within 2^-24.
 */
#ifndef BURIN_CLAHE_PIXELS_CUH
#define BURIN_CLAHE_PIXELS_CUH

#include "cuda/ops/clahe/batch.cuh"
#include "cuda/ops/histeq/fixed_point.h"
#include "pipeline/reflect.h"

#include <cuda_runtime.h>
#include <stdint.h>

/* ---- clahe_mix and clahe_scaled8, exact to the bit, without conversions to and from float */

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

/* Images of CHANNELS and DEPTH, by MODE. */
template <int CHANNELS_, int DEPTH_, int MODE_> struct clahe_kind {
    static constexpr int CHANNELS = CHANNELS_, DEPTH = DEPTH_, MODE = MODE_;
    static constexpr int PIXEL = CHANNELS * DEPTH / 8; /* bytes; also the words of four pixels */
    static constexpr int32_t MAX = DEPTH == 8 ? 255 : 65535;
    static constexpr bool ALPHA = CHANNELS % 2 == 0;
    static constexpr bool WHOLE = CHANNELS == 1 || MODE != CLAHE_EACH; /* all channels together */
    static constexpr bool RATIO8 = CHANNELS > 2 && DEPTH == 8 && MODE != CLAHE_EACH;
    static constexpr int CHUNK = PIXEL == 1 ? 16 : 4, CHUNK_WORDS = CHUNK / 4 * PIXEL;
};

/* The value to equalize of pixel P, which is a constant. */
template <class K>
static __device__ __forceinline__ uint32_t clahe_value(const uint32_t (&words)[K::PIXEL], int p,
                                                       uint32_t channel) {
    const int i = p * K::CHANNELS;
    const uint32_t first = chunk_sample<K::DEPTH>(words, i);
    if (K::CHANNELS < 3) return first;
    const uint32_t second = chunk_sample<K::DEPTH>(words, i + 1),
                   third = chunk_sample<K::DEPTH>(words, i + 2);
    if (K::MODE == CLAHE_EACH) return channel == 0 ? first : channel == 1 ? second : third;
    return K::MODE == CLAHE_LUMA ? luma(first, second, third) : max(max(first, second), third);
}

/* Whether pixel P is counted: with alpha, if it is not 0. */
template <class K, int WORDS>
static __device__ __forceinline__ bool clahe_is_seen(const uint32_t (&words)[WORDS], int p) {
    return !K::ALPHA || chunk_sample<K::DEPTH>(words, (p + 1) * K::CHANNELS - 1);
}

/* Loads COUNT pixels from X on, 1 to 4, all within the row. */
template <class K>
static __device__ __forceinline__ void clahe_load(uint32_t (&words)[K::PIXEL], const uint8_t *row,
                                                  uint32_t x, uint32_t count, bool aligned) {
    const uint8_t *from = row + x * K::PIXEL;
    if (aligned && count == 4) {
#pragma unroll
        for (int i = 0; i < K::PIXEL; i++) words[i] = __ldg((const uint32_t *)from + i);
    } else {
        load_unaligned(words, from, count * K::PIXEL);
    }
}

/* The chunk that begins at X, a multiple of its pixels; ALIGNED: the row starts at 16 bytes. Pixels
 * after the row's end are undefined. */
template <class K>
static __device__ __forceinline__ void clahe_load_chunk(uint32_t (&words)[K::CHUNK_WORDS],
                                                        const uint8_t *row, uint32_t x,
                                                        uint32_t width, bool aligned) {
    const uint8_t *from = row + x * K::PIXEL;
    if (!aligned || x + K::CHUNK > width)
        load_unaligned(words, from, min(width - x, (uint32_t)K::CHUNK) * K::PIXEL);
    else if (K::CHUNK_WORDS % 4 == 0)
        load_chunk(words, from, 4 * K::CHUNK_WORDS, true);
    else
#pragma unroll
        for (int i = 0; i < K::CHUNK_WORDS; i++) words[i] = __ldg((const uint32_t *)from + i);
}

/* The value to equalize of pixel P of a chunk. */
template <class K>
static __device__ __forceinline__ uint32_t
clahe_chunk_value(const uint32_t (&words)[K::CHUNK_WORDS], int p, uint32_t channel) {
    typedef const uint32_t(&four)[K::PIXEL];
    return clahe_value<K>((four)words[p / 4 * K::PIXEL], p % 4, channel);
}

/* One pixel of a row, reflected, as the lowest of four. */
template <class K>
static __device__ __forceinline__ void
clahe_load_reflected(uint32_t (&words)[K::PIXEL], const uint8_t *row, uint32_t x, uint32_t width) {
    load_unaligned(words, row + reflect((int32_t)x, width) * K::PIXEL, K::PIXEL);
}

/* Pixel P gets the new LEVEL of its VALUE; bits of LEVEL above a sample are ignored. RECIPROCAL: of
 * VALUE, used with RATIO8 only. */
template <class K>
static __device__ __forceinline__ void clahe_set(uint32_t (&words)[K::PIXEL], int p, uint32_t value,
                                                 uint32_t level, float reciprocal,
                                                 uint32_t channel) {
    const int i = p * K::CHANNELS;
    if (K::CHANNELS < 3) {
        chunk_set_sample<K::DEPTH>(words, i, level);
        return;
    }
    level &= K::MAX;
#pragma unroll
    for (int c = 0; c < 3; c++) {
        const uint32_t sample = chunk_sample<K::DEPTH>(words, i + c);
        const uint32_t scaled = K::MODE == CLAHE_EACH ? (c == channel ? level : sample)
                                : K::DEPTH == 8 ? mix_scaled8(sample, value, level, reciprocal)
                                                : histeq_scaled16(sample, value, level);
        chunk_set_sample<K::DEPTH>(words, i + c, scaled);
    }
}

template <int DEPTH, int WORDS>
static __device__ __forceinline__ void clahe_put(const uint32_t (&words)[WORDS], int i,
                                                 uint8_t *to) {
    if (DEPTH == 8)
        to[i] = (uint8_t)chunk_sample<8>(words, i);
    else
        ((uint16_t *)to)[i] = (uint16_t)chunk_sample<16>(words, i);
}

/* Whether this picture writes sample C of a pixel: the first plane writes alpha too. */
template <class K> static __device__ __forceinline__ bool clahe_writes(int c, uint32_t channel) {
    return K::WHOLE || c == channel || (K::ALPHA && c == K::CHANNELS - 1 && channel == 0);
}

/* Stores pixels FIRST to END - 1 of four. */
template <class K>
static __device__ __forceinline__ void clahe_store(const uint32_t (&words)[K::PIXEL], uint8_t *to,
                                                   uint32_t first, uint32_t end, bool aligned,
                                                   uint32_t channel) {
    if (K::WHOLE && aligned && first == 0 && end == 4) {
#pragma unroll
        for (int i = 0; i < K::PIXEL; i++) ((uint32_t *)to)[i] = words[i];
        return;
    }
#pragma unroll
    for (int i = 0; i < 4 * K::CHANNELS; i++) {
        const uint32_t p = i / K::CHANNELS;
        if (p >= first && p < end && clahe_writes<K>(i % K::CHANNELS, channel))
            clahe_put<K::DEPTH>(words, i, to);
    }
}

#endif
