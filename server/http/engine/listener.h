// SPDX-License-Identifier: Apache-2.0
/* listener.h - one I/O thread: it accepts from a listening socket, runs libmicrohttpd, and reads
 * the pipe on which finished jobs come back.
 *
 * A worker writes to the pipe, this thread reads it and resumes the connection that waits for the
 * job. No other thread is involved, so this thread alone suspends and resumes its connections.
 *
 * Used by:  front.c: one for each of io_threads, and one for the admin socket.
 * Owns:     a copy of the socket, the thread, the library's daemon and its connections; the pipe is
 *           borrowed.
 * Fails:    listener_open returns NULL.
 * Threads:  the main thread; wake and turns: any. The callbacks run in the listener's own thread.
 * Limits:   connections_max; further clients wait in the backlog until one ends or is evicted.
 */
#ifndef BURIN_LISTENER_H
#define BURIN_LISTENER_H

#include "server/http/engine/connection.h"
#include "server/http/engine/listen_socket.h"

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

struct listener_options {
    int sockets[LISTEN_SOCKETS]; /* of listen_socket.h; the caller closes them */
    bool inherited; /* other processes share it, or will: nothing may be changed on it */
    unsigned connections_max;
    struct accept_balance *balance; /* with the other listeners of the socket; NULL: none */
    const struct admission_options *admission; /* copied; NULL: every request is let in */
    struct connection_options connection;
    int pipe; /* read end on which finished jobs come back; -1: none */

    /* Each gets CONTEXT first. The request's memory belongs to connection_of(). */
    MHD_AccessHandlerCallback request;
    MHD_RequestCompletedCallback ended;
    void (*jobs_completed)(void *context, int pipe); /* there may be something on the pipe */
    void *context;
};

struct listener;

struct listener *listener_open(const struct listener_options *options);

/* Stops accepting; open connections go on. New clients of an inherited socket wait in its backlog
 * for the next process; a socket of our own ignores them (listen_socket_ignore_new). On return an
 * inherited socket is closed. */
void listener_stop_accepting(struct listener *listener);

/* Liveness: wakes the thread; the number of its turns then grows. */
void listener_wake(struct listener *listener);
uint64_t listener_turns(const struct listener *listener);

/* Ends the thread, then the library. No connection may be suspended. Accepts NULL. */
void listener_close(struct listener *listener);

#endif
