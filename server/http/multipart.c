// SPDX-License-Identifier: Apache-2.0
/* How: in the preamble and in a part `CR . -` is looked for, a block at a time; only there is the
 * delimiter compared. No CR stands within a delimiter but at its start, so after a failed match the
 * search goes on behind the matched bytes and every byte is looked at once. Behind a delimiter
 * stands a tail, `--`, blanks, CR LF; if the tail is anything else, delimiter and tail were data
 * and are handed on from the copies kept here, since the piece they came in may be gone. */
#include "server/http/multipart.h"

#include "server/http/engine/request_check.h"

#include <string.h>
#include <strings.h>

enum state {
    PREAMBLE,
    TAIL, /* behind a delimiter */
    HEADERS,
    DATA,
    EPILOGUE,
};

#define BAD(...) fail(failure, STATUS_BAD_REQUEST, __VA_ARGS__)

/* ---- parameters: `; name=token` and `; name="quoted \" text"` ---- */

struct parameter {
    const char *name, *value;
    size_t name_length, value_length;
    bool quoted; /* value is what stood between the quotes, escapes and all */
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static const char *skip_blanks(const char *p) {
    while (is_blank(*p)) p++;
    return p;
}

static size_t token_length(const char *p) {
    size_t length = 0;
    while (p[length] && request_check_is_token(p + length, 1)) length++;
    return length;
}

/* The quote that ends a quoted text, or NULL. */
static const char *closing_quote(const char *p) {
    for (; *p && *p != '"'; p++)
        if (*p == '\\' && !*++p) return NULL;
    return *p ? p : NULL;
}

/* Reads the value at *AT and moves on behind it. */
static bool read_value(const char **at, struct parameter *out) {
    const char *p = *at;
    out->quoted = *p == '"';
    out->value = p + out->quoted;
    if (out->quoted) {
        const char *end = closing_quote(out->value);
        if (!end) return false;
        out->value_length = (size_t)(end - out->value);
        *at = end + 1;
        return true;
    }
    out->value_length = token_length(p);
    *at = p + out->value_length;
    return out->value_length > 0;
}

/* 1: OUT is filled and *AT moved on; 0: there are no more; -1: this is no list of parameters. */
static int next_parameter(const char **at, struct parameter *out) {
    const char *p = skip_blanks(*at);
    if (!*p) return 0;
    if (*p++ != ';') return -1;
    p = skip_blanks(p);
    if (!*p) return 0; /* a semicolon at the end does no harm */
    out->name = p;
    out->name_length = token_length(p);
    p += out->name_length;
    if (out->name_length == 0 || *p++ != '=') return -1;
    if (!read_value(&p, out)) return -1;
    *at = p;
    return 1;
}

static bool is_named(const struct parameter *parameter, const char *name) {
    return parameter->name_length == strlen(name) &&
           strncasecmp(parameter->name, name, parameter->name_length) == 0;
}

/* The value without its escapes, cut to fit; returns its whole length. */
static size_t copy_value(const struct parameter *parameter, char *out, size_t room) {
    size_t length = 0;
    for (size_t i = 0; i < parameter->value_length; i++) {
        if (parameter->quoted && parameter->value[i] == '\\') i++;
        if (length + 1 < room) out[length] = parameter->value[i];
        length++;
    }
    out[length < room ? length : room - 1] = '\0';
    return length;
}

/* ---- the Content-Type of the request ---- */

static bool is_boundary(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!word && !strchr("'()+_,-./:=? ", c)) return false;
    }
    return text[length - 1] != ' ';
}

static enum status set_boundary(struct multipart *m, const struct parameter *parameter,
                                struct failure *failure) {
    char text[MULTIPART_BOUNDARY_MAX + 2];
    size_t length = copy_value(parameter, text, sizeof text);
    if (m->delimiter_length) return BAD("Content-Type has more than one boundary; send one");
    if (length == 0)
        return BAD(
            "the boundary in Content-Type is empty; let the client write it, as curl -F does");
    if (length > MULTIPART_BOUNDARY_MAX)
        return BAD("the boundary in Content-Type has %zu characters; %d are allowed", length,
                   MULTIPART_BOUNDARY_MAX);
    if (!is_boundary(text, length))
        return BAD("the boundary in Content-Type holds a character that RFC 2046 does not allow");
    memcpy(m->delimiter, "\r\n--", 4);
    memcpy(m->delimiter + 4, text, length);
    m->delimiter_length = 4 + length;
    return STATUS_OK;
}

