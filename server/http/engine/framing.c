// SPDX-License-Identifier: Apache-2.0
/* How it works. A state machine over units: a whole head, a run of body or chunk bytes, a chunk's
 * size line, the CR LF after a chunk, a trailer line. Each function reads one unit from the start
 * of the bytes and returns its length. An incomplete unit stays with the caller, who passes it
 * again with more bytes after it; `scanned` remembers how much of an incomplete head was read. */
#include "server/http/engine/framing.h"

#include "server/header_token.h"
#include "server/http/engine/request_check.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

/* Chunk extensions are unused and trailers rare, and the library keeps trailers in the connection's
 * memory. 15 digits cannot overflow. */
enum { CHUNK_LINE_MAX = 256, CHUNK_DIGITS_MAX = 15, TRAILERS_MAX = 16, EMPTY_LINES_MAX = 4 };

static ssize_t refuse(struct framing *framing, struct failure *failure, const char *why) {
    framing->refused = true;
    fail(failure, STATUS_BAD_REQUEST, "%s", why);
    return -1;
}

/* The length of the first line with its CR LF; 0: incomplete; -1: it holds a control character. */
static ssize_t line_length(const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)bytes[i];
        if (!token_is_control(c)) continue;
        if (c != '\r') return -1;
        if (i + 1 == length) return 0;
        return bytes[i + 1] == '\n' ? (ssize_t)i + 2 : -1;
    }
    return 0;
}

/* ---- each reads one unit and returns its length; 0: incomplete; -1: refused */

static void hide_cookies(char *head, const struct request_head *request) {
    static const char name[] = "Cookie", other[] = "hidden";
    static_assert(sizeof name == sizeof other, "no byte moves");
    for (int i = 0; i < request->header_count; i++) {
        const struct header_field *header = &request->headers[i];
        if (header->name_length == strlen(name) &&
            strncasecmp(header->name, name, header->name_length) == 0)
            memcpy(head + (header->name - head), other, strlen(other));
    }
}

/* The library understands only a target that begins with a slash or is an asterisk, and skips
 * blanks before it. So blanks replace a URL's scheme and host; without a path the last one is a
 * slash. */
static void hide_url_prefix(char *head, const struct request_head *request) {
    const struct text_slice target = request->target;
    const size_t prefix = request_check_url_prefix(target);
    if (prefix == 0) return;
    char *start = head + (target.bytes - head);
    const bool has_path = prefix < target.length && start[prefix] == '/';
    memset(start, ' ', prefix);
    if (!has_path) start[prefix - 1] = '/';
}

/* Replaces Content-Length by REST, the body bytes that came with the head, and one more. The number
 * of digits stays, so that no byte moves. */
static void shorten(struct framing *framing, char *head, const struct request_head *request,
                    uint64_t rest) {
    char digits[32]; /* request_check accepts 19 after leading zeros */
    for (int i = 0; i < request->header_count; i++) {
        const struct header_field *header = &request->headers[i];
        const size_t length = header->value_length;
        static const char name[] = "Content-Length";
        if (header->name_length != strlen(name) || length >= sizeof digits ||
            strncasecmp(header->name, name, header->name_length) != 0)
            continue;
        snprintf(digits, sizeof digits, "%0*lu", (int)length, (unsigned long)(rest + 1));
        memcpy(head + (header->value - head), digits, length);
        framing->apart_head = framing->heads;
        framing->apart_length = framing->left;
    }
}

