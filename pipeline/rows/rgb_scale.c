// SPDX-License-Identifier: Apache-2.0
/* How it works. c * V' / V is c times a factor of 8 whole and 16 fractional bits that depends only
 * on V. The factor's error is at most 2^-17 where V is odd and 0 to 2^-16 where V is even. Times c
 * < V it is less than the distance of the quotient from the next rounding: 1 / 2V on either side
 * for an odd V, where there are no halves, and 1 / V above for an even one.
 * tests/pipeline/rows/rgb_scale.c tries every case. Blocks of 32 pixels are loaded, looked up and
 * scaled in steps that run a few blocks behind each other. */
#include "pipeline/rows/rgb_scale.h"

#include "pipeline/rows/rgb_pairs.h"

#include <string.h>

/* Channels are at most V, so the result fits. */
static uint8_t scaled(uint32_t sample, uint32_t value, uint32_t level) {
    return (uint8_t)(value ? (2 * sample * level + value) / (2 * value) : level);
}

static void apply_plain(const struct rgb_scale *scale, const uint8_t *rgb, uint8_t *out,
                        size_t pixels) {
    for (size_t i = 0; i < 3 * pixels; i += 3) {
        const uint8_t value = max3(rgb[i], rgb[i + 1], rgb[i + 2]);
        for (int c = 0; c < 3; c++) out[i + c] = scaled(rgb[i + c], value, scale->level[value]);
    }
}

static void values_plain(const uint8_t *rgb, uint8_t *values, size_t pixels) {
    for (size_t i = 0; i < pixels; i++, rgb += 3) values[i] = max3(rgb[0], rgb[1], rgb[2]);
}

static void levels_plain(const uint8_t *rgb, const uint8_t *levels, uint8_t *out, size_t pixels) {
    for (size_t i = 0; i < pixels; i++)
        for (int c = 0; c < 3; c++)
            out[3 * i + c] =
                scaled(rgb[3 * i + c], max3(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]), levels[i]);
}

#ifdef __x86_64__
/* Sets every channel to 1 where V is 0: the factor of V = 0 is its new level. */
AVX2 static struct pairs whiten_black(struct pairs p, __m256i value) {
    const __m256i black = _mm256_cmpeq_epi8(value, _mm256_setzero_si256());
    p.a = _mm256_sub_epi8(p.a, low_high(black, _mm256_slli_epi16(black, 8)));
    p.b = _mm256_sub_epi8(p.b, black);
    p.c = _mm256_sub_epi8(p.c, low_high(_mm256_srli_epi16(black, 8), black));
    return p;
}

/* Factors of 16 pixels, split into whole and fraction. */
struct factors {
    __m256i whole, fraction;
};

AVX2 static inline struct factors factors_load(const uint32_t even[8], const uint32_t odd[8]) {
    const __m256i x = _mm256_load_si256((const __m256i *)even),
                  y = _mm256_load_si256((const __m256i *)odd);
    return (struct factors){ _mm256_blend_epi16(_mm256_srli_epi32(x, 16), y, 0xaa),
                             _mm256_blend_epi16(x, _mm256_slli_epi32(y, 16), 0xaa) };
}

/* Each 16-bit C is a byte times 256; the product, rounded half up, ends in the high byte. The
 * multiply-high cuts off only bits below the deciding one. */
AVX2 static inline __m256i times(__m256i c, struct factors f) {
    const __m256i whole = _mm256_mullo_epi16(c, f.whole), half = _mm256_set1_epi16(128);
    return _mm256_add_epi16(_mm256_mulhi_epu16(c, f.fraction), _mm256_add_epi16(whole, half));
}

AVX2 static inline __m256i scale_bytes(__m256i bytes, struct factors low, struct factors high) {
    const __m256i even = times(_mm256_slli_epi16(bytes, 8), low);
    const __m256i odd = times(low_high(_mm256_setzero_si256(), bytes), high);
    return low_high(_mm256_srli_epi16(even, 8), odd);
}

/* 32 pixels in progress: loaded, then their factors looked up, then scaled. */
struct block {
    struct pairs pairs;
    uint8_t value[32];
    uint32_t factor[4][8]; /* byte 4k + j of `value` has [j][k] */
};

AVX2 static inline void block_load(struct block *block, const uint8_t *rgb, bool whiten) {
    const struct pairs pairs = pairs_load(rgb);
    const __m256i value = pairs_value(pairs);
    _mm256_store_si256((__m256i *)block->value, value);
    block->pairs = whiten ? whiten_black(pairs, value) : pairs;
}

AVX2 static inline void block_look_up(struct block *block, const uint32_t factor[256]) {
    for (int k = 0; k < 8; k++)
        for (int j = 0; j < 4; j++) block->factor[j][k] = factor[block->value[4 * k + j]];
}

AVX2 static inline void block_scale(const struct block *block, uint8_t *rgb) {
    const struct factors low = factors_load(block->factor[0], block->factor[2]);
    const struct factors high = factors_load(block->factor[1], block->factor[3]);
    const struct pairs p = block->pairs;
    pairs_store(rgb, (struct pairs){ scale_bytes(p.a, low, low), scale_bytes(p.b, low, high),
                                     scale_bytes(p.c, high, high) });
}

