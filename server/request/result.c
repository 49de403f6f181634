// SPDX-License-Identifier: Apache-2.0
/* How it works. The body is built front to back: texts are collected in one block of memory, and a
 * piece of the slot ends the text before it. Values that are too long for a header are text in the
 * slot, where a taken-over worker may still write. They are the last member of the report, so that
 * its closing brace is a piece of its own after them. The report of several results lists them in
 * the body, not in the header. */
#include "server/request/result.h"

#include "server/api/timing_report.h"
#include "server/request/capacity.h"

#include <assert.h>
#include <isa-l/crc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* 128 random bits in hexadecimal: no client can prepare a profile or pixels that contain them. */
enum { BOUNDARY_LENGTH = 32 };

/* The texts of a part or entry, without the report. */
enum { PART_TEXT_MAX = 512 };

/* ---- pieces */

/* HELD: bytes that the caller has counted for it. NULL: no memory. */
static struct result *make(const struct request *request, int slot, int64_t held,
                           size_t text_room) {
    struct result *result = malloc(sizeof *result);
    char *text = malloc(text_room);
    if (!result || !text) return free(result), free(text), NULL;
    *result = (struct result){ .service = request->service,
                               .slot = slot,
                               .held = held,
                               .text = text,
                               .text_room = text_room };
    return result;
}

void result_release(struct result *result) {
    struct slots *slots = result->service->slots;
    const int slot = result->slot;
    capacity_release_answer(result->service, result->held);
    free(result->text);
    free(result);
    if (slot >= 0) slot_give(slots, slot); /* last: the request that takes it also needs bytes */
}

static void add_piece(struct result *result, const void *bytes, size_t length) {
    if (!length) return;
    assert(result->count < RESULT_PIECES_MAX);
    result->pieces[result->count++] = (struct iovec){ (void *)bytes, length };
}

/* The text so far becomes a piece. */
static void cut_text(struct result *result) {
    add_piece(result, result->text + result->text_cut, result->text_used - result->text_cut);
    result->text_cut = result->text_used;
}

static void add_text(struct result *result, const void *bytes, size_t length) {
    assert(length <= result->text_room - result->text_used);
    memcpy(result->text + result->text_used, bytes, length);
    result->text_used += length;
    result->length += length;
}

__attribute__((format(printf, 2, 3))) static void print(struct result *result, const char *format,
                                                        ...) {
    const size_t room = result->text_room - result->text_used;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(result->text + result->text_used, room, format, arguments);
    va_end(arguments);
    assert(length >= 0 && (size_t)length < room);
    result->text_used += (size_t)length;
    result->length += (size_t)length;
}

/* BYTES are not copied: they must be valid until all is sent. */
static void add_bytes(struct result *result, const void *bytes, size_t length) {
    cut_text(result);
    add_piece(result, bytes, length);
    result->length += length;
}

/* ---- the report */

/* The report in the body: with all values and, for several results, their list. Long values are in
 * the slot; short ones are part of the head. */
struct report {
    const char *head, *values, *tail;
    size_t head_length, values_length, tail_length;
    char *heap; /* the head, if it differs from the header's text; else NULL */
};

/* Stops the request's clock. */
static void end_timing(const struct request *request) {
    struct job *job = request_job(request);
    job->timing.stage_ms[STAGE_RECEIVE] = ns_to_ms(request->received_ns - request->start_ns);
    timing_close(&job->timing, ns_to_ms(clock_ns() - request->start_ns));
    metrics_decoded(request->service->metrics, job->decoded_by);
    for (int o = 0; o < job_output_count(job); o++)
        metrics_encoded(request->service->metrics, job->outputs[o].encoded_by);
}

static struct report_image describe_output(const struct job_output *output) {
    struct report_image image = timing_report_image(&output->image, output->type, output->length);
    image.fitting = output->fitting;
    return image;
}

