// SPDX-License-Identifier: Apache-2.0
/* Variables that keep a value, in every form in which C declares them. */
#include "pipeline/skeletons/refusals.h"

#include "pipeline/skeletons/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define P2P  "#P2P_FUNC\nstatic unsigned char f(unsigned char p, int i) "
#define GOOD P2P "{ return p; }\n"

static struct diagnostics diagnostics;

/* Returns the first diagnostic of TEXT; "" if it is accepted. */
static const char *said_of(const char *text) {
    static char said[512];
    struct user_file *file = reader_read("op.c", text, strlen(text), 0, &diagnostics);
    *said = '\0';
    if (diagnostics.count) diagnostics_print(&diagnostics, 0, said, sizeof said);
    reader_destroy(file);
    return said;
}

/* DECLARATION outside a function, and as a static variable in one. */
static void say_both(const char *declaration, const char *outside, const char *inside) {
    char text[512];
    snprintf(text, sizeof text, "static %s\n" GOOD, declaration);
    assert_string_equal(said_of(text), outside);
    snprintf(text, sizeof text, P2P "{\n static %s\n return p; }\n", declaration);
    assert_string_equal(said_of(text), inside);
}

static void constants_are_accepted(void **state) {
    (void)state;
    static const char *const declarations[] = {
        "const int a = 1, b[2] = { 1, 2 };",
        "int const a = 1;",
        "const int a = 1, *const where[2] = { &a, &a }, b = 2;",
        "int (*const table[])(int a, const int *b) = { 0 };",
        "const struct { int a, *b; } s[2] = { { 1, 0 } };",
        "const float third = (1 / 3.0f), half = 0.5f;",
    };
    for (size_t i = 0; i < sizeof declarations / sizeof *declarations; i++)
        say_both(declarations[i], "", "");
}

static void what_can_be_changed_is_refused(void **state) {
    (void)state;
    static const char *const declarations[] = {
        "int n = 0;",
        "const int *where;",
        "const int a = 1, *where = &a;",
        "const int *where, *const there = 0;",
        "int *const a = 0, n = 3;",
        "struct { const int a; int n; } s;",
        "const int (*where)[2];",
        "int (*where[2])(const int) = { 0 };",
        "int n[sizeof(const int)] = { 0 };",
    };
    for (size_t i = 0; i < sizeof declarations / sizeof *declarations; i++)
        say_both(declarations[i],
                 "op.c:1: a variable outside a function must be const; this begins with \"static\"",
                 "op.c:3: a static variable in a function must be const: an operator keeps nothing "
                 "from pixel to pixel");
}

static void no_macro_makes_a_variable_static(void **state) {
    (void)state;
    const char *want = "op.c:1: static may not stand in a macro: what it makes must be readable "
                       "where it stands";
    assert_string_equal(said_of("#define KEPT static\n" P2P "{ KEPT int n; return n++; }\n"), want);
    assert_string_equal(said_of("#define KEPT(n) int static n\n" P2P "{ KEPT(n); return n++; }\n"),
                        want);
}

static void nothing_stands_for_many_values(void **state) {
    (void)state;
    static const char want[] =
        "op.c:1: ... is not accepted: write out each value, and each parameter";
    static const char *const texts[] = {
        "static const int t[] = { [0 ... 999999999] = 1 };\n" GOOD,
        "#define MANY 0 ... 9\n" GOOD,
        "#define SUM(a, ...) a\n" GOOD,
        "static int many(int a, ...) { return a; }\n" GOOD,
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_memory_equal(said_of(texts[i]), want, strlen(want));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_accepted),
        cmocka_unit_test(what_can_be_changed_is_refused),
        cmocka_unit_test(no_macro_makes_a_variable_static),
        cmocka_unit_test(nothing_stands_for_many_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
