// SPDX-License-Identifier: Apache-2.0
/* How it works. Results are sent from the slot where the worker left them, uncopied: a reply_body
 * holds the slot, and its share of answer_bytes, until the library has sent the last byte. Values
 * that are too long for a header are the slot's too: they lie there as text, in which a worker may
 * write still, and are the last member of the report, so that its closing brace is a piece of its
 * own behind them. Of several results the header's report has none, and the body's lists them. */
#include "server/api/json_writer.h"
#include "server/api/timing_report.h"
#include "server/http/reply.h"
#include "server/http/room.h"
#include "server/http/zip.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* 128 random bits in hexadecimal: nobody can write a profile or pixels that hold it beforehand. */
enum { BOUNDARY_LENGTH = 32 };

/* Texts of a body, beside its report: of each part or entry, and of all. */
enum { PART_TEXT_MAX = 512 };

/* ---- the body in pieces: texts of its own, and bytes of the slot, which are not copied */

enum { PIECES_MAX = 2 * OUTPUTS_MAX + 8 };

struct reply_body {
    struct front *front;
    int slot;
    int64_t held;                           /* of front.answer_bytes_held, ours */
    char *text;                             /* heap: all texts, one behind the other */
    size_t text_used, text_room, text_told; /* told: up to there pieces have it */
    uint64_t length;                        /* of all pieces */
    int count;
    struct MHD_IoVec pieces[PIECES_MAX];
};

/* HELD bytes are held for it already. NULL: no memory. TEXT_ROOM: of all texts. */
static struct reply_body *body_make(struct front *front, int slot, int64_t held, size_t text_room) {
    struct reply_body *body = malloc(sizeof *body);
    char *text = malloc(text_room ? text_room : 1);
    if (!body || !text) return free(body), free(text), NULL;
    *body = (struct reply_body){
        .front = front, .slot = slot, .held = held, .text = text, .text_room = text_room
    };
    return body;
}

static void add_piece(struct reply_body *body, const void *bytes, size_t length) {
    if (!length) return;
    assert(body->count < PIECES_MAX);
    body->pieces[body->count++] = (struct MHD_IoVec){ bytes, length };
}

static void tell_text(struct reply_body *body) {
    add_piece(body, body->text + body->text_told, body->text_used - body->text_told);
    body->text_told = body->text_used;
}

/* The next piece, or the end of the last one, is a copy of LENGTH bytes. */
static void body_text(struct reply_body *body, const void *bytes, size_t length) {
    assert(length <= body->text_room - body->text_used);
    memcpy(body->text + body->text_used, bytes, length);
    body->text_used += length;
    body->length += length;
}

__attribute__((format(printf, 2, 3))) static void body_print(struct reply_body *body,
                                                             const char *format, ...) {
    const size_t room = body->text_room - body->text_used;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(body->text + body->text_used, room, format, arguments);
    va_end(arguments);
    assert(length >= 0 && (size_t)length < room);
    body->text_used += (size_t)length;
    body->length += (size_t)length;
}

/* The next piece lies where it is until all is sent. */
static void body_bytes(struct reply_body *body, const void *bytes, size_t length) {
    tell_text(body);
    add_piece(body, bytes, length);
    body->length += length;
}

/* The slot stays whose it was. */
static void body_abandon(struct reply_body *body) {
    room_release_answer(body->front, body->held);
    free(body->text);
    free(body);
}

static void sent(void *context) {
    struct reply_body *body = context;
    struct slots *slots = body->front->slots;
    const int slot = body->slot;
    body_abandon(body); /* first, for whoever takes the slot next holds bytes too */
    slot_give(slots, slot);
}

/* Takes BODY over. NULL: it is the caller's still. */
static struct MHD_Response *body_response(struct reply_body *body) {
    tell_text(body);
    if (body->count == 1) /* which goes out together with the headers */
        return MHD_create_response_from_buffer_with_free_callback_cls(
            body->pieces[0].iov_len, (void *)body->pieces[0].iov_base, sent, body);
    return MHD_create_response_from_iovec(body->pieces, (unsigned)body->count, sent, body);
}

/* ---- the report */

static void add(struct MHD_Response *response, const char *name, const char *value) {
    MHD_add_response_header(response, name, value);
}

static void add_number(struct MHD_Response *response, const char *name, long number) {
    char memory[24];
    struct json_writer text = json_writer_in(memory, sizeof memory);
    json_writer_number(&text, number);
    add(response, name, memory);
}

