// SPDX-License-Identifier: Apache-2.0
/* front.h - the process that speaks HTTP: sockets, requests, and the workers behind them.
 *
 * Used by:  command_serve.c; systemd.h has its sockets.
 * Owns:     all parts of the front (front_state.h).
 * Fails:    front_check_descriptors and front_create return a sentence for the terminal,
 *           STATUS_BAD_PARAM if the configuration is impossible on this machine. After that nothing
 *           ends the process.
 * Threads:  the main thread; front_is_alive: any, one at a time.
 */
#ifndef BURIN_FRONT_H
#define BURIN_FRONT_H

#include "config/config.h"
#include "server/user_operators.h"

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>

struct front;
struct generation;
struct key_table;
struct overlays;

/* Listening sockets that were opened for us, such as by systemd; -1: none, `listen` or
 * `admin_listen` is opened. Other processes may share them: they stay usable when we end, and
 * clients that connect meanwhile wait for the next process. */
struct front_sockets {
    int http, admin;
};

/* Whether the limit of open files suffices for a worker and a connection for each I/O thread. Call
 * it before anything is opened. ADMIN: there will be an admin socket. */
enum status front_check_descriptors(const struct config *config, bool admin,
                                    struct failure *failure);

/* Takes over the SOCKETS and the caller's holds of the OPERATORS, the OVERLAYS and the KEYS (NULL:
 * no key is asked for), also if it fails. INTERRUPTED (may be NULL) is called while GPUs are
 * counted: true ends that with STATUS_CANCELLED. */
struct front *front_create(const struct config *config, struct front_sockets sockets,
                           struct generation *operators, struct overlays *overlays,
                           struct key_table *keys, int (*interrupted)(void),
                           struct failure *failure);

/* Whether the first worker is healthy: the first GPU's if there is a GPU. */
bool front_first_is_ready(struct front *front);

/* Whether a worker for built-in operators is healthy. Unlike GET /readyz it ignores whether there
 * is room: a rush that fills the queue is no failure to start. */
bool front_has_started(struct front *front);

/* Waits until one of the two may have changed, a signal that MASK lets through has come, or
 * TIMEOUT_MS has passed. */
void front_wait_worker(struct front *front, int timeout_ms, const sigset_t *mask);

/* Whether every I/O thread and the supervisor's takes a turn within TIMEOUT_MS. */
bool front_is_alive(struct front *front, int timeout_ms);

/* The address that requests come to: "127.0.0.1:8080", with the port that the system chose for port
 * 0, or "unix:/path". Owned by FRONT. */
const char *front_address(const struct front *front);

/* Reads operators_dir again and puts what is correct in force as a whole. Until then, and if it
 * fails (false, with a sentence), the present operators stay. A request finishes with the operators
 * that it began with. WATCH: for user_operators_read, which reports each file to it. After the last
 * file the rest takes at most a check, twice processing_ms and worker_start_ms: there are at most
 * two generations of workers, so a reload waits for requests of the generation before the present
 * one that may name a user's operator. Bodies that still come after processing_ms are refused. */
bool front_reload(struct front *front, const struct user_operators_watch *watch,
                  struct failure *failure);

/* Reads keys_file again and puts it in force as a whole. If it fails (false, with a sentence), the
 * present keys stay. */
bool front_reload_keys(struct front *front, struct failure *failure);

/* The same for overlays_dir. */
bool front_reload_overlays(struct front *front, struct failure *failure);

/* Pages of these origins may call from now on. False: no memory, and all is as before. */
bool front_set_origins(struct front *front, const char *list);

/* The value of cors_origins in force; valid as long as FRONT. Any thread. */
const char *front_origins(const struct front *front);

/* GET /readyz reports OUTCOME as "reload" from now on. Takes OUTCOME over. */
void front_set_outcome(struct front *front, json_t *outcome);

/* Readiness says no at once. After drain_delay_ms new requests are refused. When the last accepted
 * one is answered, or after drain_timeout_ms, no client can connect any more. Returns within a
 * second of that, however often refused clients retry. INTERRUPTED is called now and then: true
 * ends the wait. With a socket that was opened for us no request is refused: no connection is
 * accepted any more, and each open one is answered and then closed. */
void front_drain(struct front *front, int (*interrupted)(void));

/* Accepts NULL. */
void front_destroy(struct front *front);

#endif
