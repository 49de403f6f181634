// SPDX-License-Identifier: Apache-2.0
/* metrics_sheet.h - the text of /metrics while it is written, in one of its two forms.
 *
 * Used by:  metrics.c; metrics_workers.c, which writes what workers report.
 * Owns:     nothing.
 * Fails:    never; the stream keeps its error.
 * Threads:  the one that prints.
 */
#ifndef BURIN_METRICS_SHEET_H
#define BURIN_METRICS_SHEET_H

#include "server/api/metrics.h"

/* The two forms differ in the names of counters' heads, in exemplars and in their end. */
struct sheet {
    FILE *out;
    bool open; /* OpenMetrics, not Prometheus' older text */
};

/* NAME: without burin_. TYPE: "counter"... */
void sheet_head(const struct sheet *sheet, const char *name, const char *type, const char *help);

/* Jobs, restarts, predictions and readings of each worker and its GPU. */
void metrics_print_workers(const struct metrics_now *now, const struct sheet *sheet);

#endif
