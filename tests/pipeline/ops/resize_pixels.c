// SPDX-License-Identifier: Apache-2.0
/* Rows on their way through resize: every colour under every alpha, fast and plain alike, against
 * definition.h's arithmetic, and that against fractions.
 * covers: pipeline/ops/resize/scale.c */
#include "pipeline/ops/resize/scale.c"

#include "pipeline/ops/resize/definition.h"
#include "pipeline/rows/simd.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { LENGTH = 37 }; /* more than a vector, and no multiple of one */

/* c a / 255 to the nearest, and 255 c / a rounded down and clamped. */
static void check_eight_bits(void) {
    for (unsigned channels = 2; channels <= 4; channels += 2) {
        const struct pixels_rule rule = { .channels = channels,
                                          .depth = 8,
                                          .out_channels = channels };
        uint8_t from[4 * LENGTH], to[4 * LENGTH];
        for (uint32_t colour = 0; colour < 256; colour++)
            for (uint32_t alpha = 0; alpha < 256; alpha++) {
                const uint32_t product = (2 * colour * alpha + 255) / 510;
                uint32_t quotient = alpha % 255 ? 255 * colour / alpha : colour;
                quotient = quotient < 255 ? quotient : 255;
                for (size_t i = 0; i < LENGTH * channels; i++)
                    from[i] = (uint8_t)(i % channels == channels - 1 ? alpha : colour);
                assert_true(pixels_change(&rule));
                pixels_prepare(&rule, from, to, LENGTH);
                for (size_t i = 0; i < LENGTH * channels; i++)
                    assert_int_equal(to[i], i % channels == channels - 1 ? alpha : product);
                pixels_finish(&rule, from, to, LENGTH);
                for (size_t i = 0; i < LENGTH * channels; i++)
                    assert_int_equal(to[i], i % channels == channels - 1 ? alpha : quotient);
            }
    }
}

static void eight_bits(void **state) {
    (void)state;
    for (int most = SIMD_NONE; most <= SIMD_BEST; most++) {
        simd_limit((enum simd)most);
        check_eight_bits();
    }
}

/* (c a + 32767) / 65535 and 65535 c / a, both rounded down. */
static void sixteen_bits(void **state) {
    (void)state;
    const struct pixels_rule rule = { .channels = 4, .depth = 16, .out_channels = 4 };
    uint32_t noise = 1;
    for (int n = 0; n < 200000; n++) {
        uint16_t from[4], to[4];
        for (int c = 0; c < 4; c++) {
            noise_next(&noise);
            from[c] = n % 7 ? (uint16_t)(noise >> 16) : (uint16_t) - (noise >> 31);
        }
        pixels_prepare(&rule, (uint8_t *)from, (uint8_t *)to, 1);
        for (int c = 0; c < 3; c++)
            assert_int_equal(to[c], ((uint64_t)from[c] * from[3] + 32767) / 65535);
        assert_int_equal(to[3], from[3]);
        pixels_finish(&rule, (uint8_t *)from, (uint8_t *)to, 1);
        for (int c = 0; c < 3; c++) {
            const uint64_t least = from[3] % 65535 ? 65535ull * from[c] / from[3] : from[c];
            assert_int_equal(to[c], least < 65535 ? least : 65535);
        }
    }
}

/* Opaque pixels are what they were. */
static void opaque_is_untouched(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 65536; i++) {
        assert_int_equal(resize_multiply(i, 65535, 65535), i);
        assert_int_equal(resize_divide(i, 65535, 65535), i);
        assert_int_equal(resize_alpha_to_8(resize_alpha_to_16(i & 255)), i & 255);
    }
}

static void widened(void **state) {
    (void)state;
    const uint8_t gray[] = { 1, 2, 3, 4, 5, 6 };
    const struct {
        unsigned channels, out_channels, pixels;
        uint8_t out[12];
    } cases[] = {
        { 1, 2, 3, { 1, 255, 2, 255, 3, 255 } },
        { 1, 3, 3, { 1, 1, 1, 2, 2, 2, 3, 3, 3 } },
        { 1, 4, 3, { 1, 1, 1, 255, 2, 2, 2, 255, 3, 3, 3, 255 } },
        { 2, 4, 3, { 1, 1, 1, 2, 3, 3, 3, 4, 5, 5, 5, 6 } },
        { 3, 4, 2, { 1, 2, 3, 255, 4, 5, 6, 255 } },
        { 3, 3, 2, { 1, 2, 3, 4, 5, 6 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct pixels_rule rule = { .channels = cases[i].channels,
                                          .depth = 8,
                                          .out_channels = cases[i].out_channels };
        uint8_t row[12];
        memcpy(row, gray, sizeof gray);
        pixels_widen(&rule, row, cases[i].pixels);
        assert_memory_equal(row, cases[i].out, cases[i].pixels * cases[i].out_channels);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_bits),
        cmocka_unit_test(sixteen_bits),
        cmocka_unit_test(opaque_is_untouched),
        cmocka_unit_test(widened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
