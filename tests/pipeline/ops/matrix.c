// SPDX-License-Identifier: Apache-2.0
/* matrix against values by hand, and against a slow function in 64 bits.
 * covers: pipeline/colour_matrix.h pipeline/ops/colour_matrix_rows.h
 * covers: pipeline/rows/colour_matrix.h pipeline/rows/colour_matrix.c */
#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

#include <math.h>

static void by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 10, 20, 30, 200, 100, 50 };
    check_8("matrix:matrix=0 0 1 1 0 0 0 1 0", 2, 1, 3, in, 3,
            (const uint8_t[]){ 30, 10, 20, 50, 200, 100 });
    check_8("matrix:matrix=-1 0 0 1 0 -1 0 1 0 0 -1 1", 2, 1, 3, in, 3,
            (const uint8_t[]){ 245, 235, 225, 55, 155, 205 });
    /* 15 and 150; 15 + 127.5 and 50 + 127.5; 100 - 20 and 150 - 100 */
    check_8("matrix:matrix=0.5 0.5 0 0 0 0 0.5 0.5 0 -1 3 0", 2, 1, 3,
            (const uint8_t[]){ 10, 20, 30, 200, 100, 100 }, 3,
            (const uint8_t[]){ 15, 143, 70, 150, 178, 200 });
    /* 65535 / 2 is 32767.5, and 7 * 40000 is too much; alpha is kept */
    const uint16_t wide[] = { 1, 2, 40000, 9, 65535, 3, 1, 65535 };
    check_16("matrix:matrix=0.5 0 0 0 -1 0 0 0 7", 2, 1, 4, wide, 4,
             (const uint16_t[]){ 1, 0, 65535, 9, 32768, 0, 7, 65535 });
}

static void gray_becomes_colour(void **state) {
    (void)state;
    const uint8_t in[] = { 100, 7, 200, 0 };
    check_8("matrix:matrix=1 0 0 0 0.5 0 0 0 0", 4, 1, 1, in, 3,
            (const uint8_t[]){ 100, 50, 0, 7, 4, 0, 200, 100, 0, 0, 0, 0 });
    check_8("matrix:matrix=1 0 0 0 0.5 0 0 0 0", 2, 1, 2, in, 4,
            (const uint8_t[]){ 100, 50, 0, 7, 200, 100, 0, 0 });
}

/* Weights are thousandths, rounded to 1/4096. */
static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    const int columns = params->tap_count / 3;
    const int64_t max = image_max(in);
    int64_t sum = 2048;
    if (c == 3) return (uint32_t)against_sample(in, x, y, in->channels - 1u);
    for (int k = 0; k < columns; k++) {
        const unsigned from = in->channels < 3 ? 0 : (unsigned)k;
        const int64_t sample = k == 3 ? max : against_sample(in, x, y, from);
        sum += sample * (int64_t)floor(params->taps[(int)c * columns + k] * 4.096 + 0.5);
    }
    const int64_t level = sum >= 0 ? sum / 4096 : -((4095 - sum) / 4096);
    return (uint32_t)(level < 0 ? 0 : level > max ? max : level);
}

static void every_shape(void **state) {
    (void)state;
    check_against("matrix:matrix=0.393 0.769 0.189 1.349 -0.686 0.168 -0.272 0.534 -0.131",
                  expected);
    check_against("matrix:matrix=7.999 -7.999 7.999 -7.999 -7.999 -7.999 -7.999 7.999 "
                  "0.1 0.2 0.3 -0.25",
                  expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(gray_becomes_colour),
        cmocka_unit_test(every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
