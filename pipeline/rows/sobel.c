// SPDX-License-Identifier: Apache-2.0
/* How it works. The weights are separable: first down the columns (smooth and slope of each), then
 * along the row; the values in between stay in the first-level cache, a chunk at a time. 8-bit
 * samples use 16-bit lanes, which hold every sum (48 * 255 = 12240), 16-bit samples 32-bit lanes
 * (48 * 65535 < 2^22). Three taps of 8 bit need no columns: with AVX2 one multiplication weighs and
 * adds two bytes (4 * 255 at most), and a row's eight neighbours are eight loads.
 *
 * The floor of the root is exact. 8 bit: n = gx^2 + gy^2 < 2^29. As float n is exact below 2^24,
 * where the nearest float to sqrt(k^2 - 1) = k - 1 / 2k - ... stays below k, since its neighbours
 * are at most 2^-12 apart (k < 2^12); above, conversion and root keep order, so the root stays over
 * 255 and is clamped. 16 bit: n < 2^45 is exact as double, and k < 2^23 leaves 1 / 2k far above the
 * 2^-30 between neighbours. */
#include "pipeline/rows/sobel.h"

#include "pipeline/rows/intrinsics.h"
#include "pipeline/rows/prefetch.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 1024, HALO = 2, SLACK = 40 };

#define INLINE static inline __attribute__((always_inline))

/* The values between the two passes; pixel i of the chunk is at i + HALO. */
struct columns8 {
    int16_t smooth[CHUNK + SLACK], slope[CHUNK + SLACK];
};
struct columns16 {
    int32_t smooth[CHUNK + 2 * HALO], slope[CHUNK + 2 * HALO];
};

/* ---- down the columns; TAPS is a compile-time constant */

#define DOWN(columns_type, sample_type, name)                                                      \
    INLINE void name(struct columns_type *restrict to, const sample_type *const rows[],            \
                     size_t start, size_t pixels, int taps) {                                      \
        const size_t reach = (size_t)taps / 2, count = pixels + 2 * reach;                         \
        const sample_type *restrict a = rows[0] + start - reach;                                   \
        const sample_type *restrict b = rows[1] + start - reach;                                   \
        const sample_type *restrict c = rows[2] + start - reach;                                   \
        const sample_type *restrict d = rows[taps - 2] + start - reach;                            \
        const sample_type *restrict e = rows[taps - 1] + start - reach;                            \
        for (size_t i = 0, o = HALO - reach; i < count; i++, o++) {                                \
            to->smooth[o] =                                                                        \
                taps == 3 ? a[i] + 2 * b[i] + c[i] : a[i] + e[i] + 4 * (b[i] + d[i]) + 6 * c[i];   \
            to->slope[o] = taps == 3 ? c[i] - a[i] : e[i] - a[i] + 2 * (d[i] - b[i]);              \
        }                                                                                          \
    }

DOWN(columns8, uint8_t, down8)
DOWN(columns16, uint16_t, down16)

/* ---- along the row; V and S point to the pixel's smooth and slope */

INLINE int32_t across_x(int32_t left2, int32_t left, int32_t right, int32_t right2, int taps) {
    return taps == 3 ? right - left : right2 - left2 + 2 * (right - left);
}

INLINE int32_t across_y(int32_t left2, int32_t left, int32_t middle, int32_t right, int32_t right2,
                        int taps) {
    return taps == 3 ? left + right + 2 * middle : left2 + right2 + 4 * (left + right) + 6 * middle;
}

INLINE void along8(const struct columns8 *restrict from, uint8_t *restrict out, size_t pixels,
                   int taps, uint32_t threshold, uint32_t white) {
    const int16_t *v = from->smooth + HALO, *s = from->slope + HALO;
    for (int i = 0; i < (int)pixels; i++) {
        const int32_t x = across_x(v[i - 2], v[i - 1], v[i + 1], v[i + 2], taps);
        const int32_t y = across_y(s[i - 2], s[i - 1], s[i], s[i + 1], s[i + 2], taps);
        const int32_t root = (int32_t)sqrtf((float)(x * x + y * y));
        const uint32_t m = root < 255 ? (uint32_t)root : 255;
        out[i] = (uint8_t)(m > threshold ? m | white : 0);
    }
}

INLINE void along16(const struct columns16 *restrict from, uint16_t *restrict out, size_t pixels,
                    int taps, uint32_t threshold, uint32_t white) {
    const int32_t *v = from->smooth + HALO, *s = from->slope + HALO;
    for (int i = 0; i < (int)pixels; i++) {
        const double x = across_x(v[i - 2], v[i - 1], v[i + 1], v[i + 2], taps);
        const double y = across_y(s[i - 2], s[i - 1], s[i], s[i + 1], s[i + 2], taps);
        const int32_t root = (int32_t)sqrt(x * x + y * y);
        const uint32_t m = root < 65535 ? (uint32_t)root : 65535;
        out[i] = (uint16_t)(m > threshold ? m | white : 0);
    }
}

