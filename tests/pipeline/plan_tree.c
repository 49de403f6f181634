// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan_tree.h"

#include "pipeline/registry.h"
#include "tests/pipeline/plan_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct plan_tree tree; /* tens of KB */

static void parts_are_read_in_order(void **state) {
    (void)state;
    assert_int_equal(plan_tree_read(&tree, "grayscale|edge|brightness:shift=9;threshold|", NULL),
                     STATUS_OK);
    assert_int_equal(tree.count, 4);
    assert_int_equal(tree.parts[0].count, 1);
    assert_int_equal(tree.parts[1].count, 1);
    assert_int_equal(tree.parts[2].count, 2);
    assert_int_equal(tree.parts[3].count, 0);
    assert_int_equal(tree.parts[2].steps[0].params.number[0], 9);
    static const char *const names[] = { "grayscale", "edge", "brightness", "threshold" };
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(plan_tree_step(&tree, i)->op->name, names[i]);
    assert_null(plan_tree_step(&tree, 4));
    assert_string_equal(plan_tree_unit(&tree), "steps");
    assert_int_equal(plan_tree_aux_part(&tree), -1);
    assert_false(plan_tree_has_user_operators(&tree));
}

/* The unit is that of the first operator that reports progress. */
static void progress_has_a_unit(void **state) {
    (void)state;
    assert_int_equal(plan_tree_read(&tree, "histeq|grayscale", NULL), STATUS_OK);
    assert_string_equal(plan_tree_unit(&tree), "steps");
    if (!registry_find("carve")) return;
    assert_int_equal(plan_tree_read(&tree, "histeq|grayscale|mean;carve:dx=-1", NULL), STATUS_OK);
    assert_string_equal(plan_tree_unit(&tree), "seams");
}

static void a_plan_is_a_trunk(void **state) {
    (void)state;
    static const char *const texts[] = { "", "histeq", "mean;histeq" };
    for (int i = 0; i < 3; i++) {
        assert_int_equal(plan_tree_read(&tree, texts[i], NULL), STATUS_OK);
        assert_int_equal(tree.count, 1);
        assert_int_equal(tree.parts[0].count, i);
    }
    assert_int_equal(plan_tree_read(&tree, "|", NULL), STATUS_OK);
    assert_int_equal(tree.count, 2);
}

static struct plan_tree other;

/* Every built-in operator, with each parameter at its default and at another value. */
static void data_are_read_back(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "histeq",
        "|",
        "mean||edge|",
        "convolve:taps=1 2 3 4 5 6 7 8 9;brightness:shift=-9",
        "brightness:shift=0|brightness:shift=255;blur:sigma=0.5",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct failure failure = { 0 };
        struct plan_data data;
        if (plan_tree_read(&tree, texts[i], &failure)) fail_msg("%s", failure.message);
        assert_int_equal(plan_tree_pack(&tree, &data, NULL), STATUS_OK);
        memset(&other, 0xff, sizeof other);
        assert_int_equal(plan_tree_unpack(&other, NULL, &data, NULL), STATUS_OK);
        assert_int_equal(other.count, tree.count);
        for (int p = 0; p < tree.count; p++)
            assert_true(plan_is_same(&other.parts[p], &tree.parts[p]));
    }
}

static void equal_plans_have_equal_data(void **state) {
    (void)state;
    const struct plan_data a = plan_data_of("brightness:shift=0;mean"),
                           b = plan_data_of("brightness;mean"),
                           c = plan_data_of("brightness:shift=1;mean"),
                           d = plan_data_of("brightness;mean|"),
                           e = plan_data_of("mean;brightness");
    assert_true(plan_data_is_same(&a, &b));
    assert_false(plan_data_is_same(&a, &c));
    assert_false(plan_data_is_same(&a, &d));
    assert_false(plan_data_is_same(&a, &e));
}

