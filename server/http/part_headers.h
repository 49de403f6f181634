// SPDX-License-Identifier: Apache-2.0
/* part_headers.h - the headers of one part of a form, line by line.
 *
 * Used by:  multipart.c.
 * Owns:     nothing: no heap.
 * Fails:    STATUS_BAD_REQUEST with a sentence that names the part by its number.
 * Threads:  one at a time.
 * Limits:   a line of PART_LINE_MAX bytes; no nested multipart and no transfer encoding.
 * Source:   RFC 7578 and 2183; folded lines are refused.
 */
#ifndef BURIN_PART_HEADERS_H
#define BURIN_PART_HEADERS_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PART_LINE_MAX = 4096, /* a header line with its CR LF */
    PART_NAME_MAX = 128,
    PART_FILENAME_MAX = 256,
    PART_TYPE_MAX = 128,
};

/* Texts are free of control characters, terminated, and as the client sent them, not trusted. */
struct part {
    char name[PART_NAME_MAX];
    char filename[PART_FILENAME_MAX]; /* cut off where it is longer; "" without one */
    char content_type[PART_TYPE_MAX]; /* cut off likewise; "" without one */
    bool has_filename;
};

/* All fields but `part` are part_headers.c's. */
struct part_headers {
    struct part part; /* valid once all its headers have come */
    int number;       /* 1, 2... */
    bool has_disposition, has_type;
    size_t bytes; /* of this part's headers, so far */
    size_t line_length;
    char line[PART_LINE_MAX];
};

void part_headers_begin(struct part_headers *headers, int number);

/* Reads [*AT, END) up to the empty line that ends the headers, at most BYTES_MAX of them, and moves
 * *AT on; *COMPLETE: it has come. */
enum status part_headers_read(struct part_headers *headers, const uint8_t **at, const uint8_t *end,
                              size_t bytes_max, bool *complete, struct failure *failure);

#endif