static struct timing_report describe(const struct request *request) {
    const struct job *job = request_job(request);
    const struct outputs *outputs = request->settings.outputs;
    const struct dialect *dialect = request->settings.dialect;
    return (struct timing_report){
        .request_id = request->id,
        .device = job->device_name,
        .input = timing_report_image(&job->probe.shape, job->probe.format, job->image_length),
        .output = describe_output(&job->outputs[0]),
        .several = outputs != NULL,
        .timing = &job->timing,
        .notes = job->notes | (outputs ? outputs->notes : job->outputs[0].notes),
        .warning = job->warning,
        .ignored = dialect ? dialect->ignored : NULL,
        .values = slot_short_values(request->service->slots, request->slot),
        .values_length = job->values_length,
    };
}

static bool values_are_long(const struct job *job) {
    return job->values_length > REPORT_VALUES_MAX;
}

/* HEADER: the report in the header. False: no memory. */
static bool make_report(const struct request *request, const char *header, struct report *report) {
    const struct job *job = request_job(request);
    const struct outputs *several = request->settings.outputs;
    *report = (struct report){ .head = header, .values = "", .tail = "" };
    if (several) {
        struct report_result results[OUTPUTS_MAX];
        struct timing_report all = describe(request);
        for (int o = 0; o < job_output_count(job); o++) {
            const struct job_output *output = &job->outputs[o];
            results[o] = (struct report_result){ .name = several->names[o],
                                                 .image = describe_output(output),
                                                 .notes = output->notes,
                                                 .compute_ms = (double)output->compute_ms,
                                                 .encode_ms = (double)output->encode_ms };
        }
        all.results = results;
        all.result_count = job_output_count(job);
        report->head = report->heap = timing_report_print(&all);
        if (!report->heap) return false;
    }
    report->head_length = strlen(report->head);
    if (!values_are_long(job)) return true;
    report->values =
        (const char *)slot_bytes(request->service->slots, request->slot) + job->values_offset;
    report->values_length = job->values_length;
    report->head_length--; /* without the closing brace */
    report->tail = "}";
    report->tail_length = 1;
    return true;
}

/* The text between the head and values that follow it. */
static const char *values_key(const struct report *report) {
    return report->values_length ? ",\"values\":" : "";
}

static uint64_t report_length(const struct report *report) {
    return report->head_length + strlen(values_key(report)) + report->values_length +
           report->tail_length;
}

static void add_report(struct result *result, const struct report *report) {
    add_text(result, report->head, report->head_length);
    print(result, "%s", values_key(report));
    if (report->values_length) add_bytes(result, report->values, report->values_length);
    print(result, "%s", report->tail);
}

/* ---- multipart/mixed: the results, then the report */

static const uint8_t *output_bytes(const struct request *request, const struct job_output *output) {
    return slot_bytes(request->service->slots, request->slot) + output->offset;
}

/* NAME: the part's file name; NULL: none. */
static void begin_part(struct result *result, const char *boundary, const char *type,
                       uint64_t length, const char *name) {
    print(result, "%s--%s\r\nContent-Type: %s\r\nContent-Length: %llu\r\n",
          result->length ? "\r\n" : "", boundary, type, (unsigned long long)length);
    if (name) print(result, "Content-Disposition: attachment; filename=\"%s\"\r\n", name);
}

static void add_parts(struct result *result, const struct request *request, const char *boundary,
                      const struct report *report) {
    const struct outputs *several = request->settings.outputs;
    const struct job *job = request_job(request);
    for (int o = 0; o < job_output_count(job); o++) {
        const struct job_output *output = &job->outputs[o];
        begin_part(result, boundary, format_media_type(output->type), output->length,
                   several ? several->names[o] : NULL);
        if (several)
            print(result, "X-Result-Width: %u\r\nX-Result-Height: %u\r\n", output->image.width,
                  output->image.height);
        print(result, "\r\n");
        add_bytes(result, output_bytes(request, output), output->length);
    }
    begin_part(result, boundary, "application/json", report_length(report),
               several ? OUTPUTS_MANIFEST : NULL);
    print(result, "\r\n");
    add_report(result, report);
    print(result, "\r\n--%s--\r\n", boundary);
}

