// SPDX-License-Identifier: Apache-2.0
/* How it works. The body is made once, from the exchange's failure; it goes out through the library
 * as any answer, or, in the middle of an upload, with a head of our own straight to the socket. The
 * headers that depend on the status stand in one function for both. */
#include "server/http/problem.h"

#include "server/http/cors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int status_code(enum status status) {
    static const int codes[STATUS_COUNT] = {
        [STATUS_OK] = 200,           [STATUS_BAD_PARAM] = 400,
        [STATUS_BAD_REQUEST] = 400,  [STATUS_BODY_TOO_LARGE] = 413,
        [STATUS_NOT_AN_IMAGE] = 415, [STATUS_CORRUPT] = 422,
        [STATUS_TOO_LARGE] = 422,    [STATUS_MISMATCH] = 422,
        [STATUS_BUSY] = 503,         [STATUS_DEADLINE] = 504,
        [STATUS_CANCELLED] = 499,    [STATUS_NO_MEMORY] = 503,
        [STATUS_DEVICE] = 500,       [STATUS_INTERNAL] = 500,
    };
    return codes[status];
}

int problem_http_status(const struct exchange *exchange) {
    return exchange->http_status ? exchange->http_status : status_code(exchange->failure.status);
}

/* What a client sent may stand in a message, in any encoding or cut within a character: no JSON. */
static void make_printable(char *message) {
    for (; *message; message++)
        if (*message < ' ' || *message > '~') *message = '?';
}

/* A code for what only HTTP has a status for. */
static const char *problem_code(const struct failure *failure, int http_status) {
    switch (http_status) {
    case MHD_HTTP_NOT_FOUND: return "not_found";
    case MHD_HTTP_METHOD_NOT_ALLOWED: return "method_not_allowed";
    case MHD_HTTP_URI_TOO_LONG: return "uri_too_long";
    case MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE: return "request_header_fields_too_large";
    default: return status_name(failure->status);
    }
}

/* Heap; NULL without memory. */
static char *problem_text(const struct exchange *exchange, int http_status) {
    struct failure failure = exchange->failure;
    make_printable(failure.message);
    json_t *problem =
        json_pack("{s:s, s:s, s:i, s:s, s:s, s:s, s:s}", "type", "about:blank", "title",
                  MHD_get_reason_phrase_for((unsigned)http_status), "status", http_status, "detail",
                  failure.message, "message", failure.message, "code",
                  problem_code(&failure, http_status), "request_id", exchange->request.id);
    char *text = json_dumps(problem, JSON_ENSURE_ASCII | JSON_PRESERVE_ORDER);
    json_decref(problem);
    return text;
}

/* ---- the headers that only some problems have */

enum { FIELDS_MAX = 4, VALUE_MAX = 32 };

struct field {
    const char *name;
    char value[VALUE_MAX];
};

/* Returns how many of FIELDS are filled. */
static int extra_fields(const struct exchange *exchange, int http_status,
                        struct field fields[FIELDS_MAX]) {
    int count = 0;
    if (http_status == MHD_HTTP_SERVICE_UNAVAILABLE) {
        fields[count].name = MHD_HTTP_HEADER_RETRY_AFTER;
        snprintf(fields[count++].value, VALUE_MAX, "%d",
                 supervisor_retry_after_s(exchange->front->service.supervisor));
    }
    if (http_status == MHD_HTTP_METHOD_NOT_ALLOWED && exchange->allow) {
        fields[count].name = MHD_HTTP_HEADER_ALLOW;
        snprintf(fields[count++].value, VALUE_MAX, "%s", exchange->allow);
    }
    /* Which coding would do: so a client can tell it from an image of a type that is not read (RFC
     * 9110, 12.5.3). */
    if (http_status == MHD_HTTP_UNSUPPORTED_MEDIA_TYPE && exchange_coding(exchange)) {
        fields[count].name = MHD_HTTP_HEADER_ACCEPT_ENCODING;
        snprintf(fields[count++].value, VALUE_MAX, "identity");
    }
    return count;
}

/* Refused before the body was read to its end, or while stopping: nothing more on this connection.
 */
static bool must_close(const struct exchange *exchange) {
    if (exchange->state == EXCHANGE_HEAD || exchange->unreadable_rest) return true;
    if (service_draining(&exchange->front->service)) return true;
    return exchange->facts.chunked && exchange->request.received_ns == 0;
}

struct reply problem_reply(const struct exchange *exchange) {
    const int http_status = problem_http_status(exchange);
    struct field fields[FIELDS_MAX];
    struct reply reply =
        reply_text("application/problem+json", "no-store", problem_text(exchange, http_status));
    reply.http_status = http_status;
    if (!reply.response) return reply;
    const int count = extra_fields(exchange, http_status, fields);
    for (int i = 0; i < count; i++)
        MHD_add_response_header(reply.response, fields[i].name, fields[i].value);
    if (must_close(exchange))
        MHD_add_response_header(reply.response, MHD_HTTP_HEADER_CONNECTION, "close");
    return reply;
}

/* The head, with room for all there can be. */
static size_t write_head(const struct exchange *exchange, size_t body_length, char *out,
                         size_t room) {
    const int http_status = problem_http_status(exchange);
    struct field fields[FIELDS_MAX];
    struct cors_field cors[CORS_FIELDS_MAX];
    size_t length =
        (size_t)snprintf(out, room,
                         "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\n"
                         "Connection: close\r\nCache-Control: no-store\r\nX-Request-ID: %s\r\n"
                         "X-Content-Type-Options: nosniff\r\nContent-Length: %zu\r\n",
                         http_status, MHD_get_reason_phrase_for((unsigned)http_status),
                         exchange->request.id, body_length);
    const int count = extra_fields(exchange, http_status, fields);
    for (int i = 0; i < count; i++)
        length += (size_t)snprintf(out + length, room - length, "%s: %s\r\n", fields[i].name,
                                   fields[i].value);
    const int cors_count = cors_fields(exchange, cors);
    for (int i = 0; i < cors_count; i++)
        length += (size_t)snprintf(out + length, room - length, "%s: %s\r\n", cors[i].name,
                                   cors[i].value);
    return length + (size_t)snprintf(out + length, room - length, "\r\n");
}

/* A client reads nothing behind the head of an answer to HEAD, and would read a body as the next
 * answer. */
size_t problem_on_socket(const struct exchange *exchange) {
    /* FIELDS_MAX fields, an id and the rest; and a body */
    enum { HEAD_MAX = 768 + CORS_FIELDS_BYTES, ANSWER_MAX = HEAD_MAX + 1280 };
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->library, MHD_CONNECTION_INFO_CONNECTION_FD);
    char *body = problem_text(exchange, problem_http_status(exchange)), answer[ANSWER_MAX];
    const size_t body_length = body ? strlen(body) : 0;
    size_t length = write_head(exchange, body_length, answer, HEAD_MAX);
    const bool fits = body && length + body_length <= sizeof answer;
    if (fits && strcmp(exchange->method, MHD_HTTP_METHOD_HEAD) != 0) {
        memcpy(answer + length, body, body_length);
        length += body_length;
    }
    free(body);
    if (!fits || !info) return 0;
    if (send(info->connect_fd, answer, length, MSG_NOSIGNAL) != (ssize_t)length) return 0;
    shutdown(info->connect_fd, SHUT_WR); /* a client that reads to the end is done at once */
    return length;
}
