// SPDX-License-Identifier: Apache-2.0
/* brightness against values computed by hand, and against a slow function.
 * covers: pipeline/rows/pointwise.h pipeline/ops/brightness_row.h */
#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

#include "pipeline/ops/brightness.h"

static void clamped_at_both_ends(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 20, 235, 236, 255 }, up[] = { 20, 40, 255, 255, 255 };
    const uint8_t down[] = { 0, 0, 215, 216, 235 }, white[] = { 255, 255, 255, 255, 255 };
    const uint8_t black[] = { 0, 0, 0, 0, 0 };
    check_8("brightness:shift=20", 5, 1, 1, in, 1, up);
    check_8("brightness:shift=-20", 5, 1, 1, in, 1, down);
    check_8("brightness:shift=255", 5, 1, 1, in, 1, white);
    check_8("brightness:shift=-255", 5, 1, 1, in, 1, black);
    check_8("brightness", 5, 1, 1, in, 1, in);
}

static void alpha_is_kept(void **state) {
    (void)state;
    const uint8_t in[] = { 1, 2, 3, 4, 250, 251, 252, 253 };
    const uint8_t out[] = { 11, 12, 13, 4, 255, 255, 255, 253 };
    const uint8_t gray[] = { 11, 2, 13, 4, 255, 251, 255, 253 };
    check_8("brightness:shift=10", 2, 1, 4, in, 4, out);
    check_8("brightness:shift=10", 4, 1, 2, in, 2, gray);
}

static void sixteen_bit(void **state) {
    (void)state;
    /* 10 levels of 255 are 2570 of 65535 */
    const uint16_t in[] = { 0, 1000, 62965, 62966, 65535 };
    const uint16_t up[] = { 2570, 3570, 65535, 65535, 65535 };
    const uint16_t down[] = { 0, 0, 60395, 60396, 62965 };
    check_16("brightness:shift=10", 5, 1, 1, in, 1, up);
    check_16("brightness:shift=-10", 5, 1, 1, in, 1, down);
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    const int64_t max = image_max(in), value = against_sample(in, x, y, c);
    const int64_t sum = value + params->number[BRIGHTNESS_SHIFT] * (max / 255);
    if (image_has_alpha(in) && c == in->channels - 1u) return (uint32_t)value;
    return (uint32_t)(sum < 0 ? 0 : sum > max ? max : sum);
}

static void every_shape(void **state) {
    (void)state;
    check_against("brightness:shift=77", expected);
    check_against("brightness:shift=-130", expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clamped_at_both_ends),
        cmocka_unit_test(alpha_is_kept),
        cmocka_unit_test(sixteen_bit),
        cmocka_unit_test(every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
