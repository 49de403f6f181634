// SPDX-License-Identifier: Apache-2.0
#include "server/http/gate.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

/* Bit c of the pair is set where byte c may stand in a token. */
static const uint64_t token_bits[2] = { 0x03ff6cfa00000000, 0x57ffffffc7fffffe };

struct span {
    const char *text;
    size_t length;
};

/* How often the headers that may stand only once have been seen. */
struct seen {
    int hosts, lengths, encodings;
};

static bool is_token_byte(unsigned char c) {
    return c < 128 && (token_bits[c >> 6] >> (c & 63) & 1);
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool gate_token(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!is_token_byte((unsigned char)text[i])) return false;
    return length > 0;
}

/* Bytes from 128 up are allowed: old clients send names of files in them. */
static bool has_control(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < 32 && c != '\t') || c == 127) return true;
    }
    return false;
}

static bool is(const struct gate_header *header, const char *name) {
    size_t length = strlen(name);
    return header->name_length == length && strncasecmp(header->name, name, length) == 0;
}

static bool equals(struct span span, const char *word) {
    size_t length = strlen(word);
    return span.length == length && strncasecmp(span.text, word, length) == 0;
}

static struct span trimmed_end(const struct gate_header *header) {
    struct span span = { header->value, header->value_length };
    while (span.length && strchr(" \t", span.text[span.length - 1])) span.length--;
    return span;
}

/* ---- the request line ---- */

/* Visible ASCII alone: anything else must be sent as %XX, and a fragment is not sent at all. */
static bool is_target(const char *target) {
    if (!target || target[0] != '/') return false;
    for (const char *p = target; *p; p++)
        if (*p <= ' ' || *p >= 127 || *p == '#') return false;
    return true;
}

static enum status check_line(const struct gate_request *request, struct gate_facts *facts,
                              struct failure *failure) {
    const char *version = request->version ? request->version : "";
    facts->http_1_1 = strcmp(version, "HTTP/1.1") == 0;
    if (!facts->http_1_1 && strcmp(version, "HTTP/1.0") != 0)
        return fail(failure, STATUS_BAD_REQUEST, "the version must be HTTP/1.0 or HTTP/1.1");
    if (!request->method || !gate_token(request->method, strlen(request->method)))
        return fail(failure, STATUS_BAD_REQUEST, "the method is not a word");
    if (!is_target(request->target))
        return fail(failure, STATUS_BAD_REQUEST,
                    "the request target must start with / and hold visible ASCII only, no #");
    return STATUS_OK;
}

/* ---- the headers that frame the body ---- */

static enum status check_length(struct span value, struct gate_facts *facts,
                                struct failure *failure) {
    if (value.length == 0)
        return fail(failure, STATUS_BAD_REQUEST, "Content-Length is empty, not a number");
    for (size_t i = 0; i < value.length; i++) {
        int digit = value.text[i] - '0';
        if (!is_digit(value.text[i]))
            return fail(failure, STATUS_BAD_REQUEST, "Content-Length must be digits alone");
        if (facts->length > (INT64_MAX - digit) / 10)
            return fail(failure, STATUS_BAD_REQUEST, "Content-Length is beyond 63 bits");
        facts->length = facts->length * 10 + digit;
    }
    facts->has_length = true;
    return STATUS_OK;
}

/* Compared with nothing trimmed: the library below does the same, and would take "chunked " for an
 * encoding that it does not know and wait for the end of the connection. */
static enum status check_encoding(struct span value, struct gate_facts *facts,
                                  struct failure *failure) {
    if (!equals(value, "chunked"))
        return fail(failure, STATUS_BAD_REQUEST, "Transfer-Encoding can only be chunked");
    facts->chunked = true;
    return STATUS_OK;
}

/* ---- Host ---- */

/* The length of the name or [address] at the start of a Host. */
static size_t host_name_length(struct span host) {
    size_t i = 0;
    if (host.length && host.text[0] == '[') {
        for (i = 1; i < host.length; i++)
            if (!is_hex(host.text[i]) && !strchr(":.", host.text[i])) break;
        return i < host.length && host.text[i] == ']' ? i + 1 : 0;
    }
    while (i < host.length && (is_letter(host.text[i]) || is_digit(host.text[i]) ||
                               (host.text[i] && strchr("-._~%", host.text[i]))))
        i++;
    return i;
}

/* Narrower than the RFC, whose names may hold , ; ( ) and the like: no host has them, and a comma
 * is what two Hosts look like once a proxy has joined them. */
static bool is_host(struct span host) {
    size_t i = host_name_length(host);
    if (i == host.length) return true; /* an empty Host is allowed */
    if (i == 0 || host.text[i] != ':') return false;
    for (i++; i < host.length; i++)
        if (!is_digit(host.text[i])) return false;
    return true;
}

/* ---- all of it ---- */

