// SPDX-License-Identifier: Apache-2.0
/* timing_report.h - the report of a request as JSON: its images, and the time of each stage.
 *
 * Used by:  http/reply.c (X-Burin-Timing and multipart answers), one_run.c (--timing).
 * Owns:     nothing; timing_report_write writes into the caller's memory, and the caller frees the
 *           text of timing_report_print.
 * Fails:    timing_report_print returns NULL without memory.
 * Threads:  any; no state.
 * Limits:   every report fits in TIMING_REPORT_MAX bytes; values of REPORT_VALUES_MAX within it.
 */
#ifndef BURIN_TIMING_REPORT_H
#define BURIN_TIMING_REPORT_H

#include "pipeline/codec.h"
#include "pipeline/timing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longer values are left out: proxies take response headers of 4 to 8 KB in all. */
enum { REPORT_VALUES_MAX = 1024, TIMING_REPORT_MAX = 8192 + REPORT_VALUES_MAX };

struct report_image {
    const char *type; /* "jpeg"... */
    uint32_t width, height;
    uint8_t channels, depth;
    uint64_t bytes;         /* encoded */
    struct fitting fitting; /* written if there were tries */
};

struct report_image timing_report_image(const struct image *shape, enum format format,
                                        uint64_t bytes);

/* One of several. */
struct report_result {
    const char *name;
    struct report_image image;
    uint32_t notes;
    double compute_ms, encode_ms; /* below 0: not known */
};

struct timing_report {
    const char *request_id; /* NULL: left out */
    const char *device;
    struct report_image input, output;
    bool several;                        /* `output` is left out */
    const struct report_result *results; /* if several; NULL: left out */
    int result_count;
    const struct timing *timing;
    uint32_t notes;       /* enum note bits */
    const char *warning;  /* an additional note, with NOTE_DAMAGED */
    const char *ignored;  /* parameters that did nothing, for a further note; NULL or "": none */
    const char *values;   /* of values_json_write(); needs no zero byte */
    size_t values_length; /* 0: no step reported values */
};

/* Writes {"request_id", "device", "input": {...}, "output": {..., and "quality" and "tries" if a
 * quality was searched for}, "notes": [...], "ms": {stages, "operators" after compute,
 * "decode_kernels" and "encode_kernels" after decode and encode if a GPU did them, "total"},
 * "values": [...]} in one line; milliseconds with three decimals. "values" is the last member, and
 * left out if it is longer than REPORT_VALUES_MAX or empty. Returns the length. */
size_t timing_report_write(const struct timing_report *report, char text[TIMING_REPORT_MAX]);

/* The same with all results: "manifest": [{"name", "type", "width", ..., "bytes", "ms":
 * {"compute", "encode"} as far as they are known, and "notes" if there are any}, ...]. Heap. */
char *timing_report_print(const struct timing_report *report);

#endif
