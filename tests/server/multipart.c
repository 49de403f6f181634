// SPDX-License-Identifier: Apache-2.0
/* The multipart parser: what is read, what is refused and with which words, and that no way of
 * cutting the input changes either. */
#include "server/http/multipart.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define TYPE         "multipart/form-data; boundary=bb"
#define HEAD         "Content-Disposition: form-data; name="
#define PART         "--bb\r\n" HEAD "a\r\n\r\n"
#define END          "\r\n--bb--\r\n"

/* cmocka has a macro fail(); (fail)(...) is the function of pipeline/status.h. */

/* What the sink was given, written out: (name|filename|type)data. for each part. */
struct record {
    char text[16384];
    size_t length;
    enum status fail_at_begin, fail_at_data, fail_at_end;
    bool in_part;
};

static void add(struct record *record, const void *bytes, size_t length) {
    assert_true(record->length + length < sizeof record->text);
    memcpy(record->text + record->length, bytes, length);
    record->length += length;
}

static enum status on_begin(void *context, const struct part *part, struct failure *failure) {
    struct record *record = context;
    char head[600];
    assert_false(record->in_part);
    record->in_part = true;
    int length = snprintf(head, sizeof head, "(%s|%s%s|%s)", part->name,
                          part->has_filename ? "=" : "", part->filename, part->content_type);
    add(record, head, (size_t)length);
    return record->fail_at_begin ? (fail)(failure, record->fail_at_begin, "begin") : STATUS_OK;
}

static enum status on_data(void *context, const uint8_t *bytes, size_t length,
                           struct failure *failure) {
    struct record *record = context;
    assert_true(record->in_part && length > 0);
    add(record, bytes, length);
    return record->fail_at_data ? (fail)(failure, record->fail_at_data, "data") : STATUS_OK;
}

static enum status on_end(void *context, struct failure *failure) {
    struct record *record = context;
    assert_true(record->in_part);
    record->in_part = false;
    add(record, ".", 1);
    return record->fail_at_end ? (fail)(failure, record->fail_at_end, "end") : STATUS_OK;
}

static const struct multipart_limits limits = { 8, 4096 };

static enum status begin(struct multipart *m, struct record *record, const char *type,
                         struct failure *failure) {
    const struct multipart_sink sink = { record, on_begin, on_data, on_end };
    memset(m, 0x5a, sizeof *m);
    return multipart_init(m, type, &limits, &sink, failure);
}

/* A copy of just the right size, so that a read behind it is seen by the sanitizer. */
static enum status feed(struct multipart *m, const char *bytes, size_t length,
                        struct failure *failure) {
    char *copy = malloc(length ? length : 1);
    memcpy(copy, bytes, length);
    enum status status = multipart_feed(m, copy, length, failure);
    free(copy);
    return status;
}

/* Feeds BODY in two pieces cut at CUT, or in steps of STEP bytes. */
static enum status parse(struct record *record, const char *type, const char *body, size_t length,
                         size_t cut, size_t step, struct failure *failure) {
    struct multipart m;
    record->length = 0;
    record->in_part = false;
    enum status status = begin(&m, record, type, failure);
    if (!status) status = feed(&m, body, cut, failure);
    for (size_t at = cut; !status && at < length; at += step)
        status = feed(&m, body + at, length - at < step ? length - at : step, failure);
    if (!status) status = multipart_finish(&m, failure);
    add(record, "", 0);
    record->text[record->length] = '\0';
    return status;
}

struct good {
    const char *type, *body, *read;
};

