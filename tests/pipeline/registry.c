// SPDX-License-Identifier: Apache-2.0
/* The operators that this program was built with, and those that are added.
 * covers: pipeline/builtin_ops.c
 */
#include "pipeline/registry.h"
#include "pipeline/builtin_ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void every_operator_is_found_by_its_name(void **state) {
    (void)state;
    assert_true(registry_count() > 0);
    for (int i = 0; i < registry_count(); i++) {
        const struct op *op = registry_at(i);
        assert_ptr_equal(registry_find(op->name), op);
        if (i) assert_true(strcmp(registry_at(i - 1)->name, op->name) < 0);
        for (int a = 0; a < OP_AUX_MAX && op->aux[a].name; a++)
            assert_string_equal(registry_aux(op->aux[a].name), op->aux[a].name);
    }
    assert_null(registry_at(-1));
    assert_null(registry_at(registry_count()));
    assert_null(registry_find("nothing"));
    assert_null(registry_aux("image"));
}

static void a_slip_finds_the_nearest(void **state) {
    (void)state;
    if (registry_find("grayscale")) assert_string_equal(registry_nearest("greyscale"), "grayscale");
    assert_null(registry_nearest("zzzzzzzzzzzz"));
}

static void an_added_operator_stands_behind_the_others(void **state) {
    (void)state;
    static const struct op mine = { .name = "aaa_mine" };
    static const struct op again = { .name = "aaa_mine" };
    const int count = registry_count();
    assert_int_equal(builtin_op_count(), count);
    assert_true(registry_add(&mine));
    assert_false(registry_add(&again));
    assert_int_equal(registry_count(), count + 1);
    assert_int_equal(builtin_op_count(), count);
    assert_ptr_equal(registry_at(count), &mine);
    assert_ptr_equal(registry_find("aaa_mine"), &mine);
    assert_string_equal(registry_nearest("aaa_min"), "aaa_mine");
    assert_null(registry_at(count + 1));
    if (count) assert_false(registry_add(registry_at(0)));
}

static void more_than_fit_are_refused(void **state) {
    (void)state;
    static struct op many[REGISTRY_ADDED_MAX];
    static char names[REGISTRY_ADDED_MAX][16];
    int taken = 0;
    for (int i = 0; i < REGISTRY_ADDED_MAX; i++) {
        snprintf(names[i], sizeof names[i], "zz_%d", i);
        many[i].name = names[i];
        taken += registry_add(&many[i]);
    }
    assert_int_equal(taken, REGISTRY_ADDED_MAX - 1); /* one was there */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_is_found_by_its_name),
        cmocka_unit_test(a_slip_finds_the_nearest),
        cmocka_unit_test(an_added_operator_stands_behind_the_others),
        cmocka_unit_test(more_than_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
