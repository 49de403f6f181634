// SPDX-License-Identifier: Apache-2.0
/* The operators that this program was built with. */
#include "pipeline/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_is_found_by_its_name),
        cmocka_unit_test(a_slip_finds_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
