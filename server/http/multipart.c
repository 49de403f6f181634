// SPDX-License-Identifier: Apache-2.0
/* How it works. A state machine that stops at each event. In the preamble and in a part the
 * delimiter is searched for; no CR stands within a delimiter but at its start, so after a failed
 * match the search goes on behind the matched bytes and every byte is looked at once. Behind a
 * delimiter stands its tail; if the tail is anything else, delimiter and tail were data. Data are
 * events that point into the caller's bytes; only what may turn out to be a delimiter at the end of
 * a piece is kept, in the delimiter. */
#include "server/http/multipart.h"

#include "server/http/header_params.h"

#include <string.h>
#include <strings.h>

enum state {
    PREAMBLE,
    DATA,
    TAIL,      /* behind a delimiter */
    NEXT_PART, /* behind its tail: a part begins, if there may be one more */
    HEADERS,
    EPILOGUE,
};

#define BAD(...) fail(failure, STATUS_BAD_REQUEST, __VA_ARGS__)

static const char form_data[] = "multipart/form-data";

/* ---- the Content-Type of the request */

bool multipart_is(const char *content_type) {
    if (!content_type) return false;
    const char *p = header_params_skip_blanks(content_type);
    if (strncasecmp(p, form_data, sizeof form_data - 1) != 0) return false;
    p = header_params_skip_blanks(p + sizeof form_data - 1);
    return *p == '\0' || *p == ';';
}

static enum status set_boundary(struct multipart *m, const struct header_param *param,
                                struct failure *failure) {
    char text[BOUNDARY_MAX + 2];
    const size_t length = header_params_copy(param, text, sizeof text);
    if (m->delimiter.length) return BAD("Content-Type has more than one boundary; send one");
    if (length == 0)
        return BAD(
            "the boundary in Content-Type is empty; let the client write it, as curl -F does");
    if (length > BOUNDARY_MAX)
        return BAD("the boundary in Content-Type has %zu characters; %d are allowed", length,
                   BOUNDARY_MAX);
    if (!delimiter_is_boundary(text, length))
        return BAD("the boundary in Content-Type has a character that RFC 2046 does not allow");
    delimiter_set(&m->delimiter, text, length);
    return STATUS_OK;
}

static enum status read_content_type(struct multipart *m, const char *content_type,
                                     struct failure *failure) {
    struct header_param param;
    int found;
    if (!multipart_is(content_type)) return BAD("Content-Type must be multipart/form-data");
    const char *p = header_params_skip_blanks(content_type) + sizeof form_data - 1;
    while ((found = header_params_next(&p, &param)) > 0) {
        if (!header_params_is(&param, "boundary")) continue;
        enum status status = set_boundary(m, &param, failure);
        if (status) return status;
    }
    if (found < 0) return BAD("the parameters of Content-Type cannot be read; quote the boundary");
    if (!m->delimiter.length)
        return BAD(
            "Content-Type has no boundary; let the client write that header, as curl -F does");
    return STATUS_OK;
}

enum status multipart_init(struct multipart *m, const char *content_type,
                           const struct multipart_limits *limits, struct failure *failure) {
    /* The line buffer is 4 KiB that nobody reads yet. */
    memset(m, 0, offsetof(struct multipart, headers.line));
    m->limits = *limits;
    delimiter_at_line_start(&m->delimiter);
    m->status = read_content_type(m, content_type, failure);
    return m->status;
}

/* ---- one step: at most one event, and *AT moves on */

static void emit(struct multipart *m, struct multipart_event *event, const void *bytes,
                 size_t length) {
    if (!m->in_part || length == 0) return;
    *event = (struct multipart_event){ .kind = MULTIPART_DATA, .bytes = bytes, .length = length };
}

/* What was kept of a delimiter is data after all; TAIL bytes behind it, too. */
static void emit_kept(struct multipart *m, struct multipart_event *event, size_t tail) {
    struct delimiter *d = &m->delimiter;
    emit(m, event, d->text + d->assumed, d->matched - d->assumed + tail);
    d->matched = d->assumed = 0;
}

/* A delimiter began in an earlier piece: does it continue here? */
static void continue_match(struct multipart *m, const uint8_t **at, const uint8_t *end,
                           struct multipart_event *event) {
    *at += delimiter_match(&m->delimiter, *at, end);
    if (delimiter_is_whole(&m->delimiter))
        m->state = TAIL;
    else if (*at < end)
        emit_kept(m, event, 0);
}

