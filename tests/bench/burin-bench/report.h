// SPDX-License-Identifier: Apache-2.0
/* report.h - what a benchmark prints: the machine, then rows, as a table or as JSON.
 *
 * Used by:  bench.c begins and ends it; each benchmark adds rows.
 * Owns:     the rows, from report_begin to report_end.
 */
#ifndef BURIN_BENCH_REPORT_H
#define BURIN_BENCH_REPORT_H

#include <jansson.h>
#include <stdbool.h>

struct report {
    bool json;
    json_t *rows; /* array */
};

/* Prints date, version, CPU and GPUs, unless JSON. */
void report_begin(struct report *report, bool json);

/* Takes ROW over; PRINT writes its line of the table. */
void report_add(struct report *report, json_t *row, void (*print)(const json_t *row));

/* Prints {"bench": NAME, "machine": {...}, "rows": [...]} where JSON is wanted. */
void report_end(struct report *report, const char *name);

/* Date, version, CPU, cores and GPUs: a new reference. */
json_t *report_machine(void);

/* A field of a row: 0 and NULL where KEY has a different type. */
double report_number(const json_t *row, const char *key);
const char *report_text(const json_t *row, const char *key);

#endif
