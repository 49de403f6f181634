// SPDX-License-Identifier: Apache-2.0
/* How it works. Alpha alone, which is what there is to hurry for, is rows/alpha.h's, whose
 * arithmetic is the same. With light, everything is done as definition.h says it. */
#include "pipeline/ops/resize/pixels.h"

#include "pipeline/ops/resize/definition.h"
#include "pipeline/ops/resize/light.h"
#include "pipeline/rows/alpha.h"
#include "pipeline/sample.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* ---- light: the last two arguments are constants (SPECIALISE) */

INLINE void prepare(const struct light_tables *light, const uint8_t *from, uint8_t *to,
                    size_t pixels, unsigned channels, unsigned depth) {
    const unsigned colours = channels < 3 ? 1 : 3;
    for (size_t i = 0; i < pixels * channels; i += channels) {
        uint32_t alpha = 65535;
        if (channels > colours) {
            alpha = sample_get(from, i + colours, depth);
            if (depth == 8) alpha = resize_alpha_to_16(alpha);
            sample_put(to, i + colours, 16, alpha);
        }
        for (unsigned c = 0; c < colours; c++) {
            uint32_t colour = sample_get(from, i + c, depth);
            colour = depth == 8 ? light->of_8[colour] : light->of_16[colour];
            if (channels > colours) colour = resize_multiply(colour, alpha, 65535);
            sample_put(to, i + c, 16, colour);
        }
    }
}

INLINE void finish(const struct light_tables *light, const uint8_t *from, uint8_t *to,
                   size_t pixels, unsigned channels, unsigned depth) {
    const unsigned colours = channels < 3 ? 1 : 3;
    for (size_t i = 0; i < pixels * channels; i += channels) {
        const uint32_t alpha = channels > colours ? sample_get(from, i + colours, 16) : 65535;
        for (unsigned c = 0; c < colours; c++) {
            uint32_t colour = sample_get(from, i + c, 16);
            if (channels > colours) colour = resize_divide(colour, alpha, 65535);
            colour = depth == 8 ? light->to_8[colour] : light->to_16[colour];
            sample_put(to, i + c, depth, colour);
        }
        if (channels > colours)
            sample_put(to, i + colours, depth, depth == 8 ? resize_alpha_to_8(alpha) : alpha);
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

void pixels_prepare(const void *argument, const uint8_t *from, uint8_t *to, size_t pixels) {
    const struct pixels_rule *rule = argument;
    if (!rule->linear)
        alpha_multiply(from, to, pixels, rule->channels, rule->depth);
    else
        SPECIALISE(rule->channels, rule->depth, prepare, light_tables(), from, to, pixels);
}

void pixels_finish(const void *argument, const uint8_t *from, uint8_t *to, size_t pixels) {
    const struct pixels_rule *rule = argument;
    const unsigned channels = rule->channels;
    if (!pixels_change(rule))
        memcpy(to, from, pixels * channels * (rule->depth / 8));
    else if (!rule->linear)
        alpha_divide(from, to, pixels, channels, rule->depth);
    else
        SPECIALISE(channels, rule->depth, finish, light_tables(), from, to, pixels);
    pixels_widen(rule, to, pixels);
}

void pixels_widen(const struct pixels_rule *rule, uint8_t *row, size_t pixels) {
    if (rule->out_channels != rule->channels)
        SPECIALISE(rule->channels, rule->depth, widen, row, pixels, rule->out_channels);
}
