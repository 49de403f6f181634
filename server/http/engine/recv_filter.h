// SPDX-License-Identifier: Apache-2.0
/* recv_filter.h - between the sockets and libmicrohttpd: the library receives only whole heads that
 * request_check accepted, and bodies with sound framing (README.md explains why).
 *
 * In place of refused bytes the library gets the end of a well-formed request (framing.h), so that
 * it calls our handler, which finds the refusal here and answers. The bytes after it are read and
 * dropped; once the library has closed the connection, lingering_close.h drops them.
 *
 * Used by:  connection.c.
 * Owns:     the bytes of an incomplete head or line.
 * Fails:    recv_filter_open returns NULL: no memory, or a descriptor of a million or more.
 * Threads:  the I/O thread of the connection.
 */
#ifndef BURIN_RECV_FILTER_H
#define BURIN_RECV_FILTER_H

#include "pipeline/status.h"
#include "server/http/engine/admission.h"
#include "server/http/engine/deadline.h"
#include "server/http/engine/framing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Receives large bodies straight from the socket, rather than through the library 16 KiB at a time.
 * Of a body of at least APART_MIN bytes the library gets only the bytes that came with the head and
 * the last one, and passes these to its handler as usual. The functions are called while the
 * library reads. */
struct recv_sink {
    /* Whether the library's handler has begun the connection's request NUMBER. A client that does
     * not wait for answers may be ahead of it: the body then waits. */
    bool (*begun)(void *context, int64_t number);
    /* Returns where to store the next *SIZE bytes or fewer; may lower *SIZE. NULL: nowhere now. */
    void *(*buffer)(void *context, size_t *size);
    /* LENGTH bytes of the body have come, into that buffer or, without one, to BYTES. False: end
     * the connection. */
    bool (*received)(void *context, const void *bytes, size_t length);
    void *context;
};

/* APART_READ_MAX: the most that a call reads of a body. The first write to a page of a slot costs
 * 0.56 ms a MB, and the thread's other connections wait meanwhile. */
enum { APART_MIN = 16 << 10, APART_READ_MAX = 256 << 10 };

struct recv_filter;

/* FD: the connection's. HEAD_MAX: bytes of a head. DEADLINE (may be NULL) enters the headers phase
 * when a head begins to come. SINK is copied; NULL: all bodies go through the library. Without a
 * filter nothing may be served. */
struct recv_filter *recv_filter_open(int fd, size_t head_max, struct deadline *deadline,
                                     const struct recv_sink *sink);

/* From now on requests may be kept out: admission.h decides by ENTRY, the connection's. */
void recv_filter_set_entry(struct recv_filter *filter, struct admission_entry *entry);

/* True: the body of request NUMBER bypassed the library, which saw another length in the head.
 * *LENGTH is the real one then. */
bool recv_filter_bypassed(const struct recv_filter *filter, int64_t number, int64_t *length);

/* Call it before FD is closed. Accepts NULL. */
void recv_filter_close(struct recv_filter *filter);

/* When the head of the connection's request NUMBER (1, 2...) began to come, if it did not come at
 * once; else 0. CLOCK_MONOTONIC ns. */
int64_t recv_filter_request_start_ns(const struct recv_filter *filter, int64_t number);

/* Part of a head has come. */
bool recv_filter_has_partial_head(const struct recv_filter *filter);

/* A request was refused; it is the last one of its connection. */
bool recv_filter_has_refused(const struct recv_filter *filter);

/* True: the head or body of request NUMBER was refused. FAILURE says why, *EXCESS which part of its
 * head was too long. A request that did not come through the filter counts as refused. */
bool recv_filter_refusal(const struct recv_filter *filter, int64_t number, struct failure *failure,
                         enum head_excess *excess);

#endif
