// SPDX-License-Identifier: Apache-2.0
/* front_state.h - the parts of the front, and its counters: the state that all requests share.
 *
 * Used by:  front.c (life), reload.c, drain.c (the end), request_flow.c and the files it calls.
 * Owns:     every part in it, from front_create to front_destroy.
 * Threads:  read-only, except the counters, which are atomic, and operators, overlays and keys,
 *           which have locks.
 */
#ifndef BURIN_FRONT_STATE_H
#define BURIN_FRONT_STATE_H

#include "config/networks.h"
#include "server/access/key_table.h"
#include "server/http/engine/eviction.h"
#include "server/http/engine/listen_socket.h"
#include "server/http/engine/listener.h"
#include "server/http/overload.h"
#include "server/jobs/completion_pipe.h"
#include "server/request/service.h"

#include <jansson.h>

/* The front's side of a listener: one for each I/O thread. */
struct front_listener {
    struct front *front;
    struct listener *listener;
    int pipe[2];           /* on which finished jobs come back; -1: the admin listener has none */
    bool admin;            /* serves only probes and metrics */
    struct hasher *hasher; /* for keys; NULL: none are asked for */
    struct queue_seen queue_seen;
    int64_t looked_ns; /* last look for completions that the pipe has lost */
};

enum { LISTENERS_MAX = COMPLETION_PIPES_MAX + 1 };

/* How many connections may be open: as configured, or as the limit of open files allows. */
struct connection_limits {
    int listen;    /* connections_max, or fewer; at least one for each I/O thread */
    int admin;     /* of admin_listen; 0: there is none */
    int lingering; /* sockets that lingering_close.h keeps open */
};

/* The key cors_origins, which a reload may replace; all stay to the end, for threads that read. */
struct origins {
    struct origins *before;
    char list[CONFIG_ORIGINS_MAX];
};

struct front {
    struct service service;
    struct networks trusted_proxies; /* of the key `trusted_proxies` */
    struct current keys;             /* a key_table, of the key `keys_file` */
    struct once *once;               /* NULL: no keys are asked for */
    struct deadline_thread *deadlines;
    struct lingering_close *lingering;
    struct connection_limits limits;
    struct accept_balance balance; /* of the listeners of `listen` */
    int io_threads;
    int64_t start_ns;
    struct front_listener listeners[LISTENERS_MAX]; /* io_threads for `listen`, then one for
                                                       `admin_listen` */
    int pipes[COMPLETION_PIPES_MAX];                /* their write ends, for the supervisor */
    bool inherited[2];                              /* the socket of `listen`, of `admin_listen` */
    char address[CONFIG_TEXT_MAX];                  /* of `listen` */
    struct socket_file files[2]; /* of `listen` and `admin_listen`, if they are unix sockets */

    pthread_mutex_t outcome_lock;
    json_t *outcome; /* of the last reload: for GET /readyz */

    /* atomic */
    struct origins *origins;
    int64_t refused_unlogged, refused_logged_ns; /* overload.c's */
    int64_t reload_waits_until; /* a reload waits for requests whose body still comes; from this
                                   time on they are refused; 0: no reload waits */
    int exchanges;              /* all present requests */
    int accepted;               /* those with work that the drain waits for */
    int suspended;              /* those whose connection is suspended */
    int abandoned;              /* those whose client has left while their job still runs; the drain
                                   does not wait for them */
    bool last_requests;         /* each answer ends its connection */
};

/* Gives KEYS the ledgers of those in force, and counts requests by their ids. False: no memory. */
bool front_adopt_keys(struct front *front, struct key_table *keys);

#endif