/* ---- ZIP: the results, then the report, then the directory (PKWARE's APPNOTE.TXT 6.3.10, 4.3.7,
 * 4.3.12 and 4.3.16). Files are stored uncompressed, with the earliest possible date, so that an
 * archive does not depend on when it was made. */

enum { VERSION = 10, STORED = 0, DATE = 1 << 5 | 1 /* the first of January 1980 */ };

enum { ZIP_LOCAL_BYTES = 30, ZIP_CENTRAL_BYTES = 46 };
#define ZIP_BYTES_MAX UINT32_MAX /* without ZIP64 */

struct zip_entry {
    const char *name;  /* ASCII */
    uint32_t checksum; /* CRC-32 of its bytes */
    uint32_t length;   /* bytes */
    uint32_t offset;   /* of its header in the archive */
};

static uint8_t *put16(uint8_t *out, unsigned value) {
    out[0] = (uint8_t)value;
    out[1] = (uint8_t)(value >> 8);
    return out + 2;
}

static uint8_t *put32(uint8_t *out, uint32_t value) {
    return put16(put16(out, value & 0xffff), value >> 16);
}

/* From the version needed to the length of the extra field: the same in both headers. */
static uint8_t *put_facts(const struct zip_entry *entry, uint8_t *out) {
    out = put16(out, VERSION);
    out = put16(out, 0); /* flags */
    out = put16(out, STORED);
    out = put16(out, 0); /* time */
    out = put16(out, DATE);
    out = put32(out, entry->checksum);
    out = put32(out, entry->length);
    out = put32(out, entry->length);
    out = put16(out, (unsigned)strlen(entry->name));
    return put16(out, 0);
}

static size_t put_name(const struct zip_entry *entry, uint8_t *start, uint8_t *out) {
    const size_t length = strlen(entry->name);
    memcpy(out, entry->name, length);
    return (size_t)(out - start) + length;
}

/* These write a header to OUT and return its length, that of the name included. */
static size_t zip_local(const struct zip_entry *entry, uint8_t *out) {
    return put_name(entry, out, put_facts(entry, put32(out, 0x04034b50)));
}

static size_t zip_central(const struct zip_entry *entry, uint8_t *out) {
    uint8_t *at = put_facts(entry, put16(put32(out, 0x02014b50), VERSION));
    at = put16(at, 0); /* comment */
    at = put16(at, 0); /* disk */
    at = put16(at, 0); /* attributes */
    at = put32(at, 0);
    return put_name(entry, out, put32(at, entry->offset));
}

/* COUNT entries, whose central headers begin at OFFSET and take BYTES. */
static size_t zip_end(int count, uint32_t offset, uint32_t bytes, uint8_t *out) {
    uint8_t *at = put32(out, 0x06054b50);
    at = put16(at, 0); /* number of this disk, and of the disk with the directory */
    at = put16(at, 0);
    at = put16(at, (unsigned)count);
    at = put16(at, (unsigned)count);
    at = put32(at, bytes);
    at = put32(at, offset);
    return (size_t)(put16(at, 0) - out);
}

/* SUM: the CRC-32 of the bytes before, 0 at first. */
static uint32_t zip_checksum(uint32_t sum, const void *bytes, size_t length) {
    return crc32_gzip_refl(sum, bytes, length);
}

static void begin_entry(struct result *result, struct zip_entry *entry) {
    uint8_t header[ZIP_LOCAL_BYTES + OUTPUT_NAME_MAX];
    entry->offset = (uint32_t)result->length;
    add_text(result, header, zip_local(entry, header));
}

