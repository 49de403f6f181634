// SPDX-License-Identifier: Apache-2.0
/* recv_filter.h - stands between the sockets and libmicrohttpd: nothing reaches the library but
 * whole heads that request_check accepted, and bodies whose framing is sound (README.md explains
 * why).
 *
 * Instead of what is refused the library gets the end of a request in good form (framing.h), so
 * that it calls our handler, which finds the refusal here and answers. What follows is read and
 * dropped; once the library has closed, lingering_close.h does that.
 *
 * Used by:  connection.c.
 * Owns:     the part of a head that has come so far, until it is whole.
 * Fails:    recv_filter_open returns NULL: no memory, or a descriptor beyond a million.
 * Threads:  the connection's own.
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

/* Where large bodies go: not through the library, 16 KiB at a time, but from the socket to their
 * place. Of a body of at least APART_MIN bytes the library gets those that came with the head, and
 * the last one; it calls its handler with these as with any others. Both are called while it reads,
 * for the body of the connection's request NUMBER. */
struct recv_sink {
    /* The place for what comes next, *ROOM bytes or fewer: set it. NULL: none at present. */
    void *(*place)(void *context, int64_t number, size_t *room);
    /* LENGTH bytes of the body have come, to that place or, without one, to where they lie now.
     * false: the connection ends. */
    bool (*take)(void *context, int64_t number, const void *bytes, size_t length);
    void *context;
};

/* A call stops when it has read so much of a body: the first write to a page of a slot costs 0.56
 * ms a MB, and the io thread's other connections wait for it. */
enum { APART_MIN = 16 << 10, APART_READ_MAX = 256 << 10 };

struct recv_filter;

/* For connection FD, heads of HEAD_MAX bytes at most. DEADLINE (may be NULL) learns when a head
 * has begun to come. SINK is copied; NULL: all bodies go through the library. Without a filter
 * nothing may be served. */
struct recv_filter *recv_filter_open(int fd, size_t head_max, struct deadline *deadline,
                                     const struct recv_sink *sink);

/* Requests may be kept out: ENTRY, the connection's, says when. */
void recv_filter_set_entry(struct recv_filter *filter, struct admission_entry *entry);

/* Did the body of request NUMBER pass by the library, which was told another length? Then *LENGTH
 * is what its head said. */
bool recv_filter_passed_by(const struct recv_filter *filter, int64_t number, int64_t *length);

/* Before FD is closed. Accepts NULL. */
void recv_filter_close(struct recv_filter *filter);

/* When the head of the connection's request NUMBER (1, 2...) began to come, if that was some time
 * before it was whole; else 0. CLOCK_MONOTONIC ns. */
int64_t recv_filter_request_start_ns(const struct recv_filter *filter, int64_t number);

/* Part of a head has come, the rest has not. */
bool recv_filter_has_partial_head(const struct recv_filter *filter);

/* Something was refused: the last request of its connection. */
bool recv_filter_has_refused(const struct recv_filter *filter);

/* Was request NUMBER refused, its head or its body? Then FAILURE says why, and *EXCESS what
 * of its head was too long. A request that did not come through the filter is refused, too. */
bool recv_filter_refusal(const struct recv_filter *filter, int64_t number, struct failure *failure,
                         enum head_excess *excess);

#endif
