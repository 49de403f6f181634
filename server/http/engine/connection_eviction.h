// SPDX-License-Identifier: Apache-2.0
/* connection_eviction.h - who must go where all connections are taken and others wait for one.
 *
 * Those on which no request is under way: idle ones, and those without a whole head, once that
 * lasts idle_patience_ms; and bodies that stand still, once that lasts patience_ms. The client with
 * the most of them loses its oldest, again and again. Clients are told apart by address, IPv6 ones
 * by their first 64 bits; all of a unix socket are one.
 *
 * Used by:  listener.c; connection.c (connection_eviction_peer).
 * Owns:     nothing.
 * Fails:    without memory nobody is let go.
 * Threads:  any I/O thread; holds the deadlines' lock for as long as it looks.
 * Limits:   0.1 ms for 1000 connections.
 */
#ifndef BURIN_CONNECTION_EVICTION_H
#define BURIN_CONNECTION_EVICTION_H

#include "server/http/engine/deadline_thread.h"

#include <sys/socket.h>

/* Lets as many connections go as WAITING(CONTEXT) says clients wait. It is asked under the lock: a
 * connection that another thread has let go for the same client is either still in the table or
 * counted as free. Returns how many have been let go; those of earlier calls that have not been
 * closed yet are among them. */
int connection_eviction_run(struct deadline_thread *deadlines, int (*waiting)(const void *context),
                            const void *context);

/* The connection of DEADLINE (may be NULL) is PEER's, and may be let go. The I/O thread. */
void connection_eviction_peer(struct deadline *deadline, const struct sockaddr *peer);

#endif