static void add_entries(struct result *result, const struct request *request,
                        const struct report *report) {
    const struct job *job = request_job(request);
    struct zip_entry entries[OUTPUTS_MAX + 1];
    const int count = job_output_count(job);
    for (int o = 0; o < count; o++) {
        const struct job_output *output = &job->outputs[o];
        entries[o] = (struct zip_entry){ request->settings.outputs->names[o], output->checksum,
                                         (uint32_t)output->length, 0 };
        begin_entry(result, &entries[o]);
        add_bytes(result, output_bytes(request, output), output->length);
    }
    uint32_t sum = zip_checksum(0, report->head, report->head_length);
    sum = zip_checksum(sum, values_key(report), strlen(values_key(report)));
    sum = zip_checksum(sum, report->values, report->values_length);
    sum = zip_checksum(sum, report->tail, report->tail_length);
    entries[count] =
        (struct zip_entry){ OUTPUTS_MANIFEST, sum, (uint32_t)report_length(report), 0 };
    begin_entry(result, &entries[count]);
    add_report(result, report);

    uint8_t header[ZIP_CENTRAL_BYTES + OUTPUT_NAME_MAX];
    const uint32_t start = (uint32_t)result->length;
    for (int i = 0; i <= count; i++) add_text(result, header, zip_central(&entries[i], header));
    const uint32_t bytes = (uint32_t)result->length - start;
    add_text(result, header, zip_end(count + 1, start, bytes, header));
}

/* ---- all forms */

/* False: no random bits. */
static bool fill(struct result *result, const struct request *request,
                 const struct report *report) {
    const struct job_output *output = &request_job(request)->outputs[0];
    char boundary[BOUNDARY_LENGTH + 1];
    const char *type = format_media_type(output->type);
    uint64_t bits[2];
    switch (request->answer) {
    case ANSWER_MULTIPART:
        if (getrandom(bits, sizeof bits, 0) != sizeof bits) return false;
        snprintf(boundary, sizeof boundary, "%016lx%016lx", (unsigned long)bits[0],
                 (unsigned long)bits[1]);
        add_parts(result, request, boundary, report);
        snprintf(result->media_type, sizeof result->media_type, "multipart/mixed; boundary=%s",
                 boundary);
        return true;
    case ANSWER_ZIP: add_entries(result, request, report), type = "application/zip"; break;
    case ANSWER_JSON: add_report(result, report), type = "application/json"; break;
    case ANSWER_IMAGE: add_bytes(result, output_bytes(request, output), output->length); break;
    }
    snprintf(result->media_type, sizeof result->media_type, "%s", type);
    return true;
}

static uint64_t files_bytes(const struct job *job) {
    uint64_t bytes = job->values_length;
    for (int o = 0; o < job_output_count(job); o++) bytes += job->outputs[o].length;
    return bytes;
}

enum status result_make(struct request *request, char header[TIMING_REPORT_MAX],
                        struct result **made, struct failure *failure) {
    const struct job *job = request_job(request);
    const bool from_slot = request->answer != ANSWER_JSON || values_are_long(job);
    /* The upload and pixels between runs lie before the results in the slot, and their pages are
     * held as long. */
    const int64_t held = from_slot ? (int64_t)job_bytes_end(job) : 0;
    struct report report;
    if (request->answer == ANSWER_ZIP && files_bytes(job) >= ZIP_BYTES_MAX / 2)
        return fail(failure, STATUS_TOO_LARGE,
                    "the results are too large for a ZIP archive; ask for multipart/mixed");
    if (from_slot && capacity_hold_answer(request->service, held, failure)) return failure->status;
    end_timing(request);
    const struct timing_report described = describe(request);
    timing_report_write(&described, header);
    struct result *result = NULL;
    if (make_report(request, header, &report))
        result = make(request, from_slot ? request->slot : -1, held,
                      report.head_length + (size_t)(job_output_count(job) + 2) * 2 * PART_TEXT_MAX);
    if (!result) capacity_release_answer(request->service, held);
    if (result && !fill(result, request, &report)) {
        result->slot = -1;
        result_release(result);
        result = NULL;
    }
    free(report.heap);
    *made = result;
    if (!result) return fail(failure, STATUS_NO_MEMORY, "there is no memory for the answer");
    cut_text(result);
    return STATUS_OK;
}
