// SPDX-License-Identifier: Apache-2.0
/* HOW. A byte histogram is bound by a store that the next load of the same counter must wait for,
 * so successive bytes go to eight tables; equal neighbours then never meet. Table look-up: a
 * 256-entry table is sixteen 16-byte shuffles. Tables are chained by exclusive or (D[k] = T[k] ^
 * T[k-1]), and the index goes down by 16 a step, so that a lane takes part until its index is
 * negative, which makes the shuffle give 0: what is left is T[v / 16][v % 16] with one subtraction,
 * shuffle and xor a table. AVX-512 VBMI looks up 7 bits by one permutation. Colour: c * V' / V is c
 * times a factor of 8 whole and 16 fractional bits that depends on V alone. Its error, at most
 * 2^-17 where V is odd and from 0 to 2^-16 where V is even, times c < V is less than what parts the
 * quotient from the next rounding: 1 / 2V on either side for an odd V, where there are no halves,
 * and 1 / V above for an even one. tests/pipeline/bytes.c tries every case. */
#include "pipeline/bytes.h"
#include "pipeline/fetch.h"
#include "pipeline/ops/grayscale.h"

#include <stdbool.h>
#include <string.h>

static enum bytes_path limit = BYTES_BEST;

void bytes_limit(enum bytes_path path) {
    limit = path;
}

void tally_sum(const struct tally *tally, uint32_t counts[256]) {
    memset(counts, 0, 256 * sizeof *counts);
    for (int k = 0; k < 8; k++)
        for (int v = 0; v < 256; v++) counts[v] += tally->table[k][v];
}

static inline void tally_16(struct tally *tally, const uint8_t bytes[16]) {
    uint64_t a, b;
    memcpy(&a, bytes, 8);
    memcpy(&b, bytes + 8, 8);
    for (int k = 0; k < 8; k++) {
        tally->table[k][(a >> (8 * k)) & 255]++;
        tally->table[k][(b >> (8 * k)) & 255]++;
    }
}

void tally_bytes(struct tally *tally, const uint8_t *bytes, size_t length) {
    size_t i = 0;
    for (; limit > BYTES_PLAIN && i + 16 <= length; i += 16) tally_16(tally, bytes + i);
    for (; i < length; i++) tally->table[0][bytes[i]]++;
}

static inline uint8_t max3(uint8_t a, uint8_t b, uint8_t c) {
    const uint8_t ab = a > b ? a : b;
    return ab > c ? ab : c;
}

static void tally_rgb_plain(struct tally *tally, const uint8_t *rgb, size_t pixels) {
    for (size_t i = 0; i < 3 * pixels; i += 3)
        tally->table[0][max3(rgb[i], rgb[i + 1], rgb[i + 2])]++;
}

static void map_plain(const uint8_t table[256], const uint8_t *in, uint8_t *out, size_t length) {
    for (size_t i = 0; i < length; i++) out[i] = table[in[i]];
}

/* Channels are at most V, so that the result fits. */
static uint8_t scaled(uint32_t sample, uint32_t value, uint32_t level) {
    return (uint8_t)(value ? (2 * sample * level + value) / (2 * value) : level);
}

static void rgb_map_plain(const struct rgb_table *table, const uint8_t *rgb, uint8_t *out,
                          size_t pixels) {
    for (size_t i = 0; i < 3 * pixels; i += 3) {
        const uint8_t value = max3(rgb[i], rgb[i + 1], rgb[i + 2]);
        for (int c = 0; c < 3; c++) out[i + c] = scaled(rgb[i + c], value, table->level[value]);
    }
}

static void rgb_luma_plain(const uint8_t *rgb, uint8_t *gray, size_t pixels) {
    for (size_t i = 0; i < pixels; i++)
        gray[i] = (uint8_t)luma(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]);
}

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define VBMI __attribute__((target("avx512f,avx512bw,avx512vbmi")))

static bool fast(void) {
    return limit > BYTES_PLAIN && __builtin_cpu_supports("avx2");
}

static bool has_vbmi(void) {
    return limit > BYTES_AVX2 && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512bw");
}

struct chain {
    __m256i link[16]; /* 0..7 for values 0..127, 8..15 for 128..255, each half chained by xor */
};

AVX2 static struct chain chain_make(const uint8_t table[256]) {
    struct chain chain;
    __m256i before = _mm256_setzero_si256();
    for (int k = 0; k < 16; k++) {
        const __m256i now =
            _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(table + 16 * k)));
        chain.link[k] = k % 8 ? _mm256_xor_si256(now, before) : now;
        before = now;
    }
    return chain;
}

