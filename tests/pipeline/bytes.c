// SPDX-License-Identifier: Apache-2.0
/* The fast twins of pipeline/bytes.c against the plain meaning, every case where there are few
 * enough. */
#include "pipeline/bytes.h"

#include "pipeline/ops/histeq.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t seed = 1;

static uint8_t noise(void) {
    seed = seed * 1664525 + 1013904223;
    return (uint8_t)(seed >> 24);
}

static void look_up(void) {
    uint8_t table[256], in[600], out[600];
    for (int i = 0; i < 256; i++) table[i] = noise();
    for (size_t i = 0; i < sizeof in; i++) in[i] = i < 256 ? (uint8_t)i : noise();
    for (size_t length = 0; length <= sizeof in; length += length < 70 ? 1 : 53) {
        memset(out, 0xa5, sizeof out);
        bytes_map(table, in, out, length);
        for (size_t i = 0; i < length; i++) assert_int_equal(out[i], table[in[i]]);
        for (size_t i = length; i < sizeof out; i++) assert_int_equal(out[i], 0xa5);
    }
}

/* AVX-512 leaves AVX2 no more than the ends of runs: so each is tried alone. */
static void map_is_look_up(void **state) {
    (void)state;
    for (enum bytes_path path = BYTES_PLAIN; path <= BYTES_BEST; path++) {
        bytes_limit(path);
        look_up();
    }
    bytes_limit(BYTES_BEST);
}

static void tally_counts(void **state) {
    (void)state;
    enum { LENGTH = 5003 };
    uint8_t bytes[LENGTH];
    for (int i = 0; i < LENGTH; i++) bytes[i] = i % 3 ? noise() : 7;
    for (size_t length = 0; length <= LENGTH; length += 131) {
        struct tally tally = { .table = { { [7] = 5 }, { [7] = 1 } } };
        uint32_t counts[256], expected[256] = { [7] = 6 };
        for (size_t i = 0; i < length; i++) expected[bytes[i]]++;
        tally_bytes(&tally, bytes, length);
        tally_sum(&tally, counts);
        assert_memory_equal(counts, expected, sizeof counts);
    }
}

static void rgb_tally_counts_the_largest(void **state) {
    (void)state;
    enum { PIXELS = 9001 };
    static uint8_t rgb[3 * PIXELS];
    for (int i = 0; i < 3 * PIXELS; i++) rgb[i] = noise();
    uint32_t counts[256], expected[256] = { 0 };
    for (int i = 0; i < 3 * PIXELS; i += 3) {
        const uint8_t a = rgb[i] > rgb[i + 1] ? rgb[i] : rgb[i + 1];
        expected[a > rgb[i + 2] ? a : rgb[i + 2]]++;
    }
    for (enum bytes_path path = BYTES_PLAIN; path <= BYTES_BEST; path++) {
        struct tally tally = { 0 };
        bytes_limit(path);
        tally_rgb(&tally, rgb, PIXELS);
        tally_sum(&tally, counts);
        assert_memory_equal(counts, expected, sizeof counts);
    }
    bytes_limit(BYTES_BEST);
}

/* Every V, V' and c <= V: 16.8 million quotients, each compared with whole-number division. */
static void rgb_map_is_exact(void **state) {
    (void)state;
    uint8_t levels[256], rgb[3 * 256], out[3 * 256];
    struct rgb_table table;
    for (int level = 0; level < 256; level++) {
        memset(levels, level, sizeof levels);
        rgb_table_make(&table, levels);
        for (int value = 0; value < 256; value++) {
            for (int c = 0; c < 256; c++) {
                rgb[3 * c] = (uint8_t)value;
                rgb[3 * c + 1] = (uint8_t)(c < value ? c : value);
                rgb[3 * c + 2] = (uint8_t)(c < value ? value - c : 0);
            }
            rgb_map(&table, rgb, out, 256);
            for (int i = 0; i < 3 * 256; i++)
                if (out[i] != histeq_scaled(rgb[i], (uint32_t)value, (uint32_t)level, 255))
                    fail_msg("V %d, V' %d, c %d: %d", value, level, rgb[i], out[i]);
        }
    }
}

/* Pixels all unlike, some black, under a table that leaves black and one that lifts it. */
static void rgb_map_keeps_pixels_apart(void **state) {
    (void)state;
    enum { PIXELS = 32 * 50 + 7 };
    static uint8_t rgb[3 * PIXELS], out[3 * PIXELS];
    uint8_t levels[256];
    struct rgb_table table;
    for (int i = 0; i < 3 * PIXELS; i++) rgb[i] = i / 3 % 11 == 5 ? 0 : noise();
    for (int round = 0; round < 4; round++) {
        bytes_limit(round % 2 ? BYTES_PLAIN : BYTES_BEST);
        for (int v = 0; v < 256; v++) levels[v] = v ? noise() : round / 2 * 77;
        rgb_table_make(&table, levels);
        rgb_map(&table, rgb, out, PIXELS);
        for (int i = 0; i < 3 * PIXELS; i++) {
            const uint8_t *p = rgb + i / 3 * 3, ab = p[0] > p[1] ? p[0] : p[1];
            const uint8_t value = ab > p[2] ? ab : p[2];
            assert_int_equal(out[i], histeq_scaled(rgb[i], value, levels[value], 255));
        }
    }
    bytes_limit(BYTES_BEST);
}

static void rgb_map_ends_where_told(void **state) {
    (void)state;
    uint8_t levels[256], rgb[3 * 100], out[3 * 100 + 9];
    struct rgb_table table;
    for (int i = 0; i < 256; i++) levels[i] = noise();
    rgb_table_make(&table, levels);
    for (int i = 0; i < 300; i++) rgb[i] = noise();
    for (size_t pixels = 0; pixels <= 100; pixels++) {
        memset(out, 0x5a, sizeof out);
        rgb_map(&table, rgb, out, pixels);
        for (size_t i = 3 * pixels; i < sizeof out; i++) assert_int_equal(out[i], 0x5a);
    }
}

/* Every third red and green with every blue, which holds each distance from the next rounding. */
static void rgb_luma_is_exact(void **state) {
    (void)state;
    uint8_t rgb[3 * 256], gray[256 + 32];
    for (enum bytes_path path = BYTES_PLAIN; path <= BYTES_BEST; path++) {
        bytes_limit(path);
        for (int red = 0; red < 256; red += 3)
            for (int green = 0; green < 256; green += 3) {
                const size_t pixels = green % 2 ? 256 : 1 + (size_t)red;
                for (int blue = 0; blue < 256; blue++) {
                    uint8_t *pixel = rgb + 3 * blue;
                    pixel[0] = (uint8_t)red, pixel[1] = (uint8_t)green, pixel[2] = (uint8_t)blue;
                }
                memset(gray, 0xa5, sizeof gray);
                rgb_luma(rgb, gray, pixels);
                for (size_t i = 0; i < pixels; i++)
                    assert_int_equal(gray[i], (77 * red + 150 * green + 29 * (int)i + 128) / 256);
                assert_int_equal(gray[pixels], 0xa5);
            }
    }
    bytes_limit(BYTES_BEST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_is_look_up),
        cmocka_unit_test(tally_counts),
        cmocka_unit_test(rgb_tally_counts_the_largest),
        cmocka_unit_test(rgb_luma_is_exact),
        cmocka_unit_test(rgb_map_is_exact),
        cmocka_unit_test(rgb_map_keeps_pixels_apart),
        cmocka_unit_test(rgb_map_ends_where_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
