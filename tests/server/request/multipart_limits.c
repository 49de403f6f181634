// SPDX-License-Identifier: Apache-2.0
/* The multipart parser's limits, what it does after a failure, and what it costs. */
#include "tests/server/request/multipart_record.h"

#include <malloc.h>

static void eight_parts(void **state) {
    (void)state;
    char body[2000] = "";
    struct record record = { 0 };
    struct failure failure = { 0 };
    for (int parts = 1; parts <= 9; parts++) {
        size_t length = strlen(body);
        snprintf(body + length, sizeof body - length, "%s%s", parts > 1 ? "\r\n" : "", PART "x");
        char whole[2100];
        snprintf(whole, sizeof whole, "%s%s", body, END);
        enum status status = parse(&record, TYPE, whole, strlen(whole), strlen(whole), 1, &failure);
        assert_int_equal(status, parts <= 8 ? STATUS_OK : STATUS_BAD_REQUEST);
    }
    assert_string_equal(failure.message,
                        "there are more than 8 parts (parts_max); parameters may go in the "
                        "query too");
}

/* LENGTH bytes of part headers, filled up with lines of LINE bytes. */
static enum status header_bytes(size_t length, size_t line, struct failure *failure) {
    static char body[12000];
    struct record record = { 0 };
    const char head[] = HEAD "a\r\n";
    size_t at = (size_t)snprintf(body, sizeof body, "--bb\r\n%s", head), start = 6;
    while (at - start < length - 2) {
        size_t left = length - 2 - (at - start), size = left < line ? left : line;
        if (left - size > 0 && left - size < 8) size -= 8; /* room for the last line */
        memset(body + at, 'x', size);
        body[at + 3] = ':';
        memcpy(body + at + size - 2, "\r\n", 2);
        at += size;
    }
    at += (size_t)snprintf(body + at, sizeof body - at, "\r\nv%s", END);
    enum status whole = parse(&record, TYPE, body, at, at, 1, failure);
    assert_int_equal(parse(&record, TYPE, body, at, 0, 1, failure), whole);
    return whole;
}

static void header_limits(void **state) {
    (void)state;
    struct failure failure = { 0 };
    for (size_t line = 60; line <= 5000; line *= 3) {
        assert_int_equal(header_bytes(4095, line, &failure), STATUS_OK);
        assert_int_equal(header_bytes(4096, line, &failure), STATUS_OK);
        assert_int_equal(header_bytes(4097, line, &failure), STATUS_BAD_REQUEST);
        assert_string_equal(failure.message, "the headers of part 1 have more than 4096 bytes");
    }
    /* The parser does not wait for the end of an overlong line. */
    struct record record = { 0 };
    struct multipart m;
    assert_int_equal(begin(&m, TYPE, NULL), STATUS_OK);
    assert_int_equal(feed(&m, &record, "--bb\r\n", 6, NULL), STATUS_OK);
    for (int i = 0; i < 4096; i++) assert_int_equal(feed(&m, &record, "x", 1, NULL), STATUS_OK);
    assert_int_equal(feed(&m, &record, "x", 1, &failure), STATUS_BAD_REQUEST);
}

/* With a higher limit on all headers the line buffer is the bound. */
static void line_limit(void **state) {
    (void)state;
    struct record record = { 0 };
    const struct multipart_limits wide = { 1, 1 << 20 };
    struct failure failure = { 0 };
    struct multipart m;
    char line[PART_LINE_MAX];
    memset(line, 'x', sizeof line);
    assert_int_equal(multipart_init(&m, TYPE, &wide, NULL), STATUS_OK);
    assert_int_equal(feed(&m, &record, "--bb\r\n", 6, NULL), STATUS_OK);
    assert_int_equal(feed(&m, &record, line, sizeof line, NULL), STATUS_OK);
    assert_int_equal(feed(&m, &record, "\n", 1, &failure), STATUS_BAD_REQUEST);
    assert_string_equal(failure.message, "a header of part 1 has more than 4096 bytes");
}

static void texts_are_cut(void **state) {
    (void)state;
    struct record record = { 0 };
    char body[2000], expected[1000], name[400];
    memset(name, 'n', sizeof name);
    int length = snprintf(body, sizeof body,
                          "--bb\r\n" HEAD "\"%.127s\"; filename=\"%.300s\"\r\nContent-Type: "
                          "%.300s\r\n\r\nx" END,
                          name, name, name);
    snprintf(expected, sizeof expected, "(%.127s|=%.255s|%.127s)x.", name, name, name);
    assert_int_equal(parse(&record, TYPE, body, (size_t)length, 0, 7, NULL), STATUS_OK);
    assert_string_equal(record.text, expected);
}

