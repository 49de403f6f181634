// SPDX-License-Identifier: Apache-2.0
/* delimiter.h - finds the delimiter of a multipart body, CR LF -- boundary, in pieces of any size,
 * and reads the tail behind it: `--` where it closes the body, blanks, CR LF.
 *
 * Used by:  multipart.c.
 * Owns:     nothing: no heap.
 * Threads:  one at a time.
 * Limits:   BOUNDARY_MAX characters, DELIMITER_BLANKS_MAX blanks.
 * Source:   RFC 2046, section 5.1.1.
 */
#ifndef BURIN_DELIMITER_H
#define BURIN_DELIMITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BOUNDARY_MAX = 70, DELIMITER_BLANKS_MAX = 32 };

struct delimiter {
    /* CR LF - - boundary, and behind it the tail as it came: both may turn out to be data, and are
     * handed on from here, since the piece they came in may be gone. */
    char text[4 + BOUNDARY_MAX + 2 + DELIMITER_BLANKS_MAX + 1];
    size_t length;      /* without the tail; 0: not set */
    size_t matched;     /* bytes of it that the last piece ended with */
    size_t assumed;     /* so many of them, 2 or 0, never came: a line starts here as it is */
    size_t tail_length; /* of the tail so far */
};

/* A boundary may consist of these characters? */
bool delimiter_is_boundary(const char *text, size_t length);

void delimiter_set(struct delimiter *delimiter, const char *boundary, size_t length);

/* What comes next begins a line, without a CR LF before it. */
void delimiter_at_line_start(struct delimiter *delimiter);

/* Where a delimiter may begin, as far as its first four bytes tell; END if nowhere. */
const uint8_t *delimiter_find(const uint8_t *p, const uint8_t *end);

/* Compares on from `matched`; returns how many bytes of [p, end) belong to it. */
size_t delimiter_match(struct delimiter *delimiter, const uint8_t *p, const uint8_t *end);

static inline bool delimiter_is_whole(const struct delimiter *delimiter) {
    return delimiter->matched == delimiter->length;
}

/* Is the tail, followed by C, still the start of `[--] blanks CR LF`? */
bool delimiter_tail_fits(const struct delimiter *delimiter, char c);

/* false: it has too many blanks. */
bool delimiter_tail_add(struct delimiter *delimiter, char c);

/* The tail begins with --. */
bool delimiter_closes(const struct delimiter *delimiter);

#endif
