// SPDX-License-Identifier: Apache-2.0
/* How it works. Bytes are collected in one line buffer; each whole line is read where it stands
 * there: name, colon, value. Three headers mean something, the others are skipped. The limit on all
 * headers is checked before a byte is kept, so a line without an end is not waited for. */
#include "server/http/part_headers.h"

#include "server/http/engine/request_check.h"
#include "server/http/header_params.h"

#include <string.h>
#include <strings.h>

#define BAD(...) fail(failure, STATUS_BAD_REQUEST, __VA_ARGS__)

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static enum status read_disposition(struct part_headers *h, const char *p,
                                    struct failure *failure) {
    struct part *part = &h->part;
    struct header_param param;
    bool named = false;
    int found;
    if (h->has_disposition) return BAD("part %d has two Content-Dispositions", h->number);
    h->has_disposition = true;
    size_t length = header_params_token(p);
    if (length != 9 || strncasecmp(p, "form-data", 9) != 0)
        return BAD("Content-Disposition of part %d is not form-data", h->number);
    p += length;
    while ((found = header_params_next(&p, &param)) > 0) {
        if (header_params_is(&param, "name")) {
            if (named) return BAD("part %d has two names", h->number);
            named = true;
            if (header_params_copy(&param, part->name, sizeof part->name) >= sizeof part->name)
                return BAD("the name of part %d has more than %d bytes", h->number,
                           PART_NAME_MAX - 1);
        } else if (header_params_is(&param, "filename")) {
            if (part->has_filename) return BAD("part %d has two filenames", h->number);
            part->has_filename = true;
            header_params_copy(&param, part->filename, sizeof part->filename);
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

/* LINE is terminated and holds no control character. */
static enum status read_header(struct part_headers *h, char *line, struct failure *failure) {
    if (is_blank(*line)) return BAD("part %d has a folded header line", h->number);
    size_t length = header_params_token(line);
    if (length == 0 || line[length] != ':')
        return BAD("part %d has a header line without a name", h->number);
    line[length] = '\0';
    const char *value = header_params_skip_blanks(line + length + 1);
    if (strcasecmp(line, "Content-Disposition") == 0) return read_disposition(h, value, failure);
    if (strcasecmp(line, "Content-Type") == 0) return read_type(h, value, failure);
    if (strcasecmp(line, "Content-Transfer-Encoding") == 0) return read_encoding(h, value, failure);
    return STATUS_OK;
}

static bool has_control(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (request_check_is_control((unsigned char)text[i])) return true;
    return false;
}

/* h->line is a whole line. */
static enum status end_line(struct part_headers *h, bool *complete, struct failure *failure) {
    size_t length = h->line_length - 1;
    h->line_length = 0;
    if (length == 0 || h->line[length - 1] != '\r')
        return BAD("a header line of part %d does not end in CR LF", h->number);
    length--;
    *complete = length == 0;
    if (*complete && !h->has_disposition)
        return BAD("part %d has no Content-Disposition", h->number);
    if (*complete) return STATUS_OK;
    if (has_control(h->line, length))
        return BAD("a header of part %d contains a control character", h->number);
    while (length && is_blank(h->line[length - 1])) length--;
    h->line[length] = '\0';
    return read_header(h, h->line, failure);
}

/* Up to the end of a line, if it is there. */
static enum status read_line(struct part_headers *h, const uint8_t **at, const uint8_t *end,
                             size_t bytes_max, bool *complete, struct failure *failure) {
    const uint8_t *feed = memchr(*at, '\n', (size_t)(end - *at));
    const size_t length = (size_t)((feed ? feed + 1 : end) - *at);
    if (length > bytes_max - h->bytes)
        return BAD("the headers of part %d have more than %zu bytes", h->number, bytes_max);
    if (length > sizeof h->line - h->line_length)
        return BAD("a header line of part %d has more than %d bytes", h->number, PART_LINE_MAX);
    memcpy(h->line + h->line_length, *at, length);
    h->line_length += length;
    h->bytes += length;
    *at += length;
    return feed ? end_line(h, complete, failure) : STATUS_OK;
}

void part_headers_begin(struct part_headers *h, int number) {
    h->number = number;
    h->bytes = h->line_length = 0;
    h->has_disposition = h->has_type = false;
    h->part.has_filename = false;
    h->part.name[0] = h->part.filename[0] = h->part.content_type[0] = '\0';
}

enum status part_headers_read(struct part_headers *h, const uint8_t **at, const uint8_t *end,
                              size_t bytes_max, bool *complete, struct failure *failure) {
    enum status status = STATUS_OK;
    for (*complete = false; !status && !*complete && *at < end;)
        status = read_line(h, at, end, bytes_max, complete, failure);
    return status;
}