static enum status check_meaning(const struct gate_header *header, struct gate_facts *facts,
                                 struct seen *seen, struct failure *failure) {
    struct span value = trimmed_end(header);
    if (is(header, "Host")) {
        if (++seen->hosts > 1)
            return fail(failure, STATUS_BAD_REQUEST, "there is more than one Host");
        if (!is_host(value))
            return fail(failure, STATUS_BAD_REQUEST, "Host must be a name or [address], and :port");
    } else if (is(header, "Content-Length")) {
        if (++seen->lengths > 1)
            return fail(failure, STATUS_BAD_REQUEST, "there is more than one Content-Length");
        return check_length(value, facts, failure);
    } else if (is(header, "Transfer-Encoding")) {
        if (++seen->encodings > 1)
            return fail(failure, STATUS_BAD_REQUEST, "there is more than one Transfer-Encoding");
        value.length = header->value_length;
        return check_encoding(value, facts, failure);
    } else if (is(header, "Expect")) {
        if (!equals(value, "100-continue"))
            return fail(failure, STATUS_BAD_REQUEST, "Expect can only be 100-continue");
        facts->expects_continue = true;
    }
    return STATUS_OK;
}

static enum status check_header(const struct gate_header *header, struct gate_facts *facts,
                                struct seen *seen, struct failure *failure) {
    if (!gate_token(header->name, header->name_length))
        return fail(failure, STATUS_BAD_REQUEST,
                    "the name of a header must be letters, digits and dashes, with no space");
    if (has_control(header->value, header->value_length))
        return fail(failure, STATUS_BAD_REQUEST, "the header %.*s holds a control character",
                    header->name_length < 64 ? (int)header->name_length : 64, header->name);
    return check_meaning(header, facts, seen, failure);
}

static enum status check_framing(const struct gate_facts *facts, const struct seen *seen,
                                 struct failure *failure) {
    if (facts->http_1_1 && seen->hosts == 0)
        return fail(failure, STATUS_BAD_REQUEST, "Host is missing");
    if (facts->chunked && facts->has_length)
        return fail(failure, STATUS_BAD_REQUEST,
                    "Content-Length and Transfer-Encoding exclude each other");
    if (facts->chunked && !facts->http_1_1)
        return fail(failure, STATUS_BAD_REQUEST, "HTTP/1.0 has no Transfer-Encoding");
    return STATUS_OK;
}

enum status gate_check(const struct gate_request *request, struct gate_facts *facts,
                       struct failure *failure) {
    struct seen seen = { 0 };
    *facts = (struct gate_facts){ 0 };
    enum status status = check_line(request, facts, failure);
    if (status) return status;
    if (request->too_many)
        return fail(failure, STATUS_BAD_REQUEST, "there are more than %d headers",
                    GATE_HEADERS_MAX);
    if (request->hidden)
        return fail(failure, STATUS_BAD_REQUEST,
                    "the headers hold a folded line, a bare line feed, a NUL or a nameless line");
    for (int i = 0; i < request->header_count; i++) {
        status = check_header(&request->headers[i], facts, &seen, failure);
        if (status) return status;
    }
    return check_framing(facts, &seen, failure);
}

/* ---- from libmicrohttpd ---- */

static enum MHD_Result collect_header(void *context, enum MHD_ValueKind kind, const char *name,
                                      size_t name_length, const char *value, size_t value_length) {
    (void)kind;
    struct gate_request *out = context;
    if (out->header_count == GATE_HEADERS_MAX) {
        out->too_many = true;
        return MHD_NO;
    }
    out->headers[out->header_count++] = (struct gate_header){
        .name = name,
        .value = value ? value : "",
        .name_length = name_length,
        .value_length = value ? value_length : 0,
    };
    return MHD_YES;
}

/* 0.9.75 parses in place: CR LF and colon become NUL, names and values stay where they came in. So
 * each name stands two bytes behind what precedes it, its value behind colon and blanks, and four
 * NULs close the block; a string anywhere else betrays a line end or a NUL that was swallowed. The
 * four bytes are always there: the block ends with an empty line. */
static bool in_place(const struct gate_request *request) {
    const char *end = request->version + strlen(request->version);
    for (int i = 0; i < request->header_count; i++) {
        const struct gate_header *header = &request->headers[i];
        if (header->name != end + 2 || end[1] != '\0') return false;
        const char *value = header->name + header->name_length + 1;
        while (value != header->value && (*value == ' ' || *value == '\t')) value++;
        if (value != header->value) return false;
        end = value + header->value_length;
    }
    return memcmp(end, "\0\0\0", 4) == 0;
}

void gate_collect(struct MHD_Connection *connection, const char *method, const char *target,
                  const char *version, struct gate_request *out) {
    out->method = method;
    out->target = target;
    out->version = version;
    out->header_count = 0;
    out->too_many = false;
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, collect_header, out);
    out->hidden = !out->too_many && strcmp(MHD_get_version(), "0.9.75") == 0 && !in_place(out);
}
