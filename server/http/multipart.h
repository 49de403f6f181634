// SPDX-License-Identifier: Apache-2.0
/* multipart.h - multipart/form-data as it comes in, in pieces of any size.
 *
 * Used by:  the handlers of uploads, a multipart in their request's state.
 * Owns:     nothing: no heap, no release. Data reach the callback as slices of the caller's bytes;
 *           only what may turn out to be a boundary at the end of a piece is held back.
 * Fails:    STATUS_BAD_REQUEST with a sentence, or whatever the sink returned. After a failure
 *           every later call returns the same and writes nothing.
 * Threads:  one at a time.
 * Limits:   those of struct multipart_limits; a header line of MULTIPART_LINE_MAX bytes; no nested
 *           multipart and no transfer encoding.
 *
 * A delimiter is a whole line, `--boundary` and blanks; a line that merely starts so is data. The
 * closing one needs no line end where the body ends. Lines end in CR LF.
 */
#ifndef BURIN_MULTIPART_H
#define BURIN_MULTIPART_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MULTIPART_BOUNDARY_MAX = 70, /* RFC 2046 */
    MULTIPART_LINE_MAX = 4096,   /* a header line with its CR LF */
    MULTIPART_BLANKS_MAX = 32,   /* behind a boundary */
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

/* Called from multipart_feed and multipart_finish, in order: begin, data (any number), end. PART is
 * valid until the part ends. A status other than STATUS_OK ends the parsing; FAILURE is the
 * caller's of feed or finish, to be filled. */
struct multipart_sink {
    void *context;
    enum status (*part_begin)(void *context, const struct part *part, struct failure *failure);
    enum status (*part_data)(void *context, const uint8_t *bytes, size_t length,
                             struct failure *failure);
    enum status (*part_end)(void *context, struct failure *failure);
};

/* Open only so that it can be embedded; all fields are multipart.c's. */
struct multipart {
    struct multipart_sink sink;
    struct multipart_limits limits;
    enum status status; /* the failure that ended the parsing */
    int state;
    int parts; /* begun so far */

    char delimiter[4 + MULTIPART_BOUNDARY_MAX]; /* CR LF - - boundary */
    size_t delimiter_length;
    size_t matched; /* bytes of the delimiter that the last piece ended with */
    size_t assumed; /* so many of them, 2 or 0, never came: a line starts here as it is */

    char tail[2 + MULTIPART_BLANKS_MAX + 1]; /* what followed the delimiter: -- blanks CR */
    size_t tail_length;

    struct part part;
    bool in_part; /* part_begin was called, part_end not yet */
    bool has_disposition, has_type;
    size_t header_bytes; /* of this part */
    size_t line_length;
    char line[MULTIPART_LINE_MAX];
};

/* Does this Content-Type announce a body for this parser? */
bool multipart_is(const char *content_type);

/* CONTENT_TYPE is the header's value, with the boundary. */
enum status multipart_init(struct multipart *multipart, const char *content_type,
                           const struct multipart_limits *limits, const struct multipart_sink *sink,
                           struct failure *failure);

enum status multipart_feed(struct multipart *multipart, const void *bytes, size_t length,
                           struct failure *failure);

/* The body is complete: fails if the closing boundary never came. */
enum status multipart_finish(struct multipart *multipart, struct failure *failure);

#endif
