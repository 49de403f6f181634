// SPDX-License-Identifier: Apache-2.0
/* How it works. A state machine that stops at each event. In the preamble and in a part it searches
 * for the delimiter. A delimiter has a CR only at its start, so after a failed match the search
 * goes on after the matched bytes, and every byte is read once. A delimiter must be followed by its
 * tail; otherwise both were data. Data events point into the caller's bytes; only a possible
 * delimiter at the end of a piece is copied, into struct delimiter.
 *
 * A header is collected in one line buffer and read there, name, colon, value, when the next line
 * begins: if that begins with a blank, it continues the header. Three headers are used, the others
 * skipped. The limit on all headers is checked before a byte is stored, so that an endless line is
 * refused early. */
#include "server/request/multipart_parser.h"

#include "server/header_token.h"

#include <string.h>
#include <strings.h>

enum state {
    PREAMBLE,
    DATA,
    TAIL,      /* after a delimiter */
    NEXT_PART, /* after its tail: a part begins, if one more is allowed */
    HEADERS,
    EPILOGUE,
};

#define BAD(...) fail(failure, STATUS_BAD_REQUEST, __VA_ARGS__)

static const char form_data[] = "multipart/form-data";

/* ---- the parameters of a header's value: `; name=token; name="quoted \" text"` */

struct header_param {
    bool of_part;             /* set by the caller: a part's header, which a browser may write */
    const char *name, *value; /* in the header's value; without quotes, escapes included */
    size_t name_length, value_length;
    bool escaped; /* the value may contain escapes */
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
    while (p[length] && token_has((unsigned char)p[length])) length++;
    return length;
}

/* The quote that ends a quoted text with escapes; NULL: none does. STRICT: only quotes and
 * backslashes are escaped, and nothing or a semicolon follows. */
static const char *escaped_end(const char *p, bool strict) {
    for (; *p && *p != '"'; p++)
        if (*p == '\\' && (!*++p || (strict && *p != '"' && *p != '\\'))) return NULL;
    return *p && (!strict || strchr(";", *skip_blanks(p + 1))) ? p : NULL;
}

/* Reads the value at *AT and advances *AT. Browsers do not escape a backslash: a part's text that
 * cannot have been escaped ends at its first quote. */
static bool read_value(const char **at, struct header_param *out) {
    const bool quoted = **at == '"';
    out->value = *at + quoted;
    const char *end =
        quoted ? escaped_end(out->value, out->of_part) : out->value + token_length(out->value);
    out->escaped = quoted && end;
    if (quoted && !end && out->of_part) end = strchr(out->value, '"');
    if (!end) return false;
    out->value_length = (size_t)(end - out->value);
    *at = end + quoted;
    return quoted || out->value_length > 0;
}

/* 1: OUT is set and *AT advanced; 0: there are no more; -1: this is not a list of parameters. */
static int next_param(const char **at, struct header_param *out) {
    const char *p = skip_blanks(*at);
    if (!*p) return 0;
    if (*p++ != ';') return -1;
    p = skip_blanks(p);
    if (!*p) return 0; /* a semicolon at the end is allowed */
    out->name = p;
    out->name_length = token_length(p);
    p += out->name_length;
    if (out->name_length == 0 || *p++ != '=') return -1;
    if (!read_value(&p, out)) return -1;
    *at = p;
    return 1;
}

static bool param_is(const struct header_param *param, const char *name) {
    return param->name_length == strlen(name) &&
           strncasecmp(param->name, name, param->name_length) == 0;
}

/* Copies the value without its escapes, cut to fit; returns its whole length. */
static size_t copy_param(const struct header_param *param, char *out, size_t room) {
    size_t length = 0;
    for (size_t i = 0; i < param->value_length; i++) {
        if (param->escaped && param->value[i] == '\\') i++;
        if (length + 1 < room) out[length] = param->value[i];
        length++;
    }
    out[length < room ? length : room - 1] = '\0';
    return length;
}

/* ---- the delimiter, CR LF -- boundary, in pieces of any size, and the tail after it: `--` if it
 * closes the body, blanks, CR LF */