static const char form_data[] = "multipart/form-data";

bool multipart_is(const char *content_type) {
    if (!content_type) return false;
    const char *p = skip_blanks(content_type);
    if (strncasecmp(p, form_data, sizeof form_data - 1) != 0) return false;
    p = skip_blanks(p + sizeof form_data - 1);
    return *p == '\0' || *p == ';';
}

enum status multipart_init(struct multipart *m, const char *content_type,
                           const struct multipart_limits *limits, const struct multipart_sink *sink,
                           struct failure *failure) {
    struct parameter parameter;
    int found;
    memset(m, 0, offsetof(struct multipart, line)); /* the line buffer is 4 KiB nobody reads yet */
    m->limits = *limits;
    m->sink = *sink;
    m->matched = m->assumed = 2; /* the body starts a line */
    m->status = STATUS_BAD_REQUEST;
    if (!multipart_is(content_type)) return BAD("Content-Type must be multipart/form-data");
    const char *p = skip_blanks(content_type) + sizeof form_data - 1;
    while ((found = next_parameter(&p, &parameter)) > 0) {
        if (!is_named(&parameter, "boundary")) continue;
        enum status status = set_boundary(m, &parameter, failure);
        if (status) return status;
    }
    if (found < 0) return BAD("the parameters of Content-Type cannot be read; quote the boundary");
    if (!m->delimiter_length)
        return BAD(
            "Content-Type has no boundary; let the client write that header, as curl -F does");
    m->status = STATUS_OK;
    return STATUS_OK;
}

/* ---- the headers of a part ---- */

static enum status read_disposition(struct multipart *m, const char *p, struct failure *failure) {
    struct part *part = &m->part;
    struct parameter parameter;
    bool named = false;
    int found;
    if (m->has_disposition) return BAD("part %d has two Content-Dispositions", m->parts);
    m->has_disposition = true;
    size_t length = token_length(p);
    if (length != 9 || strncasecmp(p, "form-data", 9) != 0)
        return BAD("Content-Disposition of part %d is not form-data", m->parts);
    p += length;
    while ((found = next_parameter(&p, &parameter)) > 0) {
        if (is_named(&parameter, "name")) {
            if (named) return BAD("part %d has two names", m->parts);
            named = true;
            if (copy_value(&parameter, part->name, sizeof part->name) >= sizeof part->name)
                return BAD("the name of part %d has more than %d bytes", m->parts,
                           PART_NAME_MAX - 1);
        } else if (is_named(&parameter, "filename")) {
            if (part->has_filename) return BAD("part %d has two filenames", m->parts);
            part->has_filename = true;
            copy_value(&parameter, part->filename, sizeof part->filename);
        }
    }
    if (found < 0) return BAD("Content-Disposition of part %d cannot be read", m->parts);
    return named ? STATUS_OK : BAD("Content-Disposition of part %d has no name", m->parts);
}

static enum status read_type(struct multipart *m, const char *value, struct failure *failure) {
    size_t length = strlen(value), room = sizeof m->part.content_type - 1;
    if (m->has_type) return BAD("part %d has two Content-Types", m->parts);
    m->has_type = true;
    if (strncasecmp(value, "multipart/", 10) == 0)
        return BAD("part %d is a multipart within the multipart", m->parts);
    if (length > room) length = room;
    memcpy(m->part.content_type, value, length);
    m->part.content_type[length] = '\0';
    return STATUS_OK;
}

static enum status read_encoding(struct multipart *m, const char *value, struct failure *failure) {
    static const char *const plain[] = { "binary", "8bit", "7bit" };
    for (int i = 0; i < 3; i++)
        if (strcasecmp(value, plain[i]) == 0) return STATUS_OK;
    return BAD("Content-Transfer-Encoding of part %d must be binary, 8bit or 7bit", m->parts);
}

/* LINE is terminated and holds no control character. */
static enum status read_header(struct multipart *m, char *line, struct failure *failure) {
    if (is_blank(*line)) return BAD("part %d has a folded header line", m->parts);
    size_t length = token_length(line);
    if (length == 0 || line[length] != ':')
        return BAD("part %d has a header line without a name", m->parts);
    line[length] = '\0';
    const char *value = skip_blanks(line + length + 1);
    if (strcasecmp(line, "Content-Disposition") == 0) return read_disposition(m, value, failure);
    if (strcasecmp(line, "Content-Type") == 0) return read_type(m, value, failure);
    if (strcasecmp(line, "Content-Transfer-Encoding") == 0) return read_encoding(m, value, failure);
    return STATUS_OK;
}

