// SPDX-License-Identifier: Apache-2.0
/* framing.h - where each message of a connection ends: heads read whole and checked, bodies
 * counted, chunks and trailers read strictly.
 *
 * Used by:  recv_filter.c, on all bytes of a connection, in their order.
 * Owns:     nothing.
 * Fails:    for good: from the first byte that two parsers could read in two ways nothing passes.
 * Threads:  the one that reads the connection.
 * Source:   RFC 9112, sections 2.2, 6 and 7.1: every line ends in CR LF, a chunk's size is digits
 *           alone, none of the leniencies that it allows but the empty line before a request.
 */
#ifndef BURIN_FRAMING_H
#define BURIN_FRAMING_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of trailers and of a chunk's size: what may be left of them to be brought again is less. */
enum { FRAMING_LINES_MAX = 4096 };

/* What comes next. */
enum framing_state {
    FRAMING_HEAD,
    FRAMING_BODY,
    FRAMING_CHUNK_SIZE,
    FRAMING_CHUNK,
    FRAMING_CHUNK_END, /* the CR LF behind it */
    FRAMING_TRAILERS,
    FRAMING_STATES
};

/* What is longer than a head may be. */
enum head_excess { EXCESS_NONE, EXCESS_LINE /* the first alone */, EXCESS_HEAD };

/* Zeroed at the start of a connection, but for the first two. */
struct framing {
    size_t head_max;    /* bytes */
    uint64_t apart_min; /* a body of which so many bytes or more are still to come when its head
                           passes goes its own way, apart from the library; 0: none does */
    enum framing_state state;
    uint64_t left;                  /* bytes of the body or chunk still to come */
    size_t scanned;                 /* bytes of the head under way whose lines are whole */
    size_t trailers, trailer_bytes; /* so far */
    int empty_lines;                /* before the head under way */
    int64_t heads;                  /* that passed, and the refused one */
    int64_t apart_head;             /* the last whose body goes its own way */
    uint64_t apart_length;          /* of that body, as its head said */
    bool refused;
    enum head_excess excess; /* of the refused head */
};

/* Bytes that come next and belong to a body that goes its own way: framing_take() counts them. The
 * library was told of a shorter body, of the bytes that came with the head and one more: the last,
 * which passes as any other, so that it learns of the end when it comes. */
static inline uint64_t framing_apart(const struct framing *framing) {
    const bool apart = framing->state == FRAMING_BODY && framing->apart_head == framing->heads;
    return apart && framing->left > 1 ? framing->left - 1 : 0;
}

static inline void framing_take(struct framing *framing, uint64_t bytes) {
    framing->left -= bytes;
}

/* How many of BYTES may pass. Where that is not all of them, either the rest is part of a line or
 * head, less than the greater of head_max and FRAMING_LINES_MAX, to be brought again with more
 * behind it, or the message is refused: FAILURE says why. Cookies, which nobody here reads, pass
 * under another name: the library would copy and parse them, and may lack the memory. */
size_t framing_pass(struct framing *framing, char *bytes, size_t length, struct failure *failure);

/* Instead of what was refused: a text with which the message that it stands in ends in good form.
 * Where that is a head, it is the head of a request of its own. */
const char *framing_substitute(const struct framing *framing);

#endif
