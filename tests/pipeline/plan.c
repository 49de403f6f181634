// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan.h"
#include "pipeline/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void registry_is_in_order(void **state) {
    (void)state;
    assert_true(registry_count() > 0);
    assert_null(registry_at(-1));
    assert_null(registry_at(registry_count()));
    assert_null(registry_find("no such"));
    assert_null(registry_find(""));
    for (int i = 0; i < registry_count(); i++) {
        const struct op *op = registry_at(i);
        assert_ptr_equal(registry_find(op->name), op);
        assert_non_null(op->summary);
        assert_non_null(op->run);
        if (i) assert_true(strcmp(registry_at(i - 1)->name, op->name) < 0);
    }
}

static const char *const round_trips[] = {
    "",
    "grayscale",
    "grayscale;histeq",
    "histeq:bins=17",
    "histeq:bins=17,scale=maxabs,channel=luma;grayscale;histeq:channel=each",
};

static void prints_what_it_parses(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof round_trips / sizeof *round_trips; i++) {
        struct plan plan;
        struct failure failure = { 0 };
        char text[PLAN_TEXT_MAX];
        assert_int_equal(plan_parse(&plan, round_trips[i], &failure), STATUS_OK);
        assert_int_equal(plan_print(&plan, text, sizeof text, &failure), STATUS_OK);
        assert_string_equal(text, round_trips[i]);
        size_t length = strlen(text);
        if (!length) continue;
        assert_int_equal(plan_print(&plan, text, length + 1, NULL), STATUS_OK);
        assert_int_equal(plan_print(&plan, text, length, &failure), STATUS_BAD_PARAM);
    }
}

static void defaults_are_left_out(void **state) {
    (void)state;
    struct plan plan;
    char text[64];
    assert_int_equal(plan_parse(&plan, "histeq:bins=256,channel=value", NULL), STATUS_OK);
    assert_int_equal(plan_print(&plan, text, sizeof text, NULL), STATUS_OK);
    assert_string_equal(text, "histeq");
}

static const struct wrong {
    const char *text, *message;
} wrongs[] = {
    { "histq", "there is no operator \"histq\"; did you mean \"histeq\"?" },
    { "histeq:bin=2",
      "histeq has no parameter \"bin\"; did you mean \"bins\"? It takes bins, scale, channel" },
    { "histeq:bins=70000", "histeq: bins must be 2..65536, not 70000" },
    { "histeq:bins=2,bins=2", "histeq: bins is given twice; give it once" },
    { "histeq:", "histeq: \"\" should be name=value" },
    { "histeq:bins", "histeq: \"bins\" should be name=value" },
    { "histeq:=2", "histeq: \"=2\" should be name=value" },
    { "histeq:bins=2,", "histeq: \"\" should be name=value" },
    { "histeq:bins=2,3", "histeq: bins must be an integer 2..65536, not \"2,3\"" },
    { ";", "step 1 of the pipeline names no operator" },
    { "histeq;", "step 2 of the pipeline names no operator" },
    { ":bins=2", "step 1 of the pipeline names no operator" },
    { "histeq;histeq;histeq;histeq;histeq;histeq;histeq;histeq;histeq;histeq;histeq",
      "a pipeline takes at most 10 steps" },
};

static void refuses_what_is_wrong(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        struct plan plan;
        struct failure failure = { 0 };
        assert_int_equal(plan_parse(&plan, wrongs[i].text, &failure), STATUS_BAD_PARAM);
        assert_string_equal(failure.message, wrongs[i].message);
    }
    struct plan plan;
    struct failure failure = { 0 };
    assert_int_equal(plan_parse(&plan, "zzzzzz", &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "; there are "));
    plan.count = 0;
    assert_int_equal(plan_set(&plan, "bins", "2", &failure), STATUS_BAD_PARAM);
}

static void text_is_bounded(void **state) {
    (void)state;
    static char text[PLAN_TEXT_MAX + 1];
    struct plan plan;
    struct failure failure = { 0 };
    memset(text, 'h', PLAN_TEXT_MAX);
    assert_int_equal(plan_parse(&plan, text, &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "at most 2047 characters"));
    text[PLAN_TEXT_MAX - 1] = '\0';
    assert_int_equal(plan_parse(&plan, text, &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "there is no operator"));
}

static void taps_may_have_commas(void **state) {
    (void)state;
    if (!registry_find("convolve")) skip();
    struct plan plan, again;
    char text[PLAN_TEXT_MAX];
    memset(&plan, 0, sizeof plan);
    memset(&again, 0, sizeof again);
    assert_int_equal(plan_parse(&plan, "convolve:taps=0,-1,0, -1,5,-1,0,-1,0,divisor=2", NULL),
                     STATUS_OK);
    assert_int_equal(plan_print(&plan, text, sizeof text, NULL), STATUS_OK);
    assert_string_equal(text, "convolve:taps=0 -1 0 -1 5 -1 0 -1 0,divisor=2");
    assert_int_equal(plan_parse(&again, text, NULL), STATUS_OK);
    assert_memory_equal(&plan, &again, sizeof plan);
}

