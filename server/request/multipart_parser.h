// SPDX-License-Identifier: Apache-2.0
/* multipart_parser.h - a parser of multipart/form-data that takes pieces of any size and returns
 * one event after the other.
 *
 * A delimiter is a whole line, `--boundary` and blanks; a line that only starts like that is data.
 * At the end of the body the closing one needs no line end. Lines end in CR LF.
 *
 * Used by:  upload.c; a multipart is part of its request.
 * Owns:     nothing: no heap, no release.
 * Fails:    STATUS_BAD_REQUEST with a sentence; later calls return the same status without one.
 * Threads:  one at a time.
 * Limits:   those of struct multipart_limits; BOUNDARY_MAX and DELIMITER_BLANKS_MAX; a header line
 *           of PART_LINE_MAX bytes, unfolded; no nested multipart or transfer encoding.
 * Source:   RFC 7578 and 2183, and 2046, section 5.1.
 */
#ifndef BURIN_MULTIPART_PARSER_H
#define BURIN_MULTIPART_PARSER_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BOUNDARY_MAX = 70, /* characters */
    DELIMITER_BLANKS_MAX = 32,
    PART_LINE_MAX = 4096, /* a header, perhaps of several lines, with its last CR LF */
    PART_NAME_MAX = 128,
    PART_FILENAME_MAX = 256,
    PART_TYPE_MAX = 128,
};

struct multipart_limits {
    int parts_max;
    size_t part_headers_bytes; /* all header lines of a part and the empty one, with their CR LF */
};

/* Texts as the client sent them, terminated, without control characters; do not trust them. */
struct part {
    char name[PART_NAME_MAX];
    char filename[PART_FILENAME_MAX]; /* cut off if longer; "": none */
    char content_type[PART_TYPE_MAX]; /* cut off if longer; "": none */
    bool has_filename;
};

/* For each part: one PART_BEGIN, any number of DATA, one PART_END. */
enum multipart_event_kind {
    MULTIPART_MORE, /* all bytes are read; the next event needs more */
    MULTIPART_PART_BEGIN,
    MULTIPART_DATA,
    MULTIPART_PART_END
};

struct multipart_event {
    enum multipart_event_kind kind;
    const struct part *part; /* of PART_BEGIN; valid until PART_END */
    const uint8_t *bytes;    /* of DATA: a slice of the caller's bytes, or, after an incomplete
                                delimiter, of the parser's memory until the next call */
    size_t length;           /* at least 1 */
};

/* The following structs are public only to be embedded; only multipart_parser.c uses their
 * fields. */
struct delimiter {
    /* CR LF - - boundary, then the tail as it came. Both may turn out to be data, which is returned
     * from here, since the piece that it came in may be gone. */
    char text[4 + BOUNDARY_MAX + 2 + DELIMITER_BLANKS_MAX + 1];
    size_t length;      /* without the tail; 0: not set */
    size_t matched;     /* bytes of it that the last piece ended with */
    size_t assumed;     /* how many of these never came: 2 at the start of a line, else 0 */
    size_t tail_length; /* of the tail so far */
};

struct part_headers {
    struct part part; /* valid once all its headers have come */
    int number;       /* 1, 2... */
    bool has_disposition, has_type;
    size_t bytes;    /* of this part's headers, so far */
    bool line_ended; /* `line` is a header, unless the next line continues it */
    size_t line_length;
    char line[PART_LINE_MAX];
};

struct multipart {
    struct multipart_limits limits;
    enum status status; /* the failure that ended the parsing */
    int state;
    int parts;    /* begun so far */
    bool in_part; /* between PART_BEGIN and PART_END */
    struct delimiter delimiter;
    struct part_headers headers;
};

/* Whether CONTENT_TYPE (may be NULL) is multipart/form-data. */
bool multipart_is(const char *content_type);

/* CONTENT_TYPE is the header's value, with the boundary. */
enum status multipart_init(struct multipart *multipart, const char *content_type,
                           const struct multipart_limits *limits, struct failure *failure);

/* The next event of [*AT, END); advances *AT. Call it until it returns MULTIPART_MORE. */
enum status multipart_next(struct multipart *multipart, const uint8_t **at, const uint8_t *end,
                           struct multipart_event *event, struct failure *failure);

/* Whether the next bytes belong to a part's data. *KEPT: the number of bytes that the parser keeps
 * back because they may begin a delimiter. */
bool multipart_in_data(const struct multipart *multipart, size_t *kept);

/* The body is complete: fails if the closing boundary never came. EVENT may be one more
 * PART_END. */
enum status multipart_finish(struct multipart *multipart, struct multipart_event *event,
                             struct failure *failure);

#endif
