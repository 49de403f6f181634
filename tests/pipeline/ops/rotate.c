// SPDX-License-Identifier: Apache-2.0
/* rotate against tables by hand, and against a slow function, plain and with vectors. */
#include "pipeline/ops/rotate.h"

#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

/* 1 2 3
 * 4 5 6, clockwise: the left column, from below, becomes the upper row. */
static void by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 1, 2, 3, 4, 5, 6 };
    const uint8_t quarter[] = { 4, 1, 5, 2, 6, 3 }, half[] = { 6, 5, 4, 3, 2, 1 };
    check_8("rotate:angle=0", 3, 2, 1, in, 1, in);
    check_8("rotate", 3, 2, 1, in, 1, quarter);
    check_8("rotate:angle=90", 3, 2, 1, in, 1, quarter);
    check_8("rotate:angle=180", 3, 2, 1, in, 1, half);
    check_8("rotate:angle=270", 3, 2, 1, in, 1, (const uint8_t[]){ 3, 6, 2, 5, 1, 4 });
    check_8("rotate:angle=90", 1, 2, 3, in, 3, (const uint8_t[]){ 4, 5, 6, 1, 2, 3 });
    check_8("rotate:angle=270", 1, 2, 3, in, 3, in);
    const uint16_t wide[] = { 1, 65535, 300, 400 };
    check_16("rotate:angle=180", 2, 1, 2, wide, 2, (const uint16_t[]){ 300, 400, 1, 65535 });
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    const int64_t right = (int64_t)in->width - 1, low = (int64_t)in->height - 1;
    switch (params->number[ROTATE_ANGLE]) {
    case ROTATE_90: return (uint32_t)against_sample(in, y, low - x, c);
    case ROTATE_180: return (uint32_t)against_sample(in, right - x, low - y, c);
    case ROTATE_270: return (uint32_t)against_sample(in, right - y, x, c);
    default: return (uint32_t)against_sample(in, x, y, c);
    }
}

static void every_shape(void **state) {
    (void)state;
    check_against("rotate:angle=0", expected);
    check_against("rotate:angle=90", expected);
    check_against("rotate:angle=180", expected);
    check_against("rotate:angle=270", expected);
}

static void other_angles_are_refused(void **state) {
    (void)state;
    struct plan plan;
    struct failure failure = { 0 };
    assert_int_equal(plan_parse(&plan, "rotate:angle=45", &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "0 | 90 | 180 | 270"));
    assert_int_equal(plan_parse(&plan, "rotate:angle=-90", &failure), STATUS_BAD_PARAM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(every_shape),
        cmocka_unit_test(other_angles_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
