// SPDX-License-Identifier: Apache-2.0
/* How it works. The same functions write the report of a header and of a body; only a body lists
 * several results. */
#include "server/api/timing_report.h"

#include "pipeline/codec.h"
#include "server/api/json_writer.h"

#include <stdio.h>
#include <stdlib.h>

/* The longest entry of one result, with all notes. */
enum { RESULT_MAX = 2048 };

struct report_image timing_report_image(const struct image *shape, enum format format,
                                        uint64_t bytes) {
    return (struct report_image){ .type = format_name(format),
                                  .width = shape->width,
                                  .height = shape->height,
                                  .channels = shape->channels,
                                  .depth = shape->depth,
                                  .bytes = bytes };
}

static void write_facts(struct json_writer *json, const struct report_image *image) {
    json_writer_key_string(json, "type", image->type ? image->type : "");
    json_writer_key_number(json, "width", image->width);
    json_writer_key_number(json, "height", image->height);
    json_writer_key_number(json, "channels", image->channels);
    json_writer_key_number(json, "depth", image->depth);
    json_writer_key_number(json, "bytes", (int64_t)image->bytes);
    if (image->fitting.tries) {
        json_writer_key_number(json, "quality", image->fitting.quality);
        json_writer_key_number(json, "tries", image->fitting.tries);
    }
}

static void write_image(struct json_writer *json, const char *name,
                        const struct report_image *image) {
    json_writer_key(json, name);
    json_writer_add(json, "{");
    write_facts(json, image);
    json_writer_add(json, "}");
}

static void write_notes(struct json_writer *json, uint32_t notes, const char *warning,
                        const char *ignored) {
    char sentence[160];
    json_writer_key(json, "notes");
    json_writer_add(json, "[");
    for (int i = 0; i < NOTE_COUNT; i++) {
        if (!(notes >> i & 1)) continue;
        if (notes & ((1u << i) - 1)) json_writer_add(json, ",");
        json_writer_string(json, note_text(i));
    }
    if (notes & NOTE_DAMAGED) {
        json_writer_add(json, ",");
        json_writer_string(json, warning);
    }
    if (ignored && *ignored) {
        snprintf(sentence, sizeof sentence, "these parameters do nothing here: %s", ignored);
        if (notes) json_writer_add(json, ",");
        json_writer_string(json, sentence);
    }
    json_writer_add(json, "]");
}

/* Nests kernels, which follow their operator in TIMING, within it. */
static void write_operators(struct json_writer *json, const struct timing *timing) {
    json_writer_key(json, "operators");
    json_writer_add(json, "[");
    int before = -1; /* level of the previous span */
    for (int i = 0; i < timing->span_count; i++) {
        const struct span *span = &timing->spans[i];
        if (span->level > SPAN_KERNEL) continue;
        const int level = span->level && before >= 0;
        if (before >= 0 && !level) json_writer_add(json, "]},");
        if (before > 0 && level) json_writer_add(json, ",");
        json_writer_add(json, "{");
        json_writer_key_string(json, "name", span->name);
        json_writer_key_ms(json, "ms", span->ms);
        if (level) {
            json_writer_add(json, "}");
        } else {
            json_writer_key(json, "kernels");
            json_writer_add(json, "[");
        }
        before = level;
    }
    json_writer_add(json, before >= 0 ? "]}]" : "]");
}

/* Writes the kernels of a GPU's codec; nothing if cores did the stage. */
static void write_kernels(struct json_writer *json, const char *key, const struct timing *timing,
                          enum span_level level) {
    bool any = false;
    for (int i = 0; i < timing->span_count; i++) {
        const struct span *span = &timing->spans[i];
        if (span->level != (int)level) continue;
        if (!any) json_writer_key(json, key);
        json_writer_add(json, any ? ",{" : "[{");
        json_writer_key_string(json, "name", span->name);
        json_writer_key_ms(json, "ms", span->ms);
        json_writer_add(json, "}");
        any = true;
    }
    if (any) json_writer_add(json, "]");
}

static void write_stages(struct json_writer *json, const struct timing *timing) {
    json_writer_key(json, "ms");
    json_writer_add(json, "{");
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        json_writer_key_ms(json, stage_name((enum stage)stage), timing->stage_ms[stage]);
        if (stage == STAGE_DECODE) write_kernels(json, "decode_kernels", timing, SPAN_DECODE);
        if (stage == STAGE_COMPUTE) write_operators(json, timing);
        if (stage == STAGE_ENCODE) write_kernels(json, "encode_kernels", timing, SPAN_ENCODE);
    }
    json_writer_key_ms(json, "total", timing->total_ms);
    json_writer_add(json, "}");
}

static void write_result(struct json_writer *json, const struct report_result *result) {
    json_writer_add(json, "{");
    json_writer_key_string(json, "name", result->name);
    write_facts(json, &result->image);
    if (result->notes) write_notes(json, result->notes, "", NULL);
    json_writer_key(json, "ms");
    json_writer_add(json, "{");
    if (result->compute_ms >= 0) json_writer_key_ms(json, "compute", result->compute_ms);
    if (result->encode_ms >= 0) json_writer_key_ms(json, "encode", result->encode_ms);
    json_writer_add(json, "}}");
}

static void write_manifest(struct json_writer *json, const struct timing_report *report) {
    json_writer_key(json, "manifest");
    json_writer_add(json, "[");
    for (int i = 0; i < report->result_count; i++) {
        if (i) json_writer_add(json, ",");
        write_result(json, &report->results[i]);
    }
    json_writer_add(json, "]");
}

static void write_report(struct json_writer *json, const struct timing_report *report) {
    json_writer_add(json, "{");
    if (report->request_id) json_writer_key_string(json, "request_id", report->request_id);
    json_writer_key_string(json, "device", report->device ? report->device : "");
    write_image(json, "input", &report->input);
    if (!report->several) write_image(json, "output", &report->output);
    if (report->results) write_manifest(json, report);
    write_notes(json, report->notes, report->warning, report->ignored);
    write_stages(json, report->timing);
    if (report->values_length && report->values_length <= REPORT_VALUES_MAX) {
        json_writer_key(json, "values");
        json_writer_bytes(json, report->values, report->values_length);
    }
    json_writer_add(json, "}");
}

size_t timing_report_write(const struct timing_report *report, char memory[TIMING_REPORT_MAX]) {
    struct json_writer json = json_writer_in(memory, TIMING_REPORT_MAX);
    write_report(&json, report);
    return json.length;
}

char *timing_report_print(const struct timing_report *report) {
    const size_t size = TIMING_REPORT_MAX + (size_t)report->result_count * RESULT_MAX;
    char *text = malloc(size);
    if (!text) return NULL;
    struct json_writer json = json_writer_in(text, size);
    write_report(&json, report);
    return text;
}
