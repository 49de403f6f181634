// SPDX-License-Identifier: Apache-2.0
/* How it works, by AVX-512 with VNNI: sixteen rows, or samples, at a time. A weight is three signed
 * bytes, d2 * 2^16 + d1 * 2^8 + d0; one instruction adds the products of four samples with one byte
 * each of their weights. The three sums may overflow, but the total is exact modulo 2^32. */
#include "pipeline/rows/resample_way.h"

#include "pipeline/rows/intrinsics.h"

#ifdef __x86_64__

#define WAY           AVX512_VNNI
#define V(operation)  _mm512_##operation
#define _mm512_and_si _mm512_and_si512

enum { LANES = 16, TAPS = 4, WORDS = 3, GROUP = 4 };

typedef __m512i vec;

#define PRIMITIVE static inline __attribute__((always_inline)) WAY

PRIMITIVE vec load(const uint8_t *from) {
    return _mm512_load_si512(from);
}

PRIMITIVE void store(uint8_t *to, vec value) {
    _mm512_store_si512(to, value);
}

PRIMITIVE vec either(vec a, vec b) {
    return _mm512_or_si512(a, b);
}

/* ---- sums */

struct weights {
    vec digits[3];
};
struct sums {
    vec of[3];
};

PRIMITIVE struct weights weights_at(const int32_t *words) {
    return (struct weights){ { _mm512_set1_epi32(words[0]), _mm512_set1_epi32(words[1]),
                               _mm512_set1_epi32(words[2]) } };
}

PRIMITIVE struct sums sums_zero(void) {
    const vec zero = _mm512_setzero_si512();
    return (struct sums){ { zero, zero, zero } };
}

PRIMITIVE void sums_add(struct sums *sums, vec cell, const struct weights *weights) {
    sums->of[0] = _mm512_dpbusd_epi32(sums->of[0], cell, weights->digits[0]);
    sums->of[1] = _mm512_dpbusd_epi32(sums->of[1], cell, weights->digits[1]);
    sums->of[2] = _mm512_dpbusd_epi32(sums->of[2], cell, weights->digits[2]);
}

PRIMITIVE vec sums_total(const struct sums *sums) {
    return _mm512_add_epi32(_mm512_add_epi32(_mm512_slli_epi32(sums->of[2], 16), sums->of[0]),
                            _mm512_slli_epi32(sums->of[1], 8));
}

/* With 128 added to each digit the three are the bytes of a number; the exclusive or with 128
 * restores their signs. */
static void encode(const int32_t *weights, int32_t *words) {
    uint32_t digits[4];
    for (int i = 0; i < 4; i++) digits[i] = ((uint32_t)weights[i] + 0x808080) ^ 0x808080;
    for (int d = 0; d < 3; d++) {
        uint32_t word = 0;
        for (int i = 0; i < 4; i++) word |= (digits[i] >> 8 * d & 255) << 8 * i;
        words[d] = (int32_t)word;
    }
}

/* ---- bytes and words */

PRIMITIVE vec in_all(const uint8_t bytes[16]) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)bytes));
}

PRIMITIVE __m128i sixteen_at(const uint8_t *from) {
    return _mm_loadu_si128((const __m128i *)from);
}

/* Loads sixteen bytes each of rows 0, 4, 8 and 12. */
PRIMITIVE vec every_fourth(const uint8_t *const rows[], size_t at) {
    vec bytes = _mm512_castsi128_si512(sixteen_at(rows[0] + at));
    bytes = _mm512_mask_broadcast_i32x4(bytes, 0x00f0, sixteen_at(rows[4] + at));
    bytes = _mm512_mask_broadcast_i32x4(bytes, 0x0f00, sixteen_at(rows[8] + at));
    return _mm512_mask_broadcast_i32x4(bytes, 0xf000, sixteen_at(rows[12] + at));
}

PRIMITIVE void store_bytes(uint8_t *to, vec value) {
    value = _mm512_max_epi32(value, _mm512_setzero_si512());
    _mm_storeu_si128((__m128i *)to, _mm512_cvtusepi32_epi8(value));
}

/* None is over 65535. */
PRIMITIVE void store_words(uint8_t *to, vec value) {
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtepi32_epi16(value));
}

/* Stores sixteen rows of four samples, one after the other, in four cells, STEP bytes apart. */
PRIMITIVE void spread_four(const uint8_t *from, uint8_t *to, size_t step) {
    const vec order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const vec cells = _mm512_permutexvar_epi32(order, load(from));
    _mm_store_si128((__m128i *)to, _mm512_castsi512_si128(cells));
    _mm_store_si128((__m128i *)(to + step), _mm512_extracti32x4_epi32(cells, 1));
    _mm_store_si128((__m128i *)(to + 2 * step), _mm512_extracti32x4_epi32(cells, 2));
    _mm_store_si128((__m128i *)(to + 3 * step), _mm512_extracti32x4_epi32(cells, 3));
}

/* Interleaves sixteen samples of four rows, one lane a sample. */
PRIMITIVE void weave(const __m128i rows[4], __m128i *to) {
    const __m128i ab = _mm_unpacklo_epi8(rows[0], rows[1]);
    const __m128i cd = _mm_unpacklo_epi8(rows[2], rows[3]);
    const __m128i ab2 = _mm_unpackhi_epi8(rows[0], rows[1]);
    const __m128i cd2 = _mm_unpackhi_epi8(rows[2], rows[3]);
    _mm_store_si128(to, _mm_unpacklo_epi16(ab, cd));
    _mm_store_si128(to + 1, _mm_unpackhi_epi16(ab, cd));
    _mm_store_si128(to + 2, _mm_unpacklo_epi16(ab2, cd2));
    _mm_store_si128(to + 3, _mm_unpackhi_epi16(ab2, cd2));
}

#include "pipeline/rows/resample_blocks.h"

const struct resample_way resample_vnni = {
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
