// SPDX-License-Identifier: Apache-2.0
/* How it works. The library is started without a thread and without a socket; io_thread.c drives it
 * and accepts for it, and calls back here when all connections are taken: then room is made for
 * those who wait in the backlog. At the end a socket of our own ignores new connections, and an
 * inherited one is left to its others. */
#include "server/http/engine/listener.h"

#include "server/http/engine/connection_eviction.h"
#include "server/http/engine/io_thread.h"
#include "server/http/engine/listen_socket.h"
#include "server/log/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct listener {
    struct listener_options options;
    struct io_thread *io;
    int fd; /* our copy; -1: closed */
};

/* ---- what the library reports */

/* Mostly of clients that disconnect in the middle: no error of ours, and as many lines as they
 * like. */
static void on_library_log(void *context, const char *format, va_list arguments) {
    (void)context;
    char text[256];
    vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = '\0';
    log_event(LOG_INFO, "http: %s", text);
}

static void on_panic(void *context, const char *file, unsigned int line, const char *reason) {
    (void)context;
    log_event(LOG_ERROR, "http: panic at %s:%u: %s", file, line, reason ? reason : "");
    log_stop();
    abort();
}

/* ---- life */

/* The library keeps half of it for what it reads; the rest is for its records of headers and
 * arguments, 64 bytes each and as many as request_check lets pass, and for the head of the answer.
 * Beyond 32 KiB it maps pages for every connection, which then costs twice as much. */
static size_t memory_for(size_t header_bytes_max) {
    return header_bytes_max <= 16 << 10 ? 32 << 10 : (16 << 10) + 2 * header_bytes_max;
}

/* MHD_add_connection leaves a lock locked at the library's own limit (README.md). */
enum { LIMIT_NEVER_REACHED = 16 };

static struct MHD_Daemon *start_library(struct listener *listener) {
    const struct listener_options *options = &listener->options;
    const unsigned flags =
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG;
    MHD_set_panic_func(on_panic, NULL);
    return MHD_start_daemon(
        flags, 0, NULL, NULL, options->request, options->context, MHD_OPTION_EXTERNAL_LOGGER,
        on_library_log, NULL, MHD_OPTION_CONNECTION_LIMIT,
        options->connections_max + LIMIT_NEVER_REACHED, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        memory_for(options->connection.header_bytes_max), MHD_OPTION_NOTIFY_CONNECTION,
        connection_notify, &listener->options.connection, MHD_OPTION_NOTIFY_COMPLETED,
        options->ended, options->context, MHD_OPTION_URI_LOG_CALLBACK, connection_begin_request,
        NULL, MHD_OPTION_END);
}

/* How many clients wait for a connection that no thread can give them. */
static int count_waiting(const void *context) {
    const struct listener *listener = context;
    const bool full = accept_balance_is_full(listener->options.connection.share);
    return full ? listen_socket_waiting(listener->fd) : 0;
}

static void make_way(void *context) {
    const struct listener *listener = context;
    struct deadline_thread *deadlines = listener->options.connection.deadlines;
    if (count_waiting(listener)) connection_eviction_run(deadlines, count_waiting, listener);
}

static struct io_thread *start_thread(struct listener *listener, struct MHD_Daemon *library) {
    const struct listener_options *options = &listener->options;
    const struct io_calls calls = { .completed = options->jobs_completed,
                                    .context = options->context,
                                    .full = make_way,
                                    .full_context = listener,
                                    .listening = listener->fd,
                                    .share = options->connection.share,
                                    .connections_max = options->connections_max,
                                    .admission = options->connection.admission };
    return io_thread_start(library, options->pipe, &calls);
}

static bool prepare_admission(struct listener *listener) {
    struct listener_options *options = &listener->options;
    if (!options->admission) return true;
    options->connection.admission = admission_create(options->admission);
    return options->connection.admission != NULL;
}

struct listener *listener_open(const struct listener_options *options) {
    struct listener *listener = calloc(1, sizeof *listener);
    if (!listener) return NULL;
    listener->options = *options;
    listener->fd = fcntl(options->fd, F_DUPFD_CLOEXEC, 0);
    /* Service managers pass sockets that block. */
    if (listener->fd >= 0) fcntl(listener->fd, F_SETFL, O_NONBLOCK);
    if (options->balance && listener->fd >= 0)
        listener->options.connection.share =
            accept_balance_join(options->balance, (int)options->connections_max);
    const bool admits = prepare_admission(listener);
    struct MHD_Daemon *library = listener->fd >= 0 && admits ? start_library(listener) : NULL;
    if (library) listener->io = start_thread(listener, library);
    if (listener->io) return listener;
    accept_balance_leave(listener->options.connection.share);
    if (library) MHD_stop_daemon(library);
    if (listener->fd >= 0) close(listener->fd);
    admission_destroy(listener->options.connection.admission);
    free(listener);
    return NULL;
}

/* A filter on an inherited socket would stay there, and its next owner would hear of nobody. */
void listener_stop_accepting(struct listener *listener) {
    if (listener->fd < 0) return;
    if (!listener->options.inherited) {
        listen_socket_ignore_new(listener->fd);
        return;
    }
    accept_balance_leave(listener->options.connection.share);
    io_thread_stop_accepting(listener->io);
    close(listener->fd); /* closed, never shut down: that would end it for everybody */
    listener->fd = -1;
}

void listener_wake(struct listener *listener) {
    io_thread_wake(listener->io);
}

uint64_t listener_turns(const struct listener *listener) {
    return io_thread_turns(listener->io);
}

void listener_close(struct listener *listener) {
    if (!listener) return;
    accept_balance_leave(listener->options.connection.share);
    io_thread_stop(listener->io);
    if (listener->fd >= 0) close(listener->fd);
    admission_destroy(listener->options.connection.admission);
    free(listener);
}
