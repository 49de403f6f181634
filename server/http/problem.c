// SPDX-License-Identifier: Apache-2.0
/* How it works. The body is printed in one function, from a failure. It is sent through the library
 * like any answer, or with a head of our own straight to the socket: in the middle of an upload, or
 * before the library sees the request (overload.c). */
#include "server/http/problem.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static int status_code(enum status status) {
    static const int codes[STATUS_COUNT] = {
        [STATUS_OK] = 200,          [STATUS_BAD_PARAM] = 400,
        [STATUS_BAD_REQUEST] = 400, [STATUS_BODY_TOO_LARGE] = 413,
        [STATUS_NO_KEY] = 401,      [STATUS_FORBIDDEN] = 403,
        [STATUS_EXPIRED] = 410,     [STATUS_NOT_AN_IMAGE] = 415,
        [STATUS_CORRUPT] = 422,     [STATUS_TOO_LARGE] = 422,
        [STATUS_MISMATCH] = 422,    [STATUS_BUSY] = 503,
        [STATUS_DEADLINE] = 504,    [STATUS_CANCELLED] = 499,
        [STATUS_NO_MEMORY] = 503,   [STATUS_DEVICE] = 500,
        [STATUS_INTERNAL] = 500,
    };
    return codes[status];
}

int problem_http_status(const struct exchange *exchange) {
    return exchange->http_status ? exchange->http_status : status_code(exchange->failure.status);
}

/* Some failures have a code only in HTTP. */
static const char *problem_code(const struct failure *failure, int http_status) {
    switch (http_status) {
    case MHD_HTTP_NOT_FOUND: return "not_found";
    case MHD_HTTP_METHOD_NOT_ALLOWED: return "method_not_allowed";
    case MHD_HTTP_EXPECTATION_FAILED: return "expectation_failed";
    case MHD_HTTP_URI_TOO_LONG: return "uri_too_long";
    case MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE: return "request_header_fields_too_large";
    case MHD_HTTP_TOO_MANY_REQUESTS: return "over_quota";
    default: return status_name(failure->status);
    }
}

/* A message of 231 bytes, twice and escaped, and the rest. */
enum { BODY_MAX = 1536 };

/* Prints MESSAGE as a JSON string without its quotes. It may quote bytes that a client sent, in any
 * encoding or cut within a character: only ASCII remains. */
static void escape(const char *message, char *out) {
    for (; *message; message++) {
        if (*message == '"' || *message == '\\') *out++ = '\\';
        *out++ = *message < ' ' || *message > '~' ? '?' : *message;
    }
    *out = '\0';
}

/* KEY: the id of the key that was proved, or "". Returns the length. */
static size_t print_body(const struct failure *failure, int http_status, const char *id,
                         const struct trace *trace, const char *key, char out[BODY_MAX]) {
    char message[2 * sizeof failure->message];
    escape(failure->message, message);
    return (size_t)snprintf(
        out, BODY_MAX,
        "{\"type\": \"about:blank\", \"title\": \"%s\", \"status\": %d, \"detail\": \"%s\", "
        "\"message\": \"%s\", \"code\": \"%s\", \"request_id\": \"%s\", "
        "\"trace_id\": \"%s\"%s%s%s}",
        MHD_get_reason_phrase_for((unsigned)http_status), http_status, message, message,
        problem_code(failure, http_status), id, trace->id, *key ? ", \"key\": \"" : "", key,
        *key ? "\"" : "");
}

/* ---- the headers that only some problems have */

enum { FIELDS_MAX = 3, VALUE_MAX = 64 };

struct field {
    const char *name;
    char value[VALUE_MAX];
};

/* Fills FIELDS and returns their number. */
static int extra_fields(const struct exchange *exchange, int http_status,
                        struct field fields[FIELDS_MAX]) {
    int count = 0;
    const bool over_quota = http_status == MHD_HTTP_TOO_MANY_REQUESTS;
    if (over_quota || http_status == MHD_HTTP_SERVICE_UNAVAILABLE) {
        fields[count].name = MHD_HTTP_HEADER_RETRY_AFTER;
        snprintf(fields[count++].value, VALUE_MAX, "%d",
                 over_quota ? exchange->request.grant.use.retry_s
                            : supervisor_retry_after_s(exchange->front->service.supervisor));
    }
    if (http_status == MHD_HTTP_METHOD_NOT_ALLOWED && exchange->allow) {
        fields[count].name = MHD_HTTP_HEADER_ALLOW;
        snprintf(fields[count++].value, VALUE_MAX, "%s", exchange->allow);
    }
    if (http_status == MHD_HTTP_UNAUTHORIZED) {
        const bool has_token =
            connection_header(exchange->library, MHD_HTTP_HEADER_AUTHORIZATION) != NULL;
        fields[count].name = MHD_HTTP_HEADER_WWW_AUTHENTICATE;
        snprintf(fields[count++].value, VALUE_MAX, "Bearer realm=\"burin\"%s",
                 has_token ? ", error=\"invalid_token\"" : "");
    }
    /* Distinguishes a Content-Encoding from an image of a type that is not read (RFC 9110,
     * 12.5.3). */
    if (http_status == MHD_HTTP_UNSUPPORTED_MEDIA_TYPE && exchange_coding(exchange)) {
        fields[count].name = MHD_HTTP_HEADER_ACCEPT_ENCODING;
        snprintf(fields[count++].value, VALUE_MAX, "identity");
    }
    return count;
}

