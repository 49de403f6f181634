// SPDX-License-Identifier: Apache-2.0
/* The ends of messages, for every way of cutting the bytes: the same bytes pass and the same are
 * refused. */
#include "server/http/engine/framing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define HEAD         "POST /a HTTP/1.1\r\nHost: x\r\n"
#define CHUNKED      HEAD "Transfer-Encoding: chunked\r\n\r\n"
#define GET          "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

enum { HEAD_MAX = 1024, ROOM = 4096 };

/* Feeds bytes as the filter does: bytes that did not pass come again with STEP more. Returns how
 * many passed in all. */
static size_t run(struct framing *framing, const char *text, size_t length, size_t step,
                  struct failure *failure) {
    size_t passed = 0;
    *framing = (struct framing){ .head_max = HEAD_MAX };
    for (size_t end = 0; end < length && !framing->refused;) {
        end = end + step < length ? end + step : length;
        char *exact = malloc(end - passed); /* so the sanitizer sees a read beyond it */
        memcpy(exact, text + passed, end - passed);
        passed += framing_pass(framing, exact, end - passed, failure);
        free(exact);
    }
    return passed;
}

/* The part `passes` of TEXT passes; the rest is incomplete (wrong NULL) or refused. */
static const struct framing_case {
    const char *passes, *rest, *wrong;
    int64_t heads;
} cases[] = {
    { GET, "", NULL, 1 },
    { GET GET GET, "", NULL, 3 },
    { "\r\n" GET "\r\n\r\n" GET, "", NULL, 2 },
    { GET, "GET / HTTP/1.1\r\nHost: x\r\n", NULL, 1 },
    { HEAD "Content-Length: 4\r\n\r\nabcd" GET, "", NULL, 2 },
    { HEAD "Content-Length: 4\r\n\r\nabc", "", NULL, 1 },
    { HEAD "Content-Length: 0\r\n\r\n" GET, "", NULL, 2 },
    { CHUNKED "2\r\nab\r\n0\r\n\r\n" GET, "", NULL, 2 },
    { CHUNKED "a\r\n0123456789\r\nA;x=\"y\"\r\n0123456789\r\n000\r\n\r\n" GET, "", NULL, 2 },
    { CHUNKED "1;a\r\nx\r\n1;a=b;c=\"d;\\\"\"\r\nx\r\n1; a\t= b ;c\r\nx\r\n0;a=\"\"\r\n\r\n" GET,
      "", NULL, 2 },
    { CHUNKED "0\r\nX: y\r\nZ:\r\n\r\n" GET, "", NULL, 2 },
    { CHUNKED "2\r\nab\r\n", "0", NULL, 1 },
    { CHUNKED "2\r\nab", "\r", NULL, 1 },
    { CHUNKED "10\r\n0123456789abcdef\r\n", "0\r", NULL, 1 },
    { HEAD "Expect: 100-continue\r\nContent-Length: 1\r\n\r\na" GET, "", NULL, 2 },
    { "GET / HTTP/1.0\r\n\r\n" GET, "", NULL, 2 },

    { "", "GET / HTTP/1.1\nHost: x\n\n", "bare line end", 1 },
    { GET, "GET / HTTP/1.1\r\nHost: x\n\r\n", "bare line end", 2 },
    { GET, "GET / HTTP/1.1\r\nHost: x\rX: y\r\n\r\n", "bare line end", 2 },
    { "", "\x16\x03\x01", "control character", 1 },
    { "", "GET / HTTP/1.1\r\nX: \x7f", "control character", 1 },
    { "", "GET / HTTP/1.1\r\n\r\n", "Host header is missing", 1 },
    { "", "GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", "no colon", 1 },
    { "", "GET / HTTP/1.1\r\nHost: x\r\n folded: y\r\n\r\n", "header name must", 1 },
    { "", HEAD "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "used together", 1 },
    { "", HEAD "Content-Length: 1 \r\n\r\n", "digits", 1 },
    { HEAD "Content-Length: 2\r\n\r\nab", "\n", "bare line end", 2 },
    { CHUNKED, "\r\n", "size of a chunk", 1 },
    { CHUNKED, "x\r\n", "size of a chunk", 1 },
    { CHUNKED, "2\n", "size of a chunk", 1 },
    { CHUNKED, "2 \r\n", "size of a chunk", 1 },
    { CHUNKED, "0x2\r\n", "size of a chunk", 1 },
    { CHUNKED, "1000000000000000\r\n", "size of a chunk", 1 },
    { CHUNKED, "2;\r\n", "size of a chunk", 1 },
    { CHUNKED, "2;;a\r\n", "size of a chunk", 1 },
    { CHUNKED, "2;a=\r\n", "size of a chunk", 1 },
    { CHUNKED, "2;a \r\n", "size of a chunk", 1 },
    { CHUNKED, "2;a=b=c\r\n", "size of a chunk", 1 },
    { CHUNKED, "2;a=\"b\r\n", "size of a chunk", 1 },
    { CHUNKED, "2;a=\"b\\\r\n", "size of a chunk", 1 },
    { CHUNKED, "2;a=\"b\"c\r\n", "size of a chunk", 1 },
    { CHUNKED "2\r\nab\r\n", "0;(\r\n", "size of a chunk", 1 },
    { CHUNKED "2\r\nab", "c", "longer than its size", 1 },
    { CHUNKED "2\r\nab", "\n", "longer than its size", 1 },
    { CHUNKED "2\r\nab", "\rx", "longer than its size", 1 },
    { CHUNKED "0\r\n", "X\r\n", "trailer", 1 },
    { CHUNKED "0\r\n", " X: y\r\n", "trailer", 1 },
    { CHUNKED "0\r\n", "\n", "trailers", 1 },
};

static void check(size_t which, const char *text, size_t length, size_t step) {
    const struct framing_case *expected = &cases[which];
    struct framing framing;
    struct failure failure = { 0 };
    const size_t passed = run(&framing, text, length, step, &failure);
    const bool right = passed == strlen(expected->passes) &&
                       framing.refused == (expected->wrong != NULL) &&
                       framing.heads == expected->heads &&
                       (!expected->wrong || strstr(failure.message, expected->wrong));
    if (!right)
        fail_msg("case %zu in steps of %zu: %zu passed, refused %d, %ld heads: %s\n%s", which, step,
                 passed, framing.refused, (long)framing.heads, failure.message, text);
}

static void table_in_all_cuts(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[ROOM];
        const size_t length =
            (size_t)snprintf(text, sizeof text, "%s%s", cases[i].passes, cases[i].rest);
        for (size_t step = 1; step <= length; step++) check(i, text, length, step);
    }
}