AVX2 static inline __m256i chain_map(const struct chain *chain, __m256i values) {
    const __m256i sixteen = _mm256_set1_epi8(16);
    __m256i low = values, high = _mm256_xor_si256(values, _mm256_set1_epi8(-128));
    __m256i result = _mm256_xor_si256(_mm256_shuffle_epi8(chain->link[0], low),
                                      _mm256_shuffle_epi8(chain->link[8], high));
    for (int k = 1; k < 8; k++) {
        low = _mm256_subs_epi8(low, sixteen);
        high = _mm256_subs_epi8(high, sixteen);
        result = _mm256_xor_si256(result, _mm256_shuffle_epi8(chain->link[k], low));
        result = _mm256_xor_si256(result, _mm256_shuffle_epi8(chain->link[k + 8], high));
    }
    return result;
}

AVX2 static void map_avx2(const uint8_t table[256], const uint8_t *in, uint8_t *out,
                          size_t length) {
    const struct chain chain = chain_make(table);
    size_t i = 0;
    for (; i + 32 <= length; i += 32) {
        fetch(in + i);
        fetch(out + i);
        const __m256i values = _mm256_loadu_si256((const __m256i *)(in + i));
        _mm256_storeu_si256((__m256i *)(out + i), chain_map(&chain, values));
    }
    map_plain(table, in + i, out + i, length - i);
}

/* A quarter of the table each: a permutation of two vectors looks up 7 bits, the sign is the 8th.
 */
VBMI static void map_vbmi(const uint8_t table[256], const uint8_t *in, uint8_t *out,
                          size_t length) {
    __m512i quarter[4];
    for (int k = 0; k < 4; k++) quarter[k] = _mm512_loadu_si512(table + 64 * k);
    size_t i = 0;
    for (; i + 64 <= length; i += 64) {
        fetch(in + i);
        fetch(out + i);
        const __m512i values = _mm512_loadu_si512(in + i);
        const __m512i low = _mm512_permutex2var_epi8(quarter[0], values, quarter[1]);
        const __m512i high = _mm512_permutex2var_epi8(quarter[2], values, quarter[3]);
        _mm512_storeu_si512(out + i,
                            _mm512_mask_blend_epi8(_mm512_movepi8_mask(values), low, high));
    }
    map_avx2(table, in + i, out + i, length - i);
}

/* 32 pixels as three vectors of one channel each. */
struct planes {
    __m256i red, green, blue;
};

/* Bytes of one channel out of 3 x 16 interleaved ones: from each source the shuffle takes its share
 * and leaves 0 elsewhere. */
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

AVX2 static inline __m256i load_halves(const uint8_t *low, const uint8_t *high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low)),
                                   _mm_loadu_si128((const __m128i *)high), 1);
}

/* The low half of each vector holds pixels 0..15, the high half 16..31. */
AVX2 static inline struct planes planes_load(const uint8_t *rgb) {
    const __m256i a = load_halves(rgb, rgb + 48), b = load_halves(rgb + 16, rgb + 64),
                  c = load_halves(rgb + 32, rgb + 80);
    return (struct planes){ three(a, b, c, split[0]), three(a, b, c, split[1]),
                            three(a, b, c, split[2]) };
}

/* For the 96 bytes of 32 pixels: steps of 48 leave out no line of 64. */
static inline void fetch_block(const uint8_t *rgb) {
    fetch(rgb);
    fetch(rgb + 48);
}

/* 77 R + 150 G + 29 B + 128 is at most 65408: unsigned 16-bit lanes hold it. */
AVX2 static inline __m256i weigh(__m256i red, __m256i green, __m256i blue) {
    const __m256i warm = _mm256_add_epi16(_mm256_mullo_epi16(red, _mm256_set1_epi16(77)),
                                          _mm256_mullo_epi16(green, _mm256_set1_epi16(150)));
    const __m256i cold =
        _mm256_add_epi16(_mm256_mullo_epi16(blue, _mm256_set1_epi16(29)), _mm256_set1_epi16(128));
    return _mm256_srli_epi16(_mm256_add_epi16(warm, cold), 8);
}