/* A failure is final: no event follows it, and its message stays. */
static void dead_after_a_failure(void **state) {
    (void)state;
    static const char *const bad[] = { PART "hello\r\n--bb\r\n\r\n", "--bb\r\nno colon\r\n" };
    static const char more[] = "\r\n" PART "hello" END;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct record record = { 0 };
        struct multipart m;
        struct failure failure = { 0 }, later = { 0 };
        assert_int_equal(begin(&m, TYPE, NULL), STATUS_OK);
        assert_int_equal(feed(&m, &record, bad[i], strlen(bad[i]), &failure), STATUS_BAD_REQUEST);
        assert_int_equal(failure.status, STATUS_BAD_REQUEST);
        const size_t length = record.length;
        assert_int_equal(feed(&m, &record, more, sizeof more - 1, &later), STATUS_BAD_REQUEST);
        assert_int_equal(finish(&m, &record, &later), STATUS_BAD_REQUEST);
        assert_int_equal(later.status, STATUS_OK);
        assert_int_equal(record.length, length);
    }
}

static void announced(void **state) {
    (void)state;
    assert_true(multipart_is("multipart/form-data"));
    assert_true(multipart_is(" MULTIPART/Form-Data ;x"));
    assert_false(multipart_is(NULL));
    assert_false(multipart_is("multipart/form-data2"));
    assert_false(multipart_is("multipart/mixed"));
    assert_false(multipart_is("image/png"));
}

/* The recipe that makes libmicrohttpd's own parser lose 30,000 bytes a part: 500 parts with nested
 * boundaries, closed at once. */
static void nested_boundaries_cost_nothing(void **state) {
    (void)state;
    static char body[32000], type[30001];
    struct record record = { 0 };
    struct failure failure = { 0 };
    memset(type, 'c', sizeof type - 1);
    size_t length = (size_t)snprintf(
        body, sizeof body,
        "--bb\r\n" HEAD "a\r\nContent-Type: multipart/mixed, boundary=%s\r\n\r\n--%.100s--\r\n",
        type, type);
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < 500; i++)
        assert_int_equal(parse(&record, TYPE, body, length, length, 1, &failure),
                         STATUS_BAD_REQUEST);
    struct mallinfo2 after = mallinfo2();
    assert_int_equal(after.uordblks, before.uordblks);
    char brief[300];
    length = (size_t)snprintf(brief, sizeof brief,
                              "--bb\r\n" HEAD
                              "a\r\nContent-Type: multipart/mixed, boundary=cc\r\n\r\n--cc--\r\n");
    assert_int_equal(parse(&record, TYPE, brief, length, 0, 1, &failure), STATUS_BAD_REQUEST);
    assert_string_equal(failure.message, "part 1 is a multipart within the multipart");
}

/* Data that arrive in one piece are one slice of the caller's bytes. */
static void data_are_not_copied(void **state) {
    (void)state;
    const uint8_t body[] = PART "a\r\n--b\r\nb\r" END;
    const uint8_t *at = body, *end = body + sizeof body - 1;
    struct multipart_event event;
    struct multipart m;
    static const enum multipart_event_kind kinds[] = { MULTIPART_PART_BEGIN, MULTIPART_DATA,
                                                       MULTIPART_PART_END, MULTIPART_MORE };
    assert_int_equal(multipart_init(&m, TYPE, &limits, NULL), STATUS_OK);
    for (size_t i = 0; i < COUNT(kinds); i++) {
        assert_int_equal(multipart_next(&m, &at, end, &event, NULL), STATUS_OK);
        assert_int_equal(event.kind, kinds[i]);
        if (event.kind != MULTIPART_DATA) continue;
        assert_ptr_equal(event.bytes, body + sizeof PART - 1);
        assert_int_equal(event.length, sizeof body - sizeof PART - sizeof END + 1);
    }
    assert_ptr_equal(at, end);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_parts),
        cmocka_unit_test(header_limits),
        cmocka_unit_test(line_limit),
        cmocka_unit_test(texts_are_cut),
        cmocka_unit_test(dead_after_a_failure),
        cmocka_unit_test(announced),
        cmocka_unit_test(nested_boundaries_cost_nothing),
        cmocka_unit_test(data_are_not_copied),
    };
    return cmocka_run_group_tests_name("multipart_limits", tests, NULL, NULL);
}
