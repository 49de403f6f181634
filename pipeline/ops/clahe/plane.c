// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ops/clahe/plane.h"

#include "pipeline/ops/histogram_level.h"
#include "pipeline/rows/intrinsics.h"
#include "pipeline/rows/rgb_luma.h"
#include "pipeline/rows/rgb_scale.h"
#include "pipeline/sample.h"

#define INLINE static inline __attribute__((always_inline))

INLINE uint32_t value_of(const uint8_t *row, size_t i, int mode, unsigned depth) {
    const uint32_t red = sample_get(row, i, depth), green = sample_get(row, i + 1, depth),
                   blue = sample_get(row, i + 2, depth);
    if (mode == CLAHE_LUMA) return luma(red, green, blue);
    const uint32_t most = red > green ? red : green;
    return most > blue ? most : blue;
}

/* Whether the kernels of pipeline/rows/ can be used. */
static bool is_rgb8(struct clahe_plane plane, unsigned channels, unsigned depth) {
    return plane.mode != CLAHE_EACH && channels == 3 && depth == 8;
}

/* ---- take */

INLINE void take_row(const uint8_t *in, uint8_t *gray, size_t pixels, struct clahe_plane plane,
                     unsigned channels, unsigned depth) {
    for (size_t p = 0; p < pixels; p++)
        sample_put(gray, p, depth,
                   plane.mode == CLAHE_EACH ? sample_get(in, p * channels + plane.channel, depth)
                                            : value_of(in, p * channels, plane.mode, depth));
}

void clahe_plane_take(struct clahe_plane plane, const uint8_t *in, uint8_t *gray, size_t pixels,
                      unsigned channels, unsigned depth) {
    if (is_rgb8(plane, channels, depth))
        (plane.mode == CLAHE_LUMA ? rgb_luma : rgb_scale_values)(in, gray, pixels);
    else
        SPECIALISE(channels, depth, take_row, in, gray, pixels, plane);
}

/* ---- put */

INLINE void put_channel(const uint8_t *levels, uint8_t *out, size_t pixels, unsigned channel,
                        unsigned channels, unsigned depth) {
    for (size_t p = 0; p < pixels; p++)
        sample_put(out, p * channels + channel, depth, sample_get(levels, p, depth));
}

INLINE void put_bytes(const uint8_t *restrict in, const uint8_t *restrict levels,
                      uint8_t *restrict out, size_t pixels, int mode, unsigned channels) {
    for (size_t p = 0; p < pixels; p++, in += channels, out += channels) {
        const int32_t value = (int32_t)value_of(in, 0, mode, 8), level = levels[p];
        const float reciprocal = 1.0f / (float)value;
        for (int c = 0; c < 3; c++)
            out[c] = (uint8_t)clahe_scaled8(in[c], value, level, reciprocal);
        if (channels == 4) out[3] = in[3];
    }
}

INLINE void put_words(const uint8_t *in, const uint8_t *levels, uint8_t *out, size_t pixels,
                      int mode, unsigned channels) {
    for (size_t p = 0, i = 0; p < pixels; p++, i += channels) {
        const uint32_t value = value_of(in, i, mode, 16), level = sample_get(levels, p, 16);
        for (unsigned c = 0; c < 3; c++)
            sample_put(out, i + c, 16,
                       level_scaled(sample_get(in, i + c, 16), value, level, 65535));
    }
}

#ifdef __x86_64__
AVX2 static inline __m256i byte_of(__m256i pixels, int place) {
    return _mm256_and_si256(_mm256_srli_epi32(pixels, 8 * place), _mm256_set1_epi32(255));
}

AVX2 static inline __m256i values_of(const __m256i colour[3], int mode) {
    if (mode == CLAHE_VALUE)
        return _mm256_max_epi32(_mm256_max_epi32(colour[0], colour[1]), colour[2]);
    const __m256i warm = _mm256_add_epi32(_mm256_mullo_epi32(colour[0], _mm256_set1_epi32(77)),
                                          _mm256_mullo_epi32(colour[1], _mm256_set1_epi32(150)));
    const __m256i cold = _mm256_add_epi32(_mm256_mullo_epi32(colour[2], _mm256_set1_epi32(29)),
                                          _mm256_set1_epi32(128));
    return _mm256_srli_epi32(_mm256_add_epi32(warm, cold), 8);
}

/* clahe_scaled8 of eight samples. */
AVX2 static inline __m256i scaled_of(__m256i sample, __m256i value, __m256i level,
                                     __m256 reciprocal) {
    const __m256i product =
        _mm256_add_epi32(_mm256_mullo_epi32(sample, level), _mm256_srli_epi32(value, 1));
    const __m256 whole = _mm256_add_ps(_mm256_cvtepi32_ps(product), _mm256_set1_ps(0.5f));
    const __m256i scaled = _mm256_cvttps_epi32(_mm256_mul_ps(whole, reciprocal));
    const __m256i black = _mm256_cmpeq_epi32(value, _mm256_setzero_si256());
    return _mm256_min_epi32(_mm256_blendv_epi8(scaled, level, black), _mm256_set1_epi32(255));
}

/* One vector holds eight pixels of four bytes. */
AVX2 static void put_rgba_avx2(const uint8_t *in, const uint8_t *levels, uint8_t *out,
                               size_t pixels, int mode) {
    size_t p = 0;
    for (; p + 8 <= pixels; p += 8) {
        const __m256i four = _mm256_loadu_si256((const __m256i *)(in + 4 * p));
        const __m256i level = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(levels + p)));
        const __m256i colour[3] = { byte_of(four, 0), byte_of(four, 1), byte_of(four, 2) };
        const __m256i value = values_of(colour, mode);
        const __m256 reciprocal = _mm256_div_ps(_mm256_set1_ps(1), _mm256_cvtepi32_ps(value));
        __m256i result = _mm256_and_si256(four, _mm256_set1_epi32((int)0xff000000));
        for (int c = 0; c < 3; c++)
            result = _mm256_or_si256(
                result, _mm256_slli_epi32(scaled_of(colour[c], value, level, reciprocal), 8 * c));
        _mm256_storeu_si256((__m256i *)(out + 4 * p), result);
    }
    put_bytes(in + 4 * p, levels + p, out + 4 * p, pixels - p, mode, 4);
}
#endif

INLINE void put_row(const uint8_t *in, const uint8_t *levels, uint8_t *out, size_t pixels,
                    struct clahe_plane plane, unsigned channels, unsigned depth) {
    if (plane.mode == CLAHE_EACH)
        put_channel(levels, out, pixels, plane.channel, channels, depth);
    else if (depth == 8)
        put_bytes(in, levels, out, pixels, plane.mode, channels);
    else
        put_words(in, levels, out, pixels, plane.mode, channels);
}

void clahe_plane_put(struct clahe_plane plane, const uint8_t *in, const uint8_t *levels,
                     uint8_t *out, size_t pixels, unsigned channels, unsigned depth) {
    if (is_rgb8(plane, channels, depth) && plane.mode == CLAHE_VALUE)
        rgb_scale_levels(in, levels, out, pixels);
#ifdef __x86_64__
    else if (depth == 8 && channels == 4 && plane.mode != CLAHE_EACH && simd_has_avx2())
        put_rgba_avx2(in, levels, out, pixels, plane.mode);
#endif
    else
        SPECIALISE(channels, depth, put_row, in, levels, out, pixels, plane);
}