static bool has_control(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (((unsigned char)text[i] < 32 && text[i] != '\t') || text[i] == 127) return true;
    return false;
}

static enum status end_headers(struct multipart *m, struct failure *failure) {
    if (!m->has_disposition) return BAD("part %d has no Content-Disposition", m->parts);
    m->state = DATA;
    m->matched = m->assumed = 2; /* a part without data may end at once */
    m->in_part = true;
    return m->sink.part_begin(m->sink.context, &m->part, failure);
}

/* A whole line stands in m->line. */
static enum status end_line(struct multipart *m, struct failure *failure) {
    size_t length = m->line_length - 1;
    m->line_length = 0;
    if (length == 0 || m->line[length - 1] != '\r')
        return BAD("a header line of part %d does not end in CR LF", m->parts);
    length--;
    if (length == 0) return end_headers(m, failure);
    if (has_control(m->line, length))
        return BAD("a header of part %d holds a control character", m->parts);
    while (length && is_blank(m->line[length - 1])) length--;
    m->line[length] = '\0';
    return read_header(m, m->line, failure);
}

static enum status take_headers(struct multipart *m, const uint8_t **at, const uint8_t *end,
                                struct failure *failure) {
    const uint8_t *feed = memchr(*at, '\n', (size_t)(end - *at));
    size_t length = (size_t)((feed ? feed + 1 : end) - *at);
    if (length > m->limits.part_headers_bytes - m->header_bytes)
        return BAD("the headers of part %d have more than %zu bytes", m->parts,
                   m->limits.part_headers_bytes);
    if (length > sizeof m->line - m->line_length)
        return BAD("a header line of part %d has more than %d bytes", m->parts, MULTIPART_LINE_MAX);
    memcpy(m->line + m->line_length, *at, length);
    m->line_length += length;
    m->header_bytes += length;
    *at += length;
    return feed ? end_line(m, failure) : STATUS_OK;
}

/* ---- delimiters and data ---- */

static enum status give(struct multipart *m, const void *bytes, size_t length,
                        struct failure *failure) {
    if (!m->in_part || length == 0) return STATUS_OK;
    return m->sink.part_data(m->sink.context, bytes, length, failure);
}

/* The part of the delimiter that was matched in earlier pieces is data after all. */
static enum status give_matched(struct multipart *m, size_t matched, struct failure *failure) {
    size_t assumed = m->assumed;
    m->assumed = 0;
    return give(m, m->delimiter + assumed, matched - assumed, failure);
}

/* Compares on from m->matched; returns how many bytes of [p, end) belong to the delimiter. */
static size_t match(struct multipart *m, const uint8_t *p, const uint8_t *end) {
    size_t room = m->delimiter_length - m->matched, length = (size_t)(end - p), i = 0;
    if (length > room) length = room;
    while (i < length && p[i] == (uint8_t)m->delimiter[m->matched + i]) i++;
    m->matched += i;
    return i;
}

enum { BLOCK = 64 };

/* Does `CR . -` begin in the BLOCK bytes at P? Reads two bytes more. Written so that the compiler
 * takes many bytes at once: whatever the data are, this is the pace (memchr for CR falls to a
 * fiftieth of its own where every second byte is one). */
static bool block_may_start(const uint8_t *p) {
    uint8_t found = 0;
    for (int i = 0; i < BLOCK; i++) found |= (uint8_t)((p[i] == '\r') & (p[i + 2] == '-'));
    return found;
}

/* Where a delimiter may begin, as far as its first four bytes tell; END if nowhere. Byte by byte
 * first: where one start was, the next is often near. */
static const uint8_t *find_start(const uint8_t *p, const uint8_t *end) {
    while (p < end) {
        const uint8_t *stop = end - p > BLOCK ? p + BLOCK : end;
        for (; p < stop; p++)
            if (*p == '\r' && (end - p < 4 || memcmp(p, "\r\n--", 4) == 0)) return p;
        while (end - p >= BLOCK + 2 && !block_may_start(p)) p += BLOCK;
    }
    return end;
}

static void begin_tail(struct multipart *m) {
    m->state = TAIL;
    m->tail_length = 0;
}

