// SPDX-License-Identifier: Apache-2.0
#include "server/http/engine/io_thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct io_thread {
    struct MHD_Daemon *daemon;
    int pipe, stop, events;
    unsigned connections; /* open when the library last ran */
    void (*completed)(void *context, int pipe);
    void *context;
    pthread_t thread;
};

enum { SOCKETS, PIPE, STOP, SOURCES };

/* An answer takes the library three turns: sent, closed, the next request looked for. */
enum { TURNS = 4 };

static void add_source(const struct io_thread *io, int fd, uint32_t source) {
    struct epoll_event event = { .events = EPOLLIN, .data.u32 = source };
    if (fd >= 0) epoll_ctl(io->events, EPOLL_CTL_ADD, fd, &event);
}

/* Milliseconds until the library wants to be called, though nothing happened; -1: never. */
static int library_timeout(struct MHD_Daemon *daemon) {
    MHD_UNSIGNED_LONG_LONG ms;
    if (MHD_get_timeout(daemon, &ms) != MHD_YES) return -1;
    return ms > 1000 ? 1000 : (int)ms;
}

/* Whether connections have ended in the library's last turn: at its limit it needs one more turn to
 * listen again (README.md). */
static bool connections_ended(struct io_thread *io) {
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(io->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    const unsigned before = io->connections;
    io->connections = info ? info->num_connections : 0;
    return io->connections < before;
}

/* Before the end too: an answer that is queued is sent. */
static void run_library(struct io_thread *io) {
    int turns = TURNS;
    do MHD_run(io->daemon);
    while (connections_ended(io) || (--turns && library_timeout(io->daemon) == 0));
}

/* While all cores are at work, this thread gets its turn when one of them runs out of it, or at the
 * next tick, and then serves all that has come meanwhile; as an ordinary thread it would push a
 * lane off its core for every message, which costs both more than the message does. Nothing changes
 * while a core is idle. */
static void yield_to_lanes(void) {
    pthread_setschedparam(pthread_self(), SCHED_BATCH, &(struct sched_param){ 0 });
}

static void *run(void *argument) {
    struct io_thread *io = argument;
    yield_to_lanes();
    for (bool stop = false; !stop;) {
        struct epoll_event ready[SOURCES];
        const int count = epoll_wait(io->events, ready, SOURCES, library_timeout(io->daemon));
        for (int i = 0; i < count; i++) {
            if (ready[i].data.u32 == PIPE) io->completed(io->context, io->pipe);
            stop |= ready[i].data.u32 == STOP;
        }
        run_library(io);
    }
    return NULL;
}

struct io_thread *io_thread_start(struct MHD_Daemon *daemon, int pipe,
                                  void (*completed)(void *context, int pipe), void *context) {
    struct io_thread *io = calloc(1, sizeof *io);
    if (!io) return NULL;
    *io = (struct io_thread){
        .daemon = daemon, .pipe = pipe, .completed = completed, .context = context
    };
    io->stop = eventfd(0, EFD_CLOEXEC);
    io->events = epoll_create1(EPOLL_CLOEXEC);
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (info) add_source(io, info->epoll_fd, SOCKETS);
    add_source(io, pipe, PIPE);
    add_source(io, io->stop, STOP);
    if (info && io->stop >= 0 && io->events >= 0 && pthread_create(&io->thread, NULL, run, io) == 0)
        return io;
    if (io->stop >= 0) close(io->stop);
    if (io->events >= 0) close(io->events);
    free(io);
    return NULL;
}

void io_thread_stop(struct io_thread *io) {
    if (!io) return;
    const uint64_t one = 1;
    if (write(io->stop, &one, sizeof one) == sizeof one) pthread_join(io->thread, NULL);
    MHD_stop_daemon(io->daemon);
    close(io->stop);
    close(io->events);
    free(io);
}
