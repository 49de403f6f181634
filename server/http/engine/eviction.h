// SPDX-License-Identifier: Apache-2.0
/* eviction.h - cuts off clients before their deadline, for one of three reasons.
 *
 * Something is short: requests are refused for lack of slots, or of bytes for uploads or answers. A
 * refusal is a demand, which lasts until there is room for what was refused, or for twice
 * patience_ms. Meanwhile clients that hold what is short are cut off, those that stand still first.
 * If that does not suffice, the rate required of the others doubles with each look, and halves
 * every half second once no request is refused.
 *
 * Connections are short: all are open and clients wait in the backlog. Connections without a
 * request are cut off, idle ones and those without a whole head, once that lasts idle_patience_ms;
 * and bodies that stand still for patience_ms. The client with the most of them loses its oldest,
 * again and again. A client is an IPv4 address, or the first 64 bits of an IPv6 address; all
 * clients of a unix socket count as one.
 *
 * The daemon stops: connections that are idle, and bodies and answers that hardly move.
 *
 * Used by:  front.c and overload.c report shortages; listener.c asks for connections; connection.c
 *           sets the peer; drain.c stops.
 * Owns:     nothing; its state is part of struct deadline_thread (deadline_state.h).
 * Fails:    without memory for a list, only clients that stand still are cut off, and no connection
 *           is freed for waiting clients.
 * Threads:  any, but for connection_eviction_peer: the connection's I/O thread. Functions that walk
 *           the connections hold the deadlines' lock: 0.1 ms for 1000 connections.
 * Limits:   every client has patience_ms from the start of a body or an answer, whatever its rate.
 *           A slower client that still has some of that time is waited for before a faster one is
 *           cut off. Answers on unix sockets are exempt: the kernel does not report what was
 *           received there. Room is made for the largest refusal since the last look, and for a
 *           sixteenth of the whole: a few at a time, so that no more clients lose their work than
 *           others need.
 */
#ifndef BURIN_EVICTION_H
#define BURIN_EVICTION_H

#include "server/http/engine/deadline.h"

#include <sys/socket.h>

/* Held by requests: slots, by number; bytes of uploads; bytes of answers until they are sent. */
enum resource { RESOURCE_SLOTS, RESOURCE_BODIES, RESOURCE_ANSWERS, RESOURCES };

struct pressure_options {
    /* How much of it is free now; zero or less: nothing. NULL: always enough. */
    int64_t (*room)(const void *context, enum resource resource);
    const void *context;
    int64_t total[RESOURCES];
    long patience_ms;      /* how long a client may stand still */
    long rate_max_bytes;   /* bytes a second: the highest rate that is ever required */
    long idle_patience_ms; /* for connections without a request, while clients wait for one */
};

/* A request for WANTED of RESOURCE was refused; 0: the last of it was taken. Any thread; free of
 * charge where the thread knows already. Until there is room, clients that hold some of it and
 * stand still, or are slow, are cut off. */
void deadline_thread_note_pressure(struct deadline_thread *deadlines, enum resource resource,
                                   int64_t wanted);

/* Cuts off as many connections as WAITING(CONTEXT) clients wait for. WAITING is called under the
 * lock: a connection that another thread has cut off for the same client is then either still in
 * the table or counted as free. Returns how many were cut off, including those of earlier calls
 * that are not closed yet. */
int connection_eviction_run(struct deadline_thread *deadlines, int (*waiting)(const void *context),
                            const void *context);

/* DEADLINE's connection (NULL: none) belongs to PEER, and connection_eviction_run may cut it
 * off. */
void connection_eviction_peer(struct deadline *deadline, const struct sockaddr *peer);

/* For a daemon that stops: shuts down connections that have waited IDLE_MS for a request, and those
 * that have been open for FRESH_MS without a whole head of their first one. The client sees its
 * connection end between two requests, as after keep_alive_ms, and retries on a new one. */
void deadline_thread_end_idle(struct deadline_thread *deadlines, long idle_ms, long fresh_ms);

/* For a daemon that stops, called repeatedly: shuts down connections whose body or answer has moved
 * less in SLOW_MS than required: body_rate_bytes or write_rate_bytes at first, and twice as much
 * after each SLOW_MS, up to rate_max_bytes. On a unix socket, where the kernel does not report what
 * was received, the whole answer must be, within SLOW_MS or its time at rate_max_bytes. */
void deadline_thread_end_slow(struct deadline_thread *deadlines, long slow_ms);

#endif
