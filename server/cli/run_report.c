// SPDX-License-Identifier: Apache-2.0
#include "server/cli/run_report.h"

#include "server/api/timing_report.h"
#include "server/api/values_json.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Not where the image goes. */
static FILE *text_out(const struct run_state *state) {
    const char *output = state->options.output;
    return output && strcmp(output, "-") == 0 ? stderr : stdout;
}

static void print_number(FILE *out, const struct values *values, size_t index, char after) {
    char text[VALUES_NUMBER_MAX];
    struct json_writer json = json_writer_in(text, sizeof text);
    values_json_number(&json, values, index);
    fprintf(out, "%s%c", text, after);
}

static void print_text(FILE *out, const struct step *step, const struct values *values) {
    char text[VALUES_TEXT_MAX];
    const size_t length = step->op->text(&step->params, values, text);
    fprintf(out, "%.*s\n", (int)length, text);
}

static void print_values(const struct run_state *state) {
    FILE *out = text_out(state);
    for (int s = 0; s < state->options.plan.count; s++) {
        const struct step *step = &state->options.plan.steps[s];
        const struct values *values = &state->item.values[s];
        if (step->op->text) {
            print_text(out, step, values);
            continue;
        }
        const uint64_t count = values_count(&values->shape);
        const uint64_t line = values->shape.is_list ? values->shape.length : count;
        for (uint64_t i = 0; i < count; i++)
            print_number(out, values, i, (i + 1) % line ? ' ' : '\n');
    }
}

static void name_device(const struct run_state *state, char *text, size_t size) {
    struct device_info facts = { 0 };
    if (state->driver == &device_cpu)
        snprintf(text, size, "cpu");
    else if (state->driver->describe(state->index, &facts, NULL) == STATUS_OK)
        snprintf(text, size, "%s:%d (%s)", state->driver->kind, state->index, facts.name);
    else
        snprintf(text, size, "%s:%d", state->driver->kind, state->index);
}

/* In one line: a histogram of a number a line would be nothing to look at. */
static void print_values_member(const struct run_state *state, FILE *out) {
    const struct plan *plan = &state->options.plan;
    const uint64_t count = plan_value_count(plan, state->shapes);
    const size_t size = values_json_bound(count);
    char *text = count ? malloc(size) : NULL;
    if (text && values_json_write(plan, state->item.values, text, size))
        fprintf(out, ",\n  \"values\": %s", text);
    free(text);
}

static void print_timing(const struct run_state *state) {
    char device[128];
    name_device(state, device, sizeof device);
    struct timing_report report = {
        .device = device,
        .input = timing_report_image(&state->probe.shape, state->probe.format, state->length),
        .output = timing_report_image(&state->item.out, state->options.encode.format,
                                      state->result_length),
        .timing = &state->timing,
        .notes = state->notes,
        .warning = state->metadata.warning,
    };
    FILE *out = text_out(state);
    char text[TIMING_REPORT_MAX];
    report.output.fitting = state->fitting;
    timing_report_write(&report, text);
    json_t *json = json_loads(text, 0, NULL); /* for its indentation */
    char *shown = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(9) | JSON_PRESERVE_ORDER);
    const size_t length = shown ? strlen(shown) - strlen("\n}") : 0;
    fprintf(out, "%.*s", (int)length, shown ? shown : "");
    print_values_member(state, out);
    fputs("\n}\n", out);
    free(shown);
    json_decref(json);
}

/* With --timing they stand in the JSON. */
static void print_notes(uint32_t notes, const char *warning) {
    for (int i = 0; i < NOTE_COUNT; i++)
        if (notes >> i & 1) fprintf(stderr, "burin: note: %s\n", note_text(i));
    if (notes & NOTE_DAMAGED) fprintf(stderr, "burin: note: %s\n", warning);
}

void run_report_print(const struct run_state *state) {
    if (state->options.timing) {
        print_timing(state);
        return;
    }
    print_values(state);
    print_notes(state->notes, state->metadata.warning);
}
