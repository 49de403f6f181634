// SPDX-License-Identifier: Apache-2.0
/* How it works. A chunk of pixels is split into planes, which stay in the first-level cache, so
 * that every loop runs over neighbours. AVX2 adds products of 16-bit pairs. */
#include "pipeline/rows/colour_matrix.h"

#include "pipeline/colour_matrix.h"
#include "pipeline/rows/intrinsics.h"
#include "pipeline/sample.h"

#include <stdbool.h>
#include <stdlib.h>

enum { COLOUR_MATRIX_CHUNK = 256 /* pixels */ };

#define INLINE static inline __attribute__((always_inline))

/* Whether the sums of 16-bit samples fit 32 bits. */
static inline bool colour_matrix_fits(const int16_t weight[4]) {
    return abs(weight[0]) + abs(weight[1]) + abs(weight[2]) + abs(weight[3]) <= INT16_MAX;
}

#ifdef __x86_64__
/* One channel of a chunk, whose planes are red, green and blue, by products of signed 16-bit pairs.
 * Larger samples become signed by BIAS. Packing clamps. Writes whole vectors. */
AVX2 static inline void colour_matrix_pairs(const int16_t weight[4],
                                            const uint16_t *const planes[3], uint16_t *out,
                                            size_t count, unsigned depth) {
    const int32_t bias = depth == 16 ? 32768 : 0, max = depth == 16 ? 65535 : 255;
    const __m256i offset = _mm256_set1_epi32(COLOUR_MATRIX_ONE / 2 + weight[3] * max +
                                             bias * (weight[0] + weight[1] + weight[2]));
    const __m256i first = _mm256_set1_epi32((weight[0] & 65535) | weight[1] * 65536),
                  second = _mm256_set1_epi32(weight[2] & 65535);
    const __m256i sign = _mm256_set1_epi16((int16_t)bias), most = _mm256_set1_epi16((int16_t)max);
    for (size_t i = 0; i < count; i += 16) {
        __m256i s[3], sums[2];
        for (int k = 0; k < 3; k++)
            s[k] = _mm256_xor_si256(sign, _mm256_loadu_si256((const __m256i *)(planes[k] + i)));
        sums[0] = _mm256_add_epi32(_mm256_madd_epi16(_mm256_unpacklo_epi16(s[0], s[1]), first),
                                   _mm256_madd_epi16(_mm256_unpacklo_epi16(s[2], s[2]), second));
        sums[1] = _mm256_add_epi32(_mm256_madd_epi16(_mm256_unpackhi_epi16(s[0], s[1]), first),
                                   _mm256_madd_epi16(_mm256_unpackhi_epi16(s[2], s[2]), second));
        for (int h = 0; h < 2; h++)
            sums[h] = _mm256_srai_epi32(_mm256_add_epi32(sums[h], offset), COLOUR_MATRIX_BITS);
        _mm256_storeu_si256((__m256i *)(out + i),
                            _mm256_min_epu16(_mm256_packus_epi32(sums[0], sums[1]), most));
    }
}
#else
#define colour_matrix_pairs(weight, planes, out, count, depth) ((void)(planes))
#endif

INLINE void colour_matrix_chunk(const struct colour_matrix *matrix, const uint8_t *restrict in,
                                uint8_t *restrict out, size_t count, bool avx2, unsigned channels,
                                unsigned depth) {
    const unsigned made = 3 + (channels % 2 == 0);
    uint16_t planes[4][COLOUR_MATRIX_CHUNK], results[3][COLOUR_MATRIX_CHUNK];
    for (size_t i = 0; i < count; i++)
        for (unsigned c = 0; c < channels; c++)
            planes[c][i] = (uint16_t)sample_get(in, i * channels + c, depth);
    const uint16_t *const colours[3] = { planes[0], planes[channels < 3 ? 0 : 1],
                                         planes[channels < 3 ? 0 : 2] };
    for (unsigned c = 0; c < 3; c++)
        if (avx2 && (depth == 8 || colour_matrix_fits(matrix->weight[c])))
            colour_matrix_pairs(matrix->weight[c], colours, results[c], count, depth);
        else
            for (size_t i = 0; i < count; i++)
                results[c][i] = (uint16_t)colour_matrix_of(matrix->weight[c], colours[0][i],
                                                           colours[1][i], colours[2][i], depth);
    for (size_t i = 0; i < count; i++) {
        for (unsigned c = 0; c < 3; c++) sample_put(out, i * made + c, depth, results[c][i]);
        if (made == 4) sample_put(out, i * 4 + 3, depth, planes[channels - 1][i]);
    }
}

INLINE void colour_matrix_pixels(const struct colour_matrix *given, const uint8_t *in, uint8_t *out,
                                 uint32_t width, bool avx2, unsigned channels, unsigned depth) {
    const struct colour_matrix matrix = *given;
    const size_t pixel = channels * (depth / 8u), made = (3 + (channels % 2 == 0)) * (depth / 8u);
    for (size_t x = 0; x < width; x += COLOUR_MATRIX_CHUNK)
        colour_matrix_chunk(&matrix, in + x * pixel, out + x * made,
                            width - x < COLOUR_MATRIX_CHUNK ? width - x : COLOUR_MATRIX_CHUNK, avx2,
                            channels, depth);
}

static void colour_matrix_plain(const struct colour_matrix *matrix, const uint8_t *in, uint8_t *out,
                                uint32_t width, unsigned channels, unsigned depth) {
    SPECIALISE(channels, depth, colour_matrix_pixels, matrix, in, out, width, false);
}

#ifdef __x86_64__
AVX2 static void colour_matrix_avx2(const struct colour_matrix *matrix, const uint8_t *in,
                                    uint8_t *out, uint32_t width, unsigned channels,
                                    unsigned depth) {
    SPECIALISE(channels, depth, colour_matrix_pixels, matrix, in, out, width, true);
}
#else
#define colour_matrix_avx2 colour_matrix_plain
#endif

void colour_matrix_row(const struct colour_matrix *matrix, const uint8_t *in, uint8_t *out,
                       uint32_t width, unsigned channels, unsigned depth) {
    (simd_has_avx2() ? colour_matrix_avx2 : colour_matrix_plain)(matrix, in, out, width, channels,
                                                                 depth);
}
