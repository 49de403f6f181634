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
#include "server/http/engine/deadline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recv_filter;

/* For connection FD, heads of HEAD_MAX bytes at most. DEADLINE (may be NULL) learns when a head
 * has begun to come. Without a filter nothing may be served. */
struct recv_filter *recv_filter_open(int fd, size_t head_max, struct deadline *deadline);

/* Before FD is closed. Accepts NULL. */
void recv_filter_close(struct recv_filter *filter);

/* When the head of the connection's request NUMBER (1, 2...) began to come, if that was some time
 * before it was whole; else 0. CLOCK_MONOTONIC ns. */
int64_t recv_filter_request_start_ns(const struct recv_filter *filter, int64_t number);

/* Part of a head has come, the rest has not. */
bool recv_filter_has_partial_head(const struct recv_filter *filter);

/* Something was refused: the last request of its connection. */
bool recv_filter_has_refused(const struct recv_filter *filter);

/* Was request NUMBER refused, its head or its body? Then FAILURE says why, and *TOO_LONG whether it
 * was for the length of its head. A request that did not come through the filter is refused, too.
 */
bool recv_filter_refusal(const struct recv_filter *filter, int64_t number, struct failure *failure,
                         bool *too_long);

#endif
