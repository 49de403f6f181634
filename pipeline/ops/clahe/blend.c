// SPDX-License-Identifier: Apache-2.0
/* How it works. For bytes the four levels of a value are first put into one word, so that a sample
 * needs one look-up instead of four; the words of a few samples are then mixed in vectors. AVX-512
 * VBMI keeps all four tables in sixteen registers for all rows of a call, and mixes 64 samples at
 * once. 16-bit tables are looked up one by one, and the levels mixed in vectors. */
#include "pipeline/ops/clahe/blend.h"

#include "pipeline/ops/clahe.h"
#include "pipeline/rows/intrinsics.h"
#include "pipeline/sample.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

typedef void (*blend_way)(const struct clahe_blend *blend, const struct image *in,
                          const struct image *out);

/* ---- plain C, which defines the result */

static inline int32_t level_of(const void *table, uint32_t value, unsigned depth) {
    return (int32_t)sample_get(table, value, depth);
}

static void blend_plain(const struct clahe_blend *blend, const struct image *in,
                        const struct image *out) {
    const unsigned depth = in->depth;
    for (uint32_t y = 0; y < in->height; y++)
        for (uint32_t x = 0; x < in->width; x++) {
            const uint32_t v = sample_get(image_row(in, y), x, depth);
            const int32_t level =
                clahe_mix(level_of(blend->upper[0], v, depth), level_of(blend->upper[1], v, depth),
                          level_of(blend->lower[0], v, depth), level_of(blend->lower[1], v, depth),
                          blend->right[x], blend->down[y], (int32_t)image_max(in));
            sample_put(image_row(out, y), x, depth, (uint32_t)level);
        }
}

#ifdef __x86_64__

/* ---- AVX2 */

enum { PIECE = 64 };

/* Joins the four levels of each value: upper left in the lowest byte, lower right in the highest.
 */
INLINE void join_tables(const struct clahe_blend *blend, uint32_t joined[256]) {
    const uint8_t *a = blend->upper[0], *b = blend->upper[1], *c = blend->lower[0],
                  *d = blend->lower[1];
    for (int v = 0; v < 256; v++)
        joined[v] = a[v] | (uint32_t)b[v] << 8 | (uint32_t)c[v] << 16 | (uint32_t)d[v] << 24;
}

INLINE void mix_bytes(const uint32_t *words, uint8_t *out, const float *right, float down,
                      uint32_t count) {
    for (uint32_t x = 0; x < count; x++)
        out[x] = (uint8_t)clahe_mix((int32_t)(words[x] & 255), (int32_t)(words[x] >> 8 & 255),
                                    (int32_t)(words[x] >> 16 & 255), (int32_t)(words[x] >> 24),
                                    right[x], down, 255);
}

AVX2 static void blend_bytes_avx2(const struct clahe_blend *blend, const struct image *in,
                                  const struct image *out) {
    uint32_t joined[256], words[PIECE];
    join_tables(blend, joined);
    for (uint32_t y = 0; y < in->height; y++)
        for (uint32_t x = 0; x < in->width; x += PIECE) {
            const uint32_t count = in->width - x < PIECE ? in->width - x : PIECE;
            const uint8_t *from = image_row(in, y) + x;
            for (uint32_t i = 0; i < count; i++) words[i] = joined[from[i]];
            mix_bytes(words, image_row(out, y) + x, blend->right + x, blend->down[y], count);
        }
}

INLINE void mix_words(uint16_t levels[4][PIECE], uint8_t *out, const float *right, float down,
                      uint32_t count) {
    for (uint32_t x = 0; x < count; x++)
        sample_put(out, x, 16,
                   (uint32_t)clahe_mix(levels[0][x], levels[1][x], levels[2][x], levels[3][x],
                                       right[x], down, 65535));
}

AVX2 static void blend_words_avx2(const struct clahe_blend *blend, const struct image *in,
                                  const struct image *out) {
    const uint16_t *a = blend->upper[0], *b = blend->upper[1], *c = blend->lower[0],
                   *d = blend->lower[1];
    uint16_t levels[4][PIECE];
    for (uint32_t y = 0; y < in->height; y++)
        for (uint32_t x = 0; x < in->width; x += PIECE) {
            const uint32_t count = in->width - x < PIECE ? in->width - x : PIECE;
            for (uint32_t i = 0; i < count; i++) {
                const uint32_t v = sample_get(image_row(in, y), x + i, 16);
                levels[0][i] = a[v], levels[1][i] = b[v], levels[2][i] = c[v], levels[3][i] = d[v];
            }
            mix_words(levels, image_row(out, y) + 2 * x, blend->right + x, blend->down[y], count);
        }
}

