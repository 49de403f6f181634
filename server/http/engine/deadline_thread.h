// SPDX-License-Identifier: Apache-2.0
/* deadline_thread.h - one thread that watches every connection: deadlines that pass, and clients
 * that disconnect.
 *
 * Used by:  front.c (life), connection.c (add and remove), http/room.c (what is short), drain.c
 *           (the end); the phases of a connection are in deadline.h.
 * Owns:     the thread and each struct deadline; never a file descriptor.
 * Fails:    deadline_thread_create and deadline_thread_add return NULL.
 * Threads:  any.
 * Limits:   a passed deadline is noticed at most 100 ms late, that of a long answer, which the
 *           client moves, a sixteenth of write_ms and no more than 1 s. CLOCK_MONOTONIC.
 */
#ifndef BURIN_DEADLINE_THREAD_H
#define BURIN_DEADLINE_THREAD_H

#include "server/http/engine/deadline.h"
#include "server/http/engine/pressure.h"

#include <stdbool.h>
#include <stdint.h>

/* A time of 0 means no deadline, a rate of 0 no allowance for size. Rates are bytes a second. */
struct deadline_limits {
    long header_ms;        /* from the connection, or the request's first line, to its body */
    long body_ms;          /* a body of any size may take so long */
    long body_rate_bytes;  /* beyond that it must have come at this rate on the average */
    long keep_alive_ms;    /* between two requests */
    long write_ms;         /* an answer of any size; a longer one may stand still so long */
    long write_rate_bytes; /* beyond that it must have been received at this rate on the average */

    const struct pressure_options *pressure; /* copied; NULL: nothing is ever short */
};

enum end_reason {
    ENDED_HEADERS,    /* headers took too long */
    ENDED_BODY,       /* the body did */
    ENDED_WRITE,      /* the client read too slowly */
    ENDED_KEEP_ALIVE, /* no further request came: the usual end */
    ENDED_LEFT,      /* the client disconnected while its request waited; its callback was called */
    ENDED_HUNG_UP,   /* it disconnected at another time and the library did not notice */
    ENDED_UNWATCHED, /* deadline_thread_add failed, so the connection was refused */
    ENDED_CROWDED,   /* others waited for a connection, and nothing was asked on this one */
    END_REASONS
};

struct deadline_counts {
    uint64_t by_reason[END_REASONS];
    int connections; /* at present */
};

struct deadline_thread;

struct deadline_thread *deadline_thread_create(const struct deadline_limits *limits);

/* After the last deadline_thread_remove; accepts NULL. */
void deadline_thread_destroy(struct deadline_thread *deadlines);

/* Begins in the headers phase. NULL: no memory or no epoll; FD has been shut down then, since
 * nothing would bound it. */
struct deadline *deadline_thread_add(struct deadline_thread *deadlines, int fd);

/* When this returns, the thread knows neither DEADLINE nor its descriptor, which may be closed. */
void deadline_thread_remove(struct deadline_thread *deadlines, struct deadline *deadline);

/* For a daemon that ends: shuts down connections that wait for a request since IDLE_MS, and those
 * that are open for FRESH_MS without a whole head of their first one. A client sees the end of a
 * connection between two requests, as after keep_alive_ms, and asks again on a new one. */
void deadline_thread_end_idle(struct deadline_thread *deadlines, long idle_ms, long fresh_ms);

/* For a daemon that ends, too, and asked again and again: shuts down connections of whose body or
 * answer less has moved for SLOW_MS than is asked: body_rate_bytes or write_rate_bytes at first,
 * and after each SLOW_MS twice as much, up to rate_max_bytes of the pressure. Of an answer through
 * a unix socket, where nobody knows how much was taken, the whole must be: in SLOW_MS, or as long
 * as that rate allows. */
void deadline_thread_end_slow(struct deadline_thread *deadlines, long slow_ms);

/* Somebody was refused WANTED of RESOURCE; 0: the last of it was taken. Costs nothing where the
 * thread knows already. Until there is room, those who hold of it and stand still, or are slow, are
 * let go (pressure.h). */
void deadline_thread_note_pressure(struct deadline_thread *deadlines, enum resource resource,
                                   int64_t wanted);

void deadline_thread_counts(struct deadline_thread *deadlines, struct deadline_counts *counts);

/* "headers", "body"...: for metrics. */
const char *deadline_thread_reason_name(enum end_reason reason);

#endif
