// SPDX-License-Identifier: Apache-2.0
/* Rows weighed by alpha and back, every colour with every alpha of 8 bit, by each set of
 * instructions, against the formulas.
 * covers: pipeline/premultiply.h pipeline/background.h */
#include "pipeline/rows/alpha.h"

#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PIXELS = 256 + 7 }; /* all, and no multiple of a vector */

/* 8 bits: c a / 255, rounded half up; no quotient ends in a half, for 255 is odd. */
static uint32_t multiplied(uint64_t c, uint64_t a, uint64_t max) {
    return (uint32_t)((c * a + max / 2) / max);
}

static uint32_t divided(uint64_t c, uint64_t a, uint64_t max) {
    if (a == 0 || a == max) return (uint32_t)c;
    const uint64_t result = max * c / a;
    return (uint32_t)(result < max ? result : max);
}

/* A row with all colours of COLOUR + 0..255 and one alpha; each channel has its own. In place, and
 * from one row to another. */
static void check(uint32_t colour, uint32_t alpha, unsigned channels, unsigned depth) {
    uint8_t rows[2][PIXELS * 8 + 8], apart[2][PIXELS * 8 + 8];
    const uint32_t max = depth == 8 ? 255 : 65535;
    memset(rows, 0xa5, sizeof rows);
    memset(apart, 0xa5, sizeof apart);
    for (int row = 0; row < 2; row++)
        for (size_t i = 0; i < PIXELS * channels; i++)
            sample_put(rows[row], i, depth,
                       i % channels == channels - 1
                           ? alpha
                           : (colour + (uint32_t)(i / channels + i % channels)) & max);
    alpha_multiply(rows[0], apart[0], PIXELS, channels, depth);
    alpha_divide(rows[1], apart[1], PIXELS, channels, depth);
    alpha_multiply(rows[0], rows[0], PIXELS, channels, depth);
    alpha_divide(rows[1], rows[1], PIXELS, channels, depth);
    for (size_t i = 0; i < PIXELS * channels; i++) {
        const uint32_t c = (colour + (uint32_t)(i / channels + i % channels)) & max;
        const bool is_alpha = i % channels == channels - 1;
        assert_int_equal(sample_get(rows[0], i, depth),
                         is_alpha ? alpha : multiplied(c, alpha, max));
        assert_int_equal(sample_get(rows[1], i, depth), is_alpha ? alpha : divided(c, alpha, max));
    }
    for (size_t i = PIXELS * channels * depth / 8; i < sizeof rows[0]; i++)
        assert_true(rows[0][i] == 0xa5 && rows[1][i] == 0xa5);
    assert_memory_equal(apart, rows, sizeof rows);
}

static void bytes(void **state) {
    (void)state;
    for (int limit = SIMD_NONE; limit <= SIMD_BEST; limit++)
        for (uint32_t alpha = 0; alpha < 256; alpha++) {
            simd_limit((enum simd)limit);
            check(0, alpha, 2, 8);
            check(0, alpha, 4, 8);
        }
    simd_limit(SIMD_BEST);
}

static void words(void **state) {
    (void)state;
    for (uint32_t alpha = 0; alpha < 65536; alpha += alpha < 300 || alpha > 65200 ? 1 : 1009)
        for (unsigned channels = 2; channels <= 4; channels += 2) {
            check(0, alpha, channels, 16);
            check(65280, alpha, channels, 16);
            check(alpha - 128u, alpha, channels, 16);
        }
}

/* Noise, half of it opaque, in rows of every length to a few vectors. */
static void check_noise(size_t pixels, unsigned channels) {
    enum { MOST = 70 * 4 };
    uint8_t from[MOST] = { 0 }, made[MOST], back[MOST];
    uint32_t noise = (uint32_t)pixels;
    for (size_t i = 0; i < pixels * channels; i++) {
        from[i] = (uint8_t)(noise_next(&noise) >> 24);
        if (i % channels == channels - 1 && noise >> 16 & 1) from[i] = 255;
    }
    alpha_multiply(from, made, pixels, channels, 8);
    alpha_divide(from, back, pixels, channels, 8);
    for (size_t i = 0; i < pixels * channels; i++) {
        const uint32_t alpha = from[i / channels * channels + channels - 1];
        const bool is_alpha = i % channels == channels - 1;
        assert_int_equal(made[i], is_alpha ? alpha : multiplied(from[i], alpha, 255));
        assert_int_equal(back[i], is_alpha ? alpha : divided(from[i], alpha, 255));
    }
}

static void each_pixel_has_its_own(void **state) {
    (void)state;
    for (int limit = SIMD_NONE; limit <= SIMD_BEST; limit++)
        for (size_t pixels = 0; pixels <= 70; pixels++) {
            simd_limit((enum simd)limit);
            check_noise(pixels, 2);
            check_noise(pixels, 4);
        }
    simd_limit(SIMD_BEST);
}

/* Laid over a background, against the formula in doubles; hidden pixels are filled, not counted. */
static void check_laid(uint32_t colour, uint32_t alpha, uint32_t under, unsigned depth) {
    const double max = depth == 8 ? 255 : 65535;
    const struct background background = { { under, under / 2, under / 3 } };
    uint8_t pixel[8] = { 0 }, out[8];
    for (unsigned c = 0; c < 4; c++) sample_put(pixel, c, depth, c < 3 ? colour : alpha);
    alpha_lay(pixel, out, 1, 4, depth, &background);
    for (unsigned c = 0; c < 3; c++) {
        const double laid = (colour * (double)alpha + background.sample[c] * (max - alpha)) / max;
        assert_int_equal(sample_get(out, c, depth), (uint32_t)(laid + 0.5));
    }
    assert_int_equal(sample_get(out, 3, depth), alpha);
    assert_int_equal(alpha_hide(pixel, out, 1, 4, depth, 99), alpha > 0);
    for (unsigned c = 0; c < 3; c++)
        assert_int_equal(sample_get(out, c, depth), alpha ? colour : 99);
}

static void laid_and_hidden(void **state) {
    (void)state;
    static const uint32_t unders[] = { 0, 1, 77, 254, 255 };
    for (uint32_t i = 0; i < 5 * 256 * 256; i++) {
        const uint32_t colour = i % 256, alpha = i / 256 % 256, under = unders[i / 65536];
        check_laid(colour, alpha, under, 8);
        check_laid(colour * 257 ^ alpha, alpha * 255, under * 257, 16);
        check_laid(65535, alpha * 257, under * 256 + colour, 16);
    }
    const struct background gray = background_of(0x204060ff, 2, 16);
    assert_int_equal(gray.sample[0], 58 * 257); /* (77 32 + 150 64 + 29 96 + 128) / 256 */
    const struct background colour = background_of(0x204060ff, 4, 8);
    assert_int_equal(colour.sample[2], 0x60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes),
        cmocka_unit_test(words),
        cmocka_unit_test(each_pixel_has_its_own),
        cmocka_unit_test(laid_and_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
