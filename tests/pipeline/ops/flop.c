// SPDX-License-Identifier: Apache-2.0
/* flop against tables by hand, and against a slow function, plain and with vectors. */
#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

static void by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
    check_8("flop", 4, 3, 1, in, 1, (const uint8_t[]){ 4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9 });
    check_8("flop", 2, 2, 3, in, 3, (const uint8_t[]){ 4, 5, 6, 1, 2, 3, 10, 11, 12, 7, 8, 9 });
    const uint16_t wide[] = { 1, 65535, 300, 400 };
    check_16("flop", 2, 1, 2, wide, 2, (const uint16_t[]){ 300, 400, 1, 65535 });
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    (void)params;
    return (uint32_t)against_sample(in, (int64_t)in->width - 1 - x, y, c);
}

static void every_shape(void **state) {
    (void)state;
    check_against("flop", expected);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(by_hand), cmocka_unit_test(every_shape) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