/* The end of the request is not known or not read, or the daemon stops. */
static bool must_close(const struct exchange *exchange) {
    if (exchange->state == EXCHANGE_HEAD || exchange->unreadable_rest) return true;
    if (service_draining(&exchange->front->service)) return true;
    return exchange->facts.chunked && exchange->request.received_ns == 0;
}

struct reply problem_reply(const struct exchange *exchange) {
    const int http_status = problem_http_status(exchange);
    struct field fields[FIELDS_MAX];
    char body[BODY_MAX];
    struct reply reply = { .http_status = http_status };
    reply.bytes = print_body(&exchange->failure, http_status, exchange->request.id,
                             &exchange->request.trace, exchange->request.grant.key, body);
    reply.response = MHD_create_response_from_buffer(reply.bytes, body, MHD_RESPMEM_MUST_COPY);
    if (!reply.response) return reply;
    MHD_add_response_header(reply.response, MHD_HTTP_HEADER_CONTENT_TYPE,
                            "application/problem+json");
    MHD_add_response_header(reply.response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    const int count = extra_fields(exchange, http_status, fields);
    for (int i = 0; i < count; i++)
        MHD_add_response_header(reply.response, fields[i].name, fields[i].value);
    if (must_close(exchange))
        MHD_add_response_header(reply.response, MHD_HTTP_HEADER_CONNECTION, "close");
    return reply;
}

/* ---- answers that do not go through the library */

void problem_add_field(void *to, const char *name, const char *value) {
    struct problem *problem = to;
    const size_t left = sizeof problem->fields - problem->length;
    problem->length +=
        (size_t)snprintf(problem->fields + problem->length, left, "%s: %s\r\n", name, value);
}

size_t problem_print(const struct problem *problem, char *out, size_t size) {
    char body[BODY_MAX], parent[TRACE_PARENT_MAX];
    const size_t body_length = print_body(problem->failure, problem->http_status, problem->id,
                                          problem->trace, problem->key ? problem->key : "", body);
    trace_print_parent(problem->trace, parent);
    const int length =
        snprintf(out, size,
                 "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\n"
                 "%s%sCache-Control: no-store\r\nX-Request-ID: %s\r\ntraceparent: %s\r\n"
                 "X-Content-Type-Options: nosniff\r\nContent-Length: %zu\r\n\r\n%s",
                 problem->http_status, MHD_get_reason_phrase_for((unsigned)problem->http_status),
                 problem->closes ? "Connection: close\r\n" : "", problem->fields, problem->id,
                 parent, body_length, problem->head_only ? "" : body);
    return length < (int)size ? (size_t)length : 0;
}

size_t problem_on_socket(const struct exchange *exchange) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->library, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct problem problem = { .http_status = problem_http_status(exchange),
                               .failure = &exchange->failure,
                               .id = exchange->request.id,
                               .trace = &exchange->request.trace,
                               .key = exchange->request.grant.key,
                               .closes = true,
                               .head_only = strcmp(exchange->method, MHD_HTTP_METHOD_HEAD) == 0 };
    struct field fields[FIELDS_MAX];
    char answer[sizeof problem.fields + BODY_MAX + 512];
    const int count = extra_fields(exchange, problem.http_status, fields);
    for (int i = 0; i < count; i++) problem_add_field(&problem, fields[i].name, fields[i].value);
    reply_fields(exchange, problem_add_field, &problem);
    const size_t length = problem_print(&problem, answer, sizeof answer);
    if (!length || !info) return 0;
    if (send(info->connect_fd, answer, length, MSG_NOSIGNAL) != (ssize_t)length) return 0;
    shutdown(info->connect_fd, SHUT_WR); /* the end, for a client that reads until it */
    return length;
}
