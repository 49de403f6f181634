// SPDX-License-Identifier: Apache-2.0
/* framing.h - finds where each message of a connection ends: heads are read whole and checked,
 * bodies are counted, chunks and trailers are read strictly.
 *
 * Used by:  recv_filter.c, on all bytes of a connection, in order.
 * Owns:     nothing.
 * Fails:    for good: nothing passes from the first byte on that two parsers could read
 *           differently.
 * Threads:  the one that reads the connection.
 * Source:   RFC 9112, sections 2.2, 6 and 7.1: every line ends in CR LF, a chunk's size is only
 *           digits. Of the leniencies that the RFC allows, only empty lines before a request.
 */
#ifndef BURIN_FRAMING_H
#define BURIN_FRAMING_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of all trailers, and of a chunk's size line: an unfinished rest is shorter. */
enum { FRAMING_LINES_MAX = 4096 };

/* The next unit. */
enum framing_state {
    FRAMING_HEAD,
    FRAMING_BODY,
    FRAMING_CHUNK_SIZE,
    FRAMING_CHUNK,
    FRAMING_CHUNK_END, /* the CR LF after a chunk */
    FRAMING_TRAILERS,
    FRAMING_STATES
};

/* The part of a refused head that is too long, or asks for too much. */
enum head_excess {
    EXCESS_NONE,
    EXCESS_LINE, /* the request line alone */
    EXCESS_HEAD,
    EXCESS_EXPECTATION /* Expect, of something else than a 100 */
};

/* Zeroed at the start of a connection, except the first two. */
struct framing {
    size_t head_max;    /* bytes */
    uint64_t apart_min; /* a body bypasses the library if this many of its bytes have not come when
                           its head passes; 0: none does */
    enum framing_state state;
    uint64_t left;                  /* bytes of the body or chunk still to come */
    size_t scanned;                 /* bytes of the present head in complete lines */
    size_t trailers, trailer_bytes; /* so far */
    int empty_lines;                /* before the present head */
    int64_t heads;                  /* passed so far, plus the refused one */
    int64_t apart_head;             /* number of the last head whose body bypasses the library */
    uint64_t apart_length;          /* of that body, as its head said */
    bool refused;
    enum head_excess excess; /* of the refused head */
};

/* How many of the next bytes bypass the library; framing_take() counts them. The library expects a
 * shorter body: the bytes that came with the head and one more. That one is the body's last byte,
 * which passes as usual, so that the library sees the end of the body when it comes. */
static inline uint64_t framing_apart(const struct framing *framing) {
    const bool apart = framing->state == FRAMING_BODY && framing->apart_head == framing->heads;
    return apart && framing->left > 1 ? framing->left - 1 : 0;
}

static inline void framing_take(struct framing *framing, uint64_t bytes) {
    framing->left -= bytes;
}

/* Returns how many of BYTES may pass. If not all, either the message is refused and FAILURE says
 * why, or the rest is an unfinished line or head, shorter than the greater of head_max and
 * FRAMING_LINES_MAX: pass it again with more bytes after it. Changes BYTES: cookies, which Burin
 * does not read, get another header name, since the library would copy and parse them and may lack
 * the memory. */
size_t framing_pass(struct framing *framing, char *bytes, size_t length, struct failure *failure);

/* Replaces what was refused: a text that ends the present message in good form. For a head, it is
 * the head of a whole request. */
const char *framing_substitute(const struct framing *framing);

#endif
