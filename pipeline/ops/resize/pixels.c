// SPDX-License-Identifier: Apache-2.0
/* How it works. Alpha of 8 bits, which is what there is to hurry for, is multiplied in two colours
 * at a time, in the halves of 32 bits, and divided out by a product: floor(255 c / a) is
 * c * (floor(255 * 2^16 / a) + 1) >> 16, since what is added to the quotient, c / 2^16, is less
 * than 1 / a. Everything else is done as definition.h says it. */
#include "pipeline/ops/resize/pixels.h"

#include "pipeline/ops/resize/definition.h"
#include "pipeline/ops/resize/light.h"
#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* ---- alpha of 8 bits */

/* Two numbers 0..255 in the halves of PAIR, each times alpha / 255. */
INLINE uint32_t multiply_pair(uint32_t pair, uint32_t alpha) {
    const uint32_t product = pair * alpha + 0x00800080;
    return (product + (product >> 8 & 0x00ff00ff)) >> 8 & 0x00ff00ff;
}

INLINE void multiply_rgba(const uint8_t *restrict from, uint8_t *restrict to, size_t pixels) {
    for (size_t i = 0; i < pixels; i++) {
        uint32_t pixel;
        memcpy(&pixel, from + 4 * i, 4);
        const uint32_t alpha = pixel >> 24;
        const uint32_t outer = multiply_pair(pixel & 0x00ff00ff, alpha);
        const uint32_t inner = multiply_pair(pixel >> 8 & 0xff, alpha);
        pixel = outer | inner << 8 | alpha << 24;
        memcpy(to + 4 * i, &pixel, 4);
    }
}

/* floor(255 * 2^16 / alpha) + 1; where colours stay as they are, 2^16. */
static const uint32_t reciprocals[256] = {
#define R(a)   ((a) == 0 || (a) == 255 ? 65536u : 255u * 65536 / ((a) + ((a) == 0)) + 1)
#define R4(a)  R(a), R((a) + 1), R((a) + 2), R((a) + 3)
#define R16(a) R4(a), R4((a) + 4), R4((a) + 8), R4((a) + 12)
#define R64(a) R16(a), R16((a) + 16), R16((a) + 32), R16((a) + 48)
    R64(0), R64(64), R64(128), R64(192)
};

INLINE uint32_t divided(uint32_t colour, uint32_t by) {
    const uint32_t quotient = colour * by >> 16;
    return quotient < 255 ? quotient : 255;
}

INLINE void divide_rgba(const uint8_t *restrict from, uint8_t *restrict to, size_t pixels) {
    for (size_t i = 0; i < pixels; i++) {
        uint32_t pixel;
        memcpy(&pixel, from + 4 * i, 4);
        const uint32_t by = reciprocals[pixel >> 24];
        pixel = divided(pixel & 255, by) | divided(pixel >> 8 & 255, by) << 8 |
                divided(pixel >> 16 & 255, by) << 16 | (pixel & 0xff000000);
        memcpy(to + 4 * i, &pixel, 4);
    }
}

static void multiply_rgba_plain(const uint8_t *from, uint8_t *to, size_t pixels) {
    multiply_rgba(from, to, pixels);
}

static void divide_rgba_plain(const uint8_t *from, uint8_t *to, size_t pixels) {
    divide_rgba(from, to, pixels);
}

#ifdef __x86_64__
AVX2 static void multiply_rgba_avx2(const uint8_t *from, uint8_t *to, size_t pixels) {
    multiply_rgba(from, to, pixels);
}

AVX2 static void divide_rgba_avx2(const uint8_t *from, uint8_t *to, size_t pixels) {
    divide_rgba(from, to, pixels);
}
#else
#define multiply_rgba_avx2 multiply_rgba_plain
#define divide_rgba_avx2   divide_rgba_plain
#endif

static void divide_gray(const uint8_t *from, uint8_t *to, size_t pixels) {
    for (size_t i = 0; i < 2 * pixels; i += 2) {
        to[i] = (uint8_t)divided(from[i], reciprocals[from[i + 1]]);
        to[i + 1] = from[i + 1];
    }
}

/* ---- every depth and channel count: the last two arguments are constants (SPECIALISE) */

