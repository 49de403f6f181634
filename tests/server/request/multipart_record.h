// SPDX-License-Identifier: Apache-2.0
/* multipart_record.h - writes out the events that the parser gives, and ways to feed it.
 *
 * Used by:  multipart.c, multipart_limits.c.
 */
#ifndef BURIN_TESTS_MULTIPART_RECORD_H
#define BURIN_TESTS_MULTIPART_RECORD_H

#include "server/request/multipart_parser.h"

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

/* The events as text: (name|filename|type)data. for each part. */
struct record {
    char text[16384];
    size_t length;
    bool in_part;
};

static inline void add(struct record *record, const void *bytes, size_t length) {
    assert_true(record->length + length < sizeof record->text);
    memcpy(record->text + record->length, bytes, length);
    record->length += length;
}

static inline void note_begin(struct record *record, const struct part *part) {
    char head[600];
    assert_false(record->in_part);
    record->in_part = true;
    int length = snprintf(head, sizeof head, "(%s|%s%s|%s)", part->name,
                          part->has_filename ? "=" : "", part->filename, part->content_type);
    add(record, head, (size_t)length);
}

static inline void note(struct record *record, const struct multipart_event *event) {
    if (event->kind == MULTIPART_PART_BEGIN) note_begin(record, event->part);
    if (event->kind == MULTIPART_DATA) {
        assert_true(record->in_part && event->length > 0);
        add(record, event->bytes, event->length);
    }
    if (event->kind == MULTIPART_PART_END) {
        assert_true(record->in_part);
        record->in_part = false;
        add(record, ".", 1);
    }
}

static const struct multipart_limits limits = { 8, 4096 };

static inline enum status begin(struct multipart *m, const char *type, struct failure *failure) {
    memset(m, 0x5a, sizeof *m);
    return multipart_init(m, type, &limits, failure);
}

/* A copy of exactly this size, so the sanitizer sees a read behind it. */
static inline enum status feed(struct multipart *m, struct record *record, const char *bytes,
                               size_t length, struct failure *failure) {
    uint8_t *copy = malloc(length ? length : 1);
    const uint8_t *at = copy;
    struct multipart_event event;
    enum status status;
    memcpy(copy, bytes, length);
    do {
        status = multipart_next(m, &at, copy + length, &event, failure);
        if (!status) note(record, &event);
    } while (!status && event.kind != MULTIPART_MORE);
    assert_true(status || at == copy + length);
    free(copy);
    return status;
}

static inline enum status finish(struct multipart *m, struct record *record,
                                 struct failure *failure) {
    struct multipart_event event;
    enum status status = multipart_finish(m, &event, failure);
    if (!status) note(record, &event);
    return status;
}

/* Feeds BODY in two pieces cut at CUT, or in steps of STEP bytes. */
static inline enum status parse(struct record *record, const char *type, const char *body,
                                size_t length, size_t cut, size_t step, struct failure *failure) {
    struct multipart m;
    record->length = 0;
    record->in_part = false;
    enum status status = begin(&m, type, failure);
    if (!status) status = feed(&m, record, body, cut, failure);
    for (size_t at = cut; !status && at < length; at += step)
        status = feed(&m, record, body + at, length - at < step ? length - at : step, failure);
    if (!status) status = finish(&m, record, failure);
    add(record, "", 0);
    record->text[record->length] = '\0';
    return status;
}

#endif
