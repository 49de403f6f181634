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
#include "server/user_operators.h"

#include <signal.h>
#include <stdbool.h>

struct front;
struct generation;

/* Sockets that were opened for us, such as by systemd; -1: it is opened, as `listen` and
 * `admin_listen` say. They may be another process's too: what they lead to stays untouched when we
 * end, and clients that connect meanwhile wait for the next process. */
struct front_sockets {
    int http, admin;
};

/* The key io_threads, or where that is 0 as many as fit this machine. */
int front_io_threads(const struct config *config);

/* Takes the SOCKETS and the caller's hold of the OPERATORS, also where it fails. INTERRUPTED (may
 * be NULL) is asked while GPUs are counted: true ends it, and it fails with STATUS_CANCELLED. */
struct front *front_create(const struct config *config, struct front_sockets sockets,
                           struct generation *operators, int (*interrupted)(void),
                           struct failure *failure);

/* Whether the first worker is healthy: a GPU's where there is one. */
bool front_first_is_ready(struct front *front);

/* Some worker for built-in operators is healthy: it can work. Unlike GET /readyz it does not ask
 * whether there is room, for a rush that fills the queue is no failure to start. */
bool front_has_started(struct front *front);

/* Waits until either may have changed, a signal came that MASK lets through, or TIMEOUT_MS is
 * over. */
void front_wait_worker(struct front *front, int timeout_ms, const sigset_t *mask);

/* Every I/O thread and the supervisor's goes on: each has taken a turn since the call began, or
 * takes one within TIMEOUT_MS. Any thread asks, one at a time. */
bool front_is_alive(struct front *front, int timeout_ms);

/* Where requests come in: "127.0.0.1:8080", with the port that the system chose for port 0, or
 * "unix:/path". */
const char *front_address(const struct front *front);

/* Reads operators_dir again. What is right goes in force as a whole; until then, and where it
 * cannot (false, with a sentence), what served goes on serving. Requests that have begun finish
 * with the operators that they began with. WATCH: as user_operators_read asks and tells it; when it
 * was told of the last file, the rest takes no longer than a check, twice processing_ms and
 * worker_start_ms: there are two generations of workers at a time, so a reload waits for those
 * requests of the last but one that may mean a user's operator. Bodies that still come after
 * processing_ms are refused. */
bool front_reload(struct front *front, const struct user_operators_watch *watch,
                  struct failure *failure);

/* Readiness says no at once; after drain_delay_ms new requests are refused; when the last one that
 * was accepted is answered or drain_timeout_ms is over, nobody can connect any more. Returns within
 * a second of that, however often refused clients try again. INTERRUPTED is asked now and then:
 * true ends the wait.
 * With a socket that was opened for us no request is refused: nobody is accepted any more, and who
 * is connected is answered and then disconnected. */
void front_drain(struct front *front, int (*interrupted)(void));

/* Accepts NULL. */
void front_destroy(struct front *front);

#endif