/* A delimiter began in an earlier piece: does it go on here? */
static enum status go_on(struct multipart *m, const uint8_t **at, const uint8_t *end,
                         struct failure *failure) {
    *at += match(m, *at, end);
    if (m->matched == m->delimiter_length) begin_tail(m);
    if (m->state == TAIL || *at == end) return STATUS_OK;
    size_t matched = m->matched;
    m->matched = 0;
    return give_matched(m, matched, failure);
}

/* Hands on all of [*at, end) up to a delimiter, whole or cut off by the end. */
static enum status take_data(struct multipart *m, const uint8_t **at, const uint8_t *end,
                             struct failure *failure) {
    const uint8_t *start = *at, *p = start;
    if (m->matched) return go_on(m, at, end, failure);
    m->assumed = 0;
    while ((p = find_start(p, end)) < end) {
        size_t length = match(m, p, end);
        if (m->matched == m->delimiter_length || p + length == end) {
            if (m->matched == m->delimiter_length) begin_tail(m);
            *at = p + length;
            return give(m, start, (size_t)(p - start), failure);
        }
        m->matched = 0;
        p += length;
    }
    *at = end;
    return give(m, start, (size_t)(end - start), failure);
}

static enum status end_part(struct multipart *m, struct failure *failure) {
    bool was = m->in_part;
    m->in_part = false;
    return was ? m->sink.part_end(m->sink.context, failure) : STATUS_OK;
}

static enum status begin_part(struct multipart *m, struct failure *failure) {
    enum status status = end_part(m, failure);
    if (status) return status;
    if (m->parts >= m->limits.parts_max)
        return BAD("there are more than %d parts (parts_max); parameters may go in the query too",
                   m->limits.parts_max);
    m->parts++;
    m->state = HEADERS;
    m->header_bytes = 0;
    m->line_length = 0;
    m->has_disposition = m->has_type = false;
    m->part.has_filename = false;
    m->part.name[0] = m->part.filename[0] = m->part.content_type[0] = '\0';
    return STATUS_OK;
}

/* Is [tail] followed by C still the start of `[--] blanks CR LF`? */
static bool tail_goes_on(const struct multipart *m, char c) {
    size_t length = m->tail_length;
    char last = length ? m->tail[length - 1] : '\0';
    if (last == '\r') return c == '\n';
    if (c == '-') return length == 0 || (length == 1 && last == '-');
    if (length == 1 && last == '-') return false;
    return c == '\r' || is_blank(c);
}

static bool tail_closes(const struct multipart *m) {
    return m->tail_length >= 2 && m->tail[1] == '-';
}

/* The line went on after the boundary, so it is data, and so may be what comes. */
static enum status undo_tail(struct multipart *m, struct failure *failure) {
    m->state = m->in_part ? DATA : PREAMBLE;
    m->matched = 0;
    enum status status = give_matched(m, m->delimiter_length, failure);
    return status ? status : give(m, m->tail, m->tail_length, failure);
}

static enum status take_tail(struct multipart *m, const uint8_t **at, struct failure *failure) {
    char c = (char)**at;
    if (!tail_goes_on(m, c)) return undo_tail(m, failure);
    (*at)++;
    if (c != '\n') {
        if (m->tail_length == sizeof m->tail)
            return BAD("a boundary is followed by more than %d blanks", MULTIPART_BLANKS_MAX);
        m->tail[m->tail_length++] = c;
        return STATUS_OK;
    }
    m->matched = 0;
    if (!tail_closes(m)) return begin_part(m, failure);
    m->state = EPILOGUE;
    return end_part(m, failure);
}

/* ---- all of it ---- */

enum status multipart_feed(struct multipart *m, const void *bytes, size_t length,
                           struct failure *failure) {
    if (length == 0) return m->status;
    const uint8_t *at = bytes, *end = at + length;
    while (!m->status && at < end && m->state != EPILOGUE) {
        if (m->state == TAIL)
            m->status = take_tail(m, &at, failure);
        else if (m->state == HEADERS)
            m->status = take_headers(m, &at, end, failure);
        else
            m->status = take_data(m, &at, end, failure);
    }
    return m->status;
}

enum status multipart_finish(struct multipart *m, struct failure *failure) {
    if (m->status) return m->status;
    if (m->state == TAIL && tail_closes(m)) {
        m->state = EPILOGUE;
        return m->status = end_part(m, failure);
    }
    if (m->state == EPILOGUE) return STATUS_OK;
    m->status = m->parts ? BAD("the body ends within part %d: no closing boundary", m->parts)
                         : BAD("the boundary of Content-Type does not occur in the body");
    return m->status;
}