/* ---- a chunk in plain C */

static void chunk8_plain(const uint8_t *const rows[], uint8_t *out, size_t start, size_t pixels,
                         const struct sobel_rule *rule) {
    struct columns8 columns;
    const uint32_t white = rule->binary ? 255 : 0;
    if (rule->taps == 3) {
        down8(&columns, rows, start, pixels, 3);
        along8(&columns, out, pixels, 3, rule->threshold, white);
    } else {
        down8(&columns, rows, start, pixels, 5);
        along8(&columns, out, pixels, 5, rule->threshold, white);
    }
}

INLINE void chunk16(const uint16_t *const rows[], uint16_t *out, size_t start, size_t pixels,
                    const struct sobel_rule *rule) {
    struct columns16 columns;
    const uint32_t white = rule->binary ? 65535 : 0;
    if (rule->taps == 3) {
        down16(&columns, rows, start, pixels, 3);
        along16(&columns, out, pixels, 3, rule->threshold, white);
    } else {
        down16(&columns, rows, start, pixels, 5);
        along16(&columns, out, pixels, 5, rule->threshold, white);
    }
}

static void chunk16_plain(const uint16_t *const rows[], uint16_t *out, size_t start, size_t pixels,
                          const struct sobel_rule *rule) {
    chunk16(rows, out, start, pixels, rule);
}

#ifdef __x86_64__
#define AVX2_INLINE AVX2 static inline __attribute__((always_inline))

AVX2_INLINE __m256i root32(__m256i squares) {
    return _mm256_cvttps_epi32(_mm256_sqrt_ps(_mm256_cvtepi32_ps(squares)));
}

AVX2_INLINE __m256i sixteen(__m256i x, __m256i y) {
    const __m256i low = _mm256_unpacklo_epi16(x, y), high = _mm256_unpackhi_epi16(x, y);
    return _mm256_packs_epi32(root32(_mm256_madd_epi16(low, low)),
                              root32(_mm256_madd_epi16(high, high)));
}

/* The rule in every lane, made before a loop whose stores of bytes might alias the rule itself. */
struct verdict {
    __m256i threshold, white;
};

AVX2_INLINE struct verdict verdict_make(const struct sobel_rule *rule) {
    return (struct verdict){ _mm256_set1_epi8((char)rule->threshold),
                             _mm256_set1_epi8(rule->binary ? -1 : 0) };
}

AVX2_INLINE __m256i judge(__m256i m, struct verdict verdict) {
    const __m256i over = _mm256_subs_epu8(m, verdict.threshold);
    return _mm256_andnot_si256(_mm256_cmpeq_epi8(over, _mm256_setzero_si256()),
                               _mm256_or_si256(m, verdict.white));
}

/* ---- three taps: a row of bytes, all of it in registers */

/* Multiplies the bytes of each pair by FIRST and SECOND, at most 2 of either sign, and adds them.
 */
AVX2_INLINE __m256i weighed(__m256i pairs, int first, int second) {
    return _mm256_maddubs_epi16(pairs, _mm256_set1_epi16((short)(256 * second + (first & 255))));
}

/* Takes, of sixteen pixels, the left and right neighbours in the rows above, here and below, and
 * the pixels above and below. */
AVX2_INLINE __m256i sixteen_of_pairs(__m256i above, __m256i here, __m256i below, __m256i middle) {
    const __m256i x = _mm256_add_epi16(weighed(above, -1, 1), weighed(below, -1, 1));
    const __m256i y = _mm256_add_epi16(weighed(above, -1, -1), weighed(below, 1, 1));
    return sixteen(_mm256_add_epi16(x, weighed(here, -2, 2)),
                   _mm256_add_epi16(y, weighed(middle, -2, 2)));
}

AVX2_INLINE __m256i bytes_at(const uint8_t *from) {
    return _mm256_loadu_si256((const __m256i *)from);
}

/* Returns the magnitudes of pixels 0 .. 31 of B; A is above, C below. */
AVX2_INLINE __m256i thirty_two(const uint8_t *a, const uint8_t *b, const uint8_t *c) {
    const __m256i al = bytes_at(a - 1), am = bytes_at(a), ar = bytes_at(a + 1);
    const __m256i bl = bytes_at(b - 1), br = bytes_at(b + 1);
    const __m256i cl = bytes_at(c - 1), cm = bytes_at(c), cr = bytes_at(c + 1);
#define HALF(half) sixteen_of_pairs(half(al, ar), half(bl, br), half(cl, cr), half(am, cm))
    return _mm256_packus_epi16(HALF(_mm256_unpacklo_epi8), HALF(_mm256_unpackhi_epi8));
#undef HALF
}