static void shapes_follow(void **state) {
    (void)state;
    struct plan plan;
    struct failure failure = { 0 };
    struct image shapes[PLAN_STEPS_MAX + 1];
    struct image in = image_shape(300, 200, 3, 8);
    assert_int_equal(plan_parse(&plan, "histeq;grayscale;histeq", NULL), STATUS_OK);
    assert_int_equal(plan_shapes(&plan, &in, 60000, shapes, &failure), STATUS_OK);
    assert_int_equal(shapes[0].channels, 3);
    assert_int_equal(shapes[1].channels, 3);
    assert_int_equal(shapes[2].channels, 1);
    assert_int_equal(shapes[3].channels, 1);
    assert_int_equal(shapes[3].width, 300);
    assert_int_equal(shapes[3].height, 200);
    assert_int_equal(plan_shapes(&plan, &in, 59999, shapes, &failure), STATUS_TOO_LARGE);
    assert_string_equal(
        failure.message,
        "the image: width 300 x height 200 is 60000 pixels, more than the 59999 of pixels_max");
}

/* Each step's percentages are of the image that it gets. */
static void percentages_follow(void **state) {
    (void)state;
    if (!registry_find("crop")) skip();
    struct plan plan, same;
    struct failure failure = { 0 };
    struct image shapes[PLAN_STEPS_MAX + 1];
    const struct image in = image_shape(300, 200, 3, 8);
    char text[128];
    assert_int_equal(plan_parse(&plan, "crop:50%;histeq;crop:width=10%,height=7", NULL), STATUS_OK);
    assert_int_equal(plan_print(&plan, text, sizeof text, NULL), STATUS_OK);
    assert_string_equal(text, "crop:width=50%,height=50%;histeq;crop:width=10%,height=7");
    same = plan;
    assert_true(plan_is_same(&plan, &same));
    assert_int_equal(plan_settle(&plan, &in, true, 60000, shapes, &failure), STATUS_OK);
    assert_false(plan_is_same(&plan, &same));
    assert_int_equal(plan_print(&plan, text, sizeof text, NULL), STATUS_OK);
    assert_string_equal(text, "crop:width=150,height=100;histeq;crop:width=15,height=7");
    assert_int_equal(shapes[3].width, 15);
    assert_int_equal(shapes[3].height, 7);
    assert_int_equal(plan_settle(&same, &in, true, 59999, shapes, &failure), STATUS_TOO_LARGE);
}

/* The first value may have no name. */
static void sizes_without_names(void **state) {
    (void)state;
    static const char *const table[][2] = {
        { "crop:300x200", "crop:width=300,height=200" },
        { "crop:300x", "crop:width=300" },
        { "crop:x20,gravity=north", "crop:height=20,gravity=north" },
        { "crop:7", "crop:width=7" },
        { "crop:2.5%x20", "crop:width=2.5%,height=20" },
        { "crop:x50%", "crop:height=50%" },
        { "histeq:64,scale=maxabs", "histeq:bins=64,scale=maxabs" },
    };
    static const char *const wrong[] = {
        "crop:x",         "crop:1x2x3", "crop:300X200", "crop:wide", "crop:gravity=north,3x4",
        "crop:3,width=4", "histeq:3x4", "flip:3"
    };
    struct plan plan;
    char text[128];
    if (!registry_find("crop") || !registry_find("flip")) skip();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_int_equal(plan_parse(&plan, table[i][0], NULL), STATUS_OK);
        assert_int_equal(plan_print(&plan, text, sizeof text, NULL), STATUS_OK);
        assert_string_equal(text, table[i][1]);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(plan_parse(&plan, wrong[i], NULL), STATUS_BAD_PARAM);
}

static void an_operator_of_one_depth_takes_no_other(void **state) {
    (void)state;
    static const struct op deep = { .name = "only_16", .summary = "Tests", .depth = 16 };
    struct plan plan = { 0 };
    struct image shapes[PLAN_STEPS_MAX + 1];
    struct failure failure = { 0 };
    struct image in = image_shape(4, 3, 1, 16);
    assert_true(registry_add(&deep));
    assert_int_equal(plan_add(&plan, "only_16", &failure), STATUS_OK);
    assert_int_equal(plan_shapes(&plan, &in, 100, shapes, &failure), STATUS_OK);
    in = image_shape(4, 3, 1, 8);
    assert_int_equal(plan_shapes(&plan, &in, 100, shapes, &failure), STATUS_MISMATCH);
    assert_string_equal(failure.message,
                        "only_16 takes images of 16 bits a sample, and this one has 8 bits a "
                        "sample; put the step depth with bits=16 before it");
}

/* One step is enough, wherever it stands. */
static void users_operators_are_known(void **state) {
    (void)state;
    static const struct op mine = { .name = "plan_mine", .summary = "Tests" };
    struct plan plan;
    assert_true(registry_add(&mine));
    assert_int_equal(plan_parse(&plan, "histeq;plan_mine;histeq", NULL), STATUS_OK);
    assert_true(plan_has_user_operators(&plan));
    assert_int_equal(plan_parse(&plan, "histeq;histeq", NULL), STATUS_OK);
    assert_false(plan_has_user_operators(&plan));
    assert_false(plan_has_user_operators(&(struct plan){ .count = 0 }));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registry_is_in_order),
        cmocka_unit_test(prints_what_it_parses),
        cmocka_unit_test(defaults_are_left_out),
        cmocka_unit_test(refuses_what_is_wrong),
        cmocka_unit_test(text_is_bounded),
        cmocka_unit_test(taps_may_have_commas),
        cmocka_unit_test(shapes_follow),
        cmocka_unit_test(percentages_follow),
        cmocka_unit_test(sizes_without_names),
        cmocka_unit_test(users_operators_are_known),
        cmocka_unit_test(an_operator_of_one_depth_takes_no_other),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
