// SPDX-License-Identifier: Apache-2.0
/* Sizes around blocks and tiles, plain and with vectors, strides that go both ways; nothing beside
 * the result is written. */
#include "pipeline/rows/transpose.h"

#include "pipeline/rows/simd.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PADDING = 5, CANARY = 0xa5 };

/* TURN: which side goes backwards; 0: none. */
static void check(uint32_t columns, uint32_t rows, size_t pixel, int turn) {
    const size_t from_stride = columns * pixel + PADDING, to_stride = rows * pixel + PADDING;
    uint8_t *from = malloc(from_stride * rows), *to = malloc(to_stride * columns);
    uint32_t state = columns * 77 + rows;
    for (size_t i = 0; i < from_stride * rows; i++) from[i] = (uint8_t)(noise_next(&state) >> 24);
    memset(to, CANARY, to_stride * columns);
    struct transpose t = { from, to,   (ptrdiff_t)from_stride, (ptrdiff_t)to_stride, columns,
                           rows, pixel };
    if (turn == 1) t.from += (rows - 1) * from_stride, t.from_stride = -t.from_stride;
    if (turn == 2) t.to += (columns - 1) * to_stride, t.to_stride = -t.to_stride;
    transpose_pixels(&t);
    for (uint32_t i = 0; i < columns; i++) {
        const uint8_t *row = to + (turn == 2 ? columns - 1 - i : i) * to_stride;
        for (uint32_t j = 0; j < rows; j++)
            assert_memory_equal(row + j * pixel,
                                from + (turn == 1 ? rows - 1 - j : j) * from_stride + i * pixel,
                                pixel);
        for (int p = 0; p < PADDING; p++) assert_int_equal(row[rows * pixel + (size_t)p], CANARY);
    }
    free(from);
    free(to);
}

static void every_size(void **state) {
    (void)state;
    static const size_t pixels[] = { 1, 2, 3, 4, 6, 8 };
    static const uint32_t sides[] = { 1, 3, 4, 8, 15, 16, 17, 63, 64, 65, 130 };
    enum { SIDES = sizeof sides / sizeof *sides };
    for (enum simd most = SIMD_NONE; most <= SIMD_BEST; most++) {
        simd_limit(most);
        for (size_t p = 0; p < sizeof pixels / sizeof *pixels; p++)
            for (int i = 0; i < SIDES * SIDES * 3; i++)
                check(sides[i / 3 % SIDES], sides[i / 3 / SIDES], pixels[p], i % 3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_size) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
