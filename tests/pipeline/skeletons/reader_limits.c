// SPDX-License-Identifier: Apache-2.0
/* A file of operators has limits; a refusal names the one that is exceeded. */
#include "pipeline/skeletons/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct diagnostics diagnostics;

static struct user_file *read_text(const char *text) {
    return reader_read("dir/op.c", text, strlen(text), 0, &diagnostics);
}

static void a_file_that_is_too_large_is_not_read(void **state) {
    (void)state;
    char *text = malloc(READER_BYTES_MAX + 1);
    memset(text, '\n', READER_BYTES_MAX + 1);
    assert_null(reader_read("big.c", text, READER_BYTES_MAX + 1, 0, &diagnostics));
    assert_string_equal(diagnostics.list[0].text,
                        "the file has 65537 bytes; at most 65536 are read");
    free(text);
}

static void brackets_have_a_depth(void **state) {
    (void)state;
    char text[512] = "static const int a = ";
    memset(text + strlen(text), '(', 200);
    assert_null(read_text(text));
    assert_string_equal(diagnostics.list[0].text, "brackets are nested more than 128 deep");
}

static void more_operators_than_fit(void **state) {
    (void)state;
    char text[4096];
    size_t used = 0;
    for (int i = 0; i <= USER_OPS_MAX; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "#R2S_FUNC\nstatic T f%d(E a, E b) { return a; }\n", i);
    assert_null(read_text(text));
    assert_int_equal(diagnostics.list[0].line, 2 * USER_OPS_MAX + 1);
    assert_string_equal(diagnostics.list[0].text, "a file takes at most 16 operators");
}

static void more_structs_than_fit(void **state) {
    (void)state;
    char text[4096];
    size_t used = 0;
    for (int i = 0; i <= USER_STRUCTS_MAX; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "#STRUCT\ntypedef struct { int a; } s%d;\n", i);
    snprintf(text + used, sizeof text - used,
             "#P2P_FUNC\nstatic unsigned char f(unsigned char p, int i) { return p; }\n");
    assert_null(read_text(text));
    assert_int_equal(diagnostics.list[0].line, 2 * USER_STRUCTS_MAX + 1);
    assert_string_equal(diagnostics.list[0].text, "a file takes at most 8 structs");
}

static void a_name_has_at_most_40_characters(void **state) {
    (void)state;
    static const char rest[] = "(unsigned char p, int i) { return p; }\n";
    static const char *const before[] = {
        "#P2P_FUNC\nstatic unsigned char ",    /* an operator */
        "#STRUCT\ntypedef struct { int a, ",   /* a field */
        "#STRUCT\ntypedef struct { int a; } ", /* a struct */
    };
    static const char *const behind[] = { rest, "; } s;\n#P2P_FUNC\nstatic unsigned char f",
                                          ";\n#P2P_FUNC\nstatic unsigned char f" };
    char text[256], name[48];
    for (int i = 0; i < 3; i++)
        for (int length = 40; length <= 41; length++) {
            memset(name, 'n', sizeof name);
            name[length] = '\0';
            snprintf(text, sizeof text, "%s%s%s%s", before[i], name, behind[i], i ? rest : "");
            struct user_file *file = read_text(text);
            assert_true((file != NULL) == (length == 40));
            reader_destroy(file);
            if (length == 41)
                assert_non_null(
                    strstr(diagnostics.list[0].text, "a name has at most 40 characters"));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_too_large_is_not_read),
        cmocka_unit_test(brackets_have_a_depth),
        cmocka_unit_test(more_operators_than_fit),
        cmocka_unit_test(more_structs_than_fit),
        cmocka_unit_test(a_name_has_at_most_40_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
