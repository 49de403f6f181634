// SPDX-License-Identifier: Apache-2.0
/* run_report.h - what `burin run` prints of a result: values and notes, or JSON.
 *
 * Used by:  one_run.c, command_run.c, many_run.c, command_info.c.
 * Owns:     nothing.
 * Threads:  any; no state.
 */
#ifndef BURIN_RUN_REPORT_H
#define BURIN_RUN_REPORT_H

#include "pipeline/device.h"
#include "pipeline/plan.h"
#include "server/api/timing_report.h"

#include <jansson.h>
#include <stdio.h>

struct run_report {
    const struct plan *plan;
    const struct image *shapes;  /* of plan_shapes */
    const struct values *values; /* of each step */
    const char *source, *output; /* paths; output NULL: none was written */
    const struct device_driver *driver;
    int index; /* of its device */
    struct report_image input, result;
    const struct timing *timing;
    uint32_t notes;      /* enum note bits */
    const char *warning; /* with NOTE_DAMAGED */
};

/* Values on standard output, or standard error if the image is there, and notes on standard error,
 * unless QUIET. */
void run_report_text(const struct run_report *report, bool quiet);

/* The time of each stage, as JSON with indents, where values would go. */
void run_report_timing(const struct run_report *report);

/* {"input", "output", "type", "width", "height", "bytes", "ms", "notes", "values"} in one line. */
void run_report_line(const struct run_report *report, FILE *lines);

/* {"input": PATH, and the members of OBJECT} in one line. */
void run_report_members(const char *path, json_t *object, FILE *lines);

/* The failure of SOURCE, which may be NULL: {"input", "error"} to LINES, or as text to standard
 * error if that is NULL. */
void run_report_failure(const char *source, enum status status, const struct failure *failure,
                        FILE *lines);

#endif