static const struct good goods[] = {
    { TYPE, PART "hello" END, "(a||)hello." },
    { TYPE, PART "hello\r\n--bb--", "(a||)hello." },
    { TYPE, PART "hello\r\n--bb-- \t ", "(a||)hello." },
    { TYPE, PART "hello\r\n--bb--\r", "(a||)hello." },
    { TYPE, PART "hello\r\n--bb-- \t\r\nepilogue\r\n--bb\r\nmore", "(a||)hello." },
    { TYPE, "preamble\r\n--b\r\n--bbx\r\n" PART "x" END, "(a||)x." },
    { TYPE, "\r\n" PART "x" END, "(a||)x." },
    { TYPE, "--bb--\r\n", "" },
    { TYPE, "--bb--", "" },
    { TYPE, PART END, "(a||)." },
    { TYPE, PART "--bb--", "(a||)." },
    { TYPE, PART PART "--bb--", "(a||).(a||)." },
    { TYPE, PART "\r\n" END, "(a||)\r\n." },
    { TYPE, PART "\r" END, "(a||)\r." },
    { TYPE, PART "\r\r\r\n\r\r\n--b" END, "(a||)\r\r\r\n\r\r\n--b." },
    { TYPE, PART "x\r\n--bbx\r\n--b\r\n-bb\r\n--BB\r\n--bb-\r\n--bb-x" END,
      "(a||)x\r\n--bbx\r\n--b\r\n-bb\r\n--BB\r\n--bb-\r\n--bb-x." },
    { TYPE, PART "x\r\n--bb\r\r\n--bb--\r\r\n--bb--x" END,
      "(a||)x\r\n--bb\r\r\n--bb--\r\r\n--bb--x." },
    { TYPE, PART "x\r\n--bb \t x\r\n--bb-- x\r\n--bb---\r\n--bb\n" END,
      "(a||)x\r\n--bb \t x\r\n--bb-- x\r\n--bb---\r\n--bb\n." },
    { TYPE, PART "\r\n\r\n--bb\r\r\n\r\n--b\r\n--bb--" END, "(a||)\r\n\r\n--bb\r\r\n\r\n--b." },
    { TYPE, PART "--b" END, "(a||)--b." },
    { TYPE, PART "--bbx" END, "(a||)--bbx." },
    { TYPE, PART "--bb--x" END, "(a||)--bb--x." },
    { TYPE, PART "x--bb--" END, "(a||)x--bb--." },
    { TYPE, PART "1\r\n--bb \t\r\n" HEAD "b\r\n\r\n2" END, "(a||)1.(b||)2." },
    { TYPE,
      "--bb\r\ncontent-disposition:FORM-DATA;NAME=\"n\";FileName=\"p q.png\"\r\n"
      "CONTENT-TYPE:  image/png \t\r\nContent-Transfer-Encoding: BINARY\r\n"
      "X-Other: \xff\r\n\r\nx" END,
      "(n|=p q.png|image/png)x." },
    { TYPE, "--bb\r\n" HEAD "\"a\\\"b\\\\c\"; filename=\"\\\"\"; filename*=utf-8''x\r\n\r\nx" END,
      "(a\"b\\c|=\"|)x." },
    { TYPE, "--bb\r\n" HEAD "\"\"; filename=\"\"\r\n\r\nx" END, "(|=|)x." },
    { TYPE, "--bb\r\n" HEAD "a ; size=3 ;\r\n\r\nx" END, "(a||)x." },
    { TYPE, "--bb\r\n" HEAD "\"a;b=c\"\r\nContent-Transfer-Encoding: 8bit\r\n\r\nx" END,
      "(a;b=c||)x." },
    { "Multipart/Form-Data;BOUNDARY=bb", PART "x" END, "(a||)x." },
    { "multipart/form-data; charset=utf-8; boundary=\"bb\";", PART "x" END, "(a||)x." },
    { " multipart/form-data ; boundary=\"b\\b\" ; x=\"boundary=cc\"", PART "x" END, "(a||)x." },
    { "multipart/form-data; boundary=\"'()+_,-./:=? b\"",
      "--'()+_,-./:=? b\r\n" HEAD "a\r\n\r\nx\r\n--'()+_,-./:=? b--", "(a||)x." },
    { "multipart/form-data; boundary=-", "---\r\n" HEAD "a\r\n\r\n\r\n--x\r\n-----",
      "(a||)\r\n--x." },
};

static void reads(void **state) {
    (void)state;
    struct record record = { 0 };
    for (size_t i = 0; i < COUNT(goods); i++) {
        const struct good *good = &goods[i];
        size_t length = strlen(good->body);
        for (size_t cut = 0; cut <= length; cut++)
            for (size_t step = 1; step <= length + 1; step += length) {
                struct failure failure = { 0 };
                enum status status =
                    parse(&record, good->type, good->body, length, cut, step, &failure);
                if (status || strcmp(record.text, good->read) != 0)
                    fail_msg("case %zu cut at %zu, step %zu: %s %s\nread %s\nnot  %s", i, cut, step,
                             status_name(status), failure.message, record.text, good->read);
            }
    }
}

struct bad {
    const char *type, *body, *wrong;
};

#define LONG10 "0123456789"
#define LONG50 LONG10 LONG10 LONG10 LONG10 LONG10