/* As a body has it: all values are in it, and where there are several results a list of these.
 * Values are the slot's, and none are here where the head has them already. */
struct report {
    const char *head, *values, *tail;
    size_t head_length, values_length, tail_length;
    char *heap; /* the head's; NULL: somebody else's */
};

/* The body lies before the results, and its pages are held as long. */
static int64_t slot_bytes_held(const struct job *job) {
    return (int64_t)job_bytes_end(job);
}

static const char *slot_text(const struct exchange *exchange, uint64_t offset) {
    return (const char *)slot_bytes(exchange->front->slots, exchange->slot) + offset;
}

/* The timing report ends at this moment: what follows is the socket's time. */
static void end_timing(struct exchange *exchange) {
    struct job *job = exchange_job(exchange);
    job->timing.stage_ms[STAGE_RECEIVE] = ns_to_ms(exchange->received_ns - exchange->start_ns);
    timing_close(&job->timing, ns_to_ms(clock_ns() - exchange->start_ns));
    memcpy(&exchange->timing, &job->timing, offsetof(struct timing, spans));
    metrics_decoded(exchange->front->metrics, job->decoded_by);
    for (int o = 0; o < job_output_count(job); o++)
        metrics_encoded(exchange->front->metrics, job->outputs[o].encoded_by);
    exchange->pixels = image_pixels(&job->probe.shape);
    snprintf(exchange->device, sizeof exchange->device, "%s", job->device_name);
}

static struct report_image describe_output(const struct job_output *output) {
    struct report_image image = timing_report_image(&output->image, output->type, output->length);
    image.fitting = output->fitting;
    return image;
}

static struct timing_report describe(const struct exchange *exchange) {
    const struct job *job = exchange_job(exchange);
    const struct outputs *outputs = exchange->settings.outputs;
    return (struct timing_report){
        .request_id = exchange->request_id,
        .device = job->device_name,
        .input = timing_report_image(&job->probe.shape, job->probe.format, job->image_length),
        .output = describe_output(&job->outputs[0]),
        .several = outputs != NULL,
        .timing = &job->timing,
        .notes = job->notes | (outputs ? outputs->notes : job->outputs[0].notes),
        .warning = job->warning,
        .values = slot_short_values(exchange->front->slots, exchange->slot),
        .values_length = job->values_length,
    };
}

static bool values_are_long(const struct job *job) {
    return job->values_length > REPORT_VALUES_MAX;
}

static void describe_results(const struct exchange *exchange,
                             struct report_result results[OUTPUTS_MAX]) {
    const struct job *job = exchange_job(exchange);
    for (int o = 0; o < job_output_count(job); o++) {
        const struct job_output *output = &job->outputs[o];
        results[o] = (struct report_result){ .name = exchange->settings.outputs->names[o],
                                             .image = describe_output(output),
                                             .notes = output->notes,
                                             .compute_ms = output->compute_ms,
                                             .encode_ms = output->encode_ms };
    }
}

/* HEADER: the text that the header has. False: no memory. */
static bool make_report(const struct exchange *exchange, const char *header,
                        struct report *report) {
    const struct job *job = exchange_job(exchange);
    struct report_result results[OUTPUTS_MAX];
    const bool apart = values_are_long(job);
    *report = (struct report){ .head = header, .values = "", .tail = "" };
    if (exchange->settings.outputs) {
        struct timing_report all = describe(exchange);
        describe_results(exchange, results);
        all.results = results;
        all.result_count = job_output_count(job);
        report->head = report->heap = timing_report_print(&all);
        if (!report->heap) return false;
    }
    report->head_length = strlen(report->head);
    if (!apart) return true;
    report->values = slot_text(exchange, job->values_offset);
    report->values_length = job->values_length;
    report->head_length--; /* the brace */
    report->tail = "}";
    report->tail_length = 1;
    return true;
}

/* "values": stands behind a head that values follow. */
static const char *values_key(const struct report *report) {
    return report->values_length ? ",\"values\":" : "";
}

static uint64_t report_length(const struct report *report) {
    return report->head_length + strlen(values_key(report)) + report->values_length +
           report->tail_length;
}

static void add_report(struct reply_body *body, const struct report *report) {
    body_text(body, report->head, report->head_length);
    body_print(body, "%s", values_key(report));
    if (report->values_length) body_bytes(body, report->values, report->values_length);
    body_print(body, "%s", report->tail);
}

