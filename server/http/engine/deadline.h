// SPDX-License-Identifier: Apache-2.0
/* deadline.h - the deadline of each connection, and the one thread that watches them all: for
 * deadlines that pass and for clients that disconnect.
 *
 * Each phase of a request has its own deadline. When it passes, the socket is shut down, once, and
 * never closed: the library closes it then and calls its completion hook. (README.md: the library's
 * own timeout starts again with each byte.)
 *
 * Used by:  front.c creates the thread; connection.c adds and removes connections; connection.c,
 *           recv_filter.c, admission.c and http/request_flow.c enter phases; api/metrics.c prints
 *           the counts. Ends before a deadline: eviction.h.
 * Owns:     the thread and each struct deadline; never a file descriptor.
 * Fails:    deadline_thread_create and deadline_thread_add return NULL.
 * Threads:  deadline_thread_*: any. deadline_*: the I/O thread of the connection. Entering a phase
 *           is an atomic store and a reading of the clock; the waiting phase also takes a mutex
 *           that only the deadline thread shares, and a long answer also asks the kernel once and
 *           wakes that thread.
 * Limits:   a passed deadline is noticed at most 100 ms late. The deadline of a long answer depends
 *           on the client's pace and is noticed a sixteenth of write_ms late, at most 1 s. Times
 *           are of CLOCK_MONOTONIC.
 */
#ifndef BURIN_DEADLINE_H
#define BURIN_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

struct pressure_options;

/* A time of 0: no deadline. A rate of 0: no extra time for size. Rates are bytes a second. */
struct deadline_limits {
    long header_ms;        /* from the connection, or a request's first bytes, to its body */
    long body_ms;          /* for a body of any size */
    long body_rate_bytes;  /* a body that takes longer must average this rate */
    long keep_alive_ms;    /* between two requests */
    long write_ms;         /* for an answer of any size; a longer one may pause for this long */
    long write_rate_bytes; /* an answer that takes longer must average this rate */

    const struct pressure_options *pressure; /* copied; NULL: nothing is ever short */
};

enum end_reason {
    ENDED_HEADERS,    /* the headers took too long */
    ENDED_BODY,       /* the body took too long */
    ENDED_WRITE,      /* the client read too slowly */
    ENDED_KEEP_ALIVE, /* no further request came: the usual end */
    ENDED_LEFT,       /* the client left while its request waited; its callback was called */
    ENDED_HUNG_UP,    /* the client left at another time and the library did not notice */
    ENDED_UNWATCHED,  /* deadline_thread_add failed, so the connection was refused */
    ENDED_CROWDED,    /* other clients waited for a connection, and this one was idle */
    END_REASONS
};

struct deadline_counts {
    uint64_t by_reason[END_REASONS];
    int connections; /* open now */
};

struct deadline;
struct deadline_thread;

struct deadline_thread *deadline_thread_create(const struct deadline_limits *limits);

/* Call it after the last deadline_thread_remove. Accepts NULL. */
void deadline_thread_destroy(struct deadline_thread *deadlines);

/* The connection starts in the headers phase. NULL: no memory or no epoll; FD is then shut down,
 * since it would have no deadline. */
struct deadline *deadline_thread_add(struct deadline_thread *deadlines, int fd);

/* Frees DEADLINE (may be NULL). On return the thread no longer uses it or its descriptor, which may
 * be closed. */
void deadline_thread_remove(struct deadline_thread *deadlines, struct deadline *deadline);

void deadline_thread_counts(struct deadline_thread *deadlines, struct deadline_counts *counts);

/* "headers", "body"...: for metrics. */
const char *deadline_thread_reason_name(enum end_reason reason);

/* ---- the phases of a request; with a NULL deadline these functions do nothing */

/* A request line has come. The first request's deadline starts with the connection. */
void deadline_enter_headers(struct deadline *deadline);

/* The first bytes of a request have come: if the connection was idle, the headers phase starts. */
void deadline_request_started(struct deadline *deadline);

/* A body of EXPECTED bytes follows, -1 if unknown. It may take body_ms, or as long as the bytes so
 * far (deadline_body_progress) take at body_rate_bytes: at most max(body_ms, EXPECTED / rate). A
 * client that announces much and sends nothing is therefore cut off after body_ms. */
void deadline_enter_body(struct deadline *deadline, int64_t expected);

/* BYTES of the body have come since the phase began. */
void deadline_body_progress(struct deadline *deadline, int64_t bytes);

/* Until the next phase, the body or answer occupies a slot and BYTES of memory; 0: nothing. Such a
 * client may be evicted while others are refused: eviction.h. */
void deadline_hold(struct deadline *deadline, int64_t bytes);

/* The request is suspended and has no deadline. If the client disconnects (a FIN suffices), or has
 * already done so, the deadline thread calls GONE(argument) once. It never calls it after the next
 * phase is entered: entering waits for a call in progress. So GONE must be brief, must enter no
 * phase of its own connection, and may take only locks that no thread holds while entering a
 * phase. */
void deadline_enter_waiting(struct deadline *deadline, void (*gone)(void *argument),
                            void *argument);

/* An answer of BYTES is sent. It may take write_ms, or as long as the bytes that the client has
 * acknowledged take at write_rate_bytes; and it ends when no byte is acknowledged for write_ms. A
 * client that requests much and reads nothing is therefore cut off after write_ms. On a unix socket
 * the kernel does not report received bytes: max(write_ms, BYTES / write_rate_bytes). */
void deadline_enter_write(struct deadline *deadline, int64_t bytes);

/* The answer is sent; the connection stays open. */
void deadline_enter_idle(struct deadline *deadline);

#endif
