// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct plan_tree tree; /* tens of KB */

static void parts_are_read_in_order(void **state) {
    (void)state;
    assert_int_equal(plan_tree_parse(&tree, "grayscale|edge|brightness:shift=9;threshold|", NULL),
                     STATUS_OK);
    assert_int_equal(tree.count, 4);
    assert_int_equal(tree.parts[0].count, 1);
    assert_int_equal(tree.parts[1].count, 1);
    assert_int_equal(tree.parts[2].count, 2);
    assert_int_equal(tree.parts[3].count, 0);
    assert_int_equal(tree.parts[2].steps[0].params.number[0], 9);
    assert_int_equal(plan_tree_steps_before(&tree, 0), 0);
    assert_int_equal(plan_tree_steps_before(&tree, 2), 2);
    static const char *const names[] = { "grayscale", "edge", "brightness", "threshold" };
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(plan_tree_step(&tree, i)->op->name, names[i]);
    assert_null(plan_tree_step(&tree, 4));
    assert_string_equal(plan_tree_unit(&tree), "steps");
    assert_int_equal(plan_tree_aux_part(&tree), -1);
    assert_false(plan_tree_has_user_operators(&tree));
}

static void a_plan_is_a_trunk(void **state) {
    (void)state;
    static const char *const texts[] = { "", "histeq", "mean;histeq" };
    for (int i = 0; i < 3; i++) {
        assert_int_equal(plan_tree_parse(&tree, texts[i], NULL), STATUS_OK);
        assert_int_equal(tree.count, 1);
        assert_int_equal(tree.parts[0].count, i);
    }
    assert_int_equal(plan_tree_parse(&tree, "|", NULL), STATUS_OK);
    assert_int_equal(tree.count, 2);
}

/* A part without steps needs its bar all the same. */
static void a_text_with_no_room_for_a_bar_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = { "mean|", "|", "mean|edge|" };
    char text[32];
    for (int i = 0; i < 3; i++) {
        const size_t whole = strlen(texts[i]) + 1;
        assert_int_equal(plan_tree_parse(&tree, texts[i], NULL), STATUS_OK);
        assert_int_equal(plan_tree_print(&tree, text, whole, NULL), STATUS_OK);
        assert_string_equal(text, texts[i]);
        assert_int_equal(plan_tree_print(&tree, text, whole - 1, NULL), STATUS_BAD_PARAM);
    }
}

/* TIMES times WORD behind HEAD, with BETWEEN before each. */
static const char *repeat(const char *head, const char *between, const char *word, int times) {
    static char text[2 * PLAN_TEXT_MAX];
    int used = snprintf(text, sizeof text, "%s", head);
    for (int i = 0; i < times; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", between, word);
    return text;
}

static void limits_hold(void **state) {
    (void)state;
    struct failure failure;
    assert_int_equal(plan_tree_parse(&tree, repeat("mean", "|", "mean", 32), &failure), STATUS_OK);
    assert_int_equal(tree.count, 33);
    assert_int_equal(plan_tree_parse(&tree, repeat("mean", "|", "mean", 33), &failure),
                     STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "32"));
    assert_int_equal(plan_tree_parse(&tree, repeat("mean|mean", ";", "mean", 8), &failure),
                     STATUS_OK);
    assert_int_equal(plan_tree_parse(&tree, repeat("mean|mean", ";", "mean", 9), &failure),
                     STATUS_BAD_PARAM);
    assert_int_equal(plan_tree_parse(&tree, repeat("", "|", "brightness:shift=1", 200), &failure),
                     STATUS_BAD_PARAM);
    assert_int_equal(plan_tree_parse(&tree, "mean|unheard_of", &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "unheard_of"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_read_in_order),
        cmocka_unit_test(a_plan_is_a_trunk),
        cmocka_unit_test(a_text_with_no_room_for_a_bar_is_refused),
        cmocka_unit_test(limits_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
