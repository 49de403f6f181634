// SPDX-License-Identifier: Apache-2.0
/* Two sets beside each other: what is added to one is in no other. */
#include "pipeline/op_set.h"

#include "pipeline/plan.h"
#include "pipeline/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void sets_know_nothing_of_each_other(void **state) {
    (void)state;
    static const struct op mine = { .name = "aaa_mine" }, yours = { .name = "aaa_yours" };
    static const struct op another = { .name = "aaa_mine" };
    struct op_set one = { .added_count = 0 }, other = { .added_count = 0 };
    const int count = registry_count();
    assert_int_equal(op_set_count(&one), count);
    assert_true(op_set_add(&one, &mine));
    assert_false(op_set_add(&one, &another));
    assert_true(op_set_add(&other, &yours));
    assert_true(op_set_add(&other, &another));
    assert_int_equal(op_set_count(&one), count + 1);
    assert_ptr_equal(op_set_at(&one, count), &mine);
    assert_null(op_set_at(&one, count + 1));
    assert_null(op_set_at(&one, -1));
    assert_ptr_equal(op_set_find(&one, "aaa_mine"), &mine);
    assert_ptr_equal(op_set_find(&other, "aaa_mine"), &another);
    assert_null(op_set_find(&one, "aaa_yours"));
    assert_null(registry_find("aaa_mine"));
    assert_true(op_set_is_added(&one, &mine));
    assert_false(op_set_is_added(&one, &another));
    assert_string_equal(op_set_nearest(&one, "aaa_min"), "aaa_mine");
    if (!count) return;
    assert_ptr_equal(op_set_find(&one, registry_at(0)->name), registry_at(0));
    assert_false(op_set_is_added(&one, registry_at(0)));
    assert_false(op_set_add(&one, registry_at(0)));
}

static void more_than_fit_are_refused(void **state) {
    (void)state;
    static struct op many[OP_SET_ADDED_MAX + 1];
    static char names[OP_SET_ADDED_MAX + 1][16];
    struct op_set set = { .added_count = 0 };
    int taken = 0;
    for (int i = 0; i <= OP_SET_ADDED_MAX; i++) {
        snprintf(names[i], sizeof names[i], "zz_%d", i);
        many[i].name = names[i];
        taken += op_set_add(&set, &many[i]);
    }
    assert_int_equal(taken, OP_SET_ADDED_MAX);
}

static void a_plan_has_operators_of_its_set(void **state) {
    (void)state;
    static const struct param none[] = { { .type = PARAM_NONE } };
    static const struct op mine = { .name = "aaa_mine", .params = none };
    struct op_set set = { .added_count = 0 };
    struct failure failure = { 0 };
    struct plan with = { .ops = &set }, without = { .count = 0 };
    assert_true(op_set_add(&set, &mine));
    assert_int_equal(plan_add(&with, "aaa_mine", &failure), STATUS_OK);
    assert_ptr_equal(with.steps[0].op, &mine);
    assert_int_equal(plan_add(&without, "aaa_mine", &failure), STATUS_BAD_PARAM);
    assert_null(strstr(failure.message, "mean \"aaa_mine"));
    assert_int_equal(plan_add(&with, "aaa_min", &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "did you mean \"aaa_mine\""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_know_nothing_of_each_other),
        cmocka_unit_test(more_than_fit_are_refused),
        cmocka_unit_test(a_plan_has_operators_of_its_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