/* Data that are cut, or have one changed byte, are refused or give a sound tree. */
static void damaged_data_do_no_harm(void **state) {
    (void)state;
    const struct plan_data whole =
        plan_data_of("convolve:taps=1 2 3 4 5 6 7 8 9;blur:sigma=0.5|edge|mean");
    struct plan_data data;
    for (uint32_t length = 0; length < whole.length; length++) {
        data = whole;
        data.length = length;
        if (plan_tree_unpack(&tree, NULL, &data, NULL) == STATUS_OK) assert_true(tree.count < 3);
    }
    data = whole;
    data.length = PLAN_DATA_MAX + 1;
    assert_int_equal(plan_tree_unpack(&tree, NULL, &data, NULL), STATUS_INTERNAL);
    for (uint32_t at = 0; at < whole.length; at++)
        for (int value = 0; value < 256; value++) {
            data = whole;
            data.bytes[at] = (uint8_t)value;
            if (plan_tree_unpack(&tree, NULL, &data, NULL)) continue;
            assert_in_range(tree.count, 1, PLAN_PARTS_MAX);
            for (int p = 0; p < tree.count; p++) {
                assert_in_range(tree.parts[p].count, 0, PLAN_STEPS_MAX);
                for (int s = 0; s < tree.parts[p].count; s++) {
                    const struct step *step = &tree.parts[p].steps[s];
                    assert_ptr_equal(op_set_find(registry_set(), step->op->name), step->op);
                    assert_in_range(step->params.tap_count, 0, TAPS_MAX);
                    for (int i = 0; step->op->params && step->op->params[i].type; i++)
                        if (step->params.given >> i & 1)
                            assert_true(params_is_valid(&step->params, step->op->params, i));
                }
            }
        }
}

/* TIMES times WORD behind HEAD, with BETWEEN before each. */
static const char *repeat(const char *head, const char *between, const char *word, int times) {
    static char text[4 * PLAN_TEXT_MAX];
    int used = snprintf(text, sizeof text, "%s", head);
    for (int i = 0; i < times; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", between, word);
    return text;
}

static void limits_hold(void **state) {
    (void)state;
    struct failure failure;
    assert_int_equal(plan_tree_read(&tree, repeat("mean", "|", "mean", 32), &failure), STATUS_OK);
    assert_int_equal(tree.count, 33);
    assert_int_equal(plan_tree_read(&tree, repeat("mean", "|", "mean", 33), &failure),
                     STATUS_BAD_PARAM);
    assert_int_equal(plan_tree_read(&tree, repeat("mean|mean", ";", "mean", 8), &failure),
                     STATUS_OK);
    assert_int_equal(plan_tree_read(&tree, repeat("mean|mean", ";", "mean", 9), &failure),
                     STATUS_BAD_PARAM);
    /* The most steps fit if they have no parameters. */
    char text[PLAN_TEXT_MAX];
    strcpy(text, repeat("", ";", "flip", PLAN_STEPS_MAX) + 1);
    struct plan_data data;
    assert_int_equal(plan_tree_read(&tree, repeat("", "|", text, 32), &failure), STATUS_OK);
    assert_int_equal(plan_tree_pack(&tree, &data, &failure), STATUS_OK);
    strcpy(text, repeat("", ";", "resize:width=300,height=400", PLAN_STEPS_MAX) + 1);
    assert_int_equal(plan_tree_read(&tree, repeat("", "|", text, 32), &failure), STATUS_OK);
    assert_int_equal(plan_tree_pack(&tree, &data, &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "2048"));
    assert_int_equal(plan_tree_read(&tree, "mean|unheard_of", &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "unheard_of"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_read_in_order),
        cmocka_unit_test(a_plan_is_a_trunk),
        cmocka_unit_test(progress_has_a_unit),
        cmocka_unit_test(data_are_read_back),
        cmocka_unit_test(equal_plans_have_equal_data),
        cmocka_unit_test(damaged_data_do_no_harm),
        cmocka_unit_test(limits_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