/* LINEAR: what comes of samples is light, of 16 bits. */
INLINE void prepare(const struct light_tables *light, const uint8_t *from, uint8_t *to,
                    size_t pixels, unsigned channels, unsigned depth) {
    const unsigned colours = channels < 3 ? 1 : 3, between = light ? 16 : depth;
    const uint32_t max = between == 16 ? 65535 : 255;
    for (size_t i = 0; i < pixels * channels; i += channels) {
        uint32_t alpha = max;
        if (channels > colours) {
            alpha = sample_get(from, i + colours, depth);
            if (depth < between) alpha = resize_alpha_to_16(alpha);
            sample_put(to, i + colours, between, alpha);
        }
        for (unsigned c = 0; c < colours; c++) {
            uint32_t colour = sample_get(from, i + c, depth);
            if (light) colour = depth == 8 ? light->of_8[colour] : light->of_16[colour];
            if (channels > colours) colour = resize_multiply(colour, alpha, max);
            sample_put(to, i + c, between, colour);
        }
    }
}

INLINE void finish(const struct light_tables *light, const uint8_t *from, uint8_t *to,
                   size_t pixels, unsigned channels, unsigned depth) {
    const unsigned colours = channels < 3 ? 1 : 3, between = light ? 16 : depth;
    const uint32_t max = between == 16 ? 65535 : 255;
    for (size_t i = 0; i < pixels * channels; i += channels) {
        const uint32_t alpha = channels > colours ? sample_get(from, i + colours, between) : max;
        for (unsigned c = 0; c < colours; c++) {
            uint32_t colour = sample_get(from, i + c, between);
            if (channels > colours) colour = resize_divide(colour, alpha, max);
            if (light) colour = depth == 8 ? light->to_8[colour] : light->to_16[colour];
            sample_put(to, i + c, depth, colour);
        }
        if (channels > colours)
            sample_put(to, i + colours, depth, depth < between ? resize_alpha_to_8(alpha) : alpha);
    }
}

/* From the last pixel to the first: they lie in the same row. */
INLINE void widen(uint8_t *row, size_t pixels, unsigned out_channels, unsigned channels,
                  unsigned depth) {
    const unsigned colours = channels < 3 ? 1 : 3, out_colours = out_channels < 3 ? 1 : 3;
    const uint32_t max = depth == 16 ? 65535 : 255;
    for (size_t i = pixels; i-- > 0;) {
        uint32_t samples[4];
        for (unsigned c = 0; c < channels; c++)
            samples[c] = sample_get(row, i * channels + c, depth);
        const uint32_t alpha = channels > colours ? samples[colours] : max;
        for (unsigned c = 0; c < out_colours; c++)
            sample_put(row, i * out_channels + c, depth, samples[colours == 3 ? c : 0]);
        if (out_channels > out_colours)
            sample_put(row, i * out_channels + out_colours, depth, alpha);
    }
}

/* ---- what is called */

static const struct light_tables *light_of(const struct pixels_rule *rule) {
    return rule->linear ? light_tables() : NULL;
}

void pixels_prepare(const void *argument, const uint8_t *from, uint8_t *to, size_t pixels) {
    const struct pixels_rule *rule = argument;
    if (rule->channels == 4 && rule->depth == 8 && !rule->linear)
        (simd_has_avx2() ? multiply_rgba_avx2 : multiply_rgba_plain)(from, to, pixels);
    else
        SPECIALISE(rule->channels, rule->depth, prepare, light_of(rule), from, to, pixels);
}

void pixels_finish(const void *argument, const uint8_t *from, uint8_t *to, size_t pixels) {
    const struct pixels_rule *rule = argument;
    const unsigned channels = rule->channels;
    if (!pixels_change(rule))
        memcpy(to, from, pixels * channels * (rule->depth / 8));
    else if (rule->depth == 8 && !rule->linear && channels == 4)
        (simd_has_avx2() ? divide_rgba_avx2 : divide_rgba_plain)(from, to, pixels);
    else if (rule->depth == 8 && !rule->linear)
        divide_gray(from, to, pixels);
    else
        SPECIALISE(channels, rule->depth, finish, light_of(rule), from, to, pixels);
    pixels_widen(rule, to, pixels);
}

void pixels_widen(const struct pixels_rule *rule, uint8_t *row, size_t pixels) {
    if (rule->out_channels != rule->channels)
        SPECIALISE(rule->channels, rule->depth, widen, row, pixels, rule->out_channels);
}
