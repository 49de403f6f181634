// SPDX-License-Identifier: Apache-2.0
/* The multipart parser: what it reads, what it refuses and with which message; cutting the input in
 * any way changes neither. */
#include "tests/server/request/multipart_record.h"

struct good {
    const char *type, *body, *read;
};

#define BLANKS32 "                \t               "

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
    { TYPE, "--bb\r\n" HEAD "\"a\"; filename=\"a\\\"\r\n\r\nx" END, "(a|=a\\|)x." },
    { TYPE, "--bb\r\n" HEAD "a; filename=\"\\\"\r\n\r\nx" END, "(a|=\\|)x." },
    { TYPE, "--bb\r\n" HEAD "a; filename=\"C:\\d\\a.png\"\r\n\r\nx" END, "(a|=C:\\d\\a.png|)x." },
    { TYPE, "--bb\r\nContent-Disposition: form-data; filename=\"a\\\"; name=\"n\"\r\n\r\nx" END,
      "(n|=a\\|)x." },
    { TYPE, "--bb\r\n" HEAD "a; filename=\"a\\\"b\\\\\" ; size=3\r\n\r\nx" END, "(a|=a\"b\\|)x." },
    { TYPE,
      "--bb\r\nContent-Disposition:\r\n form-data;\r\n\tname=\"a\r\n b\";\r\n  filename=c\r\n \r\n"
      "Content-Type:\r\n\t image/png\r\n\r\nx" END,
      "(a b|=c|image/png)x." },
    { TYPE, PART "x\r\n--bb" BLANKS32 "\r\n" HEAD "b\r\n\r\ny\r\n--bb--" BLANKS32 "\r\n",
      "(a||)x.(b||)y." },
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
    { TYPE, "--bb\r\n" HEAD "a\r\n b\r\n\r\nx" END, "cannot be read" },
    { TYPE, "--bb\r\n " HEAD "a\r\n\r\nx" END, "without a name" },
    { TYPE, "--bb\r\n" HEAD "a;\r\n filename=b\n\r\nx" END, "does not end in CR LF" },
    { TYPE, "--bb\r\n" HEAD "a;\r\n filename=\rb\r\n\r\nx" END, "control character" },
    { TYPE, "--bb\r\n" HEAD "a;\r\n name=b\r\n\r\nx" END, "two names" },
    { TYPE, "--bb\r\nX-Other: a\r\n Content-Disposition: form-data\r\n\r\nx" END,
      "has no Content-Disposition" },
    { TYPE, "--bb\r\nContent-Type:\r\n multipart/mixed\r\n" HEAD "a\r\n\r\nx" END,
      "multipart within the multipart" },
    { TYPE, "--bb\r\n" HEAD "a\r\nContent-Transfer-Encoding:\r\n base64\r\n\r\nx" END, "binary" },
    { TYPE, "--bb\r\n" HEAD "\"a\"; filename=\"b\"c\"\r\n\r\nx" END, "cannot be read" },
    { TYPE, PART "x\r\n--bb" BLANKS32 " \r\n" END, "32 blanks" },
    { TYPE, PART "x\r\n--bb--" BLANKS32 " \r\n", "32 blanks" },
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),
        cmocka_unit_test(refuses),
        cmocka_unit_test(any_three_pieces),
        cmocka_unit_test(never_whole_when_cut_off),
    };
    return cmocka_run_group_tests_name("multipart", tests, NULL, NULL);
}
