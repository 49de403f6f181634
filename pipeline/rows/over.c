// SPDX-License-Identifier: Apache-2.0
#include "pipeline/rows/over.h"

#include "pipeline/background.h"
#include "pipeline/rows/intrinsics.h"

#include <string.h>

static void over_plain(uint8_t *rgb, const uint8_t *rgba, size_t pixels, uint32_t opacity) {
    for (size_t i = 0; i < pixels; i++, rgb += 3, rgba += 4) {
        const uint32_t alpha = (rgba[3] * opacity + 500) / 1000;
        if (alpha == 0) continue;
        for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)background_lay(rgba[c], alpha, rgb[c], 8);
    }
}

#ifdef __x86_64__
/* Alpha of four pixels times opacity, in place: n = alpha * opacity + 500 is below 2^18, and for
 * m = n / 8 < 59,074 floor(m / 125) = m * 33,555 >> 22. */
AVX2 static inline __m128i fade(__m128i rgba, __m128i opacity) {
    const __m128i n =
        _mm_add_epi32(_mm_mullo_epi32(_mm_srli_epi32(rgba, 24), opacity), _mm_set1_epi32(500));
    const __m128i alpha =
        _mm_srli_epi16(_mm_mulhi_epu16(_mm_srli_epi32(n, 3), _mm_set1_epi32(33555)), 6);
    return _mm_or_si128(_mm_and_si128(rgba, _mm_set1_epi32(0xffffff)), _mm_slli_epi32(alpha, 24));
}

/* Four pixels at a time, as twelve samples; the four bytes behind them are written as they were, so
 * two more pixels must follow. (t + (t >> 8)) >> 8 with t = sum + 128 is the sum over 255, rounded:
 * the sum is at most 255^2. */
AVX2 static void over_avx2(uint8_t *rgb, const uint8_t *rgba, size_t pixels, uint32_t opacity) {
    const __m128i colours = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    const __m128i alphas = _mm_setr_epi8(3, 3, 3, 7, 7, 7, 11, 11, 11, 15, 15, 15, -1, -1, -1, -1);
    const __m128i factor = _mm_set1_epi32((int)opacity);
    const __m256i all = _mm256_set1_epi16(255), half = _mm256_set1_epi16(128);
    size_t i = 0;
    for (; i + 6 <= pixels; i += 4) {
        const __m128i front = fade(_mm_loadu_si128((const __m128i *)(rgba + 4 * i)), factor);
        __m128i *const place = (__m128i *)(rgb + 3 * i);
        const __m256i s = _mm256_cvtepu8_epi16(_mm_shuffle_epi8(front, colours));
        const __m256i a = _mm256_cvtepu8_epi16(_mm_shuffle_epi8(front, alphas));
        const __m256i d = _mm256_cvtepu8_epi16(_mm_loadu_si128(place));
        const __m256i sum = _mm256_add_epi16(_mm256_mullo_epi16(s, a),
                                             _mm256_mullo_epi16(d, _mm256_sub_epi16(all, a)));
        const __m256i t = _mm256_add_epi16(sum, half);
        const __m256i wide = _mm256_srli_epi16(_mm256_add_epi16(t, _mm256_srli_epi16(t, 8)), 8);
        _mm_storeu_si128(place, _mm_packus_epi16(_mm256_castsi256_si128(wide),
                                                 _mm256_extracti128_si256(wide, 1)));
    }
    over_plain(rgb + 3 * i, rgba + 4 * i, pixels - i, opacity);
}
#else
#define over_avx2 over_plain
#endif

/* ---- over pixels with alpha */

/* floor(n / d) for 0 <= n < 2^31, 0 < d < 2^16 and a quotient below 2^15: that of floats is off by
 * less than 1, and the remainder says which way. */
static inline __attribute__((always_inline)) int32_t quotient(int32_t n, int32_t d) {
    const int32_t near = (int32_t)((float)n / (float)d), rest = n - near * d;
    return near + (rest >= d) - (rest < 0);
}

static inline __attribute__((always_inline)) uint32_t mean(uint32_t s, uint32_t d, uint32_t front,
                                                           uint32_t back, int shift) {
    const uint32_t t = (s >> shift & 255) * front + (d >> shift & 255) * back + 64 * 256;
    return (((t >> 8) + t) >> 15) << shift;
}

/* A pixel is a word, so that the compiler makes a vector of eight of them. Where a = 0 the formula
 * gives what is there. */
static inline __attribute__((always_inline)) void
over_pixels(uint8_t *restrict out, const uint8_t *restrict rgba, size_t pixels, uint32_t opacity) {
    for (size_t i = 0; i < pixels; i++) {
        uint32_t s, d;
        memcpy(&s, rgba + 4 * i, 4);
        memcpy(&d, out + 4 * i, 4);
        const uint32_t a = ((s >> 24) * opacity + 500) / 1000, b = d >> 24;
        const uint32_t sum = a * 255 + b * (255 - a), divisor = sum + (sum == 0);
        const uint32_t front = (uint32_t)quotient((int32_t)(128 * 255 * 255 * a), (int32_t)divisor);
        const uint32_t back = 128 * 255 - front, alpha = (sum + 128 + ((sum + 128) >> 8)) >> 8;
        d = mean(s, d, front, back, 0) | mean(s, d, front, back, 8) | mean(s, d, front, back, 16) |
            alpha << 24;
        memcpy(out + 4 * i, &d, 4);
    }
}

static void over_pixels_plain(uint8_t *out, const uint8_t *rgba, size_t pixels, uint32_t opacity) {
    over_pixels(out, rgba, pixels, opacity);
}

#ifdef __x86_64__
AVX2 static void over_pixels_avx2(uint8_t *out, const uint8_t *rgba, size_t pixels,
                                  uint32_t opacity) {
    over_pixels(out, rgba, pixels, opacity);
}
#else
#define over_pixels_avx2 over_pixels_plain
#endif

void over_rgba8(uint8_t *out, const uint8_t *rgba, size_t pixels, uint32_t opacity) {
    (simd_has_avx2() ? over_pixels_avx2 : over_pixels_plain)(out, rgba, pixels, opacity);
}

void over_rgb8(uint8_t *rgb, const uint8_t *rgba, size_t pixels, uint32_t opacity) {
    (simd_has_avx2() ? over_avx2 : over_plain)(rgb, rgba, pixels, opacity);
}
