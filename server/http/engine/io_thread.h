// SPDX-License-Identifier: Apache-2.0
/* io_thread.h - a thread that moves bytes: it accepts connections, runs one MHD daemon without
 * threads of its own, and reads the pipe on which finished jobs come back.
 *
 * A worker writes to the pipe, this thread reads it and resumes the connection that waits for the
 * job: no other thread takes part. So all suspends and resumes of its connections belong to it.
 *
 * Used by:  listener.c.
 * Owns:     the thread and the daemon; the pipe and the listening socket are borrowed.
 * Fails:    io_thread_start returns NULL; the daemon stays the caller's then.
 * Threads:  start and stop: the main thread.
 */
#ifndef BURIN_IO_THREAD_H
#define BURIN_IO_THREAD_H

#include "server/http/engine/accept_balance.h"
#include "server/http/engine/admission.h"

#include <microhttpd.h>
#include <stdint.h>

struct io_thread;

/* What the thread calls. */
struct io_calls {
    void (*completed)(void *context, int pipe); /* there may be something to read on the pipe */
    void *context;
    void (*full)(void *context); /* a client waits, and all connections are taken; every 20 ms */
    void *full_context;
    int listening;              /* the socket; does not block */
    struct accept_share *share; /* of those who accept from it; may be NULL */
    unsigned connections_max;
    struct admission *admission; /* is given each turn; may be NULL */
};

/* PIPE: a read end; -1: none. DAEMON was started with MHD_USE_EPOLL, no internal thread, no socket,
 * and room for more than connections_max. */
struct io_thread *io_thread_start(struct MHD_Daemon *daemon, int pipe,
                                  const struct io_calls *calls);

/* Returns when it accepts no further connection: then the socket may be closed. */
void io_thread_stop_accepting(struct io_thread *io);

/* Whether a thread goes on: it is woken, and the count of its turns grows. Any thread asks. */
void io_thread_wake(struct io_thread *io);
uint64_t io_thread_turns(const struct io_thread *io);

/* Ends the thread, then the daemon. No connection may be suspended. Accepts NULL. */
void io_thread_stop(struct io_thread *io);

#endif
