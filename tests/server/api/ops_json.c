// SPDX-License-Identifier: Apache-2.0
/* The list fails, rather than leave an operator out, when a text is not UTF-8.
 * tests/http/test_openapi.py and test_operators_dir.py test the real operators. */
#include "server/api/ops_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_text_that_is_none(void **state) {
    (void)state;
    struct param params[] = { { .name = "level", .summary = "a", .type = PARAM_BOOL },
                              { .type = PARAM_NONE } };
    struct op op = { .name = "own", .summary = "One", .params = params };
    struct op_set set = { .added_count = 0 };
    assert_true(op_set_add(&set, &op));
    json_t *json = ops_json(&set);
    assert_non_null(json);
    json_decref(json);
    params[0].summary = "caf\xe9";
    assert_null(ops_json(&set));
    params[0].summary = "a";
    op.summary = "half: \xce";
    assert_null(ops_json(&set));
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_text_that_is_none) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
