// SPDX-License-Identifier: Apache-2.0
/* Counts of a run, plain and with vectors, against counts one by one.
 * covers: pipeline/rows/rgb_pairs.h */
#include "pipeline/rows/histogram.h"

#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"
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

static void add_counts_every_byte(void **state) {
    (void)state;
    enum { LENGTH = 5003 };
    uint8_t bytes[LENGTH];
    for (int i = 0; i < LENGTH; i++) bytes[i] = i % 3 ? noise() : 7;
    for (size_t length = 0; length <= LENGTH; length += 131) {
        struct histogram histogram = { .table = { { [7] = 5 }, { [7] = 1 } } };
        uint32_t counts[256], expected[256] = { [7] = 6 };
        for (size_t i = 0; i < length; i++) expected[bytes[i]]++;
        histogram_add(&histogram, bytes, length);
        histogram_counts(&histogram, counts);
        assert_memory_equal(counts, expected, sizeof counts);
    }
}

/* Neither alpha nor a pixel without any is counted. */
static void add_channels_counts_each(void **state) {
    (void)state;
    enum { PIXELS = 1003 };
    static uint8_t bytes[4 * PIXELS];
    for (int i = 0; i < 4 * PIXELS; i++) bytes[i] = i % 7 ? noise() : i % 3 ? 250 : 0;
    for (unsigned channels = 1; channels <= 4; channels++)
        for (size_t pixels = 0; pixels <= PIXELS; pixels += 17) {
            struct histogram histograms[3] = { 0 };
            uint32_t counts[256], expected[3][256] = { 0 };
            const unsigned colours = channels < 3 ? 1 : 3;
            for (size_t i = 0; i < pixels; i++)
                for (unsigned c = 0; c < colours; c++)
                    expected[c][bytes[i * channels + c]] +=
                        channels % 2 || bytes[(i + 1) * channels - 1];
            histogram_add_channels(histograms, bytes, pixels, channels);
            for (unsigned c = 0; c < 3; c++) {
                histogram_counts(&histograms[c], counts);
                assert_memory_equal(counts, expected[c], sizeof counts);
            }
        }
}

static void add_values_counts_the_largest(void **state) {
    (void)state;
    enum { PIXELS = 9001 };
    static uint8_t rgb[3 * PIXELS];
    for (int i = 0; i < 3 * PIXELS; i++) rgb[i] = noise();
    uint32_t counts[256], expected[256] = { 0 };
    for (int i = 0; i < 3 * PIXELS; i += 3) {
        const uint8_t a = rgb[i] > rgb[i + 1] ? rgb[i] : rgb[i + 1];
        expected[a > rgb[i + 2] ? a : rgb[i + 2]]++;
    }
    for (enum simd most = SIMD_NONE; most <= SIMD_BEST; most++) {
        struct histogram histogram = { 0 };
        simd_limit(most);
        histogram_add_values(&histogram, rgb, PIXELS);
        histogram_counts(&histogram, counts);
        assert_memory_equal(counts, expected, sizeof counts);
    }
    simd_limit(SIMD_BEST);
}

/* In one table or several. */
static void add16_counts_every_pixel(void **state) {
    (void)state;
    enum { PIXELS = 301 };
    static const uint32_t bins[] = { 1, 2, 255, 4096, 4097, 65536 };
    static uint8_t bytes[8 * PIXELS];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = i / 2 % 5 ? noise() : 0;
    for (size_t b = 0; b < sizeof bins / sizeof *bins; b++)
        for (unsigned channels = 1; channels <= 4; channels++)
            for (size_t pixels = 0; pixels <= PIXELS; pixels += 43) {
                const unsigned colours = channels < 3 ? 1 : 3, tables = histogram16_tables(bins[b]);
                const size_t pitch = (size_t)colours * bins[b];
                uint32_t *counts = calloc(tables * pitch, 4), *expected = calloc(pitch, 4);
                histogram16_add(counts, bins[b], bytes, pixels, channels);
                for (size_t i = 0; i < pixels; i++)
                    for (unsigned c = 0; c < colours; c++) {
                        const uint64_t v = sample_get(bytes, i * channels + c, 16);
                        expected[c * bins[b] + v * bins[b] / 65536] +=
                            channels % 2 || sample_get(bytes, (i + 1) * channels - 1, 16);
                    }
                for (unsigned t = 1; t < tables; t++)
                    for (size_t i = 0; i < pitch; i++) counts[i] += counts[t * pitch + i];
                assert_memory_equal(counts, expected, 4 * pitch);
                free(expected);
                free(counts);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(add_counts_every_byte),
        cmocka_unit_test(add_channels_counts_each),
        cmocka_unit_test(add_values_counts_the_largest),
        cmocka_unit_test(add16_counts_every_pixel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
