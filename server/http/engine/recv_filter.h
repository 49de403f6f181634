// SPDX-License-Identifier: Apache-2.0
/* filter.h - stands between the sockets and libmicrohttpd: nothing reaches the library but whole
 * heads that the gate has judged, and bodies in their framing.
 *
 * Used by:  front.c: recv_filter_open and recv_filter_close from MHD_OPTION_NOTIFY_CONNECTION, the rest from
 *           the handler.
 * How:      the library reads its sockets by recv(2), and it is this file's function of that name
 *           that it finds: the program comes before libc where a shared library's names are looked
 *           up. Other descriptors pass through untouched.
 * Why:      left alone, libmicrohttpd 0.9.75 sends the head of its answer twice to a Content-Length
 *           that is no number; hides bare LF line ends, a NUL, a folded line; and takes a bare LF
 *           between chunks (measured).
 * Owns:     the part of a head that has come so far, until it is whole.
 * Refusal:  instead of what is refused the library is given the end of a request in good form
 *           (framing.h), so that it comes to our handler, which finds the refusal here and answers.
 *           What follows is read and dropped (and once the library has closed, by lingering.h).
 * Threads:  the connection's own.
 */
#ifndef BURIN_RECV_FILTER_H
#define BURIN_RECV_FILTER_H

#include "pipeline/status.h"
#include "server/http/engine/deadlines.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recv_filter;

/* For connection FD, heads of HEAD_MAX bytes at most. WATCHED (may be NULL) is told when a head has
 * begun to come. NULL: no memory, or a descriptor beyond a million; nothing may be served then. */
struct recv_filter *recv_filter_open(int fd, size_t head_max, struct deadline *deadline);

/* Before FD is closed. Takes NULL. */
void recv_filter_close(struct recv_filter *filter);

/* When the head of the connection's request NUMBER (1, 2...) began to come, if that was some time
 * before it was whole; else 0. CLOCK_MONOTONIC ns. */
int64_t recv_filter_request_start_ns(const struct recv_filter *filter, int64_t number);

/* Part of a head has come, the rest has not. */
bool recv_filter_has_partial_head(const struct recv_filter *filter);

/* Something was refused: the last request of its connection. */
bool recv_filter_has_refused(const struct recv_filter *filter);

/* Was request NUMBER refused, its head or its body? Then FAILURE says why, and *TOO_LONG whether it
 * was for the length of its head. A request that never came through is refused, too. */
bool recv_filter_refusal(const struct recv_filter *filter, int64_t number, struct failure *failure,
                         bool *too_long);

#endif
