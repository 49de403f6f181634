// SPDX-License-Identifier: Apache-2.0
/* account.h - where the time of a request went, as JSON: for X-Burin-Timing, multipart answers and
 * `burin run --timing`. */
#ifndef BURIN_ACCOUNT_H
#define BURIN_ACCOUNT_H

#include "pipeline/probe.h"
#include "pipeline/timing.h"

#include <stddef.h>
#include <stdint.h>

enum { ACCOUNT_MAX = 8192 }; /* bytes that every account fits in */

struct account_image {
    const char *type; /* "jpeg"... */
    uint32_t width, height;
    uint8_t channels, depth;
    uint64_t bytes; /* encoded */
};

struct account_image account_image_of(const struct image *shape, enum format format,
                                      uint64_t bytes);

struct account {
    const char *request_id; /* NULL: left out */
    const char *device;
    struct account_image input, output;
    const struct timing *timing;
    uint32_t notes;      /* enum note bits */
    const char *warning; /* with NOTE_DAMAGED: a further note */
};

/* {"request_id", "device", "input": {...}, "output": {...}, "notes": [...], "ms": {stages,
 * "operators" behind compute, "total"}} in one line; milliseconds with three decimals. Returns its
 * length. */
size_t account_write(const struct account *account, char text[ACCOUNT_MAX]);

#endif
