// SPDX-License-Identifier: Apache-2.0
/* How it works. The thread waits by an epoll of its own for the library's epoll, the pipe, the
 * listening socket, and an eventfd by which others wake it. Then it takes a turn: jobs that came
 * back, clients that wait to be accepted, what was asked of it, and the library, which is called by
 * nobody else. While no connection can be accepted, the listening socket is not looked at: it would
 * wake the thread again and again. */
#include "server/http/engine/io_thread.h"

#include "pipeline/timing.h"
#include "server/log/log.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct io_thread {
    struct MHD_Daemon *daemon;
    int pipe, wake, events;
    bool stop, stop_accepting; /* atomic: set by the main thread */
    bool accepts;              /* atomic: reset by this thread when it has stopped */
    uint64_t turns;            /* atomic */
    int64_t rest_until_ns;     /* the listening socket is not looked at; 0: it is */
    unsigned rested_at;        /* connections then: it is looked at again when one has ended */
    int64_t completed_ns;      /* when the pipe was looked at last */
    struct io_calls calls;
    pthread_t thread;
};

enum { SOCKETS, PIPE, WAKE, LISTENING, SOURCES };

/* An answer takes the library three turns: sent, closed, the next request looked for. */
enum { TURNS = 4, PACE_NS = 2000000 };

/* REST_MS: between two looks at a listening socket from which nothing can be accepted. ACCEPTS: in
 * a turn, so that those who are connected are not kept waiting. */
enum { REST_MS = 20, ACCEPTS = 10 };

