// SPDX-License-Identifier: Apache-2.0
/* Any body, whole and in pieces: both must give the same parts, the same bytes and the same
 * verdict. Input: a line of Content-Type, then a byte that chooses the pieces, then the body. */
#include "pipeline/fnv1a.h"
#include "server/request/multipart_parser.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A hash of the events, since pieces may come in any size. */
struct record {
    uint64_t hash;
    size_t bytes, parts;
    bool in_part;
};

static void must(bool truth) {
    if (!truth) abort();
}

static void mix(struct record *record, const void *bytes, size_t length) {
    record->hash = fnv1a(record->hash, bytes, length);
}

static void note_begin(struct record *record, const struct part *part) {
    must(!record->in_part);
    record->in_part = true;
    record->parts++;
    mix(record, part->name, strlen(part->name) + 1);
    mix(record, part->filename, strlen(part->filename) + 1);
    mix(record, part->content_type, strlen(part->content_type) + 1);
    must(part->has_filename || !part->filename[0]);
}

static void note(struct record *record, const struct multipart_event *event) {
    if (event->kind == MULTIPART_PART_BEGIN) note_begin(record, event->part);
    if (event->kind == MULTIPART_DATA) {
        must(record->in_part && event->length > 0);
        mix(record, event->bytes, event->length);
        record->bytes += event->length;
    }
    if (event->kind == MULTIPART_PART_END) {
        must(record->in_part);
        record->in_part = false;
        mix(record, "", 1);
    }
}

/* The bytes of a piece are gone when the next one comes. */
static enum status feed(struct multipart *m, struct record *record, const uint8_t *bytes,
                        size_t length) {
    uint8_t *copy = malloc(length ? length : 1);
    const uint8_t *at = copy;
    struct multipart_event event;
    enum status status;
    if (length) memcpy(copy, bytes, length);
    do {
        status = multipart_next(m, &at, copy + length, &event, NULL);
        if (!status) note(record, &event);
    } while (!status && event.kind != MULTIPART_MORE);
    free(copy);
    return status;
}

static enum status finish(struct multipart *m, struct record *record) {
    struct multipart_event event;
    const enum status status = multipart_finish(m, &event, NULL);
    if (!status) note(record, &event);
    return status;
}

static enum status parse(const char *type, const uint8_t *body, size_t length, uint64_t pieces,
                         struct record *record) {
    static const struct multipart_limits limits = { 4, 512 };
    struct multipart m;
    *record = (struct record){ 0 };
    enum status status = multipart_init(&m, type, &limits, NULL);
    for (size_t at = 0; !status && at < length;) {
        size_t left = length - at, step = left;
        if (pieces) {
            pieces = pieces * 6364136223846793005 + 1442695040888963407;
            step = 1 + (pieces >> 40) % (pieces >> 62 ? 5 : 90);
        }
        status = feed(&m, record, body + at, step < left ? step : left);
        at += step < left ? step : left;
    }
    return status ? status : finish(&m, record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    if (!end || end + 1 == data + size) return 0;
    char *type = strndup((const char *)data, (size_t)(end - data));
    const uint8_t *body = end + 2;
    size_t length = size - (size_t)(body - data);
    struct record whole, cut;
    enum status status = parse(type, body, length, 0, &whole);
    must(parse(type, body, length, end[1] + 1, &cut) == status);
    must(whole.bytes <= length && whole.parts <= 4);
    must(status || !whole.in_part);
    if (!status)
        must(whole.hash == cut.hash && whole.bytes == cut.bytes && whole.parts == cut.parts);
    free(type);
    return 0;
}