static void blend_avx2(const struct clahe_blend *blend, const struct image *in,
                       const struct image *out) {
    (in->depth == 8 ? blend_bytes_avx2 : blend_words_avx2)(blend, in, out);
}

/* ---- AVX-512 VBMI */

/* Each vector has a quarter of a table: a permutation of two looks up 7 bits; the sign is the 8th.
 */
struct quarters {
    __m512i quarter[4];
};

AVX512_VBMI static inline struct quarters quarters_load(const void *table) {
    struct quarters q;
    for (int k = 0; k < 4; k++) q.quarter[k] = _mm512_loadu_si512((const uint8_t *)table + 64 * k);
    return q;
}

AVX512_VBMI static inline __m512i look_up(const struct quarters *q, __m512i values,
                                          __mmask64 upper) {
    return _mm512_mask_blend_epi8(upper,
                                  _mm512_permutex2var_epi8(q->quarter[0], values, q->quarter[1]),
                                  _mm512_permutex2var_epi8(q->quarter[2], values, q->quarter[3]));
}

/* Mixes sixteen levels of two tables with their weights. */
AVX512_VBMI static inline __m512 across(__m128i first, __m128i second, __m512 left, __m512 right) {
    const __m512 a = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(first)),
                 b = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(second));
    return _mm512_add_ps(_mm512_mul_ps(a, left), _mm512_mul_ps(b, right));
}

#define SIXTEEN(levels, k) _mm512_extracti32x4_epi32(levels, k)

/* The K-th sixteen of 64 samples, levels of which are A, B, C and D: a macro, for K is part of the
 * instruction. Conversion rounds halves to even and the last step stops at 255, as clahe_round. */
#define MIX(k)                                                                                     \
    _mm512_cvtusepi32_epi8(_mm512_cvtps_epi32(_mm512_add_ps(                                       \
        _mm512_mul_ps(across(SIXTEEN(a, k), SIXTEEN(b, k), left[k], right[k]), upper),             \
        _mm512_mul_ps(across(SIXTEEN(c, k), SIXTEEN(d, k), left[k], right[k]), lower))))

/* 64 columns, or those in MASK, down all rows. */
AVX512_VBMI static void blend_columns(const struct clahe_blend *blend, const struct image *in,
                                      const struct image *out, uint32_t x, __mmask64 mask) {
    const struct quarters q[4] = { quarters_load(blend->upper[0]), quarters_load(blend->upper[1]),
                                   quarters_load(blend->lower[0]), quarters_load(blend->lower[1]) };
    const __m512 one = _mm512_set1_ps(1);
    __m512 left[4], right[4];
    for (int k = 0; k < 4; k++) {
        right[k] = _mm512_maskz_loadu_ps((__mmask16)(mask >> (16 * k)), blend->right + x + 16 * k);
        left[k] = _mm512_sub_ps(one, right[k]);
    }
    for (uint32_t y = 0; y < in->height; y++) {
        const __m512i values = _mm512_maskz_loadu_epi8(mask, image_row(in, y) + x);
        const __mmask64 high = _mm512_movepi8_mask(values);
        const __m512i a = look_up(&q[0], values, high), b = look_up(&q[1], values, high),
                      c = look_up(&q[2], values, high), d = look_up(&q[3], values, high);
        const __m512 lower = _mm512_set1_ps(blend->down[y]), upper = _mm512_sub_ps(one, lower);
        __m512i levels = _mm512_castsi128_si512(MIX(0));
        levels = _mm512_inserti32x4(levels, MIX(1), 1);
        levels = _mm512_inserti32x4(levels, MIX(2), 2);
        levels = _mm512_inserti32x4(levels, MIX(3), 3);
        _mm512_mask_storeu_epi8(image_row(out, y) + x, mask, levels);
    }
}

static void blend_vbmi(const struct clahe_blend *blend, const struct image *in,
                       const struct image *out) {
    if (in->depth == 16) {
        blend_words_avx2(blend, in, out);
        return;
    }
    for (uint32_t x = 0; x < in->width; x += 64)
        blend_columns(blend, in, out, x,
                      in->width - x < 64 ? ((__mmask64)1 << (in->width - x)) - 1 : ~(__mmask64)0);
}
#else
#define blend_avx2 blend_plain
#define blend_vbmi blend_plain
#endif

void clahe_blend_rows(const struct clahe_blend *blend, const struct image *in,
                      const struct image *out) {
    const blend_way way = !simd_has_avx2()  ? blend_plain
                          : simd_has_vbmi() ? blend_vbmi
                                            : blend_avx2;
    way(blend, in, out);
}
