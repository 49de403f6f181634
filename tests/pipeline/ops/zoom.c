// SPDX-License-Identifier: Apache-2.0
/* zoom against tables by hand, and against a slow function; sides that would be too long. */
#include "pipeline/ops/zoom.h"

#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

static void by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 1, 2, 3, 4, 5, 6 };
    check_8("zoom:times=1", 3, 2, 1, in, 1, in);
    check_8("zoom", 2, 1, 1, in, 1, (const uint8_t[]){ 1, 1, 2, 2, 1, 1, 2, 2 });
    check_8("zoom:times=3", 1, 2, 1, in, 1,
            (const uint8_t[]){ 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2 });
    check_8("zoom", 2, 1, 3, in, 3, (const uint8_t[]){ 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6,
                                                       1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6 });
    const uint16_t wide[] = { 1, 65535 };
    check_16("zoom", 1, 1, 2, wide, 2,
             (const uint16_t[]){ 1, 65535, 1, 65535, 1, 65535, 1, 65535 });
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    const long times = params->number[ZOOM_TIMES];
    return (uint32_t)against_sample(in, x / times, y / times, c);
}

static void every_shape(void **state) {
    (void)state;
    check_against("zoom", expected);
    check_against("zoom:times=3", expected);
    check_against("zoom:times=7", expected);
}

static void shapes(const char *text, uint32_t width, uint32_t height, uint64_t most,
                   enum status wanted) {
    struct plan plan;
    struct image made[PLAN_STEPS_MAX + 1];
    struct failure failure = { 0 };
    const struct image in = image_shape(width, height, 4, 16);
    assert_int_equal(plan_parse(&plan, text, &failure), STATUS_OK);
    assert_int_equal(plan_shapes(&plan, &in, most, made, &failure), wanted);
}

static void what_would_be_too_large_is_refused(void **state) {
    (void)state;
    struct plan plan;
    struct failure failure = { 0 };
    shapes("zoom:times=64", 1023, 1, 1 << 30, STATUS_OK);
    shapes("zoom:times=64", 1024, 1, 1 << 30, STATUS_TOO_LARGE);
    shapes("zoom:times=64", 65535, 65535, UINT64_MAX, STATUS_TOO_LARGE);
    shapes("zoom:times=10", 10, 10, 10000, STATUS_OK);
    shapes("zoom:times=10", 10, 10, 9999, STATUS_TOO_LARGE);
    assert_int_equal(plan_parse(&plan, "zoom:times=0", &failure), STATUS_BAD_PARAM);
    assert_int_equal(plan_parse(&plan, "zoom:times=65", &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "1..64"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(every_shape),
        cmocka_unit_test(what_would_be_too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
