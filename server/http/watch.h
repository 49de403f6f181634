// SPDX-License-Identifier: Apache-2.0
/* watch.h - one thread that watches every connection: deadlines, and clients that leave.
 *
 * libmicrohttpd's own timeout begins anew with each byte, it sees nothing of a suspended
 * connection, and it may miss a FIN that comes together with data. Here each phase of a request has
 * an end in time; past it the socket is shut down, once, never closed: the library then closes it
 * and calls its completion hook. Times are CLOCK_MONOTONIC; an end is noticed at most 100 ms late,
 * that of a long answer, which the client moves, a sixteenth of write_ms and no more than 1 s.
 *
 * Used by:  front.c: watch_add and watch_remove from MHD_OPTION_NOTIFY_CONNECTION, the phases from
 *           where the request goes on.
 * Owns:     the thread and each struct watched; never a file descriptor.
 * Fails:    watch_create and watch_add return NULL; every function takes a NULL watched.
 * Threads:  add, remove and counts: any. The phases of one connection: one thread at a time, the
 *           one that runs its handler. Setting a phase is one atomic store and a reading of the
 *           clock; the waiting phase also takes a mutex that only the watcher shares, and a long
 *           answer asks the kernel once and wakes the watcher.
 */
#ifndef BURIN_WATCH_H
#define BURIN_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* A time of 0 means no end, a rate of 0 no allowance for size. Rates are bytes a second. */
struct watch_limits {
    long header_ms;        /* from the connection, or the request's first line, to its body */
    long body_ms;          /* a body of any size may take so long */
    long body_rate_bytes;  /* beyond that it must have come at this rate on the average */
    long body_pressed_ms;  /* stands for body_ms where that is longer, while `pressed` says so */
    long keep_alive_ms;    /* between two requests */
    long write_ms;         /* an answer of any size; a longer one may stand still so long */
    long write_rate_bytes; /* beyond that it must have been taken at this rate on the average */

    /* Bodies keep others out. The watcher's thread asks, once watch_press was called and until it
     * hears no. NULL: they never do. */
    bool (*pressed)(const void *context);
    const void *context;
};

enum watch_reason {
    WATCH_HEADERS,    /* headers took too long */
    WATCH_BODY,       /* the body did */
    WATCH_WRITE,      /* the client read too slowly */
    WATCH_KEEP_ALIVE, /* no further request came: the usual end, no mischief */
    WATCH_LEFT,       /* the client left while its request waited; its callback was called */
    WATCH_HUNG_UP,    /* it left at another time and the library did not notice */
    WATCH_UNWATCHED,  /* watch_add failed, so the connection was refused */
    WATCH_REASONS
};

struct watch_counts {
    uint64_t by_reason[WATCH_REASONS];
    int watched; /* connections at present */
};

struct watch;
struct watched;

struct watch *watch_create(const struct watch_limits *limits);

/* After the last watch_remove; takes NULL. */
void watch_destroy(struct watch *watch);

/* Begins in the headers phase. NULL: no memory or no epoll; FD has been shut down then, since
 * nobody would bound it. */
struct watched *watch_add(struct watch *watch, int fd);

/* When this returns the watcher knows neither WATCHED nor its descriptor, which may be closed. */
void watch_remove(struct watch *watch, struct watched *watched);

/* A request line has come. The deadline of the first request runs from the connection on. */
void watch_phase_headers(struct watched *watched);

/* The first bytes of a request have come: its deadline begins, if the connection was idle. */
void watch_phase_begun(struct watched *watched);

/* A body of EXPECTED bytes comes, -1 if unknown. It may take body_ms, or as long as what has come
 * so far, told by watch_progress, takes at body_rate_bytes: at most max(body_ms, EXPECTED / rate).
 * So who announces much and sends nothing is cut off after body_ms. One of which nothing has come
 * keeps nobody out, and is not pressed. */
void watch_phase_body(struct watched *watched, int64_t expected);

/* BYTES of the body have gone by since the phase began. */
void watch_progress(struct watched *watched, int64_t bytes);

/* `pressed` has become true. Any thread; costs nothing where the watcher knows. */
void watch_press(struct watch *watch);

/* The request is suspended; no deadline here. If the client leaves (a FIN is enough), or has left
 * before, GONE(argument) is called once, from the watcher's thread, and never again once the next
 * phase is set: setting it waits for a call under way. So GONE must be brief, must set no phase of
 * its own connection, and may take only locks that no thread holds while it sets a phase. */
void watch_phase_waiting(struct watched *watched, void (*gone)(void *argument), void *argument);

/* An answer of BYTES is sent. It may take write_ms, or as long as what the client has taken so far
 * (uptake.h) takes at write_rate_bytes; and it is over when nothing is taken for write_ms. So who
 * asks for much and reads nothing is cut off after write_ms. On a unix socket, where nobody knows
 * what is taken: max(write_ms, BYTES / write_rate_bytes). */
void watch_phase_write(struct watched *watched, int64_t bytes);

/* The answer is sent; the connection is kept. */
void watch_phase_idle(struct watched *watched);

void watch_counts(struct watch *watch, struct watch_counts *counts);

/* "headers", "body"...: for metrics. */
const char *watch_reason_name(enum watch_reason reason);

#endif