/* Bytes that are compared before their results are combined. */
enum { BLOCK = 256 };

/* Whether RFC 2046 allows TEXT as a boundary. */
static bool delimiter_is_boundary(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];
        const bool word =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!word && !strchr("'()+_,-./:=? ", c)) return false;
    }
    return text[length - 1] != ' ';
}

/* The next bytes begin a line; its CR LF is not part of the data. */
static void delimiter_at_line_start(struct delimiter *delimiter) {
    delimiter->matched = delimiter->assumed = 2;
}

/* Whether `CR . -` begins in the BLOCK bytes at P; reads two bytes more. All bytes are compared, so
 * the speed does not depend on the data (memchr for CR falls to a fiftieth of its speed if every
 * second byte is one). */
static bool block_may_start(const uint8_t *p) {
    typedef uint8_t vector __attribute__((vector_size(16)));
    typedef vector unaligned __attribute__((aligned(1), may_alias));
    vector found = { 0 };
    uint64_t halves[2];
#pragma GCC unroll 16
    for (int i = 0; i < BLOCK; i += (int)sizeof found) {
        const vector is_return = (vector)(*(const unaligned *)(p + i) == '\r');
        const vector is_dash = (vector)(*(const unaligned *)(p + i + 2) == '-');
        found |= is_return & is_dash;
    }
    memcpy(halves, &found, sizeof halves);
    return halves[0] | halves[1];
}

/* The next place where a delimiter may begin, by its first four bytes; END: none. Searches byte by
 * byte first: possible starts are often close together. */
static const uint8_t *delimiter_find(const uint8_t *p, const uint8_t *end) {
    while (p < end) {
        const uint8_t *stop = end - p > BLOCK ? p + BLOCK : end;
        for (; p < stop; p++)
            if (*p == '\r' && (end - p < 4 || memcmp(p, "\r\n--", 4) == 0)) return p;
        while (end - p >= BLOCK + 2 && !block_may_start(p)) p += BLOCK;
    }
    return end;
}

/* Continues after `matched`; returns how many bytes of [p, end) match. */
static size_t delimiter_match(struct delimiter *delimiter, const uint8_t *p, const uint8_t *end) {
    size_t room = delimiter->length - delimiter->matched, length = (size_t)(end - p), i = 0;
    if (length > room) length = room;
    while (i < length && p[i] == (uint8_t)delimiter->text[delimiter->matched + i]) i++;
    delimiter->matched += i;
    delimiter->tail_length = 0;
    return i;
}

static bool delimiter_is_whole(const struct delimiter *delimiter) {
    return delimiter->matched == delimiter->length;
}

/* Whether the tail followed by C is still a start of `[--] blanks CR LF`. */
static bool delimiter_tail_fits(const struct delimiter *delimiter, char c) {
    const size_t length = delimiter->tail_length;
    const char last = length ? delimiter->text[delimiter->length + length - 1] : '\0';
    if (last == '\r') return c == '\n';
    if (c == '-') return length == 0 || (length == 1 && last == '-');
    if (length == 1 && last == '-') return false;
    return c == '\r' || is_blank(c);
}

/* Whether the tail begins with --. */
static bool delimiter_closes(const struct delimiter *delimiter) {
    return delimiter->tail_length >= 2 && delimiter->text[delimiter->length + 1] == '-';
}

/* False: too many blanks. */
static bool delimiter_tail_add(struct delimiter *delimiter, char c) {
    const size_t most = DELIMITER_BLANKS_MAX + (delimiter_closes(delimiter) ? 2 : 0);
    if (is_blank(c) && delimiter->tail_length == most) return false;
    delimiter->text[delimiter->length + delimiter->tail_length++] = c;
    return true;
}

/* ---- the Content-Type of the request */

bool multipart_is(const char *content_type) {
    if (!content_type) return false;
    const char *p = skip_blanks(content_type);
    if (strncasecmp(p, form_data, sizeof form_data - 1) != 0) return false;
    p = skip_blanks(p + sizeof form_data - 1);
    return *p == '\0' || *p == ';';
}

