// SPDX-License-Identifier: Apache-2.0
/* negate against values by hand, and against M - v. */
#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

static void by_hand(void **state) {
    (void)state;
    check_8("negate", 2, 1, 3, (const uint8_t[]){ 0, 1, 127, 128, 254, 255 }, 3,
            (const uint8_t[]){ 255, 254, 128, 127, 1, 0 });
    check_16("negate", 2, 1, 2, (const uint16_t[]){ 0, 5, 65534, 65535 }, 2,
             (const uint16_t[]){ 65535, 5, 1, 65535 });
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    (void)params;
    const uint32_t value = (uint32_t)against_sample(in, x, y, c);
    return image_has_alpha(in) && c == in->channels - 1u ? value : image_max(in) - value;
}

static void every_shape(void **state) {
    (void)state;
    check_against("negate", expected);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(by_hand), cmocka_unit_test(every_shape) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
