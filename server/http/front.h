// SPDX-License-Identifier: Apache-2.0
/* front.h - the process that speaks HTTP: sockets, requests, and the workers behind them.
 *
 * Used by:  command_serve.c.
 * Owns:     all that a front consists of (front_state.h).
 * Fails:    front_create returns NULL with a sentence for the terminal, STATUS_BAD_PARAM where what
 *           is configured is impossible here; after that nothing ends the process.
 * Threads:  the main thread.
 */
#ifndef BURIN_FRONT_H
#define BURIN_FRONT_H

#include "config/config.h"

struct front;

struct front *front_create(const struct config *config, struct failure *failure);

/* The first worker is ready; false when none was after TIMEOUT_MS. */
int front_wait_ready(struct front *front, int timeout_ms);

/* The port that `listen` got: the one asked for, or the system's choice for port 0. 0: a unix
 * socket. */
int front_port(const struct front *front);

/* Readiness says no at once; after drain_delay_ms new requests are refused; when the last one that
 * was accepted is answered or drain_timeout_ms is over, nobody can connect any more. Returns within
 * a second of that, however often refused clients try again. INTERRUPTED is asked now and then:
 * true ends the wait. */
void front_drain(struct front *front, int (*interrupted)(void));

/* Accepts NULL. */
void front_destroy(struct front *front);

#endif
