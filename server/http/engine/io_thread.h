// SPDX-License-Identifier: Apache-2.0
/* io.h - a thread that moves bytes: one MHD daemon without threads of its own, and the line on
 * which finished jobs come back.
 *
 * The worker writes to the line, this thread reads it and wakes the connection that sleeps on the
 * job: no other thread is on the way. All connections of an io, and so all its suspends and
 * resumes, belong to its thread.
 */
#ifndef BURIN_IO_THREAD_H
#define BURIN_IO_THREAD_H

#include <microhttpd.h>

struct io_thread;

/* RETURNED is called in the thread for each message of LINE (read end, borrowed; -1: none). DAEMON
 * was started with MHD_USE_EPOLL and no internal thread, and is the io's from now on. NULL: no
 * thread to be had. */
struct io_thread *io_thread_start(struct MHD_Daemon *daemon, int line,
                                  void (*returned)(void *context, int line), void *context);

/* The daemon's listening socket, which it closes at its end. -1: it has none. */
int io_thread_listen_fd(const struct io_thread *io);

/* Ends the thread, then the daemon. No connection may be suspended. */
void io_thread_stop(struct io_thread *io);

#endif
