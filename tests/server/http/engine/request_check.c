// SPDX-License-Identifier: Apache-2.0
/* A table of valid and invalid requests, and how a head is parsed. recv_filter.c tests the same
 * behind a socket. */
#include "server/http/engine/request_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* HEADERS: "Name: value" lines ended by \n; the value is everything behind ": ". */
struct request_case {
    const char *version, *target, *headers;
    const char *wrong; /* NULL: accepted; else a part of the message */
};

static struct text_slice text(const char *bytes) {
    return (struct text_slice){ bytes, strlen(bytes) };
}

static void build(struct request_head *request, const char *version, const char *target,
                  const char *headers) {
    *request = (struct request_head){ .method = text("POST"),
                                      .target = text(target),
                                      .version = text(version) };
    for (const char *line = headers; *line;) {
        const char *end = strchr(line, '\n'), *colon = memchr(line, ':', (size_t)(end - line));
        assert_true(request->header_count < HEADERS_MAX);
        request->headers[request->header_count++] = (struct header_field){
            .name = line,
            .name_length = (size_t)(colon - line),
            .value = colon + 2,
            .value_length = (size_t)(end - colon - 2),
        };
        line = end + 1;
    }
}

static const struct request_case cases[] = {
    { "HTTP/1.1", "/", "Host: x\n", NULL },
    { "HTTP/1.1", "/edge?threshold=40&a=%20b", "Host: localhost:8080\n", NULL },
    { "HTTP/1.1", "/", "host: \n", NULL },
    { "HTTP/1.1", "/", "HOST: [::1]:80\n", NULL },
    { "HTTP/1.1", "/", "Host: 127.0.0.1\n", NULL },
    { "HTTP/1.1", "/", "Host: x \t\n", NULL },
    { "HTTP/1.1", "/", "Host: x:\n", NULL },
    { "HTTP/1.0", "/", "", NULL },
    { "HTTP/1.0", "/", "Host: x\nContent-Length: 5\n", NULL },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 0\n", NULL },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 007\n", NULL },
    { "HTTP/1.1", "/", "Host: x\ncontent-length: 9223372036854775807\n", NULL },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: chunked\n", NULL },
    { "HTTP/1.1", "/", "Host: x\ntransfer-encoding: ChUnKeD\n", NULL },
    { "HTTP/1.1", "/", "Host: x\nExpect: 100-Continue\nContent-Length: 1\n", NULL },
    { "HTTP/1.1", "/", "Host: x\nX-Empty: \nX-Tab: a\tb\nX-Latin: \xe4\xff\n", NULL },
    { "HTTP/1.1", "/", "Host: x\n!#$%&'*+-.^_`|~09azAZ: v\n", NULL },

    { "HTTP/1.1", "/", "", "Host header is missing" },
    { "HTTP/1.1", "/", "Content-Length: 1\n", "Host header is missing" },
    { "HTTP/1.1", "/", "Host: x\nHost: x\n", "more than one Host" },
    { "HTTP/1.1", "/", "Host: x\nhOST: y\n", "more than one Host" },
    { "HTTP/1.0", "/", "Host: x\nHost: x\n", "more than one Host" },
    { "HTTP/1.1", "/", "Host: a b\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: a,b\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: u@h\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: a/b\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: a:8x\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: a:1:2\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: a:0000065535\n", NULL },
    { "HTTP/1.1", "/", "Host: a:65536\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: a:99999999999999999999x\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: :80\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: [::1\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: [x]\n", "Host must be" },
    { "HTTP/1.1", "/", "Host: a\x01\n", "control character" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 1\nContent-Length: 1\n", "more than one Content" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 1\ncontent-length: 2\n", "more than one Content" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: \n", "is empty" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: +1\n", "digits" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: -1\n", "digits" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 1, 1\n", "digits" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 0x10\n", "digits" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 1 2\n", "digits" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 1 \n", "digits" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 1\t\n", "digits" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 9223372036854775808\n", "63 bits" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 99999999999999999999999\n", "63 bits" },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: chunked\nContent-Length: 1\n",
      "used together" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length: 1\nTransfer-Encoding: chunked\n",
      "used together" },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: gzip\n", "only be chunked" },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: gzip, chunked\n", "only be chunked" },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: chunked \n", "only be chunked" },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: \n", "only be chunked" },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: xchunked\n", "only be chunked" },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: \"chunked\"\n", "only be chunked" },
    { "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked\n",
      "more than one Transfer" },
    { "HTTP/1.0", "/", "Transfer-Encoding: chunked\n", "HTTP/1.0 does not have" },
    { "HTTP/1.1", "/", "Host: x\nExpect: 200-ok\n", "Expect" },
    { "HTTP/1.1", "/", "Host: x\nExpect: \n", "Expect" },
    { "HTTP/1.1", "/", "Host: x\nX Y: a\n", "header name must" },
    { "HTTP/1.1", "/", "Host: x\nX : a\n", "header name must" },
    { "HTTP/1.1", "/", "Host: x\n X: a\n", "header name must" },
    { "HTTP/1.1", "/", "Host: x\n: a\n", "header name must" },
    { "HTTP/1.1", "/", "Host: x\nX\xe4: a\n", "header name must" },
    { "HTTP/1.1", "/", "Host: x\nX(): a\n", "header name must" },
    { "HTTP/1.1", "/", "Host: x\nContent-Length : 4\n", "header name must" },
    { "HTTP/1.1", "/", "Host: x\nX: a\rb\n", "X contains a control" },
    { "HTTP/1.1", "/", "Host: x\nX: a\x07\n", "X contains a control" },
    { "HTTP/1.1", "/", "Host: x\nX: \x7f\n", "X contains a control" },
    { "HTTP/1.9", "/", "Host: x\n", "first line" },
    { "HTTP/1.10", "/", "Host: x\n", "first line" },
    { "HTTP/2.0", "/", "Host: x\n", "first line" },
    { "http/1.1", "/", "Host: x\n", "first line" },
    { "", "/", "Host: x\n", "first line" },
    { "HTTP/1.1", "", "Host: x\n", "target" },
    { "HTTP/1.1", "*", "Host: x\n", "target" },
    { "HTTP/1.1", "http://x/", "Host: x\n", NULL },
    { "HTTP/1.1", "HTTPS://[::1]:8/a?b", "Host: y\n", NULL },
    { "HTTP/1.1", "http://x", "Host: x\n", NULL },
    { "HTTP/1.1", "http://", "Host: x\n", "target" },
    { "HTTP/1.1", "http:///a", "Host: x\n", "target" },
    { "HTTP/1.1", "http://?a", "Host: x\n", "target" },
    { "HTTP/1.1", "http://u@x/", "Host: x\n", "target" },
    { "HTTP/1.1", "http://x:/", "Host: x\n", NULL },
    { "HTTP/1.1", "http://x:y/", "Host: x\n", "target" },
    { "HTTP/1.1", "ftp://x/", "Host: x\n", "target" },
    { "HTTP/1.1", "http:/x/", "Host: x\n", "target" },
    { "HTTP/1.1", "/", "Host: x\nContent-Type: a\n", NULL },
    { "HTTP/1.1", "/", "Host: x\nContent-Type: a\ncontent-type: a\n", "more than one Content-Ty" },
    { "HTTP/1.1", "/a b", "Host: x\n", "target" },
    { "HTTP/1.1", "/a\r", "Host: x\n", "target" },
    { "HTTP/1.1", "/a#b", "Host: x\n", "target" },
    { "HTTP/1.1", "/a%00", "Host: x\n", "%00" },
    { "HTTP/1.1", "/a?b=1%00c", "Host: x\n", "%00" },
    { "HTTP/1.1", "/\xc3\xa4", "Host: x\n", "target" },
};

