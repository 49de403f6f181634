// SPDX-License-Identifier: Apache-2.0
/* Queries: each way to write one gives the same text to sign. */
#include "server/access/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The text for POST /resize?QUERY, or why there is none. */
static const char *message(const char *query) {
    static char text[MESSAGE_MAX], copy[4 * MESSAGE_MAX];
    static struct argument arguments[ARGUMENTS_MAX];
    snprintf(copy, sizeof copy, "%s", query);
    const int count = query_read(copy, arguments);
    if (count < 0) return "broken";
    if (query_sort(arguments, count)) return "repeated";
    return query_message("POST", "/resize", arguments, count, text) ? text : "long";
}

static void same_text(void **state) {
    (void)state;
    static const char *const queries[] = {
        "width=320&a%20b=%C3%A9~-._",
        "a+b=%c3%a9~-._&width=320",
        "&&width=320&&a%20b=%C3%A9%7e%2d._",
        "%77idth=%33%32%30&signature=x&a%20b=\xc3\xa9~-._",
    };
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        assert_string_equal(message(queries[i]),
                            "burin-1\nPOST\n/resize\na%20b=%C3%A9~-._&width=320");
}

static void other_texts(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        { "", "burin-1\nPOST\n/resize\n" },
        { "a", "burin-1\nPOST\n/resize\na=" },
        { "=b", "burin-1\nPOST\n/resize\n=b" },
        { "a=b=c", "burin-1\nPOST\n/resize\na=b%3Dc" },
        { "a=b%26c%0A", "burin-1\nPOST\n/resize\na=b%26c%0A" },
        { "b=2&B=1&a=3&ab=0", "burin-1\nPOST\n/resize\nB=1&a=3&ab=0&b=2" },
        { "signaturE=1&signature=2", "burin-1\nPOST\n/resize\nsignaturE=1" },
        { "a=!*'()", "burin-1\nPOST\n/resize\na=%21%2A%27%28%29" },
        { "a=1&b=2&a=1", "repeated" },
        { "a=1&%61=2", "repeated" },
        { "signature=1&signature=1", "repeated" },
        { "a=%", "broken" },
        { "a=%4", "broken" },
        { "a=%4g", "broken" },
        { "%00=1", "broken" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(message(cases[i][0]), cases[i][1]);
}

static void bounds(void **state) {
    (void)state;
    static char query[4 * MESSAGE_MAX];
    size_t used = 0;
    for (int i = 0; i < ARGUMENTS_MAX; i++)
        used += (size_t)snprintf(query + used, sizeof query - used, "%sp%d=1", i ? "&" : "", i);
    assert_int_equal(strncmp(message(query), "burin-1\n", 8), 0);
    strcpy(query + used, "&x=1");
    assert_string_equal(message(query), "broken");
    /* "burin-1\nPOST\n/resize\na=" has 23 characters */
    memset(query, 'x', sizeof query);
    memcpy(query, "a=", 2);
    query[2 + MESSAGE_MAX - 1 - 23] = '\0';
    assert_int_equal(strlen(message(query)), MESSAGE_MAX - 1);
    query[2 + MESSAGE_MAX - 1 - 23] = 'x';
    query[2 + MESSAGE_MAX - 23] = '\0';
    assert_string_equal(message(query), "long");
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(same_text), cmocka_unit_test(other_texts),
                                        cmocka_unit_test(bounds) };
    return cmocka_run_group_tests_name("query", tests, NULL, NULL);
}
