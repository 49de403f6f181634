// SPDX-License-Identifier: Apache-2.0
/* multipart.h - multipart/form-data as it comes in, in pieces of any size: a parser that returns
 * one event after the other.
 *
 * A delimiter is a whole line, `--boundary` and blanks; a line that merely starts so is data. The
 * closing one needs no line end where the body ends. Lines end in CR LF.
 *
 * Used by:  upload.c, a multipart in its exchange's memory.
 * Owns:     nothing: no heap, no release.
 * Fails:    STATUS_BAD_REQUEST with a sentence; every later call returns the same, without one.
 * Threads:  one at a time.
 * Limits:   those of struct multipart_limits; BOUNDARY_MAX and DELIMITER_BLANKS_MAX; a header line
 *           of PART_LINE_MAX bytes; no folded line, nested multipart or transfer encoding.
 * Source:   RFC 7578 and 2183, and 2046, section 5.1.
 */
#ifndef BURIN_MULTIPART_H
#define BURIN_MULTIPART_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BOUNDARY_MAX = 70, /* characters */
    DELIMITER_BLANKS_MAX = 32,
    PART_LINE_MAX = 4096, /* a header line with its CR LF */
    PART_NAME_MAX = 128,
    PART_FILENAME_MAX = 256,
    PART_TYPE_MAX = 128,
};

struct multipart_limits {
    int parts_max;
    size_t part_headers_bytes; /* all header lines of a part and the empty one, with their CR LF */
};

/* Texts are free of control characters, terminated, and as the client sent them, not trusted. */
struct part {
    char name[PART_NAME_MAX];
    char filename[PART_FILENAME_MAX]; /* cut off where it is longer; "" without one */
    char content_type[PART_TYPE_MAX]; /* cut off likewise; "" without one */
    bool has_filename;
};

/* For each part: one PART_BEGIN, any number of DATA, one PART_END. */
enum multipart_event_kind {
    MULTIPART_MORE, /* all bytes are read: the next event needs more of them */
    MULTIPART_PART_BEGIN,
    MULTIPART_DATA,
    MULTIPART_PART_END
};

struct multipart_event {
    enum multipart_event_kind kind;
    const struct part *part; /* of PART_BEGIN; valid until PART_END */
    const uint8_t *bytes;    /* of DATA: a slice of the caller's bytes, or, for what first looked
                                like a delimiter, of the parser's until the next call */
    size_t length;           /* at least 1 */
};

/* Open only so that they can be embedded; all fields of the following are multipart.c's. */
struct delimiter {
    /* CR LF - - boundary, and behind it the tail as it came: both may turn out to be data, and are
     * handed on from here, since the piece they came in may be gone. */
    char text[4 + BOUNDARY_MAX + 2 + DELIMITER_BLANKS_MAX + 1];
    size_t length;      /* without the tail; 0: not set */
    size_t matched;     /* bytes of it that the last piece ended with */
    size_t assumed;     /* so many of them, 2 or 0, never came: a line starts here as it is */
    size_t tail_length; /* of the tail so far */
};

struct part_headers {
    struct part part; /* valid once all its headers have come */
    int number;       /* 1, 2... */
    bool has_disposition, has_type;
    size_t bytes; /* of this part's headers, so far */
    size_t line_length;
    char line[PART_LINE_MAX];
};

struct multipart {
    struct multipart_limits limits;
    enum status status; /* the failure that ended the parsing */
    int state;
    int parts;    /* begun so far */
    bool in_part; /* PART_BEGIN was emitted, PART_END not yet */
    struct delimiter delimiter;
    struct part_headers headers;
};

/* Does this Content-Type announce a body for this parser? */
bool multipart_is(const char *content_type);

/* CONTENT_TYPE is the header's value, with the boundary. */
enum status multipart_init(struct multipart *multipart, const char *content_type,
                           const struct multipart_limits *limits, struct failure *failure);

/* The next event of [*AT, END); moves *AT on. To be called until it says MULTIPART_MORE. */
enum status multipart_next(struct multipart *multipart, const uint8_t **at, const uint8_t *end,
                           struct multipart_event *event, struct failure *failure);

/* What comes next are data of a part, or *KEPT bytes of it wait here for what comes, because they
 * may begin a delimiter. */
bool multipart_in_data(const struct multipart *multipart, size_t *kept);

/* The body is complete: fails if the closing boundary never came. EVENT may be one more PART_END.
 */
enum status multipart_finish(struct multipart *multipart, struct multipart_event *event,
                             struct failure *failure);

#endif
