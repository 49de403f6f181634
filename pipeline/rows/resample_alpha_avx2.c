// SPDX-License-Identifier: Apache-2.0
/* How it works: resample_alpha_blocks.h, by AVX2: four rows, or eight samples, at a time. */
#include "pipeline/rows/resample_way.h"

#include "pipeline/rows/intrinsics.h"

#ifdef __x86_64__

#define WAY           AVX2
#define V(operation)  _mm256_##operation
#define _mm256_and_si _mm256_and_si256

enum { LANES = 8, SPAN = 2 };

typedef __m256i vec;

#define PRIMITIVE static inline __attribute__((always_inline)) WAY

PRIMITIVE vec load(const uint8_t *from) {
    return _mm256_load_si256((const vec *)from);
}

PRIMITIVE void store(uint8_t *to, vec value) {
    _mm256_store_si256((vec *)to, value);
}

PRIMITIVE vec in_all(__m128i quarter) {
    return _mm256_broadcastsi128_si256(quarter);
}

PRIMITIVE vec join(const __m128i quarters[2]) {
    return _mm256_set_m128i(quarters[1], quarters[0]);
}

PRIMITIVE vec either(vec a, vec b) {
    return _mm256_or_si256(a, b);
}

PRIMITIVE vec add_products(vec sums, vec pairs, vec weights) {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, weights));
}

/* Quarters 1 and 0 in the places of 0 and 1. */
PRIMITIVE vec next_quarter(vec value) {
    return _mm256_permute4x64_epi64(value, 0x4e);
}

PRIMITIVE __m128i quarter(vec value, unsigned index) {
    (void)index; /* 0 */
    return _mm256_castsi256_si128(value);
}

/* VALUE - 1 where REST is below ZERO, + 1 where REST is not below LIMIT. */
PRIMITIVE vec minus_where(vec value, vec rest, vec zero, vec limit) {
    const vec less = _mm256_cmpgt_epi32(zero, rest), below = _mm256_cmpgt_epi32(limit, rest);
    return _mm256_add_epi32(_mm256_add_epi32(value, less),
                            _mm256_add_epi32(below, _mm256_set1_epi32(1)));
}

/* VALUE where A is above B, else 0. */
PRIMITIVE vec where_above(vec a, vec b, vec value) {
    return _mm256_and_si256(value, _mm256_cmpgt_epi32(a, b));
}

PRIMITIVE vec with_alpha(vec colours, vec alphas) {
    return _mm256_blend_epi32(colours, alphas, 0x88);
}

/* Packing clamps to both sides. */
PRIMITIVE void store_bytes(uint8_t *to, vec value) {
    const vec words = _mm256_packs_epi32(value, value), bytes = _mm256_packus_epi16(words, words);
    _mm_storel_epi64((__m128i *)to, _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes),
                                                       _mm256_extracti128_si256(bytes, 1)));
}

#include "pipeline/rows/resample_alpha_blocks.h"

const struct resample_way resample_alpha_avx2 = {
    .rows = ROWS,
    .cell = TAPS,
    .cell_words = WORDS,
    .encode = encode_pair,
    .ring_step = ring_step,
    .workspace = workspace,
    .across = across_pixels,
    .down = down_pixels,
};

#endif