static bool add_source(const struct io_thread *io, int fd, uint32_t source) {
    struct epoll_event event = { .events = EPOLLIN, .data.u32 = source };
    return epoll_ctl(io->events, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Milliseconds until the library wants to be called, though nothing happened; -1: never. */
static int library_timeout(struct MHD_Daemon *daemon) {
    MHD_UNSIGNED_LONG_LONG ms;
    if (MHD_get_timeout(daemon, &ms) != MHD_YES) return -1;
    return ms > 1000 ? 1000 : (int)ms;
}

/* Before the end too: an answer that is queued is sent. */
static void run_library(struct io_thread *io) {
    int turns = TURNS;
    do MHD_run(io->daemon);
    while (--turns && library_timeout(io->daemon) == 0);
}

/* ---- accepting */

static unsigned connections(const struct io_thread *io) {
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(io->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}

static void look_at_clients(struct io_thread *io, bool look) {
    struct epoll_event event = { .events = look ? EPOLLIN : 0, .data.u32 = LISTENING };
    epoll_ctl(io->events, EPOLL_CTL_MOD, io->calls.listening, &event);
}

static void rest(struct io_thread *io) {
    io->rest_until_ns = clock_ns() + REST_MS * INT64_C(1000000);
    io->rested_at = connections(io);
    look_at_clients(io, false);
}

static void end_rest(struct io_thread *io, int64_t now) {
    if (!io->rest_until_ns || (now < io->rest_until_ns && connections(io) >= io->rested_at)) return;
    io->rest_until_ns = 0;
    look_at_clients(io, true);
}

/* The next client's socket; -1: there is none, or the system has none. */
static int accept_next(struct io_thread *io, struct sockaddr_storage *peer, socklen_t *length) {
    static struct log_limit limit;
    *length = sizeof *peer;
    const int fd =
        accept4(io->calls.listening, (struct sockaddr *)peer, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    const int error = errno;
    int left_out;
    if (fd >= 0 || (error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM))
        return fd;
    if (log_limit_allows(&limit, clock_ns(), &left_out))
        log_event(LOG_ERROR, "no connection can be accepted until another one ends: %s",
                  strerror(error));
    rest(io);
    return -1;
}

static void accept_clients(struct io_thread *io) {
    struct sockaddr_storage peer;
    socklen_t length;
    for (int i = 0; i < ACCEPTS; i++) {
        if (connections(io) >= io->calls.connections_max) {
            io->calls.full(io->calls.full_context);
            rest(io);
            return;
        }
        if (accept_balance_leaves(io->calls.share)) {
            sched_yield();
            return;
        }
        const int fd = accept_next(io, &peer, &length);
        if (fd < 0) return;
        MHD_add_connection(io->daemon, fd, (struct sockaddr *)&peer, length); /* or closes it */
    }
}

/* A socket that other processes inherit is theirs alone then. */
static void stop_accepting(struct io_thread *io) {
    if (!io->accepts || !__atomic_load_n(&io->stop_accepting, __ATOMIC_ACQUIRE)) return;
    epoll_ctl(io->events, EPOLL_CTL_DEL, io->calls.listening, NULL);
    io->rest_until_ns = 0;
    __atomic_store_n(&io->accepts, false, __ATOMIC_RELEASE);
}

/* ---- turns */

/* A write that was to wake the thread may be lost: it looks by itself, at the pipe too, however
 * much it is woken for other things. */
enum { LOOK_MS = 250 };

static int timeout_of(const struct io_thread *io) {
    const int timeout = library_timeout(io->daemon), most = io->rest_until_ns ? REST_MS : LOOK_MS;
    return timeout < 0 || timeout > most ? most : timeout;
}

/* While all cores are at work, this thread gets its turn when one of them runs out of it, or at the
 * next tick, and then serves all that has come meanwhile; as an ordinary thread it would push a
 * lane off its core for every message, which costs both more than the message does. Nothing changes
 * while a core is idle. */
static void yield_to_lanes(void) {
    pthread_setschedparam(pthread_self(), SCHED_BATCH, &(struct sched_param){ 0 });
}

static void take_events(struct io_thread *io, const struct epoll_event *ready, int count,
                        int64_t now) {
    uint64_t ignored;
    bool look = io->pipe >= 0 && now - io->completed_ns >= LOOK_MS * INT64_C(1000000);
    for (int i = 0; i < count; i++) {
        look |= ready[i].data.u32 == PIPE;
        if (ready[i].data.u32 == WAKE && read(io->wake, &ignored, sizeof ignored) < 0) continue;
        if (ready[i].data.u32 == LISTENING) accept_clients(io);
    }
    if (!look) return;
    io->completed_ns = now;
    io->calls.completed(io->calls.context, io->pipe);
}

/* Milliseconds until there is something to do, though nothing happens. */
static int next_timeout(struct io_thread *io) {
    const int library = timeout_of(io);
    const int waiting = io->calls.admission ? admission_turn(io->calls.admission) : -1;
    return waiting < 0 || library < waiting ? library : waiting;
}

/* Nobody waits for this thread while requests wait for workers, and each time that it is woken it
 * takes a core from them: so it takes its turns PACE_NS apart then. */
static void pace(const struct io_thread *io, int64_t last_ns) {
    const bool crowded = io->calls.admission && admission_is_crowded(io->calls.admission);
    const int64_t left = crowded ? last_ns + PACE_NS - clock_ns() : 0;
    if (left > 0) nanosleep(&(struct timespec){ .tv_nsec = left }, NULL);
}

static void *run(void *argument) {
    struct io_thread *io = argument;
    int64_t last_ns = 0;
    pthread_setname_np(pthread_self(), "io");
    yield_to_lanes();
    while (!__atomic_load_n(&io->stop, __ATOMIC_ACQUIRE)) {
        struct epoll_event ready[SOURCES];
        const int count = epoll_wait(io->events, ready, SOURCES, next_timeout(io));
        pace(io, last_ns);
        last_ns = clock_ns();
        take_events(io, ready, count, last_ns);
        run_library(io);
        stop_accepting(io); /* those that were accepted have been announced */
        end_rest(io, last_ns);
        __atomic_add_fetch(&io->turns, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

struct io_thread *io_thread_start(struct MHD_Daemon *daemon, int pipe,
                                  const struct io_calls *calls) {
    struct io_thread *io = calloc(1, sizeof *io);
    if (!io) return NULL;
    *io = (struct io_thread){ .daemon = daemon, .pipe = pipe, .accepts = true, .calls = *calls };
    io->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    io->events = epoll_create1(EPOLL_CLOEXEC);
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (info && calls->admission) admission_watch(calls->admission, info->epoll_fd);
    if (info && add_source(io, info->epoll_fd, SOCKETS) && add_source(io, io->wake, WAKE) &&
        (pipe < 0 || add_source(io, pipe, PIPE)) && add_source(io, calls->listening, LISTENING) &&
        pthread_create(&io->thread, NULL, run, io) == 0) {
        return io;
    }
    if (io->wake >= 0) close(io->wake);
    if (io->events >= 0) close(io->events);
    free(io);
    return NULL;
}

void io_thread_wake(struct io_thread *io) {
    const uint64_t one = 1;
    const ssize_t ignored = write(io->wake, &one, sizeof one); /* fails where it is awake already */
    (void)ignored;
}

uint64_t io_thread_turns(const struct io_thread *io) {
    return __atomic_load_n(&io->turns, __ATOMIC_ACQUIRE);
}

void io_thread_stop_accepting(struct io_thread *io) {
    __atomic_store_n(&io->stop_accepting, true, __ATOMIC_RELEASE);
    io_thread_wake(io);
    while (__atomic_load_n(&io->accepts, __ATOMIC_ACQUIRE)) usleep(1000);
}

void io_thread_stop(struct io_thread *io) {
    if (!io) return;
    __atomic_store_n(&io->stop, true, __ATOMIC_RELEASE);
    io_thread_wake(io);
    pthread_join(io->thread, NULL);
    MHD_stop_daemon(io->daemon);
    close(io->wake);
    close(io->events);
    free(io);
}
