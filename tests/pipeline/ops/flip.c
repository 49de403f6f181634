// SPDX-License-Identifier: Apache-2.0
/* flip against tables by hand, and against a slow function. */
#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

static void by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
    check_8("flip", 4, 3, 1, in, 1, (const uint8_t[]){ 9, 10, 11, 12, 5, 6, 7, 8, 1, 2, 3, 4 });
    check_8("flip", 2, 2, 3, in, 3, (const uint8_t[]){ 7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6 });
    const uint16_t wide[] = { 1, 65535, 300, 400 };
    check_16("flip", 1, 2, 2, wide, 2, (const uint16_t[]){ 300, 400, 1, 65535 });
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    (void)params;
    return (uint32_t)against_sample(in, x, (int64_t)in->height - 1 - y, c);
}

static void every_shape(void **state) {
    (void)state;
    check_against("flip", expected);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(by_hand), cmocka_unit_test(every_shape) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
