// SPDX-License-Identifier: Apache-2.0
/* The result of a request as an HTTP response: its pieces are sent from where they lie, and its
 * times and sizes are headers. */
#include "server/api/json_writer.h"
#include "server/http/reply.h"
#include "server/request/result.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static void add(struct MHD_Response *response, const char *name, const char *value) {
    MHD_add_response_header(response, name, value);
}

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
    add_number(response, "Image-Width", image->width); /* imaginary's clients draw by these */
    add_number(response, "Image-Height", image->height);
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
    snprintf(exchange->device, sizeof exchange->device, "%s", job->device_name);
    *reply = (struct reply){ .http_status = MHD_HTTP_OK, .bytes = result->length };
    reply->slot_bytes = result->held;
    /* A single piece goes out together with the headers. */
    reply->response = result->count == 1
                          ? MHD_create_response_from_buffer_with_free_callback_cls(
                                result->pieces[0].iov_len, result->pieces[0].iov_base, sent, result)
                          : MHD_create_response_from_iovec((const struct MHD_IoVec *)result->pieces,
                                                           (unsigned)result->count, sent, result);
    if (!reply->response) {
        result->slot = -1; /* the request still has it */
        reply->slot_bytes = 0;
        result_release(result);
        return STATUS_OK;
    }
    add(reply->response, MHD_HTTP_HEADER_CONTENT_TYPE, result->media_type);
    add(reply->response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    add_headers(reply->response, exchange, report);
    return STATUS_OK;
}

_Static_assert(sizeof(struct iovec) == sizeof(struct MHD_IoVec) &&
                   offsetof(struct iovec, iov_base) == offsetof(struct MHD_IoVec, iov_base) &&
                   offsetof(struct iovec, iov_len) == offsetof(struct MHD_IoVec, iov_len),
               "pieces are handed to the library as they are");
