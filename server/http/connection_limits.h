// SPDX-License-Identifier: Apache-2.0
/* connection_limits.h - how many connections may be open at the same time: as the configuration
 * says, or as many as the limit of open files leaves room for.
 *
 * Each connection is a descriptor. What the daemon needs beside them is kept free for it: a worker
 * that died can be started again when there is one connection more than can be accepted.
 *
 * Used by:  front.c; command_serve.c checks before anything is started.
 * Fails:    connection_limits_check: STATUS_BAD_PARAM, with both numbers.
 * Threads:  any; no state.
 */
#ifndef BURIN_CONNECTION_LIMITS_H
#define BURIN_CONNECTION_LIMITS_H

#include "config/config.h"
#include "server/descriptors.h"

/* ADMIN_CONNECTIONS: of probes and metrics, each of which is a request or two. */
enum { ADMIN_CONNECTIONS_MAX = 64 };

struct connection_limits {
    int listen;    /* connections_max, or fewer; one for each I/O thread at least */
    int admin;     /* of admin_listen; 0: there is none */
    int lingering; /* that are closed as lingering_close.h does it */
};

/* NOW: at the start, when nothing has been opened yet. Fails where a daemon of IO_THREADS, one
 * worker and a connection for each thread would not fit. */
enum status connection_limits_check(const struct config *config, int io_threads, bool admin,
                                    const struct descriptors *now, struct failure *failure);

/* NOW: when all is open but the listeners. */
struct connection_limits connection_limits_find(const struct config *config, int io_threads,
                                                bool admin, const struct descriptors *now);

#endif
