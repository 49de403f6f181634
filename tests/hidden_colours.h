// SPDX-License-Identifier: Apache-2.0
/* hidden_colours.h - pictures that look the same and differ in the colours under alpha 0, and the
 * check that two results look the same.
 *
 * Used by:  pipeline/ops/hidden_colours.c, cuda/hidden_colours.c.
 */
#ifndef BURIN_TESTS_HIDDEN_COLOURS_H
#define BURIN_TESTS_HIDDEN_COLOURS_H

#include "pipeline/op.h"
#include "pipeline/sample.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Colours under alpha 0. */
enum filling { FILLED_ZERO, FILLED_NOISE, FILLED_BRIGHT, FILLINGS };

static const struct {
    uint32_t width, height;
} hidden_sizes[] = { { 1, 1 }, { 13, 42 }, { 67, 9 } };
enum { HIDDEN_SIZES = sizeof hidden_sizes / sizeof *hidden_sizes, HIDDEN_WHOLE = 1 };

/* Whether a test would take too long: PARAMS are some with few results and much work. */
static inline bool hidden_is_long(const struct op *op, const struct params *params,
                                  const struct image *shape) {
    const uint64_t passes = op->passes ? op->passes(params, shape) : 1;
    return passes * image_pixels(shape) > 1 << 23;
}

/* A quarter of the picture is hidden, a quarter of the other pixels too, and of the rest half is
 * opaque. NOTHING: every pixel is hidden. */
static inline void hidden_draw(const struct image *image, enum filling filling, bool nothing) {
    const unsigned channels = image->channels;
    const uint32_t max = image_max(image);
    uint32_t seen = 11, under = 3;
    for (uint32_t y = 0; y < image->height; y++)
        for (uint32_t x = 0; x < image->width; x++) {
            const bool corner = 2 * x + 1 < image->width && 2 * y + 1 < image->height;
            const uint32_t kind = noise_next(&seen) >> 29;
            const uint32_t partly = noise_next(&seen) % max;
            const uint32_t alpha = nothing || corner || kind < 2 ? 0 : kind < 5 ? max : partly;
            for (unsigned c = 0; c + 1 < channels; c++) {
                const uint32_t colour = noise_next(&seen) >> 8 & max;
                const uint32_t hidden = filling == FILLED_ZERO    ? 0
                                        : filling == FILLED_NOISE ? noise_next(&under) >> 8 & max
                                                                  : max - 1;
                sample_put(image_row(image, y), (size_t)x * channels + c, image->depth,
                           alpha ? colour : hidden);
            }
            sample_put(image_row(image, y), (size_t)(x + 1) * channels - 1, image->depth, alpha);
        }
}

/* A and B, results with the same shape, may differ in colours under alpha 0 alone. */
static inline void hidden_compare(const char *what, const struct image *a, const struct image *b) {
    const unsigned channels = a->channels;
    for (uint32_t y = 0; y < a->height; y++) {
        if (memcmp(image_row(a, y), image_row(b, y), image_row_bytes(a)) == 0) continue;
        for (size_t i = 0; i < (size_t)a->width * channels; i++) {
            const size_t alpha = i / channels * channels + channels - 1;
            const uint32_t one = sample_get(image_row(a, y), i, a->depth),
                           other = sample_get(image_row(b, y), i, a->depth);
            const bool hidden =
                channels % 2 == 0 && !sample_get(image_row(a, y), alpha, a->depth) && i != alpha;
            if (one != other && !hidden)
                fail_msg("%s: pixel %zu, %u, channel %zu is %u or %u by what is hidden", what,
                         i / channels, y, i % channels, one, other);
        }
    }
}

#endif
