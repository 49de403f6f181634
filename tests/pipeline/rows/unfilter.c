// SPDX-License-Identifier: Apache-2.0
/* Every filter at every size of a pixel, plain and with vectors, gives back the row that was
 * filtered here as the standard says; nothing further behind it is written. */
#include "pipeline/rows/unfilter.h"

#include "pipeline/rows/simd.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PIXELS_MAX = 70, ROOM = 8 * PIXELS_MAX + 64, FILTERS = 5, CANARY = 0xa5 };

/* W3C PNG 9.4, with the tie order left, up, corner. */
static int paeth(int left, int up, int corner) {
    const int guess = left + up - corner;
    const int a = abs(guess - left), b = abs(guess - up), c = abs(guess - corner);
    return a <= b && a <= c ? left : b <= c ? up : corner;
}

static uint8_t filtered(unsigned filter, const uint8_t *row, const uint8_t *above, size_t i,
                        size_t pixel) {
    const int left = i < pixel ? 0 : row[i - pixel], up = above[i];
    const int corner = i < pixel ? 0 : above[i - pixel];
    const int guesses[FILTERS] = { 0, left, up, (left + up) / 2, paeth(left, up, corner) };
    return (uint8_t)(row[i] - guesses[filter]);
}

/* CALM: neighbours differ by little, so that all branches of Paeth are taken. */
static void check(unsigned filter, size_t pixel, size_t length, bool calm, uint32_t seed) {
    uint8_t above[ROOM] = { 0 }, row[ROOM] = { 0 }, in[ROOM] = { 0 }, out[ROOM];
    for (size_t i = 0; i < length; i++) {
        noise_next(&seed);
        above[i] = (uint8_t)(calm ? 100 + (seed >> 24) % 5 : seed >> 24);
        row[i] = (uint8_t)(calm ? 100 + (seed >> 16) % 5 : seed >> 16);
    }
    for (size_t i = 0; i < length; i++) in[i] = filtered(filter, row, above, i, pixel);
    memset(out, CANARY, sizeof out);
    assert_true(unfilter_row(filter, in, above, out, length, pixel));
    assert_memory_equal(out, row, length);
    for (size_t i = length + UNFILTER_PAD; i < ROOM; i++) assert_int_equal(out[i], CANARY);
}

static void every_filter(void **state) {
    (void)state;
    static const size_t pixels[] = { 1, 2, 3, 4, 6, 8 };
    for (enum simd most = SIMD_NONE; most <= SIMD_BEST; most++) {
        simd_limit(most);
        for (unsigned filter = 0; filter < FILTERS; filter++)
            for (size_t p = 0; p < sizeof pixels / sizeof *pixels; p++)
                for (size_t count = 1; count <= PIXELS_MAX; count++)
                    for (int calm = 0; calm < 2; calm++)
                        check(filter, pixels[p], count * pixels[p], calm, (uint32_t)count);
    }
}

static void no_such_filter(void **state) {
    (void)state;
    uint8_t bytes[16] = { 0 }, row[16];
    for (unsigned filter = FILTERS; filter < 256; filter++)
        assert_false(unfilter_row(filter, bytes, bytes, row, 3, 3));
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_filter),
                                        cmocka_unit_test(no_such_filter) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