static const struct bad bads[] = {
    { NULL, "", "must be multipart/form-data" },
    { "", "", "must be multipart/form-data" },
    { "image/png", "", "must be multipart/form-data" },
    { "multipart/mixed; boundary=bb", "", "must be multipart/form-data" },
    { "multipart/form-datax; boundary=bb", "", "must be multipart/form-data" },
    { "multipart/form-data", "", "has no boundary" },
    { "multipart/form-data; charset=utf-8", "", "has no boundary" },
    { "multipart/form-data; xboundary=b", "", "has no boundary" },
    { "multipart/form-data; boundary=", "", "cannot be read" },
    { "multipart/form-data; boundary=\"\"", "", "is empty" },
    { "multipart/form-data; boundary=\"b", "", "cannot be read" },
    { "multipart/form-data; boundary=\"b\\", "", "cannot be read" },
    { "multipart/form-data; boundary=b b", "", "cannot be read" },
    { "multipart/form-data; boundary=a=b", "", "cannot be read" },
    { "multipart/form-data; boundary = b", "", "cannot be read" },
    { "multipart/form-data, boundary=b", "", "must be multipart/form-data" },
    { "multipart/form-data; boundary=b, c", "", "cannot be read" },
    { "multipart/form-data; =b", "", "cannot be read" },
    { "multipart/form-data; boundary=b; boundary=b", "", "more than one boundary" },
    { "multipart/form-data; boundary=\"b \"", "", "RFC 2046" },
    { "multipart/form-data; boundary=a*b", "", "RFC 2046" },
    { "multipart/form-data; boundary=\"a@b\"", "", "RFC 2046" },
    { "multipart/form-data; boundary=\"\xe4\"", "", "RFC 2046" },
    { "multipart/form-data; boundary=" LONG50 LONG10 LONG10 "x", "", "has 71 characters" },
    { "multipart/form-data; boundary=" LONG50 LONG50 LONG50 LONG50, "", "has 200 characters" },

    { TYPE, "", "does not occur" },
    { TYPE, "hello", "does not occur" },
    { TYPE, "--bb", "does not occur" },
    { TYPE, "x--bb--", "does not occur" },
    { TYPE, "--bb-", "does not occur" },
    { TYPE, "--bb--x", "does not occur" },
    { TYPE, "--bb\n" HEAD "a\n\nx\n--bb--\n", "does not occur" },
    { TYPE, "--bb\r\n", "within part 1" },
    { TYPE, PART "hello", "within part 1" },
    { TYPE, PART "hello\r\n--bb\r\n", "within part 2" },
    { TYPE, PART "hello\r\n--bb-", "within part 1" },
    { TYPE, PART "hello\r\n--bb--x", "within part 1" },
    { TYPE, PART "hello\r\n--bb                                     x" END, "32 blanks" },
    { TYPE, "--bb\r\n\r\nx" END, "part 1 has no Content-Disposition" },
    { TYPE, PART "x\r\n--bb\r\nContent-Type: a\r\n\r\nx" END, "part 2 has no Content-Dispo" },
    { TYPE, "--bb\r\nno colon\r\n\r\nx" END, "without a name" },
    { TYPE, "--bb\r\n: x\r\n\r\nx" END, "without a name" },
    { TYPE, "--bb\r\nContent-Type : a\r\n\r\nx" END, "without a name" },
    { TYPE, "--bb\r\n" HEAD "a\r\n b\r\n\r\nx" END, "folded" },
    { TYPE, "--bb\r\n" HEAD "a\n\r\nx" END, "does not end in CR LF" },
    { TYPE, "--bb\r\n\n", "does not end in CR LF" },
    { TYPE, "--bb\r\n" HEAD "a\rb\r\n\r\nx" END, "control character" },
    { TYPE, "--bb\r\n" HEAD "\"a\x01\"\r\n\r\nx" END, "control character" },
    { TYPE, "--bb\r\n" HEAD "a; name=b\r\n\r\nx" END, "two names" },
    { TYPE, "--bb\r\n" HEAD "a; filename=b; filename=c\r\n\r\nx" END, "two filenames" },
    { TYPE, "--bb\r\n" HEAD "a\r\n" HEAD "a\r\n\r\nx" END, "two Content-Dispositions" },
    { TYPE, "--bb\r\n" HEAD "a\r\nContent-Type: a\r\nContent-Type: a\r\n\r\nx" END,
      "two Content-Types" },
    { TYPE, "--bb\r\n" HEAD "\r\n\r\nx" END, "cannot be read" },
    { TYPE, "--bb\r\n" HEAD "\"a\r\n\r\nx" END, "cannot be read" },
    { TYPE, "--bb\r\n" HEAD "a b\r\n\r\nx" END, "cannot be read" },
    { TYPE, "--bb\r\n" HEAD "a;;\r\n\r\nx" END, "cannot be read" },
    { TYPE, "--bb\r\n" HEAD "\"" LONG50 LONG50 LONG10 LONG10 "01234567\"\r\n\r\nx" END,
      "more than 127 bytes" },
    { TYPE, "--bb\r\nContent-Disposition: form-data\r\n\r\nx" END, "has no name" },
    { TYPE, "--bb\r\nContent-Disposition: form-data; filename=x\r\n\r\nx" END, "has no name" },
    { TYPE, "--bb\r\nContent-Disposition: attachment; name=x\r\n\r\nx" END, "not form-data" },
    { TYPE, "--bb\r\nContent-Disposition: form-datax; name=x\r\n\r\nx" END, "not form-data" },
    { TYPE, "--bb\r\nContent-Disposition:\r\n\r\nx" END, "not form-data" },
    { TYPE, "--bb\r\nContent-Type: multipart/mixed; boundary=c\r\n" HEAD "a\r\n\r\nx" END,
      "multipart within the multipart" },
    { TYPE, "--bb\r\n" HEAD "a\r\ncontent-type: MULTIPART/mixed\r\n\r\nx" END,
      "multipart within the multipart" },
    { TYPE, "--bb\r\n" HEAD "a\r\nContent-Transfer-Encoding: base64\r\n\r\nx" END, "binary" },
    { TYPE, "--bb\r\n" HEAD "a\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nx" END,
      "binary" },
    { TYPE, "--bb\r\n" HEAD "a\r\nContent-Transfer-Encoding:\r\n\r\nx" END, "binary" },
};