/* ---- headers */

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

/* IMAGINARY: as imaginary calls it, too; its clients draw by that. */
static void add_size(struct MHD_Response *response, const struct image *image, bool imaginary) {
    add_number(response, "X-Result-Width", image->width);
    add_number(response, "X-Result-Height", image->height);
    if (!imaginary) return;
    add_number(response, "Image-Width", image->width);
    add_number(response, "Image-Height", image->height);
}

static void add_job_headers(struct MHD_Response *response, const struct exchange *exchange,
                            const char *report_text) {
    const struct job *job = exchange_job(exchange);
    add_server_timing(response, &exchange->timing);
    add(response, "X-Burin-Timing", report_text);
    add(response, "X-Burin-Device", job->device_name);
    add_number(response, "X-Origin-Width", job->probe.shape.width);
    add_number(response, "X-Origin-Height", job->probe.shape.height);
    if (!exchange->settings.outputs)
        add_size(response, &job->outputs[0].image, exchange->settings.imaginary.whole);
    add(response, MHD_HTTP_HEADER_VARY, "Accept");
}

/* ---- parts: the results, then the report */

static bool make_boundary(char boundary[BOUNDARY_LENGTH + 1]) {
    uint64_t bits[2];
    if (getrandom(bits, sizeof bits, 0) != sizeof bits) return false;
    snprintf(boundary, BOUNDARY_LENGTH + 1, "%016lx%016lx", (unsigned long)bits[0],
             (unsigned long)bits[1]);
    return true;
}

static const uint8_t *output_bytes(const struct exchange *exchange,
                                   const struct job_output *output) {
    return slot_bytes(exchange->front->slots, exchange->slot) + output->offset;
}

static void begin_part(struct reply_body *body, const char *boundary, const char *type,
                       uint64_t length) {
    body_print(body, "%s--%s\r\nContent-Type: %s\r\nContent-Length: %llu\r\n",
               body->length ? "\r\n" : "", boundary, type, (unsigned long long)length);
}

static void name_part(struct reply_body *body, const char *name) {
    body_print(body, "Content-Disposition: attachment; filename=\"%s\"\r\n", name);
}

static void add_result_part(struct reply_body *body, const struct exchange *exchange, int o,
                            const char *boundary) {
    const struct outputs *outputs = exchange->settings.outputs;
    const struct job_output *output = &exchange_job(exchange)->outputs[o];
    begin_part(body, boundary, format_media_type(output->type), output->length);
    if (outputs) {
        name_part(body, outputs->names[o]);
        body_print(body, "X-Result-Width: %u\r\nX-Result-Height: %u\r\n", output->image.width,
                   output->image.height);
    }
    body_print(body, "\r\n");
    body_bytes(body, output_bytes(exchange, output), output->length);
}

static void add_parts(struct reply_body *body, const struct exchange *exchange,
                      const char *boundary, const struct report *report) {
    for (int o = 0; o < job_output_count(exchange_job(exchange)); o++)
        add_result_part(body, exchange, o, boundary);
    begin_part(body, boundary, "application/json", report_length(report));
    if (exchange->settings.outputs) name_part(body, OUTPUTS_MANIFEST);
    body_print(body, "\r\n");
    add_report(body, report);
    body_print(body, "\r\n--%s--\r\n", boundary);
}

/* ---- ZIP: likewise */

static void begin_entry(struct reply_body *body, struct zip_entry *entry) {
    uint8_t header[ZIP_LOCAL_BYTES + OUTPUT_NAME_MAX];
    entry->offset = (uint32_t)body->length;
    body_text(body, header, zip_local(entry, header));
}

static struct zip_entry report_entry(const struct report *report) {
    uint32_t sum = zip_checksum(0, report->head, report->head_length);
    sum = zip_checksum(sum, values_key(report), strlen(values_key(report)));
    sum = zip_checksum(sum, report->values, report->values_length);
    sum = zip_checksum(sum, report->tail, report->tail_length);
    return (struct zip_entry){ OUTPUTS_MANIFEST, sum, (uint32_t)report_length(report), 0 };
}

