// SPDX-License-Identifier: Apache-2.0
/* Scaled pixels against whole-number division, every case there is.
 * covers: pipeline/rows/simd.c */
#include "pipeline/rows/rgb_scale.h"

#include "pipeline/ops/histogram_level.h"
#include "pipeline/rows/simd.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t seed = 1;

static uint8_t noise(void) {
    noise_next(&seed);
    return (uint8_t)(seed >> 24);
}

/* Every V, V' and c <= V: 16.8 million quotients, each compared with whole-number division. */
static void scale_is_exact(void **state) {
    (void)state;
    uint8_t levels[256], rgb[3 * 256], out[3 * 256], own[3 * 256];
    struct rgb_scale scale;
    for (int level = 0; level < 256; level++) {
        memset(levels, level, sizeof levels);
        rgb_scale_make(&scale, levels);
        for (int value = 0; value < 256; value++) {
            for (int c = 0; c < 256; c++) {
                rgb[3 * c] = (uint8_t)value;
                rgb[3 * c + 1] = (uint8_t)(c < value ? c : value);
                rgb[3 * c + 2] = (uint8_t)(c < value ? value - c : 0);
            }
            rgb_scale_apply(&scale, rgb, out, 256);
            rgb_scale_levels(rgb, levels, own, 256);
            for (int i = 0; i < 3 * 256; i++)
                if (out[i] != level_scaled(rgb[i], (uint32_t)value, (uint32_t)level, 255) ||
                    own[i] != out[i])
                    fail_msg("V %d, V' %d, c %d: %d, %d", value, level, rgb[i], out[i], own[i]);
        }
    }
}

/* Pixels all unlike, some black, under a table that leaves black and one that brightens it. */
static void scale_keeps_pixels_apart(void **state) {
    (void)state;
    enum { PIXELS = 32 * 50 + 7 };
    static uint8_t rgb[3 * PIXELS], out[3 * PIXELS];
    uint8_t levels[256];
    struct rgb_scale scale;
    for (int i = 0; i < 3 * PIXELS; i++) rgb[i] = i / 3 % 11 == 5 ? 0 : noise();
    for (int round = 0; round < 4; round++) {
        simd_limit(round % 2 ? SIMD_NONE : SIMD_BEST);
        for (int v = 0; v < 256; v++) levels[v] = v ? noise() : round / 2 * 77;
        rgb_scale_make(&scale, levels);
        rgb_scale_apply(&scale, rgb, out, PIXELS);
        for (int i = 0; i < 3 * PIXELS; i++) {
            const uint8_t *p = rgb + i / 3 * 3, ab = p[0] > p[1] ? p[0] : p[1];
            const uint8_t value = ab > p[2] ? ab : p[2];
            assert_int_equal(out[i], level_scaled(rgb[i], value, levels[value], 255));
        }
    }
    simd_limit(SIMD_BEST);
}

/* Each pixel has its own level, different from its neighbours', and no pixel beyond the count is
 * written. */
static void levels_belong_to_pixels(void **state) {
    (void)state;
    enum { PIXELS = 32 * 7 + 19 };
    uint8_t rgb[3 * PIXELS], out[3 * PIXELS], levels[PIXELS], values[PIXELS];
    for (int i = 0; i < 3 * PIXELS; i++) rgb[i] = i / 3 % 11 == 5 ? 0 : noise();
    for (int i = 0; i < PIXELS; i++) levels[i] = (uint8_t)(i * 37 + 11);
    for (size_t pixels = 0; pixels <= PIXELS; pixels += pixels % 32 == 30 ? 1 : 31) {
        for (enum simd most = SIMD_NONE; most <= SIMD_BEST; most++) {
            simd_limit(most);
            memset(out, 0x5a, sizeof out);
            memset(values, 0x5a, sizeof values);
            rgb_scale_levels(rgb, levels, out, pixels);
            rgb_scale_values(rgb, values, pixels);
            for (size_t i = 0; i < PIXELS; i++) {
                const uint8_t *p = rgb + 3 * i, ab = p[0] > p[1] ? p[0] : p[1];
                const uint8_t value = ab > p[2] ? ab : p[2];
                assert_int_equal(values[i], i < pixels ? value : 0x5a);
                for (int c = 0; c < 3; c++)
                    assert_int_equal(out[3 * i + c],
                                     i < pixels ? level_scaled(p[c], value, levels[i], 255) : 0x5a);
            }
        }
    }
    simd_limit(SIMD_BEST);
}

static void scale_ends_at_its_count(void **state) {
    (void)state;
    uint8_t levels[256], rgb[3 * 100], out[3 * 100 + 9];
    struct rgb_scale scale;
    for (int i = 0; i < 256; i++) levels[i] = noise();
    rgb_scale_make(&scale, levels);
    for (int i = 0; i < 300; i++) rgb[i] = noise();
    for (size_t pixels = 0; pixels <= 100; pixels++) {
        memset(out, 0x5a, sizeof out);
        rgb_scale_apply(&scale, rgb, out, pixels);
        for (size_t i = 3 * pixels; i < sizeof out; i++) assert_int_equal(out[i], 0x5a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scale_is_exact),
        cmocka_unit_test(scale_keeps_pixels_apart),
        cmocka_unit_test(levels_belong_to_pixels),
        cmocka_unit_test(scale_ends_at_its_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
