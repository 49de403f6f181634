// SPDX-License-Identifier: Apache-2.0
/* listener.h - libmicrohttpd on a listening socket, with one I/O thread: how the library is opened
 * and what it calls.
 *
 * Used by:  front.c, one for each of io_threads, and one for the admin socket.
 * Owns:     a copy of the socket, the thread and its connections.
 * Fails:    listener_open returns NULL.
 * Threads:  the main thread; what it calls runs in its own.
 * Limits:   connections_max; beyond it the library accepts nobody (README.md).
 */
#ifndef BURIN_LISTENER_H
#define BURIN_LISTENER_H

#include "server/http/engine/connection.h"

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

struct listener_options {
    int fd;         /* a listening socket */
    bool inherited; /* other processes have it too, or will: no trace of us may stay at it */
    unsigned connections_max;
    struct accept_balance *balance; /* with other listeners of the socket; NULL: there are none */
    const struct admission_options *admission; /* copied; NULL: all requests are let in */
    struct connection_options connection;
    int pipe; /* read end on which finished jobs come back; -1: none */

    /* Each gets CONTEXT first. The memory of the request is connection_of()'s. */
    MHD_AccessHandlerCallback request;
    MHD_RequestCompletedCallback ended;
    void (*jobs_completed)(void *context, int pipe);
    void *context;
};

struct listener;

struct listener *listener_open(const struct listener_options *options);

/* Accepts nobody any more, but goes on with those that are connected. Who connects now waits in the
 * backlog of an inherited socket for the next process; at our own nobody can connect: see
 * listen_socket_ignore_new. */
void listener_stop_accepting(struct listener *listener);

/* Whether its thread goes on: see io_thread.h. */
void listener_wake(struct listener *listener);
uint64_t listener_turns(const struct listener *listener);

/* No connection may be suspended. Accepts NULL. */
void listener_close(struct listener *listener);

#endif