static void add_directory(struct reply_body *body, const struct zip_entry *entries, int count) {
    uint8_t header[ZIP_CENTRAL_BYTES + OUTPUT_NAME_MAX];
    const uint32_t start = (uint32_t)body->length;
    for (int i = 0; i < count; i++) body_text(body, header, zip_central(&entries[i], header));
    const uint32_t bytes = (uint32_t)body->length - start;
    body_text(body, header, zip_end(count, start, bytes, header));
}

static void add_entries(struct reply_body *body, const struct exchange *exchange,
                        const struct report *report) {
    const struct job *job = exchange_job(exchange);
    struct zip_entry entries[OUTPUTS_MAX + 1];
    const int count = job_output_count(job);
    for (int o = 0; o < count; o++) {
        const struct job_output *output = &job->outputs[o];
        entries[o] = (struct zip_entry){ exchange->settings.outputs->names[o], output->checksum,
                                         (uint32_t)output->length, 0 };
        begin_entry(body, &entries[o]);
        body_bytes(body, output_bytes(exchange, output), output->length);
    }
    entries[count] = report_entry(report);
    begin_entry(body, &entries[count]);
    add_report(body, report);
    add_directory(body, entries, count + 1);
}

/* ---- all forms */

/* The media type goes into TYPE. False: there is no randomness. */
static bool fill_body(struct reply_body *body, const struct exchange *exchange,
                      const struct report *report, char type[64]) {
    const struct job_output *output = &exchange_job(exchange)->outputs[0];
    char boundary[BOUNDARY_LENGTH + 1];
    switch (exchange->answer) {
    case ANSWER_MULTIPART:
        if (!make_boundary(boundary)) return false;
        add_parts(body, exchange, boundary, report);
        return snprintf(type, 64, "multipart/mixed; boundary=%s", boundary);
    case ANSWER_ZIP:
        add_entries(body, exchange, report);
        return snprintf(type, 64, "application/zip");
    case ANSWER_JSON: add_report(body, report); return snprintf(type, 64, "application/json");
    default:
        body_bytes(body, output_bytes(exchange, output), output->length);
        return snprintf(type, 64, "%s", format_media_type(output->type));
    }
}

/* NULL: no memory, and nothing is held. */
static struct MHD_Response *slot_response(struct exchange *exchange, const struct report *report,
                                          uint64_t *length) {
    const struct job *job = exchange_job(exchange);
    const size_t room =
        report->head_length + (size_t)(job_output_count(job) + 2) * 2 * PART_TEXT_MAX;
    struct reply_body *body =
        body_make(exchange->front, exchange->slot, slot_bytes_held(job), room);
    struct MHD_Response *response = NULL;
    char type[64];
    if (!body) return room_release_answer(exchange->front, slot_bytes_held(job)), NULL;
    if (fill_body(body, exchange, report, type)) {
        *length = body->length;
        response = body_response(body);
    }
    if (!response) return body_abandon(body), NULL;
    add(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    add(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    return response;
}

static enum status check_zip(const struct job *job, struct failure *failure) {
    if (job_bytes_end(job) < ZIP_BYTES_MAX / 2) return STATUS_OK;
    return fail(failure, STATUS_TOO_LARGE,
                "the results are too large for a ZIP archive; ask for multipart/mixed");
}

enum status reply_job(struct exchange *exchange, struct reply *reply, struct failure *failure) {
    const struct job *job = exchange_job(exchange);
    const bool from_slot = exchange->answer != ANSWER_JSON || values_are_long(job);
    char header[TIMING_REPORT_MAX];
    struct report report;
    if (exchange->answer == ANSWER_ZIP && check_zip(job, failure)) return failure->status;
    if (from_slot && room_hold_answer(exchange->front, slot_bytes_held(job), failure))
        return failure->status;
    end_timing(exchange);
    const struct timing_report described = describe(exchange);
    timing_report_write(&described, header);
    *reply = (struct reply){ .http_status = MHD_HTTP_OK };
    const bool made = make_report(exchange, header, &report);
    if (made && from_slot) {
        reply->slot_bytes = slot_bytes_held(job);
        reply->response = slot_response(exchange, &report, &reply->bytes);
    } else if (made) {
        *reply = reply_text("application/json", "no-store", strdup(report.head));
    } else if (from_slot) {
        room_release_answer(exchange->front, slot_bytes_held(job));
    }
    free(report.heap);
    if (reply->response) add_job_headers(reply->response, exchange, header);
    if (!reply->response) reply->slot_bytes = 0;
    return STATUS_OK;
}
