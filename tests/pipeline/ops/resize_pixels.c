// SPDX-License-Identifier: Apache-2.0
/* Rows on their way through resize: more channels, and alpha beside light.
 * covers: pipeline/ops/resize/scale.c */
#include "pipeline/ops/resize/scale.c"

#include "pipeline/ops/resize/definition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void alpha_of_8_bits_comes_back(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 256; i++)
        assert_int_equal(resize_alpha_to_8(resize_alpha_to_16(i)), i);
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
        cmocka_unit_test(alpha_of_8_bits_comes_back),
        cmocka_unit_test(widened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
