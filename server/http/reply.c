// SPDX-License-Identifier: Apache-2.0
#include "server/http/reply.h"

#include "server/api/json_writer.h"
#include "server/http/cors.h"
#include "server/request/result.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(struct MHD_Response *response, const char *name, const char *value) {
    MHD_add_response_header(response, name, value);
}

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

void reply_fields(const struct exchange *exchange,
                  void (*add_to)(void *to, const char *name, const char *value), void *to) {
    struct cors_field cors[CORS_FIELDS_MAX];
    struct header_lines states;
    char state[TRACE_STATE_MAX], policy[QUOTA_FIELD_MAX], left[QUOTA_FIELD_MAX];
    connection_header_lines(exchange->library, "tracestate", &states);
    trace_join_state(&exchange->request.trace, states.values, states.count, state);
    if (*state) add_to(to, "tracestate", state);
    const int count = cors_fields(exchange, cors);
    for (int i = 0; i < count; i++) add_to(to, cors[i].name, cors[i].value);
    if (!quota_print(&exchange->request.grant.use, clock_ns(), policy, left)) return;
    add_to(to, "RateLimit-Policy", policy);
    add_to(to, "RateLimit", left);
}

/* ---- the result of a job */

static void add_number(struct MHD_Response *response, const char *name, long number) {
    char memory[24];
    struct json_writer text = json_writer_in(memory, sizeof memory);
    json_writer_number(&text, number);
    add(response, name, memory);
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

static void add_headers(struct MHD_Response *response, const struct exchange *exchange,
                        const char *report) {
    const struct job *job = request_job(&exchange->request);
    add_server_timing(response, &exchange->timing);
    add(response, "X-Burin-Timing", report);
    add(response, "X-Burin-Device", job->device_name);
    add_number(response, "X-Origin-Width", job->probe.shape.width);
    add_number(response, "X-Origin-Height", job->probe.shape.height);
    add(response, MHD_HTTP_HEADER_VARY, "Accept");
    if (exchange->request.settings.outputs) return;
    const struct image *image = &job->outputs[0].image;
    add_number(response, "X-Result-Width", image->width);
    add_number(response, "X-Result-Height", image->height);
    if (!exchange->imaginary.whole) return;
    add_number(response, "Image-Width", image->width); /* for imaginary's clients */
    add_number(response, "Image-Height", image->height);
}

static_assert(sizeof(struct iovec) == sizeof(struct MHD_IoVec) &&
                  offsetof(struct iovec, iov_base) == offsetof(struct MHD_IoVec, iov_base) &&
                  offsetof(struct iovec, iov_len) == offsetof(struct MHD_IoVec, iov_len),
              "the library takes a result's pieces as they are");

static void note_output(struct exchange *exchange, const char *media_type) {
    struct image_facts *output = &exchange->output;
    const struct image *image = &request_job(&exchange->request)->outputs[0].image;
    snprintf(output->type, sizeof output->type, "%.*s", (int)strcspn(media_type, ";"), media_type);
    if (exchange->request.settings.outputs) return;
    output->width = image->width;
    output->height = image->height;
}

static void sent(void *result) {
    result_release(result);
}

enum status reply_job(struct exchange *exchange, struct reply *reply, struct failure *failure) {
    struct request *request = &exchange->request;
    const struct job *job = request_job(request);
    char report[TIMING_REPORT_MAX];
    struct result *result;
    if (result_make(request, report, &result, failure)) return failure->status;
    memcpy(&exchange->timing, &job->timing, offsetof(struct timing, spans));
    exchange->pixels = image_pixels(&job->probe.shape);
    note_output(exchange, result->media_type);
    snprintf(exchange->device, sizeof exchange->device, "%s", job->device_name);
    *reply = (struct reply){ .http_status = MHD_HTTP_OK, .bytes = result->length };
    reply->slot_bytes = result->held;
    /* The library sends a single buffer together with the headers. */
    reply->response = result->count == 1
                          ? MHD_create_response_from_buffer_with_free_callback_cls(
                                result->pieces[0].iov_len, result->pieces[0].iov_base, sent, result)
                          : MHD_create_response_from_iovec((const struct MHD_IoVec *)result->pieces,
                                                           (unsigned)result->count, sent, result);
    if (!reply->response) {
        result->slot = -1; /* the request keeps it */
        reply->slot_bytes = 0;
        result_release(result);
        return fail(failure, STATUS_NO_MEMORY, "there is no memory for the answer");
    }
    add(reply->response, MHD_HTTP_HEADER_CONTENT_TYPE, result->media_type);
    add(reply->response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    add_headers(reply->response, exchange, report);
    return STATUS_OK;
}