static enum status set_boundary(struct multipart *m, const struct header_param *param,
                                struct failure *failure) {
    char text[BOUNDARY_MAX + 2];
    const size_t length = copy_param(param, text, sizeof text);
    if (m->delimiter.length) return BAD("Content-Type has more than one boundary; send one");
    if (length == 0)
        return BAD(
            "the boundary in Content-Type is empty; let the client write it, as curl -F does");
    if (length > BOUNDARY_MAX)
        return BAD("the boundary in Content-Type has %zu characters; %d are allowed", length,
                   BOUNDARY_MAX);
    if (!delimiter_is_boundary(text, length))
        return BAD("the boundary in Content-Type has a character that RFC 2046 does not allow");
    memcpy(m->delimiter.text, "\r\n--", 4);
    memcpy(m->delimiter.text + 4, text, length);
    m->delimiter.length = 4 + length;
    return STATUS_OK;
}

static enum status read_content_type(struct multipart *m, const char *content_type,
                                     struct failure *failure) {
    struct header_param param = { .of_part = false };
    int found;
    if (!multipart_is(content_type)) return BAD("Content-Type must be multipart/form-data");
    const char *p = skip_blanks(content_type) + sizeof form_data - 1;
    while ((found = next_param(&p, &param)) > 0) {
        if (!param_is(&param, "boundary")) continue;
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
    /* Leaves out the line buffer, 4 KiB that are written before they are read. */
    memset(m, 0, offsetof(struct multipart, headers.line));
    m->limits = *limits;
    delimiter_at_line_start(&m->delimiter);
    m->status = read_content_type(m, content_type, failure);
    return m->status;
}

/* ---- the headers of a part, line by line */

static enum status read_disposition(struct part_headers *h, const char *p,
                                    struct failure *failure) {
    struct part *part = &h->part;
    struct header_param param = { .of_part = true };
    bool named = false;
    int found;
    if (h->has_disposition) return BAD("part %d has two Content-Dispositions", h->number);
    h->has_disposition = true;
    size_t length = token_length(p);
    if (length != 9 || strncasecmp(p, "form-data", 9) != 0)
        return BAD("Content-Disposition of part %d is not form-data", h->number);
    p += length;
    while ((found = next_param(&p, &param)) > 0) {
        if (param_is(&param, "name")) {
            if (named) return BAD("part %d has two names", h->number);
            named = true;
            if (copy_param(&param, part->name, sizeof part->name) >= sizeof part->name)
                return BAD("the name of part %d has more than %d bytes", h->number,
                           PART_NAME_MAX - 1);
        } else if (param_is(&param, "filename")) {
            if (part->has_filename) return BAD("part %d has two filenames", h->number);
            part->has_filename = true;
            copy_param(&param, part->filename, sizeof part->filename);
        }
    }
    if (found < 0) return BAD("Content-Disposition of part %d cannot be read", h->number);
    return named ? STATUS_OK : BAD("Content-Disposition of part %d has no name", h->number);
}

static enum status read_type(struct part_headers *h, const char *value, struct failure *failure) {
    size_t length = strlen(value), room = sizeof h->part.content_type - 1;
    if (h->has_type) return BAD("part %d has two Content-Types", h->number);
    h->has_type = true;
    if (strncasecmp(value, "multipart/", 10) == 0)
        return BAD("part %d is a multipart within the multipart", h->number);
    if (length > room) length = room;
    memcpy(h->part.content_type, value, length);
    h->part.content_type[length] = '\0';
    return STATUS_OK;
}

static enum status read_encoding(struct part_headers *h, const char *value,
                                 struct failure *failure) {
    static const char *const plain[] = { "binary", "8bit", "7bit" };
    for (int i = 0; i < 3; i++)
        if (strcasecmp(value, plain[i]) == 0) return STATUS_OK;
    return BAD("Content-Transfer-Encoding of part %d must be binary, 8bit or 7bit", h->number);
}

/* h->line is a whole header, which has a name. */
static enum status read_header(struct part_headers *h, struct failure *failure) {
    char *line = h->line;
    if (token_has_control(line, h->line_length))
        return BAD("a header of part %d contains a control character", h->number);
    while (is_blank(line[h->line_length - 1])) h->line_length--;
    line[h->line_length] = line[token_length(line)] = '\0';
    const char *value = skip_blanks(line + strlen(line) + 1);
    if (strcasecmp(line, "Content-Disposition") == 0) return read_disposition(h, value, failure);
    if (strcasecmp(line, "Content-Type") == 0) return read_type(h, value, failure);
    if (strcasecmp(line, "Content-Transfer-Encoding") == 0) return read_encoding(h, value, failure);
    return STATUS_OK;
}

/* Takes bytes up to and including the end of a line. */
static enum status read_line(struct part_headers *h, const uint8_t **at, const uint8_t *end,
                             size_t bytes_max, bool *complete, struct failure *failure) {
    if (h->line_ended && !is_blank((char)**at)) {
        if (read_header(h, failure)) return STATUS_BAD_REQUEST;
        h->line_length = 0;
    }
    h->line_ended = false;
    const uint8_t *feed = memchr(*at, '\n', (size_t)(end - *at));
    const size_t length = (size_t)((feed ? feed + 1 : end) - *at);
    if (length > bytes_max - h->bytes)
        return BAD("the headers of part %d have more than %zu bytes", h->number, bytes_max);
    if (length > sizeof h->line - h->line_length)
        return BAD("a header of part %d has more than %d bytes", h->number, PART_LINE_MAX);
    memcpy(h->line + h->line_length, *at, length);
    h->line_length += length;
    h->bytes += length;
    *at += length;
    if (!feed) return STATUS_OK;
    if (h->line_length < 2 || h->line[h->line_length - 2] != '\r')
        return BAD("a header line of part %d does not end in CR LF", h->number);
    h->line_length -= 2;
    h->line[h->line_length] = '\0';
    h->line_ended = h->line_length > 0;
    *complete = !h->line_ended;
    const size_t name = token_length(h->line);
    if (h->line_ended && (!name || h->line[name] != ':'))
        return BAD("part %d has a header line without a name", h->number);
    if (*complete && !h->has_disposition)
        return BAD("part %d has no Content-Disposition", h->number);
    return STATUS_OK;
}

/* ---- one step: at most one event; advances *AT */

static void emit(struct multipart *m, struct multipart_event *event, const void *bytes,
                 size_t length) {
    if (!m->in_part || length == 0) return;
    *event = (struct multipart_event){ .kind = MULTIPART_DATA, .bytes = bytes, .length = length };
}

/* The kept bytes, and TAIL bytes after them, turned out to be data. */
static void emit_kept(struct multipart *m, struct multipart_event *event, size_t tail) {
    struct delimiter *d = &m->delimiter;
    emit(m, event, d->text + d->assumed, d->matched - d->assumed + tail);
    d->matched = d->assumed = 0;
}

/* A possible delimiter began in an earlier piece. */
static void continue_match(struct multipart *m, const uint8_t **at, const uint8_t *end,
                           struct multipart_event *event) {
    *at += delimiter_match(&m->delimiter, *at, end);
    if (delimiter_is_whole(&m->delimiter))
        m->state = TAIL;
    else if (*at < end)
        emit_kept(m, event, 0);
}

/* Emits [*at, end) up to a delimiter, complete or cut off by the end. */
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
    struct part_headers *h = &m->headers;
    if (m->parts >= m->limits.parts_max)
        return BAD("there are more than %d parts (parts_max); parameters may go in the query too",
                   m->limits.parts_max);
    h->number = ++m->parts;
    h->bytes = h->line_length = 0;
    h->has_disposition = h->has_type = h->line_ended = false;
    h->part.has_filename = false;
    h->part.name[0] = h->part.filename[0] = h->part.content_type[0] = '\0';
    m->state = HEADERS;
    return STATUS_OK;
}

static enum status read_headers(struct multipart *m, const uint8_t **at, const uint8_t *end,
                                struct multipart_event *event, struct failure *failure) {
    bool complete = false;
    enum status status = STATUS_OK;
    while (!status && !complete && *at < end)
        status = read_line(&m->headers, at, end, m->limits.part_headers_bytes, &complete, failure);
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
