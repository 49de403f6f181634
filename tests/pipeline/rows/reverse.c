// SPDX-License-Identifier: Apache-2.0
/* Rows of every length up to a hundred pixels, plain and with vectors; nothing behind them is
 * written. */
#include "pipeline/rows/reverse.h"

#include "pipeline/rows/simd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT_MAX = 100, ROOM = 8 * COUNT_MAX + 64, CANARY = 0xa5 };

static void check(size_t count, size_t pixel) {
    uint8_t in[ROOM] = { 0 }, out[ROOM];
    for (size_t i = 0; i < count * pixel; i++) in[i] = (uint8_t)(i * 7 + 1);
    memset(out, CANARY, sizeof out);
    reverse_pixels(in, out, count, pixel);
    for (size_t i = 0; i < count * pixel; i++)
        assert_int_equal(out[i], in[(count - 1 - i / pixel) * pixel + i % pixel]);
    for (size_t i = count * pixel; i < ROOM; i++) assert_int_equal(out[i], CANARY);
}

static void every_length(void **state) {
    (void)state;
    static const size_t pixels[] = { 1, 2, 3, 4, 6, 8 };
    for (enum simd most = SIMD_NONE; most <= SIMD_BEST; most++) {
        simd_limit(most);
        for (size_t p = 0; p < sizeof pixels / sizeof *pixels; p++)
            for (size_t count = 0; count <= COUNT_MAX; count++) check(count, pixels[p]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_length) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
