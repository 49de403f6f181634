// SPDX-License-Identifier: Apache-2.0
/* How it works: resample_alpha_blocks.h, by AVX-512 with VNNI: eight rows, or sixteen samples, at a
 * time. */
#include "pipeline/rows/resample_way.h"

#include "pipeline/rows/intrinsics.h"

#ifdef __x86_64__

#define WAY           AVX512_VNNI
#define V(operation)  _mm512_##operation
#define _mm512_and_si _mm512_and_si512

enum { LANES = 16, SPAN = 4 };

typedef __m512i vec;

#define PRIMITIVE static inline __attribute__((always_inline)) WAY

PRIMITIVE vec load(const uint8_t *from) {
    return _mm512_load_si512(from);
}

PRIMITIVE void store(uint8_t *to, vec value) {
    _mm512_store_si512(to, value);
}

PRIMITIVE vec in_all(__m128i quarter) {
    return _mm512_broadcast_i32x4(quarter);
}

PRIMITIVE vec join(const __m128i quarters[4]) {
    vec all = _mm512_castsi128_si512(quarters[0]);
    all = _mm512_inserti32x4(all, quarters[1], 1);
    all = _mm512_inserti32x4(all, quarters[2], 2);
    return _mm512_inserti32x4(all, quarters[3], 3);
}

PRIMITIVE vec either(vec a, vec b) {
    return _mm512_or_si512(a, b);
}

PRIMITIVE vec add_products(vec sums, vec pairs, vec weights) {
    return _mm512_dpwssd_epi32(sums, pairs, weights);
}

/* Quarters 1, 0, 3 and 2 in the places of 0, 1, 2 and 3. */
PRIMITIVE vec next_quarter(vec value) {
    return _mm512_shuffle_i32x4(value, value, 0xb1);
}

PRIMITIVE __m128i quarter(vec value, unsigned index) {
    return index ? _mm512_extracti32x4_epi32(value, 2) : _mm512_castsi512_si128(value);
}

/* VALUE - 1 where REST is below ZERO, + 1 where REST is not below LIMIT. */
PRIMITIVE vec minus_where(vec value, vec rest, vec zero, vec limit) {
    const vec one = _mm512_set1_epi32(1);
    value = _mm512_mask_sub_epi32(value, _mm512_cmplt_epi32_mask(rest, zero), value, one);
    return _mm512_mask_add_epi32(value, _mm512_cmpge_epi32_mask(rest, limit), value, one);
}

/* VALUE where A is above B, else 0. */
PRIMITIVE vec where_above(vec a, vec b, vec value) {
    return _mm512_maskz_mov_epi32(_mm512_cmpgt_epi32_mask(a, b), value);
}

PRIMITIVE vec with_alpha(vec colours, vec alphas) {
    return _mm512_mask_mov_epi32(colours, 0x8888, alphas);
}

PRIMITIVE void store_bytes(uint8_t *to, vec value) {
    value = _mm512_max_epi32(value, _mm512_setzero_si512());
    _mm_storeu_si128((__m128i *)to, _mm512_cvtusepi32_epi8(value));
}

#include "pipeline/rows/resample_alpha_blocks.h"

const struct resample_way resample_alpha_vnni = {
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