static void refuses(void **state) {
    (void)state;
    struct record record = { 0 };
    for (size_t i = 0; i < COUNT(bads); i++) {
        const struct bad *bad = &bads[i];
        size_t length = strlen(bad->body);
        for (size_t cut = 0; cut <= length; cut++)
            for (size_t step = 1; step <= length + 1; step += length ? length : 1) {
                struct failure failure = { 0 };
                enum status status =
                    parse(&record, bad->type, bad->body, length, cut, step, &failure);
                if (status != STATUS_BAD_REQUEST || failure.status != status ||
                    !strstr(failure.message, bad->wrong))
                    fail_msg("case %zu cut at %zu, step %zu: %s: %s\nnot %s", i, cut, step,
                             status_name(status), failure.message, bad->wrong);
            }
    }
}

/* A body with zero bytes, every kind of near-boundary, cut into three everywhere. */
static void any_three_pieces(void **state) {
    (void)state;
    static const char body[] = PART "\0\r\n--b\0\r\n--bb\0\r\r\n--bb-\0\r\n--bb \r\0" END;
    static const char read[] = "(a||)\0\r\n--b\0\r\n--bb\0\r\r\n--bb-\0\r\n--bb \r\0.";
    struct record record = { 0 };
    for (size_t a = 0; a < sizeof body; a++)
        for (size_t step = 1; step < sizeof body; step++) {
            assert_int_equal(parse(&record, TYPE, body, sizeof body - 1, a, step, NULL), STATUS_OK);
            assert_int_equal(record.length, sizeof read - 1);
            assert_memory_equal(record.text, read, sizeof read - 1);
        }
}

static void never_whole_when_cut_off(void **state) {
    (void)state;
    static const char body[] = "preamble\r\n" PART "hello\r\n--b\r\n\r\n--bb\r\n" HEAD
                               "\"b\"; filename=\"c\"\r\nContent-Type: image/png\r\n\r\nworld"
                               "\r\n--bb--";
    struct record record = { 0 };
    for (size_t length = 0; length < sizeof body - 1; length++) {
        assert_int_equal(parse(&record, TYPE, body, length, length, 1, NULL), STATUS_BAD_REQUEST);
        assert_int_equal(parse(&record, TYPE, body, length, 0, 1, NULL), STATUS_BAD_REQUEST);
    }
    assert_int_equal(parse(&record, TYPE, body, sizeof body - 1, 0, 1, NULL), STATUS_OK);
}

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

