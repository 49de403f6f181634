// SPDX-License-Identifier: Apache-2.0
/* deadline.h - the deadline of one connection: each phase of a request has its own.
 *
 * A phase that lasts too long ends with a shutdown of the socket, once, never with a close: the
 * library then closes it and calls its completion hook (README.md: its own timeout begins anew with
 * each byte). Made and removed by deadline_thread.h.
 *
 * Used by:  connection.c, recv_filter.c and http/request_flow.c, as a request proceeds.
 * Threads:  one at a time, the one that runs the connection's handler. Entering a phase is one
 *           atomic store and a reading of the clock; the waiting phase also takes a mutex that only
 *           the deadlines' thread shares, and a long answer asks the kernel once and wakes that
 *           thread.
 * Limits:   every function accepts a NULL deadline and does nothing then.
 */
#ifndef BURIN_DEADLINE_H
#define BURIN_DEADLINE_H

#include <stdint.h>

struct deadline;

/* A request line has come. The deadline of the first request runs from the connection on. */
void deadline_enter_headers(struct deadline *deadline);

/* The first bytes of a request have come: its deadline begins, if the connection was idle. */
void deadline_request_started(struct deadline *deadline);

/* A body of EXPECTED bytes comes, -1 if unknown. It may take body_ms, or as long as the bytes so
 * far (deadline_body_progress) take at body_rate_bytes: at most max(body_ms, EXPECTED / rate). So a
 * client that announces much and sends nothing is cut off after body_ms. */
void deadline_enter_body(struct deadline *deadline, int64_t expected);

/* BYTES of the body have come since the phase began. */
void deadline_body_progress(struct deadline *deadline, int64_t bytes);

/* The body or the answer under way keeps a slot from others, and BYTES of memory; 0: nothing. Until
 * the next phase. Who holds something can be let go sooner while others are refused: pressure.h. */
void deadline_hold(struct deadline *deadline, int64_t bytes);

/* The request is suspended; no deadline here. If the client disconnects (a FIN is enough), or has
 * done so before, GONE(argument) is called once, from the deadlines' thread, and never again once
 * the next phase is entered: entering it waits for a call under way. So GONE must be brief, must
 * enter no phase of its own connection, and may take only locks that no thread holds while it
 * enters a phase. */
void deadline_enter_waiting(struct deadline *deadline, void (*gone)(void *argument),
                            void *argument);

/* An answer of BYTES is sent. It may take write_ms, or as long as the bytes that the client has
 * acknowledged take at write_rate_bytes; and it is over when no byte is acknowledged for write_ms.
 * So a client that requests much and reads nothing is cut off after write_ms. On a unix socket,
 * where nobody knows what was received: max(write_ms, BYTES / write_rate_bytes). */
void deadline_enter_write(struct deadline *deadline, int64_t bytes);

/* The answer is sent; the connection is kept open. */
void deadline_enter_idle(struct deadline *deadline);

#endif
