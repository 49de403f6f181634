// SPDX-License-Identifier: Apache-2.0
/* With as many operators as possible, whose texts need escapes, the description is JSON and lists
 * them all. tests/http/test_openapi.py tests the real operators. */
#include "server/api/openapi_json.h"

#include "pipeline/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

static const struct param params[] = {
    { .name = "level",
      .summary = "It's \"quoted\" \\ and \t more",
      .unit = "levels",
      .type = PARAM_INT,
      .min = -3,
      .max = 9,
      .def = 4 },
    { .name = "part", .summary = "", .type = PARAM_DECIMAL, .min = -2500, .max = 500, .def = -125 },
    { .name = "width", .summary = "Not given", .type = PARAM_INT, .min = 1, .max = 9 },
    { .type = PARAM_NONE },
};

static void all_that_fit_are_in_it(void **state) {
    (void)state;
    static struct op many[OP_SET_ADDED_MAX];
    static char names[OP_SET_ADDED_MAX][48];
    struct op_set set = { .added_count = 0 };
    for (int i = 0; i < OP_SET_ADDED_MAX; i++) {
        snprintf(names[i], sizeof names[i], "an_operator_with_a_name_of_40_charac_%03d", i);
        many[i] = (struct op){ .name = names[i], .summary = "It's \"one\"", .params = params };
        assert_true(op_set_add(&set, &many[i]));
    }
    char *text = openapi_json(&set);
    assert_non_null(text);
    assert_true(strlen(text) > 64 << 10);
    json_error_t error;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!json) fail_msg("%s at %d", error.text, error.position);
    const json_t *paths = json_object_get(json, "paths");
    for (int i = 0; i < OP_SET_ADDED_MAX; i++) {
        char path[sizeof names[i] + 1];
        const char *summary, *description;
        int least, most, def, given;
        double part;
        json_t *width;
        path[0] = '/';
        strcpy(path + 1, names[i]);
        assert_int_equal(
            json_unpack(json_object_get(paths, path),
                        "{s:{s:s, s:[{s:s, s:{s:i, s:i, s:i}}, {s:{s:F}}, {s:o, s:i}]}}", "post",
                        "summary", &summary, "parameters", "description", &description, "schema",
                        "minimum", &least, "maximum", &most, "default", &def, "schema", "default",
                        &part, "schema", &width, "example", &given),
            0);
        assert_string_equal(summary, "It's \"one\"");
        assert_string_equal(description, "It's \"quoted\" \\ and \t more (levels)");
        assert_true(least == -3 && most == 9 && def == 4 && part == -0.125);
        assert_null(json_object_get(width, "default"));
        assert_int_equal(given, 1);
    }
    json_decref(json);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_that_fit_are_in_it) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
