// SPDX-License-Identifier: Apache-2.0
/* How it works, by AVX2: eight rows, or samples, at a time. A weight is h * 2^11 + l, with h and l
 * in 16 bits. Bytes are widened to 16 bits, two to a lane, and one instruction adds the products of
 * both with one part of their weights. Sums of either part may overflow, but the total is exact
 * modulo 2^32. */
#include "pipeline/rows/resample_way.h"

#include "pipeline/rows/intrinsics.h"

#ifdef __x86_64__

#define WAY           AVX2
#define V(operation)  _mm256_##operation
#define _mm256_and_si _mm256_and_si256

enum { LANES = 8, TAPS = 2, WORDS = 2, GROUP = 4, LOW_BITS = 11 };

typedef __m256i vec;

#define PRIMITIVE static inline __attribute__((always_inline)) WAY

PRIMITIVE vec load(const uint8_t *from) {
    return _mm256_load_si256((const vec *)from);
}

PRIMITIVE void store(uint8_t *to, vec value) {
    _mm256_store_si256((vec *)to, value);
}

PRIMITIVE vec either(vec a, vec b) {
    return _mm256_or_si256(a, b);
}

/* ---- sums */

struct weights {
    vec high, low;
};
struct sums {
    vec high, low;
};

PRIMITIVE struct weights weights_at(const int32_t *words) {
    return (struct weights){ _mm256_set1_epi32(words[0]), _mm256_set1_epi32(words[1]) };
}

PRIMITIVE struct sums sums_zero(void) {
    const vec zero = _mm256_setzero_si256();
    return (struct sums){ zero, zero };
}

PRIMITIVE void sums_add(struct sums *sums, vec cell, const struct weights *weights) {
    sums->high = _mm256_add_epi32(sums->high, _mm256_madd_epi16(cell, weights->high));
    sums->low = _mm256_add_epi32(sums->low, _mm256_madd_epi16(cell, weights->low));
}

PRIMITIVE vec sums_total(const struct sums *sums) {
    return _mm256_add_epi32(_mm256_slli_epi32(sums->high, LOW_BITS), sums->low);
}

static void encode(const int32_t *weights, int32_t *words) {
    int16_t parts[2][2];
    for (int i = 0; i < 2; i++) {
        parts[0][i] = (int16_t)((weights[i] + (1 << (LOW_BITS - 1))) >> LOW_BITS);
        parts[1][i] = (int16_t)(weights[i] - parts[0][i] * (1 << LOW_BITS));
    }
    __builtin_memcpy(words, parts, sizeof parts);
}

/* ---- bytes and words */

PRIMITIVE vec in_all(const uint8_t bytes[16]) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)bytes));
}

/* Loads sixteen bytes each of rows 0 and 4. */
PRIMITIVE vec every_fourth(const uint8_t *const rows[], size_t at) {
    return _mm256_loadu2_m128i((const __m128i *)(rows[4] + at), (const __m128i *)(rows[0] + at));
}

/* Packing clamps to both sides, because values are already shifted to less than 16 bits. */
PRIMITIVE void store_bytes(uint8_t *to, vec value) {
    const vec words = _mm256_packs_epi32(value, value), bytes = _mm256_packus_epi16(words, words);
    _mm_storel_epi64((__m128i *)to, _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes),
                                                       _mm256_extracti128_si256(bytes, 1)));
}

PRIMITIVE void store_words(uint8_t *to, vec value) {
    const vec words = _mm256_permute4x64_epi64(_mm256_packus_epi32(value, value), 0x08);
    _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(words));
}

/* Stores eight rows of four samples, one after the other, in four cells, STEP bytes apart. */
PRIMITIVE void spread_four(const uint8_t *from, uint8_t *to, size_t step) {
    const vec pairs =
        _mm256_shuffle_epi8(load(from), _mm256_broadcastsi128_si256(_mm_setr_epi8(
                                            0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15)));
    const vec order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7), zero = _mm256_setzero_si256();
    const vec cells = _mm256_permutevar8x32_epi32(pairs, order);
    const vec even = _mm256_unpacklo_epi8(cells, zero), odd = _mm256_unpackhi_epi8(cells, zero);
    _mm_store_si128((__m128i *)to, _mm256_castsi256_si128(even));
    _mm_store_si128((__m128i *)(to + step), _mm256_castsi256_si128(odd));
    _mm_store_si128((__m128i *)(to + 2 * step), _mm256_extracti128_si256(even, 1));
    _mm_store_si128((__m128i *)(to + 3 * step), _mm256_extracti128_si256(odd, 1));
}

/* Interleaves sixteen samples of two rows, one lane a sample. */
PRIMITIVE void weave(const __m128i rows[2], __m128i *to) {
    const __m128i zero = _mm_setzero_si128();
    const __m128i low = _mm_unpacklo_epi8(rows[0], rows[1]);
    const __m128i high = _mm_unpackhi_epi8(rows[0], rows[1]);
    _mm_store_si128(to, _mm_unpacklo_epi8(low, zero));
    _mm_store_si128(to + 1, _mm_unpackhi_epi8(low, zero));
    _mm_store_si128(to + 2, _mm_unpacklo_epi8(high, zero));
    _mm_store_si128(to + 3, _mm_unpackhi_epi8(high, zero));
}

#include "pipeline/rows/resample_blocks.h"

const struct resample_way resample_avx2 = {
    .rows = LANES,
    .cell = TAPS,
    .cell_words = WORDS,
    .encode = encode,
    .ring_step = ring_step,
    .workspace = workspace,
    .across = across_blocks,
    .down = down_blocks,
};

#endif