/* AVAILABLE: the bytes of the head and what came after it. */
static ssize_t check_head(struct framing *framing, char *head, size_t length, size_t available,
                          struct failure *failure) {
    struct request_head request;
    struct request_facts facts = { .expects_other = false };
    framing->heads++;
    framing->scanned = 0;
    framing->empty_lines = 0;
    if (request_check_parse(head, length, &request, failure) ||
        request_check_head(&request, &facts, failure)) {
        framing->refused = true;
        if (facts.expects_other) framing->excess = EXCESS_EXPECTATION;
        return -1;
    }
    hide_cookies(head, &request);
    hide_url_prefix(head, &request);
    framing->left = (uint64_t)facts.length;
    const uint64_t rest = available - length;
    if (framing->apart_min && framing->left > rest && framing->left - rest >= framing->apart_min)
        shorten(framing, head, &request, rest);
    if (facts.chunked)
        framing->state = FRAMING_CHUNK_SIZE;
    else if (facts.length > 0)
        framing->state = FRAMING_BODY;
    return (ssize_t)length;
}

static ssize_t refuse_head(struct framing *framing, struct failure *failure, const char *why) {
    framing->heads++;
    return refuse(framing, failure, why);
}

/* Some clients send one before a request. */
static ssize_t skip_empty_line(struct framing *framing, struct failure *failure) {
    if (++framing->empty_lines <= EMPTY_LINES_MAX) return 2;
    return refuse_head(framing, failure, "only empty lines came where a request should begin");
}

static ssize_t read_head(struct framing *framing, char *bytes, size_t length,
                         struct failure *failure) {
    const size_t most = length < framing->head_max ? length : framing->head_max;
    ssize_t line = 1;
    while (line > 0 && framing->scanned < most) {
        line = line_length(bytes + framing->scanned, most - framing->scanned);
        if (line < 0)
            return refuse_head(framing, failure,
                               "the headers contain a bare line end, a NUL or another control "
                               "character; each line must end in CR LF");
        if (line == 2 && framing->scanned == 0) return skip_empty_line(framing, failure);
        framing->scanned += (size_t)line;
        if (line == 2) return check_head(framing, bytes, framing->scanned, length, failure);
    }
    if (length < framing->head_max) return 0;
    framing->excess = framing->scanned ? EXCESS_HEAD : EXCESS_LINE;
    return refuse_head(framing, failure,
                       framing->scanned
                           ? "the request line and headers are longer than header_bytes"
                           : "the request target is longer than header_bytes");
}

static ssize_t count_bytes(struct framing *framing, size_t length, enum framing_state next) {
    const uint64_t taken = framing->left < length ? framing->left : length;
    framing->left -= taken;
    if (framing->left == 0) framing->state = next;
    return (ssize_t)taken;
}

/* Returns the number of digits; -1: no size. */
static int parse_size(const char *bytes, uint64_t *size) {
    int digits = 0;
    for (*size = 0; digits <= CHUNK_DIGITS_MAX; digits++) {
        static const char hex[] = "0123456789abcdefABCDEF";
        const char *digit = bytes[digits] ? strchr(hex, bytes[digits]) : NULL;
        if (!digit) break;
        const uint64_t value = (uint64_t)(digit - hex);
        *size = *size * 16 + (value < 16 ? value : value - 6);
    }
    return digits > 0 && digits <= CHUNK_DIGITS_MAX ? digits : -1;
}

static const char *skip_blanks(const char *at) {
    return at + strspn(at, " \t");
}

static const char *skip_token(const char *at) {
    const char *end = at;
    while (token_is(end, 1)) end++;
    return end;
}

/* AT is an opening quote: returns what follows the closing one; NULL: there is none. */
static const char *skip_quoted(const char *at) {
    for (at++; *at != '"'; at++) {
        if (*at == '\\') at++;
        if (*at == '\r') return NULL;
    }
    return at + 1;
}

/* AT follows a chunk's size. Extensions are any number of ;name, ;name=token or ;name="text". They
 * are unused and skipped, but only in this form (RFC 9112, 7.1.1). */
static bool are_extensions(const char *at) {
    while (*at == ';') {
        const char *name = skip_blanks(at + 1);
        at = skip_token(name);
        if (at == name) return false;
        if (*skip_blanks(at) == '=') {
            const char *value = skip_blanks(skip_blanks(at) + 1);
            at = *value == '"' ? skip_quoted(value) : skip_token(value);
            if (!at || at == value) return false;
        }
        if (*skip_blanks(at) == ';') at = skip_blanks(at);
    }
    return *at == '\r';
}

