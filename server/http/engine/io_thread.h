// SPDX-License-Identifier: Apache-2.0
/* io_thread.h - a thread that moves bytes: one MHD daemon without threads of its own, and the pipe
 * on which finished jobs come back.
 *
 * A worker writes to the pipe, this thread reads it and resumes the connection that waits for the
 * job: no other thread takes part. So all suspends and resumes of its connections belong to it.
 *
 * Used by:  listener.c.
 * Owns:     the thread and the daemon; the pipe is borrowed.
 * Fails:    io_thread_start returns NULL; the daemon stays the caller's then.
 * Threads:  start and stop: the main thread.
 */
#ifndef BURIN_IO_THREAD_H
#define BURIN_IO_THREAD_H

#include "server/http/engine/admission.h"

#include <microhttpd.h>
#include <stdint.h>

struct io_thread;

/* What the thread calls. */
struct io_calls {
    void (*completed)(void *context, int pipe); /* there may be something to read on the pipe */
    void *context;
    void (*full)(void *context); /* all connections are taken: after each turn, and every 20 ms */
    void *full_context;
    unsigned connections_max;
    struct admission *admission; /* is given each turn; may be NULL */
};

/* PIPE: a read end; -1: none. DAEMON was started with MHD_USE_EPOLL and no internal thread. */
struct io_thread *io_thread_start(struct MHD_Daemon *daemon, int pipe,
                                  const struct io_calls *calls);

/* Returns when the daemon accepts no further connection, and all that it has accepted have been
 * announced. Those that wait in the kernel's backlog stay there, for another process that has the
 * socket. The caller closes the socket then, for the daemon does not. */
void io_thread_stop_accepting(struct io_thread *io);

/* Whether a thread goes on: it is woken, and the count of its turns grows. Any thread asks. */
void io_thread_wake(struct io_thread *io);
uint64_t io_thread_turns(const struct io_thread *io);

/* Ends the thread, then the daemon. No connection may be suspended. Accepts NULL. */
void io_thread_stop(struct io_thread *io);

#endif
