// SPDX-License-Identifier: Apache-2.0
/* Which lists of origins are right, and which origins a list names. */
#include "config/origins.h"

#include "config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void lists(void **state) {
    (void)state;
    static const char *const right[] = {
        "",
        "*",
        "https://shop.example",
        "http://localhost:5173",
        "https://a.example:8443,http://b.example",
        "http://[::1]:3000",
        "http://127.0.0.1:1",
        "https://a.example:65535",
        "https://a.example:80",
        "http://a.example:443",
        "capacitor://localhost",
        "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        if (!origins_are_a_list(right[i])) fail_msg("\"%s\" is no list", right[i]);
}

/* Each is one that no browser sends, so it would never match. */
static void no_lists(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "null",
        "a.example",
        "//a.example",
        "://a.example",
        "1http://a.example",
        "https:a.example",
        "https:/a.example",
        "https://",
        "https://:80",
        "https://a.example/",
        "https://a.example/path",
        "https://a.example?",
        "https://user@a.example",
        "HTTPS://a.example",
        "https://A.example",
        "https://*.example",
        "https://a.example:",
        "https://a.example:0",
        "https://a.example:08",
        "https://a.example:65536",
        "https://a.example:443",
        "http://a.example:80",
        "https://a.example:1:2",
        "https://a.example:100000",
        "https://b\xc3\xbc"
        "cher.example",
        "http://[::1",
        "http://[]",
        "http://::1",
        "http://[::1]x",
        "https://a.example,",
        ",https://a.example",
        "https://a.example,,https://b.example",
        "https://a.example, https://b.example",
        "https://a.example https://b.example",
        "*,https://a.example",
        "https://a.example,*",
        "**",
        " *",
        ",",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (origins_are_a_list(wrong[i])) fail_msg("\"%s\" is taken for a list", wrong[i]);
}

static void what_is_named(void **state) {
    (void)state;
    static const char list[] = "https://a.example,http://b.example:8080,https://c.example";
    static const char *const named[] = { "https://a.example", "http://b.example:8080",
                                         "https://c.example" };
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        assert_true(origins_name(list, named[i]));
    static const char *const others[] = {
        "",
        "null",
        "*",
        ",",
        "https://a.exampl",
        "https://a.example2",
        "https://a.example:443",
        "https://a.example/",
        "HTTPS://a.example",
        "http://a.example",
        "http://b.example",
        "https://a.example,http://b.example:8080",
        "https://a.example https://c.example",
        "https://evil.https://a.example",
        "ttps://a.example",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (origins_name(list, others[i])) fail_msg("\"%s\" is named", others[i]);
        assert_false(origins_name("", others[i]));
    }
    assert_true(origins_are_any("*"));
    assert_false(origins_are_any(list));
    assert_false(origins_are_any(""));
}

/* The longest that a key can hold is found; one that is longer is in no list. */
static void long_ones(void **state) {
    (void)state;
    static char longest[CONFIG_ORIGINS_MAX], longer[CONFIG_ORIGINS_MAX + 1], endless[1 << 16];
    memset(longest, 'a', sizeof longest - 1);
    memset(longer, 'a', sizeof longer - 1);
    memset(endless, 'a', sizeof endless - 1);
    memcpy(longest, "https://", 8);
    memcpy(longer, "https://", 8);
    memcpy(endless, "https://", 8);
    assert_true(origins_are_a_list(longest));
    assert_true(origins_name(longest, longest));
    assert_false(origins_name(longer, longer));
    assert_false(origins_name(longest, longer));
    assert_false(origins_name(longest, endless));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),
        cmocka_unit_test(no_lists),
        cmocka_unit_test(what_is_named),
        cmocka_unit_test(long_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