/* PIXELS is at least 32; the last vector ends with the row and overlaps the one before. */
AVX2 static void row8_avx2(const uint8_t *const rows[], uint8_t *out, size_t pixels,
                           const struct sobel_rule *rule) {
    const uint8_t *a = rows[0], *b = rows[1], *c = rows[2];
    const struct verdict verdict = verdict_make(rule);
    for (size_t done = 0; done < pixels; done += 32) {
        const size_t i = done + 32 <= pixels ? done : pixels - 32;
        prefetch(c + i);
        prefetch(out + i);
        _mm256_storeu_si256((__m256i *)(out + i), judge(thirty_two(a + i, b + i, c + i), verdict));
    }
}

/* ---- five taps: a chunk */

AVX2_INLINE __m256i at(const int16_t *from) {
    return _mm256_loadu_si256((const __m256i *)from);
}

AVX2_INLINE __m256i twice(__m256i a) {
    return _mm256_add_epi16(a, a);
}

AVX2_INLINE __m256i sixteen_of_columns(const struct columns8 *from, size_t i) {
    const int16_t *v = from->smooth + HALO + i, *s = from->slope + HALO + i;
    const __m256i x = _mm256_add_epi16(_mm256_sub_epi16(at(v + 2), at(v - 2)),
                                       twice(_mm256_sub_epi16(at(v + 1), at(v - 1))));
    const __m256i near = _mm256_add_epi16(at(s + 1), at(s - 1));
    const __m256i far = _mm256_add_epi16(at(s + 2), at(s - 2));
    return sixteen(x, _mm256_add_epi16(_mm256_add_epi16(far, twice(at(s))),
                                       twice(twice(_mm256_add_epi16(near, at(s))))));
}

/* The last vector's lanes past the end of the chunk are unused; they read zeros. */
AVX2 static void chunk8_avx2(const uint8_t *const rows[], uint8_t *out, size_t start, size_t pixels,
                             const struct sobel_rule *rule) {
    struct columns8 columns;
    uint8_t last[32];
    memset(columns.smooth + pixels, 0, SLACK * sizeof *columns.smooth);
    memset(columns.slope + pixels, 0, SLACK * sizeof *columns.slope);
    down8(&columns, rows, start, pixels, 5);
    const struct verdict verdict = verdict_make(rule);
    for (size_t i = 0; i < pixels; i += 32) {
        prefetch(rows[4] + start + i);
        prefetch(out + i);
        const __m256i pair = _mm256_packus_epi16(sixteen_of_columns(&columns, i),
                                                 sixteen_of_columns(&columns, i + 16));
        const __m256i m = judge(_mm256_permute4x64_epi64(pair, 0xd8), verdict);
        _mm256_storeu_si256((__m256i *)(i + 32 <= pixels ? out + i : last), m);
    }
    memcpy(out + pixels / 32 * 32, last, pixels % 32);
}

AVX2 static void chunk16_avx2(const uint16_t *const rows[], uint16_t *out, size_t start,
                              size_t pixels, const struct sobel_rule *rule) {
    chunk16(rows, out, start, pixels, rule);
}
#else
#define row8_avx2(rows, out, pixels, rule) ((void)0)
#define chunk8_avx2                        chunk8_plain
#define chunk16_avx2                       chunk16_plain
#endif

void sobel_bytes(const uint8_t *const rows[], uint8_t *out, size_t pixels,
                 const struct sobel_rule *rule) {
    if (simd_has_avx2() && rule->taps == 3 && pixels >= 32) {
        row8_avx2(rows, out, pixels, rule);
        return;
    }
    for (size_t x = 0; x < pixels; x += CHUNK)
        (simd_has_avx2() && rule->taps == 5 ? chunk8_avx2 : chunk8_plain)(
            rows, out + x, x, pixels - x < CHUNK ? pixels - x : CHUNK, rule);
}

void sobel_words(const uint16_t *const rows[], uint16_t *out, size_t pixels,
                 const struct sobel_rule *rule) {
    for (size_t x = 0; x < pixels; x += CHUNK)
        (simd_has_avx2() ? chunk16_avx2 : chunk16_plain)(
            rows, out + x, x, pixels - x < CHUNK ? pixels - x : CHUNK, rule);
}
