// SPDX-License-Identifier: Apache-2.0
/* crop against tables by hand: every gravity, of what can be halved and what cannot. */
#include "pipeline/plan.h"
#include "tests/pipeline/ops/table.h"

#include <stdio.h>

static const uint8_t twelve[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }; /* 4 x 3 */

static void every_gravity(void **state) {
    (void)state;
    static const struct {
        const char *gravity;
        uint8_t out[2]; /* the part is 1 x 2: 3 columns are cut off, and a row */
    } table[] = {
        { "centre", { 2, 6 } },    { "north", { 2, 6 } },      { "northeast", { 4, 8 } },
        { "east", { 4, 8 } },      { "southeast", { 8, 12 } }, { "south", { 6, 10 } },
        { "southwest", { 5, 9 } }, { "west", { 1, 5 } },       { "northwest", { 1, 5 } },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[64];
        snprintf(text, sizeof text, "crop:width=1,height=2,gravity=%s", table[i].gravity);
        check_8(text, 4, 3, 1, twelve, 1, table[i].out);
    }
}

static void a_side_that_is_not_given_stays(void **state) {
    (void)state;
    check_8("crop:width=2", 4, 3, 1, twelve, 1, (const uint8_t[]){ 2, 3, 6, 7, 10, 11 });
    check_8("crop:height=1", 4, 3, 1, twelve, 1, (const uint8_t[]){ 5, 6, 7, 8 });
    check_8("crop:width=4,height=3", 4, 3, 1, twelve, 1, twelve);
    const uint16_t wide[] = { 1, 65535, 300, 400, 500, 600 };
    check_16("crop:width=1", 3, 1, 2, wide, 2, (const uint16_t[]){ 300, 400 });
    check_8("crop:width=1,gravity=east", 2, 2, 3, twelve, 3,
            (const uint8_t[]){ 4, 5, 6, 10, 11, 12 });
}

static void refused(const char *text, const char *message) {
    struct plan plan;
    struct image shapes[PLAN_STEPS_MAX + 1];
    struct failure failure = { 0 };
    const struct image in = image_shape(40, 30, 3, 8);
    if (!plan_parse(&plan, text, &failure))
        assert_int_equal(plan_shapes(&plan, &in, 1 << 20, shapes, &failure), STATUS_BAD_PARAM);
    if (!strstr(failure.message, message)) fail_msg("%s: %s", text, failure.message);
}

static void what_is_larger_than_the_image_is_refused(void **state) {
    (void)state;
    refused("crop:width=41", "width must be at most 40, not 41: the image is 40 x 30 pixels");
    refused("crop:width=40,height=65535", "height must be at most 30");
    refused("crop", "width, height or both must be given");
    refused("crop:gravity=north", "must be given");
    refused("crop:width=0", "width must be 1..65535");
    refused("crop:width=3,gravity=up", "gravity");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gravity),
        cmocka_unit_test(a_side_that_is_not_given_stays),
        cmocka_unit_test(what_is_larger_than_the_image_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
