// SPDX-License-Identifier: Apache-2.0
/* How it works. The image is sent from the slot where the worker left it, uncopied: a response_body
 * holds the slot, and its share of answer_bytes, until the library has sent the last byte and frees
 * the response. As multipart the library sends pieces, one of them the slot's. Values that are too
 * long for a header are the slot's too: they lie there as text, and are the last member of the
 * report, so that its closing brace is a piece of its own behind them. */
#include "server/http/reply.h"

#include "server/http/room.h"
#include "server/json_writer.h"
#include "server/timing_report.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* 128 random bits in hexadecimal: nobody can write a profile or pixels that hold it beforehand. */
enum { BOUNDARY_LENGTH = 32 };

static void add(struct MHD_Response *response, const char *name, const char *value) {
    MHD_add_response_header(response, name, value);
}

static void add_number(struct MHD_Response *response, const char *name, long number) {
    char memory[24];
    struct json_writer text = json_writer_in(memory, sizeof memory);
    json_writer_number(&text, number);
    add(response, name, memory);
}

/* ---- text */

struct reply reply_text(const char *media_type, const char *cache_control, char *text) {
    struct reply reply = { .http_status = MHD_HTTP_OK, .bytes = text ? strlen(text) : 0 };
    if (!text) return reply;
    reply.response = MHD_create_response_from_buffer(reply.bytes, text, MHD_RESPMEM_MUST_FREE);
    if (!reply.response) return free(text), reply;
    add(reply.response, MHD_HTTP_HEADER_CONTENT_TYPE, media_type);
    add(reply.response, MHD_HTTP_HEADER_CACHE_CONTROL, cache_control);
    return reply;
}