static void table(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct request_head request;
        struct request_facts facts;
        struct failure failure = { 0 };
        build(&request, cases[i].version, cases[i].target, cases[i].headers);
        enum status status = request_check_head(&request, &facts, &failure);
        bool right = cases[i].wrong
                         ? status == STATUS_BAD_REQUEST && strstr(failure.message, cases[i].wrong)
                         : status == STATUS_OK;
        if (!right)
            fail_msg("case %zu (%s): %s %s", i, cases[i].headers, status_name(status),
                     failure.message);
    }
}

static void asterisk_is_for_options(void **state) {
    (void)state;
    struct request_head request;
    struct request_facts facts;
    build(&request, "HTTP/1.1", "*", "Host: x\n");
    request.method = text("OPTIONS");
    assert_int_equal(request_check_head(&request, &facts, NULL), STATUS_OK);
    request.method = text("options");
    assert_int_equal(request_check_head(&request, &facts, NULL), STATUS_BAD_REQUEST);
}

static void prefix_of_a_url(void **state) {
    (void)state;
    static const struct {
        const char *prefix, *rest;
    } targets[] = {
        { "", "/" },           { "", "/http://x/" },    { "http://x", "/a?b=http://y/" },
        { "http://x:80", "" }, { "HttpS://x", "?a=/" }, { "", "*" }
    };
    for (size_t i = 0; i < COUNT(targets); i++) {
        char target[64];
        snprintf(target, sizeof target, "%s%s", targets[i].prefix, targets[i].rest);
        assert_int_equal(request_check_url_prefix(text(target)), strlen(targets[i].prefix));
    }
}

