// SPDX-License-Identifier: Apache-2.0
/* How it works. A head is parsed into slices of its bytes, without copies. Then the request line,
 * each header, and finally their combination are checked. Where RFC 9112 allows a recipient to be
 * lenient, the request is refused: a parser in front may have been lenient in another way. */
#include "server/http/engine/request_check.h"

#include "server/header_token.h"

#include <string.h>
#include <strings.h>

/* Counts of the headers that may occur only once. */
struct seen {
    int hosts, lengths, encodings, types;
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is(const struct header_field *header, const char *name) {
    size_t length = strlen(name);
    return header->name_length == length && strncasecmp(header->name, name, length) == 0;
}

static bool equals(struct text_slice span, const char *word) {
    size_t length = strlen(word);
    return span.length == length && strncasecmp(span.bytes, word, length) == 0;
}

static struct text_slice trimmed_end(const struct header_field *header) {
    struct text_slice span = { header->value, header->value_length };
    while (span.length && strchr(" \t", span.bytes[span.length - 1])) span.length--;
    return span;
}

/* ---- a head from bytes ---- */

/* Cuts the text before the first END off LINE, and END too; all of LINE if there is none. */
static struct text_slice cut_at(struct text_slice *line, char end) {
    const char *at = memchr(line->bytes, end, line->length);
    const size_t length = at ? (size_t)(at - line->bytes) : line->length;
    const struct text_slice cut = { line->bytes, length };
    line->bytes += length + (at != NULL);
    line->length -= length + (at != NULL);
    return cut;
}

/* LINE without its end. */
static enum status read_header(struct text_slice line, struct header_field *out,
                               struct failure *failure) {
    if (!memchr(line.bytes, ':', line.length))
        return fail(failure, STATUS_BAD_REQUEST, "a header line has no colon");
    const struct text_slice name = cut_at(&line, ':');
    while (line.length && (*line.bytes == ' ' || *line.bytes == '\t')) line.bytes++, line.length--;
    *out = (struct header_field){ name.bytes, line.bytes, name.length, line.length };
    return STATUS_OK;
}

static struct text_slice next_line(struct text_slice *rest) {
    struct text_slice line = cut_at(rest, '\n');
    line.length--; /* the CR */
    return line;
}

enum status request_check_parse(const char *head, size_t length, struct request_head *out,
                                struct failure *failure) {
    struct text_slice rest = { head, length }, line = next_line(&rest);
    out->method = cut_at(&line, ' ');
    out->target = cut_at(&line, ' ');
    out->version = line;
    out->header_count = 0;
    out->too_many = false;
    for (line = next_line(&rest); line.length; line = next_line(&rest)) {
        out->too_many = out->header_count == HEADERS_MAX;
        if (out->too_many) break;
        const enum status status = read_header(line, &out->headers[out->header_count++], failure);
        if (status) return status;
    }
    return STATUS_OK;
}

/* ---- Host ---- */

/* The length of the name or [address] at the start of HOST; 0: it has none. */
static size_t host_name_length(struct text_slice host) {
    size_t i = 0;
    if (host.length && host.bytes[0] == '[') {
        for (i = 1; i < host.length; i++)
            if (!is_hex(host.bytes[i]) && !strchr(":.", host.bytes[i])) break;
        return i < host.length && host.bytes[i] == ']' ? i + 1 : 0;
    }
    while (i < host.length && (is_letter(host.bytes[i]) || is_digit(host.bytes[i]) ||
                               (host.bytes[i] && strchr("-._~%", host.bytes[i]))))
        i++;
    return i;
}

enum { PORT_MAX = 65535 };

/* Stricter than the RFC, which allows , ; ( ) and others in names: no host has them, and two Hosts
 * that a proxy has joined contain a comma. */
static bool is_host(struct text_slice host) {
    size_t i = host_name_length(host);
    if (i == host.length) return true; /* an empty Host is allowed */
    if (i == 0 || host.bytes[i] != ':') return false;
    long port = 0;
    for (i++; i < host.length && port <= PORT_MAX; i++) {
        if (!is_digit(host.bytes[i])) return false;
        port = port * 10 + (host.bytes[i] - '0');
    }
    return port <= PORT_MAX;
}

/* ---- the request line ---- */

/* The length of http:// or https://, in any case; 0: none. */
static size_t scheme_length(struct text_slice target) {
    static const char *const schemes[] = { "http://", "https://" };
    for (int i = 0; i < 2; i++) {
        const size_t length = strlen(schemes[i]);
        if (target.length > length && strncasecmp(target.bytes, schemes[i], length) == 0)
            return length;
    }
    return 0;
}

bool request_check_is_method(const struct request_head *request, const char *name) {
    return request->method.length == strlen(name) &&
           memcmp(request->method.bytes, name, strlen(name)) == 0;
}

size_t request_check_url_prefix(struct text_slice target) {
    size_t i = scheme_length(target);
    if (i == 0) return 0;
    while (i < target.length && target.bytes[i] != '/' && target.bytes[i] != '?') i++;
    return i;
}

/* A path, a whole URL (with any valid host), or for OPTIONS an asterisk. */
static bool has_target_form(const struct request_head *request) {
    const struct text_slice target = request->target;
    const size_t scheme = scheme_length(target);
    const struct text_slice host = { target.bytes + scheme,
                                     request_check_url_prefix(target) - scheme };
    if (target.length == 0) return false;
    if (scheme) return host.length && is_host(host);
    if (equals(target, "*")) return request_check_is_method(request, "OPTIONS");
    return target.bytes[0] == '/';
}

/* Only visible ASCII: other bytes must be sent as %XX, and a fragment is never sent. */
static bool is_target(const struct request_head *request) {
    const struct text_slice target = request->target;
    for (size_t i = 0; i < target.length; i++)
        if (target.bytes[i] <= ' ' || target.bytes[i] >= 127 || target.bytes[i] == '#')
            return false;
    return has_target_form(request);
}

static size_t count(struct text_slice text, const char *bytes) {
    size_t found = 0;
    for (size_t i = 0; i < text.length; i++)
        found += text.bytes[i] && strchr(bytes, text.bytes[i]) != NULL;
    return found;
}

static bool is_version(struct text_slice version, const char *name) {
    return version.length == 8 && memcmp(version.bytes, name, 8) == 0;
}

static enum status check_line(const struct request_head *request, struct request_facts *facts,
                              struct failure *failure) {
    facts->http_1_1 = is_version(request->version, "HTTP/1.1");
    if (!facts->http_1_1 && !is_version(request->version, "HTTP/1.0"))
        return fail(failure, STATUS_BAD_REQUEST,
                    "the first line must be a method, a target and HTTP/1.0 or HTTP/1.1");
    if (!token_is(request->method.bytes, request->method.length))
        return fail(failure, STATUS_BAD_REQUEST,
                    "the method must be a token: letters, digits or !#$%%&'*+-.^_`|~");
    /* Bytes after a CONNECT are meant for the host in its target. */
    if (request_check_is_method(request, "CONNECT"))
        return fail(failure, STATUS_BAD_REQUEST, "CONNECT is for a proxy, and this is not one");
    if (!is_target(request))
        return fail(failure, STATUS_BAD_REQUEST,
                    "the request target must start with / or http://, or be the * of OPTIONS, and "
                    "contain only visible ASCII, no #");
    /* The library passes names and values on as C strings: a zero byte would cut them off here, but
     * not in a proxy in front. */
    if (memmem(request->target.bytes, request->target.length, "%00", 3))
        return fail(failure, STATUS_BAD_REQUEST,
                    "the request target must not contain %%00, a zero byte");
    if (count(request->target, "&") >= QUERY_ARGUMENTS_MAX)
        return fail(failure, STATUS_BAD_REQUEST, "the query has more than %d arguments",
                    QUERY_ARGUMENTS_MAX);
    return STATUS_OK;
}

/* ---- the headers that frame the body ---- */

static enum status check_length(struct text_slice value, struct request_facts *facts,
                                struct failure *failure) {
    if (value.length == 0)
        return fail(failure, STATUS_BAD_REQUEST, "Content-Length is empty; it must be a number");
    for (size_t i = 0; i < value.length; i++) {
        int digit = value.bytes[i] - '0';
        if (!is_digit(value.bytes[i]))
            return fail(failure, STATUS_BAD_REQUEST, "Content-Length must contain only digits");
        if (facts->length > (INT64_MAX - digit) / 10)
            return fail(failure, STATUS_BAD_REQUEST, "Content-Length is too large for 63 bits");
        facts->length = facts->length * 10 + digit;
    }
    facts->has_length = true;
    return STATUS_OK;
}

/* ---- the whole head ---- */

/* The values that frame the body keep their trailing blanks, and are refused with them: the library
 * does not read "5 " as a number, nor know "chunked ", nor send a 100 for "100-continue ". */
static enum status check_meaning(const struct header_field *header, struct request_facts *facts,
                                 struct seen *seen, struct failure *failure) {
    const struct text_slice whole = { header->value, header->value_length };
    const struct text_slice value = trimmed_end(header);
    if (is(header, "Host")) {
        if (++seen->hosts > 1)
            return fail(failure, STATUS_BAD_REQUEST, "there is more than one Host header");
        if (!is_host(value))
            return fail(failure, STATUS_BAD_REQUEST,
                        "Host must be a name or an [address], optionally with :port");
    } else if (is(header, "Content-Length")) {
        if (++seen->lengths > 1)
            return fail(failure, STATUS_BAD_REQUEST, "there is more than one Content-Length");
        return check_length(whole, facts, failure);
    } else if (is(header, "Transfer-Encoding")) {
        if (++seen->encodings > 1)
            return fail(failure, STATUS_BAD_REQUEST, "there is more than one Transfer-Encoding");
        if (!equals(whole, "chunked"))
            return fail(failure, STATUS_BAD_REQUEST, "Transfer-Encoding can only be chunked");
        facts->chunked = true;
    } else if (is(header, "Content-Type")) {
        if (++seen->types > 1)
            return fail(failure, STATUS_BAD_REQUEST, "there is more than one Content-Type");
    } else if (is(header, "Expect")) {
        facts->expects_other = !equals(value, "100-continue");
        if (!equals(whole, "100-continue"))
            return fail(failure, STATUS_BAD_REQUEST, "Expect can only be 100-continue");
        facts->expects_continue = true;
    }
    return STATUS_OK;
}

static enum status check_header(const struct header_field *header, struct request_facts *facts,
                                struct seen *seen, struct failure *failure) {
    if (!token_is(header->name, header->name_length))
        return fail(failure, STATUS_BAD_REQUEST,
                    "a header name must consist of letters, digits and dashes, without spaces");
    if (token_has_control(header->value, header->value_length))
        return fail(failure, STATUS_BAD_REQUEST, "the header %.*s contains a control character",
                    header->name_length < 64 ? (int)header->name_length : 64, header->name);
    return check_meaning(header, facts, seen, failure);
}

static enum status check_framing(const struct request_facts *facts, const struct seen *seen,
                                 struct failure *failure) {
    if (facts->http_1_1 && seen->hosts == 0)
        return fail(failure, STATUS_BAD_REQUEST, "the Host header is missing");
    if (facts->chunked && facts->has_length)
        return fail(failure, STATUS_BAD_REQUEST,
                    "Content-Length and Transfer-Encoding must not be used together");
    if (facts->chunked && !facts->http_1_1)
        return fail(failure, STATUS_BAD_REQUEST, "HTTP/1.0 does not have Transfer-Encoding");
    return STATUS_OK;
}

enum status request_check_head(const struct request_head *request, struct request_facts *facts,
                               struct failure *failure) {
    struct seen seen = { 0 };
    *facts = (struct request_facts){ 0 };
    enum status status = check_line(request, facts, failure);
    if (status) return status;
    if (request->too_many)
        return fail(failure, STATUS_BAD_REQUEST, "there are more than %d headers", HEADERS_MAX);
    for (int i = 0; i < request->header_count; i++) {
        status = check_header(&request->headers[i], facts, &seen, failure);
        if (status) return status;
    }
    return check_framing(facts, &seen, failure);
}