/* Hands on all of [*at, end) up to a delimiter, whole or cut off by the end. */
static void read_data(struct multipart *m, const uint8_t **at, const uint8_t *end,
                      struct multipart_event *event) {
    struct delimiter *d = &m->delimiter;
    const uint8_t *start = *at, *p = start;
    d->assumed = 0;
    while ((p = delimiter_find(p, end)) < end) {
        const size_t length = delimiter_match(d, p, end);
        if (delimiter_is_whole(d) || p + length == end) {
            if (delimiter_is_whole(d)) m->state = TAIL;
            *at = p + length;
            emit(m, event, start, (size_t)(p - start));
            return;
        }
        d->matched = 0;
        p += length;
    }
    *at = end;
    emit(m, event, start, (size_t)(end - start));
}

static void end_part(struct multipart *m, struct multipart_event *event) {
    if (m->in_part) event->kind = MULTIPART_PART_END;
    m->in_part = false;
}

static enum status read_tail(struct multipart *m, const uint8_t **at, struct multipart_event *event,
                             struct failure *failure) {
    struct delimiter *d = &m->delimiter;
    const char c = (char)**at;
    if (!delimiter_tail_fits(d, c)) { /* the line continues: it is data */
        m->state = m->in_part ? DATA : PREAMBLE;
        emit_kept(m, event, d->tail_length);
        return STATUS_OK;
    }
    (*at)++;
    if (c != '\n')
        return delimiter_tail_add(d, c)
                   ? STATUS_OK
                   : BAD("a boundary is followed by more than %d blanks", DELIMITER_BLANKS_MAX);
    d->matched = 0;
    m->state = delimiter_closes(d) ? EPILOGUE : NEXT_PART;
    end_part(m, event);
    return STATUS_OK;
}

static enum status begin_part(struct multipart *m, struct failure *failure) {
    if (m->parts >= m->limits.parts_max)
        return BAD("there are more than %d parts (parts_max); parameters may go in the query too",
                   m->limits.parts_max);
    part_headers_begin(&m->headers, ++m->parts);
    m->state = HEADERS;
    return STATUS_OK;
}

static enum status read_headers(struct multipart *m, const uint8_t **at, const uint8_t *end,
                                struct multipart_event *event, struct failure *failure) {
    bool complete;
    enum status status =
        part_headers_read(&m->headers, at, end, m->limits.part_headers_bytes, &complete, failure);
    if (status || !complete) return status;
    m->state = DATA;
    m->in_part = true;
    delimiter_at_line_start(&m->delimiter); /* a part without data may end at once */
    *event = (struct multipart_event){ .kind = MULTIPART_PART_BEGIN, .part = &m->headers.part };
    return STATUS_OK;
}

static enum status step(struct multipart *m, const uint8_t **at, const uint8_t *end,
                        struct multipart_event *event, struct failure *failure) {
    if (m->state == NEXT_PART) return begin_part(m, failure);
    if (m->state == HEADERS) return read_headers(m, at, end, event, failure);
    if (m->state == TAIL) return read_tail(m, at, event, failure);
    if (m->state == EPILOGUE)
        *at = end;
    else if (m->delimiter.matched)
        continue_match(m, at, end, event);
    else
        read_data(m, at, end, event);
    return STATUS_OK;
}

/* ---- all of it */

enum status multipart_next(struct multipart *m, const uint8_t **at, const uint8_t *end,
                           struct multipart_event *event, struct failure *failure) {
    *event = (struct multipart_event){ .kind = MULTIPART_MORE };
    while (!m->status && !event->kind && (*at < end || m->state == NEXT_PART))
        m->status = step(m, at, end, event, failure);
    return m->status;
}

bool multipart_in_data(const struct multipart *m, size_t *kept) {
    const struct delimiter *d = &m->delimiter;
    *kept = d->matched - d->assumed + (m->state == TAIL ? d->tail_length : 0);
    return m->in_part && (m->state == DATA || m->state == TAIL);
}

enum status multipart_finish(struct multipart *m, struct multipart_event *event,
                             struct failure *failure) {
    *event = (struct multipart_event){ .kind = MULTIPART_MORE };
    if (m->status) return m->status;
    if (m->state == TAIL && delimiter_closes(&m->delimiter)) {
        m->state = EPILOGUE;
        end_part(m, event);
    }
    if (m->state == EPILOGUE) return STATUS_OK;
    m->status = m->parts ? BAD("the body ends within part %d: no closing boundary", m->parts)
                         : BAD("the boundary of Content-Type does not occur in the body");
    return m->status;
}
