// SPDX-License-Identifier: Apache-2.0
#include "pipeline/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void what_is_a_character(void **state) {
    (void)state;
    static const char *const good[] = { "a",
                                        "\x7f",
                                        "\xc2\x80",
                                        "\xdf\xbf",
                                        "\xe0\xa0\x80",
                                        "\xed\x9f\xbf",
                                        "\xef\xbf\xbf",
                                        "\xf0\x90\x80\x80",
                                        "\xf4\x8f\xbf\xbf" };
    static const char *const bad[] = { "\x80",
                                       "\xbf",
                                       "\xc0\x80",
                                       "\xc1\xbf",
                                       "\xc3",
                                       "\xc3(",
                                       "\xe0\x9f\xbf",
                                       "\xe2\x82",
                                       "\xed\xa0\x80",
                                       "\xf0\x8f\xbf\xbf",
                                       "\xf4\x90\x80\x80",
                                       "\xf5\x80\x80\x80",
                                       "\xff",
                                       "" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(utf8_character(good[i], strlen(good[i])), strlen(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(utf8_character(bad[i], strlen(bad[i])), 0);
}

static void a_cut_leaves_no_half(void **state) {
    (void)state;
    static const char text[] =
        "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"; /* a, two, three, four, z */
    static const size_t kept[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11 };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        assert_int_equal(utf8_cut(text, i), kept[i]);
}

static void a_mark_is_at_the_start(void **state) {
    (void)state;
    assert_int_equal(utf8_mark("\xef\xbb\xbf", 3), 3);
    assert_int_equal(utf8_mark("\xef\xbb\xbf{}", 5), 3);
    assert_int_equal(utf8_mark("\xef\xbb\xbf", 2), 0);
    assert_int_equal(utf8_mark("\xef\xbb\xbe", 3), 0);
    assert_int_equal(utf8_mark("{\xef\xbb\xbf}", 5), 0);
    assert_int_equal(utf8_mark(NULL, 0), 0);
}

static void what_cannot_be_shown(void **state) {
    (void)state;
    char text[] = "a\n\xe9.c\x7f \xce\xba\xe2\x82";
    utf8_clean(text);
    assert_string_equal(text, "a??.c? \xce\xba??");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_a_character),
        cmocka_unit_test(a_cut_leaves_no_half),
        cmocka_unit_test(a_mark_is_at_the_start),
        cmocka_unit_test(what_cannot_be_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
