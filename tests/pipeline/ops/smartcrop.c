// SPDX-License-Identifier: Apache-2.0
/* smartcrop against parts found by hand; tests/reference has pictures and numpy.
 * covers: pipeline/ops/smartcrop.h */
#include "pipeline/ops/smartcrop.h"

#include "pipeline/plan.h"
#include "tests/pipeline/ops/table.h"

/* A step of 9 has the energy 9 + floor(9 x 0.7071) = 15, on the pixel left of it, or above. */
static void the_busiest_part(void **state) {
    (void)state;
    /* Energy 15 at 3 and 4, weights 3 and 2: all of it is in the two from 3 on. */
    const uint8_t one[] = { 0, 0, 0, 0, 9, 0 };
    check_8("smartcrop:width=2", 6, 1, 1, one, 1, (const uint8_t[]){ 0, 9 });
    check_8("smartcrop:height=2", 1, 6, 1, one, 1, (const uint8_t[]){ 0, 9 });
    /* 15 at 0, of weight 1, and 15 at 4, of weight 2. */
    const uint8_t two[] = { 9, 0, 0, 0, 0, 9 };
    check_8("smartcrop:width=1", 6, 1, 1, two, 1, (const uint8_t[]){ 0 });
    /* From 3 and from 4 on there is as much: 3 is nearer to the middle. Alpha shows it. */
    const uint8_t alpha[] = { 9, 255, 0, 255, 0, 255, 0, 254, 0, 255, 9, 255 };
    check_8("smartcrop:width=2", 6, 1, 2, alpha, 2, alpha + 6);
    check_8("smartcrop:height=2", 1, 6, 2, alpha, 2, alpha + 6);
}

/* Nothing to see anywhere: the middle, and where there are two of them the first. */
static void of_equals_the_middle(void **state) {
    (void)state;
    uint8_t in[2 * 5 * 4]; /* white over white; alpha shows the place */
    for (int i = 0; i < 20; i++) in[2 * i] = 255, in[2 * i + 1] = (uint8_t)i;
    check_8("smartcrop:width=1,height=1", 5, 4, 2, in, 2, (const uint8_t[]){ 255, 7 });
    check_8("smartcrop:width=2,height=2", 5, 4, 2, in, 2,
            (const uint8_t[]){ 255, 6, 255, 7, 255, 11, 255, 12 });
    check_8("smartcrop:height=3", 1, 4, 2, in, 2, in);
    check_8("smartcrop:width=5,height=4", 5, 4, 2, in, 2, in);
}

/* A dot at 3, 1 of 6 x 3: its steps are at 2 and 3 of rows 0 and 1. Where one side alone is cut,
 * the other does not weigh. */
static void both_sides(void **state) {
    (void)state;
    uint16_t in[18] = { 0 }, out[2] = { 0, 0 };
    in[6 + 3] = out[1] = 9 << 8;
    check_16("smartcrop:width=2,height=1", 6, 3, 1, in, 1, out);
    check_16("smartcrop:width=2", 6, 3, 1, in, 1, (const uint16_t[]){ 0, 0, 0, 9 << 8, 0, 0 });
}

static void refused(const char *text, struct image in, enum status status, const char *message) {
    struct plan plan;
    struct image shapes[PLAN_STEPS_MAX + 1];
    struct failure failure = { 0 };
    assert_int_equal(plan_parse(&plan, text, &failure), STATUS_OK);
    assert_int_equal(plan_shapes(&plan, &in, UINT64_C(1) << 32, shapes, &failure), status);
    if (!strstr(failure.message, message)) fail_msg("%s: %s", text, failure.message);
}

static void sizes_that_are_refused(void **state) {
    (void)state;
    refused("smartcrop:width=41", image_shape(40, 30, 3, 8), STATUS_BAD_PARAM, "at most 40");
    refused("smartcrop:height=31", image_shape(40, 30, 3, 8), STATUS_BAD_PARAM, "at most 30");
    refused("smartcrop", image_shape(40, 30, 3, 8), STATUS_BAD_PARAM, "must be given");
    refused("smartcrop:width=3", image_shape(32768, 16385, 1, 8), STATUS_TOO_LARGE, "536870912");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_busiest_part),
        cmocka_unit_test(of_equals_the_middle),
        cmocka_unit_test(both_sides),
        cmocka_unit_test(sizes_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