AVX2 static void apply_avx2(const struct rgb_scale *scale, const uint8_t *rgb, uint8_t *out,
                            size_t pixels) {
    struct block ring[BLOCKS];
    const size_t blocks = pixels / 32, done = 32 * blocks;
    const bool whiten = scale->level[0] != 0;
    for (size_t i = 0; blocks && i < blocks + 2 * LAG; i++) {
        if (i - 2 * LAG < blocks)
            block_scale(&ring[(i - 2 * LAG) % BLOCKS], out + 96 * (i - 2 * LAG));
        if (i < blocks) {
            prefetch_block(rgb + 96 * i);
            prefetch_block(out + 96 * i);
            block_load(&ring[i % BLOCKS], rgb + 96 * i, whiten);
        }
        if (i - LAG < blocks) block_look_up(&ring[(i - LAG) % BLOCKS], scale->factor);
    }
    apply_plain(scale, rgb + 3 * done, out + 3 * done, pixels - done);
}

/* Permutes bytes, one a pixel, from the pixels' order to that of pairs, or back: of the eight pairs
 * of a half, pair I swaps with pair 3 I modulo 8. */
AVX2 static inline __m256i reorder(__m256i bytes) {
    return _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(_mm_setr_epi8(
                                          0, 1, 6, 7, 12, 13, 2, 3, 8, 9, 14, 15, 4, 5, 10, 11)));
}

AVX2 static void values_avx2(const uint8_t *rgb, uint8_t *values, size_t pixels) {
    size_t i = 0;
    for (; i + 32 <= pixels; i += 32) {
        prefetch_block(rgb + 3 * i);
        _mm256_storeu_si256((__m256i *)(values + i), reorder(pairs_value(pairs_load(rgb + 3 * i))));
    }
    values_plain(rgb + 3 * i, values + i, pixels - i);
}

/* Computes the factors of rgb_scale_make for eight pixels; V and level are the lowest bytes of
 * VALUE and LEVEL. They are below 2^24, so floats hold the dividend, and rounding never reaches the
 * next integer, which is at least 1 / V away. */
AVX2 static inline __m256i divide(__m256i value, __m256i level) {
    const __m256i one = _mm256_set1_epi32(1), byte = _mm256_set1_epi32(255);
    const __m256i v = _mm256_and_si256(value, byte),
                  whole = _mm256_slli_epi32(_mm256_and_si256(level, byte), 16);
    const __m256i half = _mm256_srlv_epi32(_mm256_sub_epi32(v, one), _mm256_and_si256(v, one));
    const __m256i factor = _mm256_cvttps_epi32(
        _mm256_div_ps(_mm256_cvtepi32_ps(_mm256_add_epi32(whole, half)), _mm256_cvtepi32_ps(v)));
    return _mm256_blendv_epi8(factor, whole, _mm256_cmpeq_epi32(v, _mm256_setzero_si256()));
}

AVX2 static inline void block_divide(struct block *block, const uint8_t levels[32]) {
    const __m256i value = _mm256_load_si256((const __m256i *)block->value),
                  level = reorder(_mm256_loadu_si256((const __m256i *)levels));
    for (int j = 0; j < 4; j++)
        _mm256_store_si256((__m256i *)block->factor[j], divide(_mm256_srli_epi32(value, 8 * j),
                                                               _mm256_srli_epi32(level, 8 * j)));
}

AVX2 static void levels_avx2(const uint8_t *rgb, const uint8_t *levels, uint8_t *out,
                             size_t pixels) {
    size_t i = 0;
    for (; i + 32 <= pixels; i += 32) {
        struct block block;
        prefetch_block(rgb + 3 * i);
        prefetch_block(out + 3 * i);
        block_load(&block, rgb + 3 * i, true);
        block_divide(&block, levels + i);
        block_scale(&block, out + 3 * i);
    }
    levels_plain(rgb + 3 * i, levels + i, out + 3 * i, pixels - i);
}
#else
#define apply_avx2  apply_plain
#define values_avx2 values_plain
#define levels_avx2 levels_plain
#endif

/* The factor of V = 0 is for channels made 1. */
void rgb_scale_make(struct rgb_scale *scale, const uint8_t level[256]) {
    memcpy(scale->level, level, sizeof scale->level);
    scale->factor[0] = (uint32_t)level[0] << 16;
    for (uint32_t v = 1; v < 256; v++)
        scale->factor[v] = (((uint32_t)level[v] << 16) + (v % 2 ? v / 2 : v - 1)) / v;
}

void rgb_scale_apply(const struct rgb_scale *scale, const uint8_t *rgb, uint8_t *out,
                     size_t pixels) {
    (simd_has_avx2() ? apply_avx2 : apply_plain)(scale, rgb, out, pixels);
}

void rgb_scale_values(const uint8_t *rgb, uint8_t *values, size_t pixels) {
    (simd_has_avx2() ? values_avx2 : values_plain)(rgb, values, pixels);
}

void rgb_scale_levels(const uint8_t *rgb, const uint8_t *levels, uint8_t *out, size_t pixels) {
    (simd_has_avx2() ? levels_avx2 : levels_plain)(rgb, levels, out, pixels);
}
