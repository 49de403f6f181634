// SPDX-License-Identifier: Apache-2.0
/* How it works. Loops that have no branch and run over neighbours, of which the compiler makes
 * vectors. Over RGBA a pixel is a word. Over RGB the overlay's colours and alphas first get places
 * like the picture's samples, a chunk at a time. */
#include "pipeline/rows/over.h"

#include "pipeline/rows/simd.h"

#include <string.h>

/* ---- over pixels with alpha */

/* floor(n / d) for 0 <= n < 2^31, 0 < d < 2^16 and a quotient below 2^15: that of floats is off by
 * less than 1, and the remainder says which way. */
static inline __attribute__((always_inline)) int32_t quotient(int32_t n, int32_t d) {
    const int32_t near = (int32_t)((float)n / (float)d), rest = n - near * d;
    return near + (rest >= d) - (rest < 0);
}

static inline __attribute__((always_inline)) uint32_t mean(uint32_t s, uint32_t d, uint32_t front,
                                                           uint32_t back, int shift) {
    const uint32_t t = (s >> shift & 255) * front + (d >> shift & 255) * back + 64 * 256;
    return (((t >> 8) + t) >> 15) << shift;
}

/* A pixel is a word, so that the compiler makes a vector of eight of them. Where a = 0 the formula
 * gives what is there. */
static inline __attribute__((always_inline)) void
over_pixels(uint8_t *restrict out, const uint8_t *restrict rgba, size_t pixels, uint32_t opacity) {
    for (size_t i = 0; i < pixels; i++) {
        uint32_t s, d;
        memcpy(&s, rgba + 4 * i, 4);
        memcpy(&d, out + 4 * i, 4);
        const uint32_t a = ((s >> 24) * opacity + 500) / 1000, b = d >> 24;
        const uint32_t sum = a * 255 + b * (255 - a), divisor = sum + (sum == 0);
        const uint32_t front = (uint32_t)quotient((int32_t)(128 * 255 * 255 * a), (int32_t)divisor);
        const uint32_t back = 128 * 255 - front, alpha = (sum + 128 + ((sum + 128) >> 8)) >> 8;
        d = mean(s, d, front, back, 0) | mean(s, d, front, back, 8) | mean(s, d, front, back, 16) |
            alpha << 24;
        memcpy(out + 4 * i, &d, 4);
    }
}

static void over_pixels_plain(uint8_t *out, const uint8_t *rgba, size_t pixels, uint32_t opacity) {
    over_pixels(out, rgba, pixels, opacity);
}

#ifdef __x86_64__
AVX2 static void over_pixels_avx2(uint8_t *out, const uint8_t *rgba, size_t pixels,
                                  uint32_t opacity) {
    over_pixels(out, rgba, pixels, opacity);
}
#else
#define over_pixels_avx2 over_pixels_plain
#endif

void over_rgba8(uint8_t *out, const uint8_t *rgba, size_t pixels, uint32_t opacity) {
    (simd_has_avx2() ? over_pixels_avx2 : over_pixels_plain)(out, rgba, pixels, opacity);
}

/* ---- over and blended with RGB */

enum { CHUNK = 256 /* pixels */ };

/* round(n / 255) for n <= 255^2, in 16 bits. */
static inline __attribute__((always_inline)) uint16_t by_255(uint32_t n) {
    const uint16_t t = (uint16_t)(n + 128);
    return (uint16_t)((uint16_t)(t + (t >> 8)) >> 8);
}

static inline __attribute__((always_inline)) uint16_t blended(uint16_t d, uint16_t s, int blend) {
    if (blend == BLEND_OVER) return s;
    const uint16_t twice = (uint16_t)(2 * d), lighter = (uint16_t)(twice - 255);
    const uint16_t product = by_255((uint32_t)d * s);
    if (blend == BLEND_MULTIPLY) return product;
    if (blend == BLEND_SCREEN) return (uint16_t)(d + s - product);
    const bool dark = twice <= 255;
    const uint16_t part = by_255((uint32_t)(dark ? twice : lighter) * s);
    return dark ? part : (uint16_t)(lighter + s - part);
}

/* Alpha 0 changes nothing. */
static inline __attribute__((always_inline)) void blend_pixels(uint8_t *restrict rgb,
                                                               const uint8_t *restrict rgba,
                                                               size_t pixels, uint32_t opacity,
                                                               int blend) {
    uint8_t front[3 * CHUNK], alpha[3 * CHUNK];
    for (; pixels; rgb += 3 * CHUNK, rgba += 4 * CHUNK) {
        const size_t count = pixels < CHUNK ? pixels : CHUNK;
        for (size_t i = 0; i < count; i++)
            for (size_t c = 0; c < 3; c++) {
                front[3 * i + c] = rgba[4 * i + c];
                alpha[3 * i + c] = (uint8_t)((rgba[4 * i + 3] * opacity + 500) / 1000);
            }
        for (size_t i = 0; i < 3 * count; i++) {
            const uint16_t b = blended(rgb[i], front[i], blend), a = alpha[i];
            rgb[i] = (uint8_t)by_255((uint32_t)b * a + (uint32_t)rgb[i] * (255u - a));
        }
        pixels -= count;
    }
}

static inline __attribute__((always_inline)) void
blend_rows(uint8_t *rgb, const uint8_t *rgba, size_t pixels, uint32_t opacity, int blend) {
    switch (blend) {
    case BLEND_OVER: blend_pixels(rgb, rgba, pixels, opacity, BLEND_OVER); break;
    case BLEND_MULTIPLY: blend_pixels(rgb, rgba, pixels, opacity, BLEND_MULTIPLY); break;
    case BLEND_SCREEN: blend_pixels(rgb, rgba, pixels, opacity, BLEND_SCREEN); break;
    default: blend_pixels(rgb, rgba, pixels, opacity, BLEND_OVERLAY);
    }
}

static void blend_plain(uint8_t *rgb, const uint8_t *rgba, size_t pixels, uint32_t opacity,
                        int blend) {
    blend_rows(rgb, rgba, pixels, opacity, blend);
}

#ifdef __x86_64__
AVX2 static void blend_avx2(uint8_t *rgb, const uint8_t *rgba, size_t pixels, uint32_t opacity,
                            int blend) {
    blend_rows(rgb, rgba, pixels, opacity, blend);
}
#else
#define blend_avx2 blend_plain
#endif

void over_rgb8(uint8_t *rgb, const uint8_t *rgba, size_t pixels, uint32_t opacity, int blend) {
    (simd_has_avx2() ? blend_avx2 : blend_plain)(rgb, rgba, pixels, opacity, blend);
}