/* Every control character but tab, CR and LF, at every place of a head: never a byte of it passes.
 */
static void controls_anywhere(void **state) {
    (void)state;
    for (size_t at = 0; at < sizeof GET - 1; at++)
        for (int c = 0; c < 128; c++) {
            char text[] = GET;
            struct framing framing;
            if ((c >= 32 && c != 127) || c == '\t' || c == '\r' || c == '\n') continue;
            text[at] = (char)c;
            assert_int_equal(run(&framing, text, sizeof GET - 1, 7, NULL), 0);
            assert_true(framing.refused);
        }
}

/* A head of exactly the most bytes passes, one more does not; nothing waits for more than that. */
static void long_heads(void **state) {
    (void)state;
    char text[ROOM], value[ROOM];
    memset(value, 'v', sizeof value);
    for (int extra = -1; extra <= 1; extra++)
        for (size_t step = 1; step <= ROOM; step *= 16) {
            const int pad = HEAD_MAX - (int)strlen(HEAD "X: \r\n\r\n") + extra;
            const int length = snprintf(text, sizeof text, HEAD "X: %.*s\r\n\r\n", pad, value);
            struct framing framing;
            const size_t passed = run(&framing, text, (size_t)length, step, NULL);
            assert_int_equal(passed, extra <= 0 ? HEAD_MAX + extra : 0);
            assert_int_equal(framing.refused, extra > 0);
            assert_int_equal(framing.excess, extra > 0 ? EXCESS_HEAD : EXCESS_NONE);
        }
}

