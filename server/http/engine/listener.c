// SPDX-License-Identifier: Apache-2.0
/* How it works. The library is started without a thread and without a socket. The thread waits by
 * an epoll of its own for the library's epoll, the pipe, the listening socket, and an eventfd by
 * which other threads wake it. Each turn handles finished jobs, clients to accept, requests to
 * stop, and then the library, which no other thread calls.
 *
 * While no connection can be accepted, the listening socket is left out of the epoll: it would wake
 * the thread again and again. When all connections are taken, idle ones are evicted for the clients
 * in the backlog. At the end a socket of our own ignores new connections, and an inherited one is
 * closed and left to the other processes. */
#include "server/http/engine/listener.h"

#include "pipeline/timing.h"
#include "server/http/engine/eviction.h"
#include "server/http/engine/listen_socket.h"
#include "server/log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct listener {
    struct listener_options options;
    struct MHD_Daemon *library;
    int sockets[LISTEN_SOCKETS]; /* our copies; they do not block; -1: closed, or there is none */
    int next;                    /* of these: the one that is asked first for a client */
    int wake, epoll;
    bool stop, stop_accepting; /* atomic: set by the main thread */
    bool accepts;              /* atomic: cleared by the listener's thread once it has stopped */
    uint64_t turns;            /* atomic */
    int64_t rest_until_ns;     /* until then the socket is not polled; 0: it is */
    unsigned rested_at;        /* connections then: polling resumes when one of them has ended */
    int64_t completed_ns;      /* last look at the pipe */
    pthread_t thread;
};

/* ---- the library */

/* Mostly clients that disconnect in the middle: not our errors, and any number of lines. For the
 * library a connection that we end is an internal error; the request's line has the reason. */
static void on_library_log(void *context, const char *format, va_list arguments) {
    (void)context;
    char text[256];
    vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = '\0';
    if (strcmp(text, "Application reported internal error, closing connection.") == 0) return;
    log_event(LOG_INFO, "http_library", "http: %s", text);
}

static void on_panic(void *context, const char *file, unsigned int line, const char *reason) {
    (void)context;
    log_event(LOG_ERROR, "http_panic", "http: panic at %s:%u: %s", file, line,
              reason ? reason : "");
    log_stop();
    abort();
}

/* Bytes of a connection. The library uses half of it for what it reads; the rest is for its records
 * of headers and arguments (64 bytes each, as many as request_check allows) and for the head of the
 * answer. Beyond 32 KiB it maps pages for every connection, which doubles their cost. */
static size_t memory_for(size_t header_bytes_max) {
    return header_bytes_max <= 16 << 10 ? 32 << 10 : (16 << 10) + 2 * header_bytes_max;
}

/* Room above our own limit: at the library's limit MHD_add_connection leaves a lock locked
 * (README.md). */
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

/* Milliseconds until the library wants to be called without an event; -1: never. */
static int library_timeout(struct MHD_Daemon *library) {
    MHD_UNSIGNED_LONG_LONG ms;
    if (MHD_get_timeout(library, &ms) != MHD_YES) return -1;
    return ms > 1000 ? 1000 : (int)ms;
}

/* TURNS: an answer takes the library three: it is sent, it is closed, the next request is looked
 * for. Also before the end, so that a queued answer is sent. */
static void run_library(struct listener *listener) {
    enum { TURNS = 4 };
    int turns = TURNS;
    do MHD_run(listener->library);
    while (--turns && library_timeout(listener->library) == 0);
}

/* ---- accepting */

enum { SOCKETS, PIPE, WAKE, LISTENING, SOURCES };

/* REST_MS: how long a socket that nothing can be accepted from is not polled. ACCEPTS: at most so
 * many in a turn, so that open connections are not kept waiting. */
enum { REST_MS = 20, ACCEPTS = 10 };

