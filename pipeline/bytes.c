// SPDX-License-Identifier: Apache-2.0
/* HOW. A byte histogram is bound by a store that the next load of the same counter must wait for,
 * so successive bytes go to eight tables; equal neighbours then never meet. Table look-up: a
 * 256-entry table is sixteen 16-byte shuffles. Tables are chained by exclusive or (D[k] = T[k] ^
 * T[k-1]), and the index goes down by 16 a step, so that a lane takes part until its index is
 * negative, which makes the shuffle give 0: what is left is T[v / 16][v % 16] with one subtraction,
 * shuffle and xor a table. Colour: c * V' / V in single precision with a reciprocal that is too
 * large by 2^-18. That is more than estimate and roundings can take away (6 * 2^-24) and, at 255 *
 * 2^-18 < 1 / 510, too little to reach the next half: halves round up and nothing else moves,
 * whatever the vendor's estimate is. tests/pipeline/bytes.c tries every case. */
#include "pipeline/bytes.h"

#include "pipeline/ops/histeq.h"

#include <string.h>

static bool plain_only;

void bytes_force_plain(bool plain) {
    plain_only = plain;
}

void tally_sum(const struct tally *tally, uint32_t counts[256]) {
    memset(counts, 0, 256 * sizeof *counts);
    for (int k = 0; k < 8; k++)
        for (int v = 0; v < 256; v++) counts[v] += tally->table[k][v];
}

void tally_bytes(struct tally *tally, const uint8_t *bytes, size_t length) {
    size_t i = 0;
    for (; !plain_only && i + 16 <= length; i += 16) {
        uint64_t a, b;
        memcpy(&a, bytes + i, 8);
        memcpy(&b, bytes + i + 8, 8);
        for (int k = 0; k < 8; k++) {
            tally->table[k][(a >> (8 * k)) & 255]++;
            tally->table[k][(b >> (8 * k)) & 255]++;
        }
    }
    for (; i < length; i++) tally->table[0][bytes[i]]++;
}

static inline uint8_t max3(uint8_t a, uint8_t b, uint8_t c) {
    const uint8_t ab = a > b ? a : b;
    return ab > c ? ab : c;
}

static void rgb_peak_plain(const uint8_t *rgb, uint8_t *peak, size_t pixels) {
    for (size_t i = 0; i < pixels; i++) peak[i] = max3(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]);
}

static void map_plain(const uint8_t table[256], const uint8_t *in, uint8_t *out, size_t length) {
    for (size_t i = 0; i < length; i++) out[i] = table[in[i]];
}

static void rgb_map_plain(const uint8_t table[256], const uint8_t *rgb, uint8_t *out,
                          size_t pixels) {
    for (size_t i = 0; i < 3 * pixels; i += 3) {
        const uint8_t value = max3(rgb[i], rgb[i + 1], rgb[i + 2]);
        for (int c = 0; c < 3; c++)
            out[i + c] = (uint8_t)histeq_scaled(rgb[i + c], value, table[value], 255);
    }
}

static void rgb_luma_plain(const uint8_t *rgb, uint8_t *gray, size_t pixels) {
    for (size_t i = 0; i < pixels; i++)
        gray[i] = (uint8_t)luma(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]);
}

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

static bool fast(void) {
    return !plain_only && __builtin_cpu_supports("avx2");
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
        const __m256i values = _mm256_loadu_si256((const __m256i *)(in + i));
        _mm256_storeu_si256((__m256i *)(out + i), chain_map(&chain, values));
    }
    map_plain(table, in + i, out + i, length - i);
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
static const int8_t join[3][3][16] = {
    { { 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5 },
      { -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1 },
      { -1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1 } },
    { { -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1 },
      { 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10 },
      { -1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1 } },
    { { -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1 },
      { -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1 },
      { 10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15 } },
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
#define PAIR(low, high)                                                                            \
    _mm256_inserti128_si256(                                                                       \
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(rgb + (low)))),                   \
        _mm_loadu_si128((const __m128i *)(rgb + (high))), 1)
    const __m256i a = PAIR(0, 48), b = PAIR(16, 64), c = PAIR(32, 80);
#undef PAIR
    return (struct planes){ three(a, b, c, split[0]), three(a, b, c, split[1]),
                            three(a, b, c, split[2]) };
}

AVX2 static inline void planes_store(uint8_t *rgb, struct planes p) {
    for (int k = 0; k < 3; k++) {
        const __m256i part = three(p.red, p.green, p.blue, join[k]);
        _mm_storeu_si128((__m128i *)(rgb + 16 * k), _mm256_castsi256_si128(part));
        _mm_storeu_si128((__m128i *)(rgb + 48 + 16 * k), _mm256_extracti128_si256(part, 1));
    }
}

AVX2 static inline __m256i planes_peak(struct planes p) {
    return _mm256_max_epu8(_mm256_max_epu8(p.red, p.green), p.blue);
}

