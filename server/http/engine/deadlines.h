// SPDX-License-Identifier: Apache-2.0
/* deadlines.h - one thread that watches every connection: deadlines, and clients that leave.
 *
 * libmicrohttpd's own timeout begins anew with each byte, it sees nothing of a suspended
 * connection, and it may miss a FIN that comes together with data. Here each phase of a request has
 * an end in time; past it the socket is shut down, once, never closed: the library then closes it
 * and calls its completion hook. Times are CLOCK_MONOTONIC; an end is noticed at most 100 ms late,
 * that of a long answer, which the client moves, a sixteenth of write_ms and no more than 1 s.
 *
 * Used by:  front.c: deadlines_add and deadlines_remove from MHD_OPTION_NOTIFY_CONNECTION, the phases from
 *           where the request goes on.
 * Owns:     the thread and each struct deadline; never a file descriptor.
 * Fails:    deadlines_create and deadlines_add return NULL; every function takes a NULL deadline.
 * Threads:  add, remove and counts: any. The phases of one connection: one thread at a time, the
 *           one that runs its handler. Setting a phase is one atomic store and a reading of the
 *           clock; the waiting phase also takes a mutex that only the watcher shares, and a long
 *           answer asks the kernel once and wakes the watcher.
 */
#ifndef BURIN_DEADLINES_H
#define BURIN_DEADLINES_H

#include <stdbool.h>
#include <stdint.h>

/* A time of 0 means no end, a rate of 0 no allowance for size. Rates are bytes a second. */
struct deadline_limits {
    long header_ms;        /* from the connection, or the request's first line, to its body */
    long body_ms;          /* a body of any size may take so long */
    long body_rate_bytes;  /* beyond that it must have come at this rate on the average */
    long body_pressed_ms;  /* stands for body_ms where that is longer, while `pressed` says so */
    long keep_alive_ms;    /* between two requests */
    long write_ms;         /* an answer of any size; a longer one may stand still so long */
    long write_rate_bytes; /* beyond that it must have been taken at this rate on the average */

    /* Bodies keep others out. The watcher's thread asks, once deadlines_note_pressure was called and until it
     * hears no. NULL: they never do. */
    bool (*pressed)(const void *context);
    const void *context;
};

enum end_reason {
    ENDED_HEADERS,    /* headers took too long */
    ENDED_BODY,       /* the body did */
    ENDED_WRITE,      /* the client read too slowly */
    ENDED_KEEP_ALIVE, /* no further request came: the usual end, no mischief */
    ENDED_LEFT,       /* the client left while its request waited; its callback was called */
    ENDED_HUNG_UP,    /* it left at another time and the library did not notice */
    ENDED_UNWATCHED,  /* deadlines_add failed, so the connection was refused */
    END_REASONS
};

struct deadline_counts {
    uint64_t by_reason[END_REASONS];
    int connections; /* at present */
};

struct deadlines;
struct deadline;

struct deadlines *deadlines_create(const struct deadline_limits *limits);

/* After the last deadlines_remove; takes NULL. */
void deadlines_destroy(struct deadlines *deadlines);

/* Begins in the headers phase. NULL: no memory or no epoll; FD has been shut down then, since
 * nobody would bound it. */
struct deadline *deadlines_add(struct deadlines *deadlines, int fd);

/* When this returns the watcher knows neither WATCHED nor its descriptor, which may be closed. */
void deadlines_remove(struct deadlines *deadlines, struct deadline *deadline);

/* A request line has come. The deadline of the first request runs from the connection on. */
void deadline_enter_headers(struct deadline *deadline);

/* The first bytes of a request have come: its deadline begins, if the connection was idle. */
void deadline_request_started(struct deadline *deadline);

/* A body of EXPECTED bytes comes, -1 if unknown. It may take body_ms, or as long as what has come
 * so far, told by deadline_body_progress, takes at body_rate_bytes: at most max(body_ms, EXPECTED / rate).
 * So who announces much and sends nothing is cut off after body_ms. One of which nothing has come
 * keeps nobody out, and is not pressed. */
void deadline_enter_body(struct deadline *deadline, int64_t expected);

/* BYTES of the body have gone by since the phase began. */
void deadline_body_progress(struct deadline *deadline, int64_t bytes);

/* `pressed` has become true. Any thread; costs nothing where the watcher knows. */
void deadlines_note_pressure(struct deadlines *deadlines);

/* The request is suspended; no deadline here. If the client leaves (a FIN is enough), or has left
 * before, GONE(argument) is called once, from the watcher's thread, and never again once the next
 * phase is set: setting it waits for a call under way. So GONE must be brief, must set no phase of
 * its own connection, and may take only locks that no thread holds while it sets a phase. */
void deadline_enter_waiting(struct deadline *deadline, void (*gone)(void *argument),
                            void *argument);

/* An answer of BYTES is sent. It may take write_ms, or as long as what the client has taken so far
 * (uptake.h) takes at write_rate_bytes; and it is over when nothing is taken for write_ms. So who
 * asks for much and reads nothing is cut off after write_ms. On a unix socket, where nobody knows
 * what is taken: max(write_ms, BYTES / write_rate_bytes). */
void deadline_enter_write(struct deadline *deadline, int64_t bytes);

/* The answer is sent; the connection is kept. */
void deadline_enter_idle(struct deadline *deadline);

void deadlines_counts(struct deadlines *deadlines, struct deadline_counts *counts);

/* "headers", "body"...: for metrics. */
const char *deadlines_reason_name(enum end_reason reason);

#endif
