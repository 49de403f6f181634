// SPDX-License-Identifier: Apache-2.0
/* threshold against values computed by hand, and against a slow function.
 * covers: pipeline/rows/pointwise.h */
#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

#include "pipeline/ops/threshold.h"

static void over_is_white(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 1, 127, 128, 129, 255 };
    const uint8_t half[] = { 0, 0, 0, 0, 255, 255 }, least[] = { 0, 255, 255, 255, 255, 255 };
    const uint8_t black[] = { 0, 0, 0, 0, 0, 0 };
    check_8("threshold", 6, 1, 1, in, 1, half);
    check_8("threshold:level=0", 6, 1, 1, in, 1, least);
    check_8("threshold:level=255", 6, 1, 1, in, 1, black);
    const uint8_t colours[] = { 255, 0, 0, 0, 0, 255 };
    check_8("threshold:level=126", 2, 1, 3, (const uint8_t[]){ 200, 1, 2, 3, 126, 127 }, 3,
            colours);
}

static void alpha_is_kept(void **state) {
    (void)state;
    const uint8_t in[] = { 200, 100, 150, 5, 10, 20, 130, 250 };
    const uint8_t out[] = { 255, 0, 255, 5, 0, 0, 255, 250 };
    const uint8_t gray[] = { 255, 100, 255, 5, 0, 20, 255, 250 };
    check_8("threshold", 2, 1, 4, in, 4, out);
    check_8("threshold", 4, 1, 2, in, 2, gray);
}

static void sixteen_bit(void **state) {
    (void)state;
    /* 128 levels of 255 are 32896 of 65535 */
    const uint16_t in[] = { 32895, 32896, 32897, 65535 }, out[] = { 0, 0, 65535, 65535 };
    check_16("threshold", 4, 1, 1, in, 1, out);
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    const uint32_t max = image_max(in), value = (uint32_t)against_sample(in, x, y, c);
    if (image_has_alpha(in) && c == in->channels - 1u) return value;
    return value > (uint32_t)params->number[THRESHOLD_LEVEL] * (max / 255) ? max : 0;
}

static void every_shape(void **state) {
    (void)state;
    check_against("threshold:level=100", expected);
    check_against("threshold:level=0", expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_is_white),
        cmocka_unit_test(alpha_is_kept),
        cmocka_unit_test(sixteen_bit),
        cmocka_unit_test(every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