struct reply reply_json(int http_status, json_t *body) {
    char *text = json_dumps(body, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
    struct reply reply = reply_text("application/json", "no-cache", text);
    json_decref(body);
    reply.http_status = http_status;
    return reply;
}

/* ---- a job's answer */

/* The body lies before the result, and its pages are held as long. */
static int64_t slot_bytes_held(const struct job *job) {
    return (int64_t)job_bytes_end(job);
}

struct response_body {
    struct front *front;
    int slot;
    int64_t bytes; /* of front.answer_bytes_held, ours */
    char *text;    /* heap: the pieces that are not the slot's, one behind the other */
};

static uint8_t *output_bytes(const struct response_body *body, const struct job_output *output) {
    return slot_bytes(body->front->slots, body->slot) + output->offset;
}

static void body_sent(void *context) {
    struct response_body *body = context;
    room_release_answer(body->front, body->bytes);
    slot_give(body->front->slots, body->slot);
    free(body->text);
    free(body);
}

static const char *slot_text(const struct exchange *exchange, uint64_t offset) {
    return (const char *)slot_bytes(exchange->front->slots, exchange->slot) + offset;
}

/* The timing report ends at this moment: what follows is the socket's time. */
static void write_report(struct exchange *exchange, char text[TIMING_REPORT_MAX]) {
    struct job *job = exchange_job(exchange);
    const struct job_output *output = &job->outputs[0];
    job->timing.stage_ms[STAGE_RECEIVE] = ns_to_ms(exchange->received_ns - exchange->start_ns);
    timing_close(&job->timing, ns_to_ms(clock_ns() - exchange->start_ns));
    memcpy(&exchange->timing, &job->timing, offsetof(struct timing, spans));
    metrics_codec(exchange->front->metrics, job->decoded_by, output->encoded_by);
    exchange->pixels = image_pixels(&job->probe.shape);
    snprintf(exchange->device, sizeof exchange->device, "%s", job->device_name);
    struct timing_report report = {
        .request_id = exchange->request_id,
        .device = job->device_name,
        .input = timing_report_image(&job->probe.shape, job->probe.format, job->image_length),
        .output = timing_report_image(&output->image, output->type, output->length),
        .timing = &job->timing,
        .notes = job->notes | output->notes,
        .warning = job->warning,
        .values = slot_text(exchange, job->values_offset),
        .values_length = job->values_length,
    };
    report.output.fitting = output->fitting;
    timing_report_write(&report, text);
}

static void add_server_timing(struct MHD_Response *response, const struct timing *timing) {
    char memory[512];
    struct json_writer text = json_writer_in(memory, sizeof memory);
    for (int s = 0; s < STAGE_COUNT; s++) {
        json_writer_add(&text, stage_name((enum stage)s));
        json_writer_add(&text, ";dur=");
        json_writer_ms(&text, timing->stage_ms[s]);
        json_writer_add(&text, ", ");
    }
    json_writer_add(&text, "total;dur=");
    json_writer_ms(&text, timing->total_ms);
    add(response, "Server-Timing", memory);
}

static void add_job_headers(struct MHD_Response *response, const struct exchange *exchange,
                            const char *report_text) {
    const struct job *job = exchange_job(exchange);
    add_server_timing(response, &exchange->timing);
    add(response, "X-Burin-Timing", report_text);
    add(response, "X-Burin-Device", job->device_name);
    add_number(response, "X-Origin-Width", job->probe.shape.width);
    add_number(response, "X-Origin-Height", job->probe.shape.height);
    add_number(response, "X-Result-Width", job->outputs[0].image.width);
    add_number(response, "X-Result-Height", job->outputs[0].image.height);
    add(response, MHD_HTTP_HEADER_VARY, "Accept");
}

static bool make_boundary(char boundary[BOUNDARY_LENGTH + 1]) {
    uint64_t bits[2];
    if (getrandom(bits, sizeof bits, 0) != sizeof bits) return false;
    snprintf(boundary, BOUNDARY_LENGTH + 1, "%016lx%016lx", (unsigned long)bits[0],
             (unsigned long)bits[1]);
    return true;
}

/* ---- a body in pieces */

/* The report as a body has it, in three pieces: all values are in it. The second is the slot's, and
 * empty where the header's text has them already, or there are none. */
struct report_pieces {
    const char *head, *values, *tail;
    size_t head_length, values_length, tail_length;
};

static bool values_are_long(const struct job *job) {
    return job->values_length > REPORT_VALUES_MAX;
}

static struct report_pieces report_pieces_of(const struct exchange *exchange, const char *text) {
    const struct job *job = exchange_job(exchange);
    struct report_pieces pieces = { .head = text, .values = "", .tail = "" };
    pieces.head_length = strlen(text);
    if (!values_are_long(job)) return pieces;
    pieces.values = slot_text(exchange, job->values_offset);
    pieces.values_length = job->values_length;
    pieces.head_length--; /* the brace */
    pieces.tail = "}";
    pieces.tail_length = 1;
    return pieces;
}

/* "values": stands behind a head that values follow. */
static const char *values_key(const struct report_pieces *report) {
    return report->values_length ? ",\"values\":" : "";
}

static uint64_t report_length(const struct report_pieces *report) {
    return report->head_length + strlen(values_key(report)) + report->values_length +
           report->tail_length;
}

/* Image part, then report part, around the slot's bytes, which are not copied. */
static struct MHD_Response *in_parts(struct response_body *body, const struct job_output *output,
                                     const char *boundary, const struct report_pieces *report) {
    const size_t room = report->head_length + 512;
    body->text = malloc(room);
    if (!body->text) return NULL;
    char *at = body->text, *const end = at + room;
    const int head =
        snprintf(at, room, "--%s\r\nContent-Type: %s\r\nContent-Length: %lu\r\n\r\n", boundary,
                 format_media_type(output->type), (unsigned long)output->length);
    char *const middle = at + head;
    const int between = snprintf(middle, (size_t)(end - middle),
                                 "\r\n--%s\r\nContent-Type: application/json\r\n"
                                 "Content-Length: %lu\r\n\r\n%.*s%s",
                                 boundary, (unsigned long)report_length(report),
                                 (int)report->head_length, report->head, values_key(report));
    char *const tail = middle + between;
    const int last =
        snprintf(tail, (size_t)(end - tail), "%s\r\n--%s--\r\n", report->tail, boundary);
    const struct MHD_IoVec pieces[] = { { body->text, (size_t)head },
                                        { output_bytes(body, output), output->length },
                                        { middle, (size_t)between },
                                        { report->values, report->values_length },
                                        { tail, (size_t)last } };
    return MHD_create_response_from_iovec(pieces, 5, body_sent, body);
}

/* The report alone, around the slot's values. */
static struct MHD_Response *around_values(struct response_body *body,
                                          const struct report_pieces *report) {
    const size_t room = report->head_length + 32;
    body->text = malloc(room);
    if (!body->text) return NULL;
    const int head = snprintf(body->text, room, "%.*s%s", (int)report->head_length, report->head,
                              values_key(report));
    const struct MHD_IoVec pieces[] = { { body->text, (size_t)head },
                                        { report->values, report->values_length },
                                        { report->tail, report->tail_length } };
    return MHD_create_response_from_iovec(pieces, 3, body_sent, body);
}

static struct MHD_Response *job_response(struct response_body *body,
                                         const struct job_output *output, enum answer answer,
                                         const struct report_pieces *report) {
    struct MHD_Response *response;
    const char *type = format_media_type(output->type);
    char boundary[BOUNDARY_LENGTH + 1], parts[64];
    if (answer == ANSWER_MULTIPART) {
        if (!make_boundary(boundary)) return NULL;
        response = in_parts(body, output, boundary, report);
        snprintf(parts, sizeof parts, "multipart/mixed; boundary=%s", boundary);
        type = parts;
    } else if (answer == ANSWER_JSON) {
        response = around_values(body, report);
        type = "application/json";
    } else {
        response = MHD_create_response_from_buffer_with_free_callback_cls(
            output->length, output_bytes(body, output), body_sent, body);
    }
    if (!response) return NULL;
    add(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    add(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    return response;
}

/* NULL: no memory, and nothing is held. */
static struct MHD_Response *slot_response(struct exchange *exchange, const char *report_text) {
    const struct job *job = exchange_job(exchange);
    const struct report_pieces report = report_pieces_of(exchange, report_text);
    struct front *front = exchange->front;
    struct response_body *body = calloc(1, sizeof *body);
    struct MHD_Response *response = NULL;
    if (body) {
        *body = (struct response_body){ front, exchange->slot, slot_bytes_held(job), NULL };
        response = job_response(body, &job->outputs[0], exchange->answer, &report);
        if (!response) free(body->text);
    }
    if (response) return response;
    free(body);
    room_release_answer(front, slot_bytes_held(job));
    return NULL;
}

enum status reply_job(struct exchange *exchange, struct reply *reply, struct failure *failure) {
    const struct job *job = exchange_job(exchange);
    const bool is_image = exchange->answer != ANSWER_JSON;
    const bool from_slot = is_image || values_are_long(job);
    if (from_slot && room_hold_answer(exchange->front, slot_bytes_held(job), failure))
        return failure->status;
    char text[TIMING_REPORT_MAX];
    write_report(exchange, text);
    const uint64_t values = exchange->answer == ANSWER_IMAGE ? 0 : job->values_length;
    const uint64_t bytes = job->outputs[0].length + values;
    *reply = from_slot ? (struct reply){ slot_response(exchange, text), MHD_HTTP_OK, bytes,
                                         slot_bytes_held(job) }
                       : reply_text("application/json", "no-store", strdup(text));
    if (reply->response) add_job_headers(reply->response, exchange, text);
    if (!reply->response) reply->slot_bytes = 0;
    return STATUS_OK;
}