static ssize_t read_chunk_size(struct framing *framing, const char *bytes, size_t length,
                               struct failure *failure) {
    const ssize_t line = line_length(bytes, length);
    if (line == 0 && length < CHUNK_LINE_MAX) return 0;
    const int digits = line > 0 && line <= CHUNK_LINE_MAX ? parse_size(bytes, &framing->left) : -1;
    if (digits < 0 || !are_extensions(bytes + digits))
        return refuse(
            framing, failure,
            "the size of a chunk must be hexadecimal digits and end in CR LF, with nothing "
            "between but extensions of the form ;name=value");
    framing->trailers = framing->trailer_bytes = 0;
    framing->state = framing->left ? FRAMING_CHUNK : FRAMING_TRAILERS;
    return line;
}

static ssize_t read_chunk_end(struct framing *framing, const char *bytes, size_t length,
                              struct failure *failure) {
    if (bytes[0] != '\r' || (length > 1 && bytes[1] != '\n'))
        return refuse(framing, failure, "a chunk is longer than its size, or its CR LF is missing");
    if (length < 2) return 0;
    framing->state = FRAMING_CHUNK_SIZE;
    return 2;
}

static ssize_t read_trailer(struct framing *framing, const char *bytes, size_t length,
                            struct failure *failure) {
    const ssize_t line = line_length(bytes, length);
    const size_t total = framing->trailer_bytes + (line > 0 ? (size_t)line : length);
    if (line < 0)
        return refuse(framing, failure,
                      "the trailers contain a control character; each line must end in CR LF");
    if (framing->trailers > TRAILERS_MAX || total >= FRAMING_LINES_MAX)
        return refuse(framing, failure,
                      "there are more than 16 trailers or more than 4 KiB of them");
    if (line == 0) return 0;
    framing->trailers++;
    framing->trailer_bytes = total;
    const char *colon = memchr(bytes, ':', (size_t)line);
    if (line > 2 && (!colon || !token_is(bytes, (size_t)(colon - bytes))))
        return refuse(framing, failure, "a trailer must be a name, a colon and a value");
    if (line == 2) framing->state = FRAMING_HEAD;
    return line;
}

static ssize_t read_unit(struct framing *framing, char *bytes, size_t length,
                         struct failure *failure) {
    switch (framing->state) {
    case FRAMING_HEAD: return read_head(framing, bytes, length, failure);
    case FRAMING_BODY: return count_bytes(framing, length, FRAMING_HEAD);
    case FRAMING_CHUNK: return count_bytes(framing, length, FRAMING_CHUNK_END);
    case FRAMING_CHUNK_SIZE: return read_chunk_size(framing, bytes, length, failure);
    case FRAMING_CHUNK_END: return read_chunk_end(framing, bytes, length, failure);
    default: return read_trailer(framing, bytes, length, failure);
    }
}

/* ---- all of it */

size_t framing_pass(struct framing *framing, char *bytes, size_t length, struct failure *failure) {
    size_t passed = 0;
    while (passed < length && !framing->refused) {
        const ssize_t unit = read_unit(framing, bytes + passed, length - passed, failure);
        if (unit <= 0) break;
        passed += (size_t)unit;
    }
    return passed;
}

const char *framing_substitute(const struct framing *framing) {
    static const char *const substitutes[FRAMING_STATES] = {
        [FRAMING_HEAD] = "- / HTTP/1.1\r\nHost: -\r\n\r\n",
        [FRAMING_CHUNK_SIZE] = "0\r\n\r\n",
        [FRAMING_CHUNK_END] = "\r\n0\r\n\r\n",
        [FRAMING_TRAILERS] = "\r\n",
    };
    const char *text = substitutes[framing->state];
    return text ? text : "";
}
