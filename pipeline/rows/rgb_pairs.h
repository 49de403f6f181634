// SPDX-License-Identifier: Apache-2.0
/* rgb_pairs.h - RGB pixels in registers: V = max(R, G, B) of one, and 32 at a time as pairs.
 *
 * Used by:  histogram.c, rgb_scale.c; rgb_luma.c uses only the loads.
 */
#ifndef BURIN_RGB_PAIRS_H
#define BURIN_RGB_PAIRS_H

#include "pipeline/rows/intrinsics.h"
#include "pipeline/rows/prefetch.h"

#include <stdint.h>

static inline uint8_t max3(uint8_t a, uint8_t b, uint8_t c) {
    const uint8_t ab = a > b ? a : b;
    return ab > c ? ab : c;
}

#ifdef __x86_64__

AVX2 static inline __m256i load_halves(const uint8_t *low, const uint8_t *high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low)),
                                   _mm_loadu_si128((const __m128i *)high), 1);
}

/* Prefetches the 96 bytes of 32 pixels: steps of 48 omit no line of 64. */
static inline void prefetch_block(const uint8_t *rgb) {
    prefetch(rgb);
    prefetch(rgb + 48);
}

/* 32 pixels as three vectors that hold each pair as R G | B R | G B, in one 16-bit word each. The
 * work on a byte depends on its pixel, not its channel, so the bytes need no further separation.
 * Pairs are in a permuted order, the same in all three vectors. */
struct pairs {
    __m256i a, b, c;
};

/* Blocks of 32 pixels by which each step runs behind the one before. So the data it reads has left
 * the store buffer, and table look-ups, which no vector speeds up, overlap with vector work. */
enum { LAG = 4, BLOCKS = 16 };

/* Words 0, 3, 6 of X, 1, 4, 7 of Y, 2, 5 of Z. */
AVX2 static inline __m256i mix(__m256i x, __m256i y, __m256i z) {
    return _mm256_blend_epi16(_mm256_blend_epi16(x, y, 0x92), z, 0x24);
}

/* Gives each third of the 24 words of 3 x 16 bytes a vector of its own. */
AVX2 static inline struct pairs pairs_load(const uint8_t *rgb) {
    const __m256i x = load_halves(rgb, rgb + 48), y = load_halves(rgb + 16, rgb + 64),
                  z = load_halves(rgb + 32, rgb + 80);
    const __m256i b = mix(z, x, y), c = mix(y, z, x);
    return (struct pairs){ mix(x, y, z), _mm256_alignr_epi8(b, b, 2), _mm256_alignr_epi8(c, c, 4) };
}

AVX2 static inline void pairs_store(uint8_t *rgb, struct pairs p) {
    const __m256i a = p.a, b = _mm256_alignr_epi8(p.b, p.b, 14),
                  c = _mm256_alignr_epi8(p.c, p.c, 12);
    const __m256i parts[3] = { mix(a, b, c), mix(c, a, b), mix(b, c, a) };
    for (int k = 0; k < 3; k++) {
        _mm_storeu_si128((__m128i *)(rgb + 16 * k), _mm256_castsi256_si128(parts[k]));
        _mm_storeu_si128((__m128i *)(rgb + 48 + 16 * k), _mm256_extracti128_si256(parts[k], 1));
    }
}

/* Low bytes of X, high bytes of Y. */
AVX2 static inline __m256i low_high(__m256i x, __m256i y) {
    const __m256i low = _mm256_set1_epi16(0xff);
    return _mm256_or_si256(_mm256_and_si256(low, x), _mm256_andnot_si256(low, y));
}

/* Returns V of the pairs' first pixels in the low bytes, of the second in the high ones. */
AVX2 static inline __m256i pairs_value(struct pairs p) {
    const __m256i first = _mm256_max_epu8(p.a, _mm256_srli_epi16(p.a, 8));
    const __m256i second = _mm256_max_epu8(p.c, _mm256_slli_epi16(p.c, 8));
    return _mm256_max_epu8(p.b, low_high(first, second));
}

#endif
#endif
