// SPDX-License-Identifier: Apache-2.0
/* Texts of any bytes become JSON that says the same. */
#include "server/api/json_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

/* TEXT as JSON, read by another program. */
static void check(const char *text, const char *wanted) {
    char memory[4096];
    struct json_writer json = json_writer_in(memory, sizeof memory);
    json_writer_string(&json, text);
    json_t *read = json_loads(memory, JSON_DECODE_ANY, NULL);
    assert_non_null(read);
    assert_string_equal(json_string_value(read), wanted);
    json_decref(read);
}

static void characters_stay(void **state) {
    (void)state;
    char all[129];
    for (int i = 1; i < 128; i++) all[i - 1] = (char)i;
    all[127] = '\0';
    check(all, all);
    check("", "");
    check("\u039a\u03b1\u03c4\u03ce\u03c6\u03bb\u03b9 \u20ac \U0001f600",
          "\u039a\u03b1\u03c4\u03ce\u03c6\u03bb\u03b9 \u20ac \U0001f600");
}

static void bytes_that_are_no_character(void **state) {
    (void)state;
    check("caf\xe9.c", "caf\ufffd.c");
    check("\xe2\x82", "\ufffd\ufffd");
    check("\xff\xc3\xa9\x80", "\ufffd\u00e9\ufffd");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_stay),
        cmocka_unit_test(bytes_that_are_no_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
