// SPDX-License-Identifier: Apache-2.0
/* extract against tables by hand and against a slow function; what is beyond the edge is refused.
 * covers: pipeline/ops/rectangle.h */
#include "pipeline/ops/extract.h"
#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

static const uint8_t twelve[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }; /* 4 x 3 */

static void by_hand(void **state) {
    (void)state;
    check_8("extract:left=1,top=1,width=2,height=2", 4, 3, 1, twelve, 1,
            (const uint8_t[]){ 6, 7, 10, 11 });
    check_8("extract:left=3,width=1,height=3", 4, 3, 1, twelve, 1, (const uint8_t[]){ 4, 8, 12 });
    check_8("extract:top=2,width=4,height=1", 4, 3, 1, twelve, 1,
            (const uint8_t[]){ 9, 10, 11, 12 });
    check_8("extract:width=1,height=1", 4, 3, 1, twelve, 1, twelve);
    check_8("extract:width=4,height=3", 4, 3, 1, twelve, 1, twelve);
    check_8("extract:left=1,width=1,height=2", 2, 2, 3, twelve, 3,
            (const uint8_t[]){ 4, 5, 6, 10, 11, 12 });
    check_8("extract:top=2,width=1,height=1", 1, 3, 4, twelve, 4, twelve + 8);
    const uint16_t wide[] = { 1, 65535, 300, 400, 500, 600 };
    check_16("extract:left=1,width=1,height=1", 3, 1, 2, wide, 2, wide + 2);
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    return (uint32_t)against_sample(in, x + params->number[EXTRACT_LEFT],
                                    y + params->number[EXTRACT_TOP], c);
}

static void every_offset_and_depth(void **state) {
    (void)state;
    static const char *const texts[] = {
        "extract:left=1,top=2,width=100,height=60", "extract:left=17,width=16,height=66",
        "extract:left=122,top=65,width=1,height=1", "extract:left=7,top=1,width=113,height=65",
        "extract:top=3,width=123,height=60",
    };
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        for (unsigned channels = 1; channels <= 4; channels++)
            for (unsigned depth = 8; depth <= 16; depth += 8) {
                struct plan plan;
                assert_int_equal(plan_parse(&plan, texts[t], NULL), STATUS_OK);
                against_one(texts[t], &plan.steps[0], image_shape(123, 66, channels, depth),
                            PICTURE_NOISE, expected);
            }
}

static void refused(const char *text, const char *name, const char *size) {
    struct plan plan;
    struct image shapes[PLAN_STEPS_MAX + 1];
    struct failure failure = { 0 };
    const struct image in = image_shape(40, 30, 3, 8);
    assert_int_equal(plan_parse(&plan, text, &failure), STATUS_OK);
    assert_int_equal(plan_shapes(&plan, &in, 1 << 20, shapes, &failure), STATUS_BAD_PARAM);
    if (!strstr(failure.message, name) || !strstr(failure.message, size))
        fail_msg("%s: %s", text, failure.message);
}

static void beyond_the_edge_is_refused(void **state) {
    (void)state;
    refused("extract:left=40,width=1,height=1", "left + width must be at most 40, not 41",
            "40 x 30");
    refused("extract:left=39,width=2,height=30", "left + width", "40 x 30");
    refused("extract:width=41,height=1", "not 41", "40 x 30");
    refused("extract:top=29,height=2,width=1", "top + height must be at most 30, not 31",
            "40 x 30");
    refused("extract:top=65534,width=40,height=65535", "top + height", "40 x 30");
    refused("extract:left=65534,width=65535,height=1", "left + width", "40 x 30");
}

static void sizes_must_be_given(void **state) {
    (void)state;
    struct plan plan;
    struct failure failure = { 0 };
    assert_int_equal(plan_parse(&plan, "extract:height=3,left=2", &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "width must be given"));
    assert_int_equal(plan_parse(&plan, "extract:height=0,width=3", &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "height must be 1..65535"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(every_offset_and_depth),
        cmocka_unit_test(beyond_the_edge_is_refused),
        cmocka_unit_test(sizes_must_be_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
