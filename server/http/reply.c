// SPDX-License-Identifier: Apache-2.0
#include "server/http/reply.h"

#include "server/account.h"
#include "server/http/upload.h"
#include "server/text.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

/* 128 random bits in hexadecimal: nobody can write a profile or pixels that hold it beforehand. */
enum { BOUNDARY_LENGTH = 32 };

int reply_http_status(enum status status) {
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

/* ---- any response */

static void add(struct MHD_Response *response, const char *name, const char *value) {
    MHD_add_response_header(response, name, value);
}

static void add_number(struct MHD_Response *response, const char *name, long number) {
    char memory[24];
    struct text text = text_in(memory, sizeof memory);
    text_number(&text, number);
    add(response, name, memory);
}

/* Queues and lets go of RESPONSE, and of what the exchange still holds: a slot that RESPONSE sends
 * is its own by now. However long the client takes, no body is held for it. */
static enum MHD_Result queue(struct exchange *exchange, int http_status, uint64_t bytes,
                             struct MHD_Response *response) {
    if (!response) return MHD_NO;
    add(response, "X-Request-ID", exchange->request_id);
    add(response, "X-Content-Type-Options", "nosniff");
    exchange_let_go(exchange);
    exchange->http_status = http_status;
    exchange->bytes_out = bytes;
    exchange->state = EXCHANGE_ANSWERED;
    watch_phase_write(exchange->watched, (int64_t)bytes);
    const enum MHD_Result result =
        MHD_queue_response(exchange->connection, (unsigned)http_status, response);
    MHD_destroy_response(response);
    return result;
}

static struct MHD_Response *from_text(char *text, const char *media_type, size_t *length) {
    if (!text) return NULL;
    *length = strlen(text);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(*length, text, MHD_RESPMEM_MUST_FREE);
    if (!response)
        free(text);
    else
        add(response, MHD_HTTP_HEADER_CONTENT_TYPE, media_type);
    return response;
}

enum MHD_Result reply_json(struct exchange *exchange, int http_status, json_t *body) {
    size_t length = 0;
    char *text = json_dumps(body, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
    json_decref(body);
    struct MHD_Response *response = from_text(text, "application/json", &length);
    if (response) add(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    return queue(exchange, http_status, length, response);
}

enum MHD_Result reply_text(struct exchange *exchange, const char *media_type, char *text) {
    size_t length = 0;
    struct MHD_Response *response = from_text(text, media_type, &length);
    if (response) add(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    return queue(exchange, MHD_HTTP_OK, length, response);
}

/* ---- problems */

/* What a client sent may stand in a message, in any encoding or cut within a character: no JSON. */
static void make_printable(char *message) {
    for (; *message; message++)
        if (*message < ' ' || *message > '~') *message = '?';
}

/* What no status stands for is a word of HTTP's alone. */
static const char *problem_code(const struct failure *failure, int http_status) {
    switch (http_status) {
    case MHD_HTTP_NOT_FOUND: return "not_found";
    case MHD_HTTP_METHOD_NOT_ALLOWED: return "method_not_allowed";
    case MHD_HTTP_URI_TOO_LONG: return "uri_too_long";
    case MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE: return "request_header_fields_too_large";
    default: return status_name(failure->status);
    }
}

static char *problem_text(const struct exchange *exchange, int http_status) {
    struct failure failure = exchange->failure;
    make_printable(failure.message);
    json_t *problem =
        json_pack("{s:s, s:s, s:i, s:s, s:s, s:s, s:s}", "type", "about:blank", "title",
                  MHD_get_reason_phrase_for((unsigned)http_status), "status", http_status, "detail",
                  failure.message, "message", failure.message, "code",
                  problem_code(&failure, http_status), "request_id", exchange->request_id);
    char *text = json_dumps(problem, JSON_ENSURE_ASCII | JSON_PRESERVE_ORDER);
    json_decref(problem);
    return text;
}

/* Then the answer says which coding would do: so a client can tell it from an image of a type that
 * is not read (RFC 9110, 12.5.3). */
static bool blames_coding(const struct exchange *exchange, int http_status) {
    return http_status == MHD_HTTP_UNSUPPORTED_MEDIA_TYPE && upload_coding(exchange);
}

enum MHD_Result reply_problem(struct exchange *exchange, int http_status) {
    if (!http_status) http_status = reply_http_status(exchange->failure.status);
    size_t length = 0;
    struct MHD_Response *response =
        from_text(problem_text(exchange, http_status), "application/problem+json", &length);
    if (!response) return MHD_NO;
    add(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (http_status == 503)
        add_number(response, MHD_HTTP_HEADER_RETRY_AFTER,
                   supervisor_retry_after_s(exchange->front->supervisor));
    if (http_status == 405)
        add(response, MHD_HTTP_HEADER_ALLOW,
            strstr(exchange->failure.message, "POST") ? "POST, PUT" : "GET, HEAD");
    if (blames_coding(exchange, http_status))
        add(response, MHD_HTTP_HEADER_ACCEPT_ENCODING, "identity");
    /* Refused before the body was read to its end, or while stopping: nothing more on this line. */
    const bool cut =
        exchange->state == EXCHANGE_BEGIN || exchange->spoiled || front_draining(exchange->front);
    if (cut || (exchange->facts.chunked && exchange->received_ns == 0))
        add(response, MHD_HTTP_HEADER_CONNECTION, "close");
    return queue(exchange, http_status, length, response);
}

bool reply_on_socket(struct exchange *exchange, int http_status) {
    if (!http_status) http_status = reply_http_status(exchange->failure.status);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    char *body = problem_text(exchange, http_status), answer[2048], retry[32] = "";
    if (http_status == 503)
        snprintf(retry, sizeof retry, "Retry-After: %d\r\n",
                 supervisor_retry_after_s(exchange->front->supervisor));
    const int length = snprintf(
        answer, sizeof answer,
        "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\n"
        "Connection: close\r\nCache-Control: no-store\r\nX-Request-ID: %s\r\n"
        "X-Content-Type-Options: nosniff\r\n%s%s"
        "Content-Length: %zu\r\n\r\n%s",
        http_status, MHD_get_reason_phrase_for((unsigned)http_status), exchange->request_id, retry,
        blames_coding(exchange, http_status) ? "Accept-Encoding: identity\r\n" : "",
        body ? strlen(body) : 0, body ? body : "");
    free(body);
    if (!info || length <= 0 || length >= (int)sizeof answer) return false;
    if (send(info->connect_fd, answer, (size_t)length, MSG_NOSIGNAL) != length) return false;
    shutdown(info->connect_fd, SHUT_WR); /* a client that reads to the end is done at once */
    exchange->http_status = http_status;
    exchange->bytes_out = (uint64_t)length;
    return true;
}

/* ---- a job's answer */

static enum status no_room(struct front *front, int64_t held, struct failure *failure) {
    metrics_reject(front->metrics, REJECTED_ANSWERS);
    return fail(failure, STATUS_BUSY,
                "answers that have yet to be taken hold %ld bytes (answer_bytes is %ld); try again "
                "later",
                (long)held, front->config->answer_bytes);
}

enum status reply_foresee(struct front *front, struct failure *failure) {
    const int64_t held = __atomic_load_n(&front->answer_bytes_held, __ATOMIC_RELAXED);
    return held < front->config->answer_bytes ? STATUS_OK : no_room(front, held, failure);
}

/* The body lies before the result, and its pages are held as long. */
static int64_t bytes_in_slot(const struct job *job) {
    return (int64_t)(job->result_offset + job->result_length);
}

/* The one that reaches the bound still goes out: so an answer of any size does, and what is held
 * stays under the bound and one answer. */
static enum status hold(struct front *front, int64_t bytes, struct failure *failure) {
    int64_t now = __atomic_load_n(&front->answer_bytes_held, __ATOMIC_RELAXED);
    while (now < front->config->answer_bytes)
        if (__atomic_compare_exchange_n(&front->answer_bytes_held, &now, now + bytes, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return STATUS_OK;
    return no_room(front, now, failure);
}

static void let_go(struct front *front, int64_t bytes) {
    __atomic_sub_fetch(&front->answer_bytes_held, bytes, __ATOMIC_RELAXED);
}

struct parcel {
    struct front *front;
    int slot;
    int64_t bytes; /* of front.answer_bytes_held, ours */
    char *text;    /* heap: head and tail of a multipart answer */
};

static uint8_t *parcel_bytes(const struct parcel *parcel, const struct job *job) {
    return slot_bytes(parcel->front->slots, parcel->slot) + job->result_offset;
}

static void parcel_sent(void *context) {
    struct parcel *parcel = context;
    let_go(parcel->front, parcel->bytes);
    slot_give(parcel->front->slots, parcel->slot);
    free(parcel->text);
    free(parcel);
}

/* The account, closed at this moment: what comes after is the socket's. */
static void close_account(struct exchange *exchange, char text[ACCOUNT_MAX]) {
    struct job *job = exchange_job(exchange);
    job->timing.stage_ms[STAGE_RECEIVE] = ns_to_ms(exchange->received_ns - exchange->start_ns);
    timing_close(&job->timing, ns_to_ms(clock_ns() - exchange->start_ns));
    memcpy(&exchange->timing, &job->timing, offsetof(struct timing, spans));
    exchange->pixels = image_pixels(&job->probe.shape);
    snprintf(exchange->device, sizeof exchange->device, "%s", job->device_name);
    const struct account account = {
        .request_id = exchange->request_id,
        .device = job->device_name,
        .input = account_image_of(&job->probe.shape, job->probe.format, job->image_length),
        .output = account_image_of(&job->result, job->result_type, job->result_length),
        .timing = &job->timing,
        .notes = job->notes,
        .warning = job->warning,
    };
    account_write(&account, text);
}

static void add_server_timing(struct MHD_Response *response, const struct timing *timing) {
    char memory[512];
    struct text text = text_in(memory, sizeof memory);
    for (int s = 0; s < STAGE_COUNT; s++) {
        text_add(&text, stage_name((enum stage)s));
        text_add(&text, ";dur=");
        text_ms(&text, timing->stage_ms[s]);
        text_add(&text, ", ");
    }
    text_add(&text, "total;dur=");
    text_ms(&text, timing->total_ms);
    add(response, "Server-Timing", memory);
}

static void add_job_headers(struct MHD_Response *response, const struct exchange *exchange,
                            const char *account_text) {
    const struct job *job = exchange_job(exchange);
    add_server_timing(response, &exchange->timing);
    add(response, "X-Burin-Timing", account_text);
    add(response, "X-Burin-Device", job->device_name);
    add_number(response, "X-Origin-Width", job->probe.shape.width);
    add_number(response, "X-Origin-Height", job->probe.shape.height);
    add_number(response, "X-Result-Width", job->result.width);
    add_number(response, "X-Result-Height", job->result.height);
    add(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    add(response, MHD_HTTP_HEADER_VARY, "Accept");
}

static bool make_boundary(char boundary[BOUNDARY_LENGTH + 1]) {
    uint64_t bits[2];
    if (getrandom(bits, sizeof bits, 0) != sizeof bits) return false;
    snprintf(boundary, BOUNDARY_LENGTH + 1, "%016lx%016lx", (unsigned long)bits[0],
             (unsigned long)bits[1]);
    return true;
}

/* Image part, then account part, around the slot's bytes, which are not copied. */
static struct MHD_Response *in_parts(struct parcel *parcel, const struct job *job,
                                     const char *boundary, const char *account_text) {
    const uint8_t *image = parcel_bytes(parcel, job);
    const size_t room = strlen(account_text) + 512;
    parcel->text = malloc(room);
    if (!parcel->text) return NULL;
    const int head =
        snprintf(parcel->text, room, "--%s\r\nContent-Type: %s\r\nContent-Length: %lu\r\n\r\n",
                 boundary, format_media_type(job->result_type), (unsigned long)job->result_length);
    char *rest = parcel->text + head;
    const int tail = snprintf(rest, room - (size_t)head,
                              "\r\n--%s\r\nContent-Type: application/json\r\n"
                              "Content-Length: %zu\r\n\r\n%s\r\n--%s--\r\n",
                              boundary, strlen(account_text), account_text, boundary);
    const struct MHD_IoVec parts[] = { { parcel->text, (size_t)head },
                                       { image, job->result_length },
                                       { rest, (size_t)tail } };
    return MHD_create_response_from_iovec(parts, 3, parcel_sent, parcel);
}

static struct MHD_Response *job_response(struct parcel *parcel, const struct job *job,
                                         enum answer answer, const char *account_text) {
    struct MHD_Response *response;
    const char *type = format_media_type(job->result_type);
    char boundary[BOUNDARY_LENGTH + 1], parts[64];
    if (answer == ANSWER_MULTIPART) {
        if (!make_boundary(boundary)) return NULL;
        response = in_parts(parcel, job, boundary, account_text);
        snprintf(parts, sizeof parts, "multipart/mixed; boundary=%s", boundary);
        type = parts;
    } else {
        response = MHD_create_response_from_buffer_with_free_callback_cls(
            job->result_length, parcel_bytes(parcel, job), parcel_sent, parcel);
    }
    if (response) add(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    return response;
}

/* NULL: no memory, and nothing is held. */
static struct MHD_Response *image_response(struct exchange *exchange, const char *account_text) {
    const struct job *job = exchange_job(exchange);
    struct front *front = exchange->front;
    struct parcel *parcel = calloc(1, sizeof *parcel);
    struct MHD_Response *response = NULL;
    if (parcel) {
        *parcel = (struct parcel){ front, exchange->slot, bytes_in_slot(job), NULL };
        response = job_response(parcel, job, exchange->answer, account_text);
        if (!response) free(parcel->text);
    }
    if (response) return response;
    free(parcel);
    let_go(front, bytes_in_slot(job));
    return NULL;
}

enum MHD_Result reply_job(struct exchange *exchange) {
    const bool is_image = exchange->answer != ANSWER_JSON;
    const struct job *job = exchange_job(exchange);
    const uint64_t length = job->result_length;
    struct failure failure = { 0 };
    if (is_image && hold(exchange->front, bytes_in_slot(job), &failure)) {
        exchange_fail(exchange, &failure);
        return reply_problem(exchange, 0);
    }
    char text[ACCOUNT_MAX];
    size_t ignored;
    close_account(exchange, text);
    struct MHD_Response *response = is_image
                                        ? image_response(exchange, text)
                                        : from_text(strdup(text), "application/json", &ignored);
    if (response) add_job_headers(response, exchange, text);
    if (response && is_image) exchange->slot = -1; /* the response's from here on */
    return queue(exchange, MHD_HTTP_OK, is_image ? length : 0, response);
}
