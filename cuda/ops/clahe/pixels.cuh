// SPDX-License-Identifier: Apache-2.0
/* pixels.cuh - adjacent pixels: the values that clahe equalizes, and the results. Four are looked
 * up together; a chunk is counted: 16 of one channel of 8 bits, else four.
 *
 * Used by:  count.cuh, blend.cuh.
 */
#ifndef BURIN_CLAHE_PIXELS_CUH
#define BURIN_CLAHE_PIXELS_CUH

#include "cuda/ops/clahe/batch.cuh"
#include "cuda/ops/clahe/mix.cuh"
#include "cuda/ops/histeq/fixed_point.h"
#include "pipeline/reflect.h"

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