AVX2 static void rgb_luma_avx2(const uint8_t *rgb, uint8_t *gray, size_t pixels) {
    const __m256i zero = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + 32 <= pixels; i += 32) {
        fetch_block(rgb + 3 * i);
        const struct planes p = planes_load(rgb + 3 * i);
        const __m256i low =
            weigh(_mm256_unpacklo_epi8(p.red, zero), _mm256_unpacklo_epi8(p.green, zero),
                  _mm256_unpacklo_epi8(p.blue, zero));
        const __m256i high =
            weigh(_mm256_unpackhi_epi8(p.red, zero), _mm256_unpackhi_epi8(p.green, zero),
                  _mm256_unpackhi_epi8(p.blue, zero));
        _mm256_storeu_si256((__m256i *)(gray + i), _mm256_packus_epi16(low, high));
    }
    rgb_luma_plain(rgb + 3 * i, gray + i, pixels - i);
}

/* 32 pixels as three vectors that hold each pair of them so: R G | B R | G B, in one 16-bit word
 * each. What becomes of a byte depends on its pixel and not on its channel, so no more parting is
 * needed. Pairs stand in an order of their own, the same in all three. */
struct pairs {
    __m256i a, b, c;
};

/* Blocks of 32 pixels that a step runs behind the one before, so that what it reads has left the
 * store buffer, and table look-ups, which no vector does faster, have vector work beside them. */
enum { LAG = 4, BLOCKS = 16 };

/* Words 0, 3, 6 of X, 1, 4, 7 of Y, 2, 5 of Z. */
AVX2 static inline __m256i mix(__m256i x, __m256i y, __m256i z) {
    return _mm256_blend_epi16(_mm256_blend_epi16(x, y, 0x92), z, 0x24);
}

/* Of the 24 words that 3 x 16 bytes are, every third stands in a place of its own. */
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

/* V of the pairs' first pixels in the low bytes, of the second in the high ones. */
AVX2 static inline __m256i pairs_peak(struct pairs p) {
    const __m256i first = _mm256_max_epu8(p.a, _mm256_srli_epi16(p.a, 8));
    const __m256i second = _mm256_max_epu8(p.c, _mm256_slli_epi16(p.c, 8));
    return _mm256_max_epu8(p.b, low_high(first, second));
}

/* Counts run LAG blocks behind the vectors, and beside them. The order of pixels is no matter. */
AVX2 static void tally_rgb_avx2(struct tally *tally, const uint8_t *rgb, size_t pixels) {
    uint8_t peaks[BLOCKS][32];
    const size_t blocks = pixels / 32, done = 32 * blocks;
    for (size_t i = 0; blocks && i < blocks + LAG; i++) {
        if (i < blocks) {
            fetch_block(rgb + 96 * i);
            _mm256_storeu_si256((__m256i *)peaks[i % BLOCKS], pairs_peak(pairs_load(rgb + 96 * i)));
        }
        for (int half = 0; i - LAG < blocks && half < 32; half += 16)
            tally_16(tally, peaks[(i - LAG) % BLOCKS] + half);
    }
    tally_rgb_plain(tally, rgb + 3 * done, pixels - done);
}

/* Where V is 0, every channel becomes 1: the factor of V = 0 is its new level. */
AVX2 static struct pairs pairs_lift(struct pairs p, __m256i peak) {
    const __m256i black = _mm256_cmpeq_epi8(peak, _mm256_setzero_si256());
    p.a = _mm256_sub_epi8(p.a, low_high(black, _mm256_slli_epi16(black, 8)));
    p.b = _mm256_sub_epi8(p.b, black);
    p.c = _mm256_sub_epi8(p.c, low_high(_mm256_srli_epi16(black, 8), black));
    return p;
}

/* Factors of 16 pixels, cut into whole and fraction. */
struct factors {
    __m256i whole, fraction;
};

AVX2 static inline struct factors factors_load(const uint32_t even[8], const uint32_t odd[8]) {
    const __m256i x = _mm256_load_si256((const __m256i *)even),
                  y = _mm256_load_si256((const __m256i *)odd);
    return (struct factors){ _mm256_blend_epi16(_mm256_srli_epi32(x, 16), y, 0xaa),
                             _mm256_blend_epi16(x, _mm256_slli_epi32(y, 16), 0xaa) };
}

/* Each 16-bit C is a byte times 256; the product, rounded half up, ends in the high byte. What the
 * multiply-high cuts off lies below the bit that decides. */
