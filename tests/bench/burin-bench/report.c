// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/burin-bench/report.h"

#include "pipeline/device.h"
#include "server/version.h"

#include <stdio.h>
#include <time.h>

static void write_today(char *text, size_t size) {
    const time_t now = time(NULL);
    struct tm utc;
    strftime(text, size, "%Y-%m-%d", gmtime_r(&now, &utc));
}

json_t *report_machine(void) {
    char date[16];
    struct device_info facts;
    write_today(date, sizeof date);
    device_cpu.describe(0, &facts, NULL);
    json_t *gpus = json_array();
    json_t *machine =
        json_pack("{s:s, s:s, s:s, s:i, s:o}", "date", date, "version", version_text(), "cpu",
                  facts.name, "cores", facts.multiprocessors, "gpus", gpus);
    for (int i = 0; i < device_cuda.count(); i++)
        if (device_cuda.describe(i, &facts, NULL) == STATUS_OK)
            json_array_append_new(gpus, json_string(facts.name));
    return machine;
}

static void print_machine(void) {
    json_t *machine = report_machine();
    const json_t *gpus = json_object_get(machine, "gpus");
    printf("%s, burin %s, %s (%.0f cores)", report_text(machine, "date"), version_text(),
           report_text(machine, "cpu"), report_number(machine, "cores"));
    for (size_t i = 0; i < json_array_size(gpus); i++)
        printf(", %s", json_string_value(json_array_get(gpus, i)));
    printf("\n\n");
    json_decref(machine);
}

void report_begin(struct report *report, bool json) {
    *report = (struct report){ .json = json, .rows = json_array() };
    if (!json) print_machine();
}

void report_add(struct report *report, json_t *row, void (*print)(const json_t *row)) {
    json_array_append_new(report->rows, row);
    if (report->json) return;
    print(row);
    fflush(stdout); /* the next row may take a minute */
}

void report_end(struct report *report, const char *name) {
    json_t *result = json_pack("{s:s, s:o, s:o}", "bench", name, "machine", report_machine(),
                               "rows", report->rows);
    if (report->json) json_dumpf(result, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    json_decref(result);
    report->rows = NULL;
}

double report_number(const json_t *row, const char *key) {
    return json_number_value(json_object_get(row, key));
}

const char *report_text(const json_t *row, const char *key) {
    return json_string_value(json_object_get(row, key));
}