static void facts_are_told(void **state) {
    (void)state;
    struct request_head request;
    struct request_facts facts;
    build(&request, "HTTP/1.1", "/", "Host: x\nContent-Length: 4096\nExpect: 100-continue\n");
    assert_int_equal(request_check_head(&request, &facts, NULL), STATUS_OK);
    assert_true(facts.http_1_1 && facts.has_length && facts.expects_continue && !facts.chunked);
    assert_int_equal(facts.length, 4096);
    build(&request, "HTTP/1.1", "/", "Host: x\nTransfer-Encoding: chunked\n");
    assert_int_equal(request_check_head(&request, &facts, NULL), STATUS_OK);
    assert_true(facts.chunked && !facts.has_length && !facts.expects_continue);
    build(&request, "HTTP/1.0", "/", "");
    assert_int_equal(request_check_head(&request, &facts, NULL), STATUS_OK);
    assert_true(!facts.http_1_1 && !facts.chunked && !facts.has_length && facts.length == 0);
}

static void line_and_flags(void **state) {
    (void)state;
    struct request_head request;
    struct request_facts facts;
    const char *bad[] = { "", "G ET", "GET\t", "G\xe4T", "G(T" };
    for (size_t i = 0; i < COUNT(bad); i++) {
        build(&request, "HTTP/1.1", "/", "Host: x\n");
        request.method = text(bad[i]);
        assert_int_equal(request_check_head(&request, &facts, NULL), STATUS_BAD_REQUEST);
    }
    build(&request, "HTTP/1.1", "/", "Host: x\n");
    request.target = (struct text_slice){ "/a\0b", 4 };
    assert_int_equal(request_check_head(&request, &facts, NULL), STATUS_BAD_REQUEST);
    build(&request, "HTTP/1.1", "/", "Host: x\n");
    request.too_many = true;
    assert_int_equal(request_check_head(&request, &facts, NULL), STATUS_BAD_REQUEST);
    build(&request, "HTTP/1.1", "/", "Host: x\n");
    request.headers[0] = (struct header_field){ "X", "a\0b", 1, 3 };
    assert_int_equal(request_check_head(&request, &facts, NULL), STATUS_BAD_REQUEST);
}

static bool same(struct text_slice found, const char *expected) {
    return found.length == strlen(expected) && memcmp(found.bytes, expected, found.length) == 0;
}

static void heads_are_taken_apart(void **state) {
    (void)state;
    struct request_head request;
    static const char head[] = "POST /a?b=%20 HTTP/1.1\r\nHost: x\r\nEmpty:\r\nBlanks: \t a b \r\n"
                               "Colons::c:\r\n\r\n";
    assert_int_equal(request_check_parse(head, sizeof head - 1, &request, NULL), STATUS_OK);
    assert_true(same(request.method, "POST") && same(request.target, "/a?b=%20"));
    assert_true(same(request.version, "HTTP/1.1"));
    static const char *const expected[][2] = {
        { "Host", "x" }, { "Empty", "" }, { "Blanks", "a b " }, { "Colons", ":c:" }
    };
    assert_int_equal(request.header_count, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++) {
        const struct header_field *header = &request.headers[i];
        assert_true(same((struct text_slice){ header->name, header->name_length }, expected[i][0]));
        assert_true(
            same((struct text_slice){ header->value, header->value_length }, expected[i][1]));
    }
}

/* A blank too many or too few ends up in a word that may have none: request_check_head refuses it.
 */
static void odd_first_lines(void **state) {
    (void)state;
    static const char *const bad[] = { "GET",
                                       "GET /",
                                       "GET  / HTTP/1.1",
                                       "GET / HTTP/1.1 ",
                                       " / HTTP/1.1",
                                       "GET / HTTP/1.1 x",
                                       "GET /  HTTP/1.1",
                                       "GET\t/\tHTTP/1.1" };
    for (size_t i = 0; i < COUNT(bad); i++) {
        char head[64];
        struct request_head request;
        struct request_facts facts;
        const int length = snprintf(head, sizeof head, "%s\r\nHost: x\r\n\r\n", bad[i]);
        const bool refused = request_check_parse(head, (size_t)length, &request, NULL) ||
                             request_check_head(&request, &facts, NULL);
        if (!refused) fail_msg("passed: %s", bad[i]);
    }
}

static void lines_without_a_colon(void **state) {
    (void)state;
    struct request_head request;
    struct failure failure = { 0 };
    static const char head[] = "GET / HTTP/1.1\r\nHost: x\r\nnothing\r\n\r\n";
    assert_int_equal(request_check_parse(head, sizeof head - 1, &request, &failure),
                     STATUS_BAD_REQUEST);
    assert_non_null(strstr(failure.message, "colon"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),           cmocka_unit_test(asterisk_is_for_options),
        cmocka_unit_test(prefix_of_a_url), cmocka_unit_test(facts_are_told),
        cmocka_unit_test(line_and_flags),  cmocka_unit_test(heads_are_taken_apart),
        cmocka_unit_test(odd_first_lines), cmocka_unit_test(lines_without_a_colon),
    };
    return cmocka_run_group_tests_name("request_check", tests, NULL, NULL);
}