AVX2 static void rgb_peak_avx2(const uint8_t *rgb, uint8_t *peak, size_t pixels) {
    size_t i = 0;
    for (; i + 32 <= pixels; i += 32)
        _mm256_storeu_si256((__m256i *)(peak + i), planes_peak(planes_load(rgb + 3 * i)));
    rgb_peak_plain(rgb + 3 * i, peak + i, pixels - i);
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

/* Bytes 4k..4k+3 of both halves as floats. */
AVX2 static inline __m256 quarter(__m256i bytes, int k) {
    const __m256i spread =
        _mm256_setr_epi8(0, -1, -1, -1, 1, -1, -1, -1, 2, -1, -1, -1, 3, -1, -1, -1, 0, -1, -1, -1,
                         1, -1, -1, -1, 2, -1, -1, -1, 3, -1, -1, -1);
    const __m256i wide =
        _mm256_shuffle_epi8(bytes, _mm256_add_epi32(spread, _mm256_set1_epi32(4 * k)));
    return _mm256_cvtepi32_ps(wide);
}

/* Four quarters back to 32 bytes in order; cvtps rounds to nearest. */
AVX2 static inline __m256i gather_quarters(__m256 a, __m256 b, __m256 c, __m256 d) {
    const __m256i ab = _mm256_packs_epi32(_mm256_cvtps_epi32(a), _mm256_cvtps_epi32(b));
    const __m256i cd = _mm256_packs_epi32(_mm256_cvtps_epi32(c), _mm256_cvtps_epi32(d));
    return _mm256_packus_epi16(ab, cd);
}

AVX2 static inline __m256i scale(__m256i channel, const __m256 ratio[4]) {
    return gather_quarters(
        _mm256_mul_ps(quarter(channel, 0), ratio[0]), _mm256_mul_ps(quarter(channel, 1), ratio[1]),
        _mm256_mul_ps(quarter(channel, 2), ratio[2]), _mm256_mul_ps(quarter(channel, 3), ratio[3]));
}

/* 1 / DIVISOR, too large by 2^-18: an estimate good to 1.5 * 2^-12 and one step of Newton's. */
AVX2 static inline __m256 reciprocal(__m256 divisor) {
    const __m256 two = _mm256_set1_ps(2.0f + 0x1p-18f), estimate = _mm256_rcp_ps(divisor);
    return _mm256_mul_ps(estimate, _mm256_sub_ps(two, _mm256_mul_ps(divisor, estimate)));
}

AVX2 static void rgb_map_avx2(const uint8_t table[256], const uint8_t *rgb, uint8_t *out,
                              size_t pixels) {
    const struct chain chain = chain_make(table);
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256i base = _mm256_set1_epi8((char)table[0]);
    size_t i = 0;
    for (; i + 32 <= pixels; i += 32) {
        struct planes p = planes_load(rgb + 3 * i);
        const __m256i peak = planes_peak(p), level = chain_map(&chain, peak);
        __m256 ratio[4];
        for (int k = 0; k < 4; k++) {
            const __m256 divisor = _mm256_max_ps(quarter(peak, k), one);
            ratio[k] = _mm256_mul_ps(quarter(level, k), reciprocal(divisor));
        }
        const __m256i black =
            _mm256_and_si256(_mm256_cmpeq_epi8(peak, _mm256_setzero_si256()), base);
        p.red = _mm256_or_si256(scale(p.red, ratio), black);
        p.green = _mm256_or_si256(scale(p.green, ratio), black);
        p.blue = _mm256_or_si256(scale(p.blue, ratio), black);
        planes_store(out + 3 * i, p);
    }
    rgb_map_plain(table, rgb + 3 * i, out + 3 * i, pixels - i);
}
#else
static bool fast(void) {
    return false;
}
#define rgb_peak_avx2 rgb_peak_plain
#define map_avx2      map_plain
#define rgb_map_avx2  rgb_map_plain
#define rgb_luma_avx2 rgb_luma_plain
#endif

void bytes_map(const uint8_t table[256], const uint8_t *in, uint8_t *out, size_t length) {
    (fast() ? map_avx2 : map_plain)(table, in, out, length);
}

void tally_rgb(struct tally *tally, const uint8_t *rgb, size_t pixels) {
    uint8_t peaks[8192]; /* stays in the first-level cache */
    while (pixels) {
        const size_t now = pixels < sizeof peaks ? pixels : sizeof peaks;
        (fast() ? rgb_peak_avx2 : rgb_peak_plain)(rgb, peaks, now);
        tally_bytes(tally, peaks, now);
        rgb += 3 * now;
        pixels -= now;
    }
}

void rgb_map(const uint8_t table[256], const uint8_t *rgb, uint8_t *out, size_t pixels) {
    (fast() ? rgb_map_avx2 : rgb_map_plain)(table, rgb, out, pixels);
}

void rgb_luma(const uint8_t *rgb, uint8_t *gray, size_t pixels) {
    (fast() ? rgb_luma_avx2 : rgb_luma_plain)(rgb, gray, pixels);
}