static unsigned connections(const struct listener *listener) {
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(listener->library, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}

static void poll_socket(struct listener *listener, bool poll) {
    struct epoll_event event = { .events = poll ? EPOLLIN : 0, .data.u32 = LISTENING };
    for (int i = 0; i < LISTEN_SOCKETS; i++) /* fails where there is none */
        epoll_ctl(listener->epoll, EPOLL_CTL_MOD, listener->sockets[i], &event);
}

static void rest(struct listener *listener) {
    listener->rest_until_ns = clock_ns() + REST_MS * INT64_C(1000000);
    listener->rested_at = connections(listener);
    poll_socket(listener, false);
}

static void end_rest(struct listener *listener, int64_t now) {
    if (!listener->rest_until_ns ||
        (now < listener->rest_until_ns && connections(listener) >= listener->rested_at))
        return;
    listener->rest_until_ns = 0;
    poll_socket(listener, true);
}

/* The number of clients that wait for a connection which no thread can give them. */
static int count_waiting(const void *context) {
    const struct listener *listener = context;
    const bool full = accept_balance_is_full(listener->options.connection.share);
    int waiting = 0;
    for (int i = 0; full && i < LISTEN_SOCKETS; i++)
        if (listener->sockets[i] >= 0) waiting += listen_socket_waiting(listener->sockets[i]);
    return waiting;
}

/* accept4 on the sockets in turn, until one has a client or fails. */
static int accept_any(struct listener *listener, struct sockaddr_storage *peer, socklen_t *length) {
    int fd = -1;
    errno = EAGAIN;
    for (int i = 0; i < LISTEN_SOCKETS && fd < 0 && errno == EAGAIN; i++) {
        const int from = listener->sockets[listener->next];
        listener->next = (listener->next + 1) % LISTEN_SOCKETS;
        if (from < 0) continue;
        *length = sizeof *peer;
        fd = accept4(from, (struct sockaddr *)peer, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    }
    return fd;
}

/* The next client's socket; -1: no client waits, or no descriptor or memory is left. */
static int accept_next(struct listener *listener, struct sockaddr_storage *peer,
                       socklen_t *length) {
    static struct log_limit limit;
    const int fd = accept_any(listener, peer, length);
    const int error = errno;
    int left_out;
    if (fd >= 0 || (error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM))
        return fd;
    if (log_limit_allows(&limit, clock_ns(), &left_out))
        log_event(LOG_ERROR, "accept_failed",
                  "no connection can be accepted until another one ends: %s", strerror(error));
    rest(listener);
    return -1;
}

static void accept_clients(struct listener *listener) {
    struct sockaddr_storage peer;
    socklen_t length;
    for (int i = 0; i < ACCEPTS; i++) {
        if (connections(listener) >= listener->options.connections_max) {
            if (count_waiting(listener))
                connection_eviction_run(listener->options.connection.deadlines, count_waiting,
                                        listener);
            rest(listener);
            return;
        }
        if (accept_balance_leaves(listener->options.connection.share)) {
            sched_yield();
            return;
        }
        const int fd = accept_next(listener, &peer, &length);
        if (fd < 0) return;
        /* takes fd over; closes it on failure */
        MHD_add_connection(listener->library, fd, (struct sockaddr *)&peer, length);
    }
}

/* From now on the listening socket is not touched: the main thread may close it. */
static void stop_accepting(struct listener *listener) {
    if (!listener->accepts || !__atomic_load_n(&listener->stop_accepting, __ATOMIC_ACQUIRE)) return;
    for (int i = 0; i < LISTEN_SOCKETS; i++)
        epoll_ctl(listener->epoll, EPOLL_CTL_DEL, listener->sockets[i], NULL);
    listener->rest_until_ns = 0;
    __atomic_store_n(&listener->accepts, false, __ATOMIC_RELEASE);
}

/* ---- turns */

/* A wake-up may be lost: the thread looks this often anyway, also at the pipe, however often it is
 * woken for other reasons. */
enum { LOOK_MS = 250 };

static void take_events(struct listener *listener, const struct epoll_event *ready, int count,
                        int64_t now) {
    const struct listener_options *options = &listener->options;
    uint64_t ignored;
    bool look = options->pipe >= 0 && now - listener->completed_ns >= LOOK_MS * INT64_C(1000000);
    for (int i = 0; i < count; i++) {
        look |= ready[i].data.u32 == PIPE;
        if (ready[i].data.u32 == WAKE && read(listener->wake, &ignored, sizeof ignored) < 0)
            continue;
        if (ready[i].data.u32 == LISTENING) accept_clients(listener);
    }
    if (!look) return;
    listener->completed_ns = now;
    options->jobs_completed(options->context, options->pipe);
}

/* Milliseconds until there is something to do without an event. */
static int next_timeout(struct listener *listener) {
    struct admission *admission = listener->options.connection.admission;
    const int library = library_timeout(listener->library);
    const int most = listener->rest_until_ns ? REST_MS : LOOK_MS;
    const int timeout = library < 0 || library > most ? most : library;
    const int waiting = admission ? admission_turn(admission) : -1;
    return waiting < 0 || timeout < waiting ? timeout : waiting;
}

/* While requests wait for workers, nothing is urgent here, and each wake-up of this thread takes a
 * core from a worker: so its turns are PACE_NS apart. */
static void pace(const struct listener *listener, int64_t last_ns) {
    enum { PACE_NS = 2000000 };
    const struct admission *admission = listener->options.connection.admission;
    const bool crowded = admission && admission_is_crowded(admission);
    const int64_t left = crowded ? last_ns + PACE_NS - clock_ns() : 0;
    if (left > 0) nanosleep(&(struct timespec){ .tv_nsec = left }, NULL);
}

static void *run(void *argument) {
    struct listener *listener = argument;
    int64_t last_ns = 0;
    pthread_setname_np(pthread_self(), "io");
    /* While all cores are busy, this thread runs at a worker's end of slice or at the next tick,
     * and then serves everything that has come meanwhile. An ordinary thread would preempt a lane
     * for every message, which costs both more than the message. An idle core runs it at once. */
    pthread_setschedparam(pthread_self(), SCHED_BATCH, &(struct sched_param){ 0 });
    while (!__atomic_load_n(&listener->stop, __ATOMIC_ACQUIRE)) {
        struct epoll_event ready[SOURCES];
        const int count = epoll_wait(listener->epoll, ready, SOURCES, next_timeout(listener));
        pace(listener, last_ns);
        last_ns = clock_ns();
        take_events(listener, ready, count, last_ns);
        run_library(listener);
        stop_accepting(listener); /* after the library has announced the accepted ones */
        end_rest(listener, last_ns);
        __atomic_add_fetch(&listener->turns, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* ---- life */

static bool add_source(const struct listener *listener, int fd, uint32_t source) {
    struct epoll_event event = { .events = EPOLLIN, .data.u32 = source };
    return epoll_ctl(listener->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool start_thread(struct listener *listener) {
    const struct listener_options *options = &listener->options;
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(listener->library, MHD_DAEMON_INFO_EPOLL_FD);
    if (!info) return false;
    if (options->connection.admission)
        admission_watch(options->connection.admission, info->epoll_fd);
    return add_source(listener, info->epoll_fd, SOCKETS) &&
           add_source(listener, listener->wake, WAKE) &&
           (options->pipe < 0 || add_source(listener, options->pipe, PIPE)) &&
           add_source(listener, listener->sockets[0], LISTENING) &&
           (listener->sockets[1] < 0 || add_source(listener, listener->sockets[1], LISTENING)) &&
           pthread_create(&listener->thread, NULL, run, listener) == 0;
}

static bool start(struct listener *listener) {
    struct listener_options *options = &listener->options;
    if (listener->sockets[0] < 0 || listener->wake < 0 || listener->epoll < 0) return false;
    fcntl(listener->sockets[0], F_SETFL, O_NONBLOCK); /* service managers pass sockets that block */
    if (options->balance)
        options->connection.share =
            accept_balance_join(options->balance, (int)options->connections_max);
    if (options->admission) {
        options->connection.admission = admission_create(options->admission);
        if (!options->connection.admission) return false;
    }
    listener->library = start_library(listener);
    return listener->library && start_thread(listener);
}

/* The thread has ended or was never started. */
static void release(struct listener *listener) {
    accept_balance_leave(listener->options.connection.share);
    if (listener->library) MHD_stop_daemon(listener->library);
    if (listener->wake >= 0) close(listener->wake);
    if (listener->epoll >= 0) close(listener->epoll);
    for (int i = 0; i < LISTEN_SOCKETS; i++)
        if (listener->sockets[i] >= 0) close(listener->sockets[i]);
    admission_destroy(listener->options.connection.admission);
    free(listener);
}

struct listener *listener_open(const struct listener_options *options) {
    struct listener *listener = calloc(1, sizeof *listener);
    if (!listener) return NULL;
    listener->options = *options;
    listener->accepts = true;
    for (int i = 0; i < LISTEN_SOCKETS; i++)
        listener->sockets[i] = fcntl(options->sockets[i], F_DUPFD_CLOEXEC, 0);
    listener->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    listener->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (start(listener)) return listener;
    release(listener);
    return NULL;
}

/* An inherited socket is closed, neither shut down, which would end it for every process, nor given
 * a filter, which would stay and hide all clients from its next owner. */
void listener_stop_accepting(struct listener *listener) {
    if (listener->sockets[0] < 0) return;
    if (!listener->options.inherited) {
        for (int i = 0; i < LISTEN_SOCKETS; i++) listen_socket_ignore_new(listener->sockets[i]);
        return;
    }
    accept_balance_leave(listener->options.connection.share);
    __atomic_store_n(&listener->stop_accepting, true, __ATOMIC_RELEASE);
    listener_wake(listener);
    while (__atomic_load_n(&listener->accepts, __ATOMIC_ACQUIRE)) usleep(1000);
    close(listener->sockets[0]); /* the only one that is inherited */
    listener->sockets[0] = -1;
}

void listener_wake(struct listener *listener) {
    const uint64_t one = 1;
    const ssize_t ignored = write(listener->wake, &one, sizeof one); /* fails if already awake */
    (void)ignored;
}

uint64_t listener_turns(const struct listener *listener) {
    return __atomic_load_n(&listener->turns, __ATOMIC_ACQUIRE);
}

void listener_close(struct listener *listener) {
    if (!listener) return;
    accept_balance_leave(listener->options.connection.share);
    __atomic_store_n(&listener->stop, true, __ATOMIC_RELEASE);
    listener_wake(listener);
    pthread_join(listener->thread, NULL);
    release(listener);
}
