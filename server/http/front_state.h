// SPDX-License-Identifier: Apache-2.0
/* front_state.h - what all requests share: the parts of the front, and its counters.
 *
 * Used by:  front.c (life), drain.c (the end), request_flow.c and what it calls.
 * Owns:     every part in it, from front_create to front_destroy.
 * Threads:  read-only but for the counters, which are atomic, and the generations, which have a
 *           lock.
 */
#ifndef BURIN_FRONT_STATE_H
#define BURIN_FRONT_STATE_H

#include "config/networks.h"
#include "server/http/connection_limits.h"
#include "server/http/engine/deadline_thread.h"
#include "server/http/engine/listen_socket.h"
#include "server/http/engine/listener.h"
#include "server/http/overload.h"
#include "server/jobs/completion_pipe.h"
#include "server/request/service.h"

/* The front's side of a listener: one for each I/O thread. */
struct front_listener {
    struct front *front;
    struct listener *listener;
    int pipe[2]; /* on which finished jobs come back; -1: the admin's has none */
    bool admin;  /* probes and metrics alone */
    struct queue_seen queue_seen;
    int64_t looked_ns; /* when completions were looked for last that the pipe has lost */
};

enum { LISTENERS_MAX = COMPLETION_PIPES_MAX + 1 };

struct front {
    struct service service;
    struct networks trusted_proxies; /* of the key `trusted_proxies` */
    struct deadline_thread *deadlines;
    struct lingering_close *lingering;
    struct connection_limits limits;
    struct accept_balance balance; /* of the listeners of `listen` */
    int io_threads;
    struct front_listener listeners[LISTENERS_MAX]; /* io_threads of them for `listen`, then one for
                                                       `admin_listen` */
    int pipes[COMPLETION_PIPES_MAX];                /* their write ends, for the supervisor */
    bool inherited[2];                              /* the socket of `listen`, of `admin_listen` */
    char address[CONFIG_TEXT_MAX];                  /* of the first */
    struct socket_file files[2]; /* of `listen` and `admin_listen`, where they are unix sockets */

    /* atomic */
    int64_t refused_unlogged, refused_logged_ns; /* overload.c's */
    int64_t reload_waits_until; /* a reload waits for requests whose body comes, and from then on
                                   these are refused; 0: none waits */
    int exchanges;              /* requests under way */
    int accepted;               /* of these, work that the drain waits for */
    int suspended;              /* those whose connection is suspended */
    int abandoned;              /* of these, those whose client has left: their job may take its
                                   time, and nobody waits for it */
    bool last_requests;         /* each answer ends its connection */
};

#endif
