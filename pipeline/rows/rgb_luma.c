// SPDX-License-Identifier: Apache-2.0
#include "pipeline/rows/rgb_luma.h"

#include "pipeline/luma.h"
#include "pipeline/rows/rgb_pairs.h"

static void luma_plain(const uint8_t *rgb, uint8_t *gray, size_t pixels) {
    for (size_t i = 0; i < pixels; i++)
        gray[i] = (uint8_t)luma(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]);
}

#ifdef __x86_64__
struct planes {
    __m256i red, green, blue;
};

/* Picks the bytes of one channel out of 3 x 16 interleaved ones: each source's shuffle takes its
 * share and leaves 0 elsewhere. */
static const int8_t split[3][3][16] = {
    { { 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 },
      { -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14, -1, -1, -1, -1, -1 },
      { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 7, 10, 13 } },
    { { 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 },
      { -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1 },
      { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14 } },
    { { 2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 },
      { -1, -1, -1, -1, -1, 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1 },
      { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15 } },
};

AVX2 static inline __m256i three(__m256i a, __m256i b, __m256i c, const int8_t table[3][16]) {
#define HALF(i) _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table[i]))
    return _mm256_or_si256(
        _mm256_shuffle_epi8(a, HALF(0)),
        _mm256_or_si256(_mm256_shuffle_epi8(b, HALF(1)), _mm256_shuffle_epi8(c, HALF(2))));
#undef HALF
}

/* The low half of each vector holds pixels 0..15, the high half 16..31. */
AVX2 static inline struct planes planes_load(const uint8_t *rgb) {
    const __m256i a = load_halves(rgb, rgb + 48), b = load_halves(rgb + 16, rgb + 64),
                  c = load_halves(rgb + 32, rgb + 80);
    return (struct planes){ three(a, b, c, split[0]), three(a, b, c, split[1]),
                            three(a, b, c, split[2]) };
}

/* 77 R + 150 G + 29 B + 128 is at most 65408: unsigned 16-bit lanes hold it. */
AVX2 static inline __m256i weigh(__m256i red, __m256i green, __m256i blue) {
    const __m256i warm = _mm256_add_epi16(_mm256_mullo_epi16(red, _mm256_set1_epi16(77)),
                                          _mm256_mullo_epi16(green, _mm256_set1_epi16(150)));
    const __m256i cold =
        _mm256_add_epi16(_mm256_mullo_epi16(blue, _mm256_set1_epi16(29)), _mm256_set1_epi16(128));
    return _mm256_srli_epi16(_mm256_add_epi16(warm, cold), 8);
}

AVX2 static void luma_avx2(const uint8_t *rgb, uint8_t *gray, size_t pixels) {
    const __m256i zero = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + 32 <= pixels; i += 32) {
        prefetch_block(rgb + 3 * i);
        const struct planes p = planes_load(rgb + 3 * i);
        const __m256i low =
            weigh(_mm256_unpacklo_epi8(p.red, zero), _mm256_unpacklo_epi8(p.green, zero),
                  _mm256_unpacklo_epi8(p.blue, zero));
        const __m256i high =
            weigh(_mm256_unpackhi_epi8(p.red, zero), _mm256_unpackhi_epi8(p.green, zero),
                  _mm256_unpackhi_epi8(p.blue, zero));
        _mm256_storeu_si256((__m256i *)(gray + i), _mm256_packus_epi16(low, high));
    }
    luma_plain(rgb + 3 * i, gray + i, pixels - i);
}
#else
#define luma_avx2 luma_plain
#endif

void rgb_luma(const uint8_t *rgb, uint8_t *gray, size_t pixels) {
    (simd_has_avx2() ? luma_avx2 : luma_plain)(rgb, gray, pixels);
}
