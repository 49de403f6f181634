// SPDX-License-Identifier: Apache-2.0
/* timing_json.h - the account of a request as JSON: for X-Burin-Timing and `burin run --timing`. */
#ifndef BURIN_TIMING_JSON_H
#define BURIN_TIMING_JSON_H

#include "pipeline/timing.h"

#include <jansson.h>
#include <stdint.h>

struct timing_image {
    const char *type; /* "jpeg"... */
    uint32_t width, height;
    uint8_t channels, depth;
    uint64_t bytes; /* encoded */
};

struct timing_report {
    const char *request_id; /* NULL: left out */
    const char *device;
    struct timing_image input, output;
    const struct timing *timing;
    uint32_t notes; /* enum note bits */
};

/* {"request_id", "device", "input": {...}, "output": {...}, "notes": [...], "ms": {stages,
 * "operators" behind compute, "total"}}. Milliseconds are rounded to 0.001: write with
 * JSON_REAL_PRECISION(9). A new reference; NULL where memory is short. */
json_t *timing_json(const struct timing_report *report);

#endif