/* The line of exactly head_max bytes is whole; of a longer one it is the line that is too long. */
static void long_lines(void **state) {
    (void)state;
    char text[ROOM], value[ROOM];
    memset(value, 'v', sizeof value);
    for (int extra = -1; extra <= 1; extra++)
        for (size_t step = 1; step <= ROOM; step *= 16) {
            const int pad = HEAD_MAX - (int)strlen("GET / HTTP/1.1\r\n") + extra;
            const int length =
                snprintf(text, sizeof text, "GET /%.*s HTTP/1.1\r\nHost: x\r\n\r\n", pad, value);
            struct framing framing;
            assert_int_equal(run(&framing, text, (size_t)length, step, NULL), 0);
            assert_int_equal(framing.excess, extra > 0 ? EXCESS_LINE : EXCESS_HEAD);
        }
}

/* The library reads the same number of bytes, with blanks in place of scheme and host. */
static void url_prefixes_are_hidden(void **state) {
    (void)state;
    static const char *const heads[][2] = {
        { "GET http://x/a?b HTTP/1.1\r\nHost: x\r\n\r\n",
          "GET         /a?b HTTP/1.1\r\nHost: x\r\n\r\n" },
        { "GET http://xy HTTP/1.1\r\nHost: x\r\n\r\n",
          "GET         / HTTP/1.1\r\nHost: x\r\n\r\n" },
        { "GET http://xy?a=/ HTTP/1.1\r\nHost: x\r\n\r\n",
          "GET         /?a=/ HTTP/1.1\r\nHost: x\r\n\r\n" },
    };
    for (size_t i = 0; i < COUNT(heads); i++) {
        char text[ROOM];
        struct framing framing = { .head_max = HEAD_MAX };
        const size_t length = strlen(strcpy(text, heads[i][0]));
        assert_int_equal(framing_pass(&framing, text, length, NULL), length);
        assert_string_equal(text, heads[i][1]);
    }
}

static void many_trailers(void **state) {
    (void)state;
    char text[ROOM * 2];
    for (int count = 14; count <= 19; count++) {
        size_t length = (size_t)snprintf(text, sizeof text, CHUNKED "0\r\n");
        for (int i = 0; i < count; i++)
            length += (size_t)snprintf(text + length, sizeof text - length, "X: y\r\n");
        length += (size_t)snprintf(text + length, sizeof text - length, "\r\n");
        struct framing framing;
        const size_t passed = run(&framing, text, length, 5, NULL);
        assert_int_equal(passed == length, count <= 16);
        assert_int_equal(framing.refused, count > 16);
    }
}

/* The replacement of a refused part ends the message, wherever the part was. */
static void substitutes_end_the_message(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (!cases[i].wrong) continue;
        char text[ROOM];
        struct framing framing, again;
        size_t length = (size_t)snprintf(text, sizeof text, "%s%s", cases[i].passes, cases[i].rest);
        run(&framing, text, length, 3, NULL);
        length = (size_t)snprintf(text, sizeof text, "%s%s%s", cases[i].passes,
                                  framing_substitute(&framing), GET);
        assert_int_equal(run(&again, text, length, 3, NULL), length);
        assert_int_equal(again.heads, cases[i].heads + 1);
        assert_false(again.refused);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_in_all_cuts),
        cmocka_unit_test(controls_anywhere),
        cmocka_unit_test(long_heads),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(url_prefixes_are_hidden),
        cmocka_unit_test(many_trailers),
        cmocka_unit_test(substitutes_end_the_message),
    };
    return cmocka_run_group_tests_name("framing", tests, NULL, NULL);
}