AVX2 static inline __m256i times(__m256i c, struct factors f) {
    const __m256i whole = _mm256_mullo_epi16(c, f.whole), half = _mm256_set1_epi16(128);
    return _mm256_add_epi16(_mm256_mulhi_epu16(c, f.fraction), _mm256_add_epi16(whole, half));
}

AVX2 static inline __m256i scale(__m256i bytes, struct factors low, struct factors high) {
    const __m256i even = times(_mm256_slli_epi16(bytes, 8), low);
    const __m256i odd = times(low_high(_mm256_setzero_si256(), bytes), high);
    return low_high(_mm256_srli_epi16(even, 8), odd);
}

/* 32 pixels on their way through rgb_map: loaded, then their factors looked up, then scaled. */
struct block {
    struct pairs pairs;
    uint8_t peak[32];
    uint32_t factor[4][8]; /* byte 4k + j of `peak` has [j][k] */
};

AVX2 static inline void block_load(struct block *block, const uint8_t *rgb, bool lift) {
    const struct pairs pairs = pairs_load(rgb);
    const __m256i peak = pairs_peak(pairs);
    _mm256_store_si256((__m256i *)block->peak, peak);
    block->pairs = lift ? pairs_lift(pairs, peak) : pairs;
}

AVX2 static inline void block_look_up(struct block *block, const uint32_t factor[256]) {
    for (int k = 0; k < 8; k++)
        for (int j = 0; j < 4; j++) block->factor[j][k] = factor[block->peak[4 * k + j]];
}

AVX2 static inline void block_scale(const struct block *block, uint8_t *rgb) {
    const struct factors low = factors_load(block->factor[0], block->factor[2]);
    const struct factors high = factors_load(block->factor[1], block->factor[3]);
    const struct pairs p = block->pairs;
    pairs_store(
        rgb, (struct pairs){ scale(p.a, low, low), scale(p.b, low, high), scale(p.c, high, high) });
}

AVX2 static void rgb_map_avx2(const struct rgb_table *table, const uint8_t *rgb, uint8_t *out,
                              size_t pixels) {
    struct block ring[BLOCKS];
    const size_t blocks = pixels / 32, done = 32 * blocks;
    const bool lift = table->level[0] != 0;
    for (size_t i = 0; blocks && i < blocks + 2 * LAG; i++) {
        if (i - 2 * LAG < blocks)
            block_scale(&ring[(i - 2 * LAG) % BLOCKS], out + 96 * (i - 2 * LAG));
        if (i < blocks) {
            fetch_block(rgb + 96 * i);
            fetch_block(out + 96 * i);
            block_load(&ring[i % BLOCKS], rgb + 96 * i, lift);
        }
        if (i - LAG < blocks) block_look_up(&ring[(i - LAG) % BLOCKS], table->factor);
    }
    rgb_map_plain(table, rgb + 3 * done, out + 3 * done, pixels - done);
}
#else
static bool fast(void) {
    return false;
}
static bool has_vbmi(void) {
    return false;
}
#define map_vbmi       map_plain
#define tally_rgb_avx2 tally_rgb_plain
#define map_avx2       map_plain
#define rgb_map_avx2   rgb_map_plain
#define rgb_luma_avx2  rgb_luma_plain
#endif

void bytes_map(const uint8_t table[256], const uint8_t *in, uint8_t *out, size_t length) {
    (!fast() ? map_plain : has_vbmi() ? map_vbmi : map_avx2)(table, in, out, length);
}

void tally_rgb(struct tally *tally, const uint8_t *rgb, size_t pixels) {
    (fast() ? tally_rgb_avx2 : tally_rgb_plain)(tally, rgb, pixels);
}

/* The factor of V = 0 is for channels made 1. */
void rgb_table_make(struct rgb_table *table, const uint8_t level[256]) {
    memcpy(table->level, level, sizeof table->level);
    table->factor[0] = (uint32_t)level[0] << 16;
    for (uint32_t v = 1; v < 256; v++)
        table->factor[v] = (((uint32_t)level[v] << 16) + (v % 2 ? v / 2 : v - 1)) / v;
}

void rgb_map(const struct rgb_table *table, const uint8_t *rgb, uint8_t *out, size_t pixels) {
    (fast() ? rgb_map_avx2 : rgb_map_plain)(table, rgb, out, pixels);
}

void rgb_luma(const uint8_t *rgb, uint8_t *gray, size_t pixels) {
    (fast() ? rgb_luma_avx2 : rgb_luma_plain)(rgb, gray, pixels);
}
