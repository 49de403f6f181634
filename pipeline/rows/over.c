// SPDX-License-Identifier: Apache-2.0
#include "pipeline/rows/over.h"

#include "pipeline/background.h"
#include "pipeline/rows/intrinsics.h"

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

void over_rgb8(uint8_t *rgb, const uint8_t *rgba, size_t pixels, uint32_t opacity) {
    (simd_has_avx2() ? over_avx2 : over_plain)(rgb, rgba, pixels, opacity);
}