/* LENGTH bytes of part headers, of which a filler takes what is missing, in lines of LINE bytes. */
static enum status header_bytes(size_t length, size_t line, struct failure *failure) {
    static char body[12000];
    struct record record = { 0 };
    const char head[] = HEAD "a\r\n";
    size_t at = (size_t)snprintf(body, sizeof body, "--bb\r\n%s", head), start = 6;
    while (at - start < length - 2) {
        size_t left = length - 2 - (at - start), size = left < line ? left : line;
        if (left - size > 0 && left - size < 8) size -= 8; /* the last line needs its room */
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
    /* A line without an end is not waited for. */
    struct record record = { 0 };
    struct multipart m;
    assert_int_equal(begin(&m, &record, TYPE, NULL), STATUS_OK);
    assert_int_equal(feed(&m, "--bb\r\n", 6, NULL), STATUS_OK);
    for (int i = 0; i < 4096; i++) assert_int_equal(feed(&m, "x", 1, NULL), STATUS_OK);
    assert_int_equal(feed(&m, "x", 1, &failure), STATUS_BAD_REQUEST);
}

/* With a higher limit on all headers the line buffer is the bound. */
static void line_limit(void **state) {
    (void)state;
    struct record record = { 0 };
    const struct multipart_limits wide = { 1, 1 << 20 };
    const struct multipart_sink sink = { &record, on_begin, on_data, on_end };
    struct failure failure = { 0 };
    struct multipart m;
    char line[MULTIPART_LINE_MAX];
    memset(line, 'x', sizeof line);
    assert_int_equal(multipart_init(&m, TYPE, &wide, &sink, NULL), STATUS_OK);
    assert_int_equal(feed(&m, "--bb\r\n", 6, NULL), STATUS_OK);
    assert_int_equal(feed(&m, line, sizeof line, NULL), STATUS_OK);
    assert_int_equal(feed(&m, "\n", 1, &failure), STATUS_BAD_REQUEST);
    assert_string_equal(failure.message, "a header line of part 1 has more than 4096 bytes");
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

static void sink_fails(void **state) {
    (void)state;
    const char body[] = PART "hello" END;
    struct record records[3] = { { .fail_at_begin = STATUS_BUSY },
                                 { .fail_at_data = STATUS_BODY_TOO_LARGE },
                                 { .fail_at_end = STATUS_BAD_PARAM } };
    const enum status expected[3] = { STATUS_BUSY, STATUS_BODY_TOO_LARGE, STATUS_BAD_PARAM };
    for (int i = 0; i < 3; i++) {
        struct multipart m;
        struct failure failure = { 0 };
        assert_int_equal(begin(&m, &records[i], TYPE, NULL), STATUS_OK);
        assert_int_equal(feed(&m, body, sizeof body - 1, &failure), expected[i]);
        assert_int_equal(failure.status, expected[i]);
        /* dead from now on, and the sentence stays */
        size_t length = records[i].length;
        struct failure later = { 0 };
        assert_int_equal(feed(&m, body, sizeof body - 1, &later), expected[i]);
        assert_int_equal(multipart_finish(&m, &later), expected[i]);
        assert_int_equal(later.status, STATUS_OK);
        assert_int_equal(records[i].length, length);
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

/* Nothing but a slice of the caller's bytes reaches the sink, in one piece, when it is all there.
 */
static const uint8_t *slice;
static size_t slice_length;

static enum status take_slice(void *context, const uint8_t *bytes, size_t length,
                              struct failure *failure) {
    (void)context, (void)failure;
    assert_null(slice);
    slice = bytes;
    slice_length = length;
    return STATUS_OK;
}

static enum status ignore_part(void *context, const struct part *part, struct failure *failure) {
    (void)context, (void)part, (void)failure;
    return STATUS_OK;
}

static enum status ignore_end(void *context, struct failure *failure) {
    (void)context, (void)failure;
    return STATUS_OK;
}

static void data_are_not_copied(void **state) {
    (void)state;
    const char body[] = PART "a\r\n--b\r\nb\r" END;
    const struct multipart_sink sink = { NULL, ignore_part, take_slice, ignore_end };
    struct multipart m;
    slice = NULL;
    assert_int_equal(multipart_init(&m, TYPE, &limits, &sink, NULL), STATUS_OK);
    assert_int_equal(multipart_feed(&m, body, sizeof body - 1, NULL), STATUS_OK);
    assert_ptr_equal(slice, body + sizeof PART - 1);
    assert_int_equal(slice_length, sizeof body - sizeof PART - sizeof END + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),
        cmocka_unit_test(refuses),
        cmocka_unit_test(any_three_pieces),
        cmocka_unit_test(never_whole_when_cut_off),
        cmocka_unit_test(eight_parts),
        cmocka_unit_test(header_limits),
        cmocka_unit_test(line_limit),
        cmocka_unit_test(texts_are_cut),
        cmocka_unit_test(sink_fails),
        cmocka_unit_test(announced),
        cmocka_unit_test(nested_boundaries_cost_nothing),
        cmocka_unit_test(data_are_not_copied),
    };
    return cmocka_run_group_tests_name("multipart", tests, NULL, NULL);
}
