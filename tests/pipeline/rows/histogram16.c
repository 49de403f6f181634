// SPDX-License-Identifier: Apache-2.0
/* Counts of a run of 16-bit pixels, in one table or several, against counting one by one. */
#include "pipeline/rows/histogram16.h"

#include "pipeline/sample.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PIXELS = 301 };

static void counts_every_pixel(void **state) {
    (void)state;
    static const uint32_t bins[] = { 1, 2, 255, 4096, 4097, 65536 };
    static uint8_t bytes[8 * PIXELS];
    uint32_t seed = 11;
    for (size_t i = 0; i < sizeof bytes; i++) {
        noise_next(&seed);
        bytes[i] = (uint8_t)(seed >> 24);
    }
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
                        expected[c * bins[b] + v * bins[b] / 65536]++;
                    }
                for (unsigned t = 1; t < tables; t++)
                    for (size_t i = 0; i < pitch; i++) counts[i] += counts[t * pitch + i];
                assert_memory_equal(counts, expected, 4 * pitch);
                free(expected);
                free(counts);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(counts_every_pixel) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
