// SPDX-License-Identifier: Apache-2.0
/* How it works. Text has a line a list of values. JSON is made of the daemon's report, or of the
 * few members of a line; values, of which there may be many, are printed after the rest without
 * being parsed. */
#include "server/cli/run_report.h"

#include "server/api/values_json.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICE_MAX = 128 };

/* The report goes to standard output unless the image does. */
static FILE *text_out(const struct run_report *report) {
    return report->output && strcmp(report->output, "-") == 0 ? stderr : stdout;
}

static void print_values(const struct run_report *report) {
    FILE *out = text_out(report);
    for (int s = 0; s < report->plan->count; s++) {
        const struct step *step = &report->plan->steps[s];
        const struct values *values = &report->values[s];
        if (step->op->text) {
            char text[VALUES_TEXT_MAX];
            const size_t length = step->op->text(&step->params, values, text);
            fprintf(out, "%.*s\n", (int)length, text);
            continue;
        }
        const uint64_t count = values_count(&values->shape);
        const uint64_t line = values->shape.is_list ? values->shape.length : count;
        for (uint64_t i = 0; i < count; i++) {
            char text[VALUES_NUMBER_MAX];
            struct json_writer json = json_writer_in(text, sizeof text);
            values_json_number(&json, values, i);
            fprintf(out, "%s%c", text, (i + 1) % line ? ' ' : '\n');
        }
    }
}

/* Writes the member of the values in one line, not one line per number. */
static void print_values_member(const struct run_report *report, const char *before, FILE *out) {
    const uint64_t count = plan_value_count(report->plan, report->shapes);
    const size_t size = values_json_bound(count);
    char *text = count ? malloc(size) : NULL;
    if (text && values_json_write(report->plan, report->values, text, size))
        fprintf(out, "%s\"values\": %s", before, text);
    free(text);
}

static void name_device(const struct run_report *report, char text[DEVICE_MAX]) {
    struct device_info facts = { 0 };
    if (report->driver == &device_cpu)
        snprintf(text, DEVICE_MAX, "cpu");
    else if (report->driver->describe(report->index, &facts, NULL) == STATUS_OK)
        snprintf(text, DEVICE_MAX, "%s:%d (%s)", report->driver->kind, report->index, facts.name);
    else
        snprintf(text, DEVICE_MAX, "%s:%d", report->driver->kind, report->index);
}

void run_report_timing(const struct run_report *report) {
    char device[DEVICE_MAX];
    name_device(report, device);
    const struct timing_report timing = {
        .device = device,
        .input = report->input,
        .output = report->result,
        .timing = report->timing,
        .notes = report->notes,
        .warning = report->warning,
    };
    FILE *out = text_out(report);
    char text[TIMING_REPORT_MAX];
    timing_report_write(&timing, text);
    json_t *json = json_loads(text, 0, NULL); /* to indent it */
    char *shown = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(9) | JSON_PRESERVE_ORDER);
    const size_t length = shown ? strlen(shown) - strlen("\n}") : 0;
    fprintf(out, "%.*s", (int)length, shown ? shown : "");
    print_values_member(report, ",\n  ", out);
    fputs("\n}\n", out);
    free(shown);
    json_decref(json);
}

void run_report_text(const struct run_report *report, bool quiet) {
    print_values(report);
    for (int i = 0; i < NOTE_COUNT && !quiet; i++)
        if (report->notes >> i & 1) fprintf(stderr, "burin: note: %s\n", note_text(i));
    if (report->notes & NOTE_DAMAGED && !quiet)
        fprintf(stderr, "burin: note: %s\n", report->warning);
}

/* ---- lines of JSON */

static json_t *notes_of(const struct run_report *report) {
    json_t *notes = json_array();
    for (int i = 0; i < NOTE_COUNT; i++)
        if (report->notes >> i & 1) json_array_append_new(notes, json_string(note_text(i)));
    if (report->notes & NOTE_DAMAGED) json_array_append_new(notes, json_string(report->warning));
    return notes;
}

/* Names of files may be no UTF-8; then what is none is shown as question marks. */
static json_t *path_of(const char *path) {
    if (!path) return json_null();
    json_t *text = json_string(path);
    if (text) return text;
    char shown[PATH_MAX];
    size_t length = 0;
    for (; path[length] && length + 1 < sizeof shown; length++)
        shown[length] = path[length] & 0x80 ? '?' : path[length];
    return json_stringn(shown, length);
}

/* Writes OBJECT without its last brace. */
static void put_members(json_t *object, FILE *lines) {
    char *text = json_dumps(object, JSON_REAL_PRECISION(9) | JSON_PRESERVE_ORDER);
    fprintf(lines, "%.*s", text ? (int)strlen(text) - 1 : 0, text ? text : "");
    free(text);
    json_decref(object);
}

void run_report_line(const struct run_report *report, FILE *lines) {
    const struct report_image *image = &report->result;
    const bool written = report->output;
    put_members(json_pack("{s:o, s:o, s:s, s:i, s:i, s:I, s:f, s:o}", "input",
                          path_of(report->source), "output", path_of(report->output), "type",
                          written ? image->type : report->input.type, "width", (int)image->width,
                          "height", (int)image->height, "bytes",
                          (json_int_t)(written ? image->bytes : 0), "ms", report->timing->total_ms,
                          "notes", notes_of(report)),
                lines);
    print_values_member(report, ", ", lines);
    fputs("}\n", lines);
}

void run_report_members(const char *path, json_t *object, FILE *lines) {
    json_t *line = json_pack("{s:o}", "input", path_of(path));
    json_object_update(line, object);
    put_members(line, lines);
    fputs("}\n", lines);
}

/* Whether MESSAGE has the name SOURCE, as in "cannot open SOURCE: ...". */
static bool is_named(const char *message, const char *source) {
    const char *found = strstr(message, source);
    return found > message && found[-1] == ' ' && found[strlen(source)] == ':';
}

void run_report_failure(const char *source, enum status status, const struct failure *failure,
                        FILE *lines) {
    const char *message = *failure->message ? failure->message : status_name(status);
    if (lines) {
        put_members(json_pack("{s:o, s:o}", "input", path_of(source), "error", path_of(message)),
                    lines);
        fputs("}\n", lines);
    } else {
        const bool named = !source || is_named(message, source);
        fprintf(stderr, "burin: %s%s%s\n", named ? "" : source, named ? "" : ": ", message);
    }
}
