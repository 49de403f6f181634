// SPDX-License-Identifier: Apache-2.0
/* multipart_record.h - a sink that writes out what the parser gives it, and ways to feed the
 * parser. */
#ifndef BURIN_TESTS_MULTIPART_RECORD_H
#define BURIN_TESTS_MULTIPART_RECORD_H

#include "server/http/multipart.h"

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

static inline void add(struct record *record, const void *bytes, size_t length) {
    assert_true(record->length + length < sizeof record->text);
    memcpy(record->text + record->length, bytes, length);
    record->length += length;
}

static inline enum status on_begin(void *context, const struct part *part,
                                   struct failure *failure) {
    struct record *record = context;
    char head[600];
    assert_false(record->in_part);
    record->in_part = true;
    int length = snprintf(head, sizeof head, "(%s|%s%s|%s)", part->name,
                          part->has_filename ? "=" : "", part->filename, part->content_type);
    add(record, head, (size_t)length);
    return record->fail_at_begin ? (fail)(failure, record->fail_at_begin, "begin") : STATUS_OK;
}

static inline enum status on_data(void *context, const uint8_t *bytes, size_t length,
                                  struct failure *failure) {
    struct record *record = context;
    assert_true(record->in_part && length > 0);
    add(record, bytes, length);
    return record->fail_at_data ? (fail)(failure, record->fail_at_data, "data") : STATUS_OK;
}

static inline enum status on_end(void *context, struct failure *failure) {
    struct record *record = context;
    assert_true(record->in_part);
    record->in_part = false;
    add(record, ".", 1);
    return record->fail_at_end ? (fail)(failure, record->fail_at_end, "end") : STATUS_OK;
}

static const struct multipart_limits limits = { 8, 4096 };

static inline enum status begin(struct multipart *m, struct record *record, const char *type,
                                struct failure *failure) {
    const struct multipart_sink sink = { record, on_begin, on_data, on_end };
    memset(m, 0x5a, sizeof *m);
    return multipart_init(m, type, &limits, &sink, failure);
}

/* A copy of just the right size, so that a read behind it is seen by the sanitizer. */
static inline enum status feed(struct multipart *m, const char *bytes, size_t length,
                               struct failure *failure) {
    char *copy = malloc(length ? length : 1);
    memcpy(copy, bytes, length);
    enum status status = multipart_feed(m, copy, length, failure);
    free(copy);
    return status;
}

/* Feeds BODY in two pieces cut at CUT, or in steps of STEP bytes. */
static inline enum status parse(struct record *record, const char *type, const char *body,
                                size_t length, size_t cut, size_t step, struct failure *failure) {
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

#endif
