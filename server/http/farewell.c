// SPDX-License-Identifier: Apache-2.0
#include "server/http/farewell.h"

#include "pipeline/timing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define FAREWELL_NS (INT64_C(2000) * 1000 * 1000)
enum { BYTES_MAX = 4 << 20, PIECE = 64 << 10, LOOK_MS = 100 };

struct place {
    int fd; /* -1: free */
    int64_t end_ns;
    size_t bytes;
};

struct farewell {
    int epoll, wake;
    pthread_t thread;
    bool stop; /* atomic */
    pthread_mutex_t lock;
    struct place places[FAREWELLS_MAX]; /* under the lock */
};

static void leave(struct place *place) {
    close(place->fd); /* and so out of the epoll */
    place->fd = -1;
}

/* A piece of what is there, no more: others wait for the lock. false: nothing more is to come, or
 * enough has. */
static bool drop(struct place *place, char *piece) {
    const ssize_t got = recv(place->fd, piece, PIECE, MSG_DONTWAIT);
    if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
    place->bytes += (size_t)got;
    return place->bytes <= BYTES_MAX;
}

static void look(struct farewell *farewell, char *piece) {
    const int64_t now = clock_ns();
    pthread_mutex_lock(&farewell->lock);
    for (int i = 0; i < FAREWELLS_MAX; i++) {
        struct place *place = &farewell->places[i];
        if (place->fd >= 0 && (place->end_ns <= now || !drop(place, piece))) leave(place);
    }
    pthread_mutex_unlock(&farewell->lock);
}

static bool any(struct farewell *farewell) {
    bool found = false;
    pthread_mutex_lock(&farewell->lock);
    for (int i = 0; i < FAREWELLS_MAX; i++) found |= farewell->places[i].fd >= 0;
    pthread_mutex_unlock(&farewell->lock);
    return found;
}

static void *run(void *argument) {
    struct farewell *farewell = argument;
    static char piece[PIECE]; /* nobody looks at it */
    while (!__atomic_load_n(&farewell->stop, __ATOMIC_ACQUIRE)) {
        struct epoll_event events[16];
        uint64_t ignored;
        epoll_wait(farewell->epoll, events, 16, any(farewell) ? LOOK_MS : -1);
        while (read(farewell->wake, &ignored, sizeof ignored) > 0) continue;
        look(farewell, piece);
    }
    return NULL;
}

static void wake(struct farewell *farewell) {
    const uint64_t one = 1;
    const ssize_t ignored = write(farewell->wake, &one, sizeof one);
    (void)ignored;
}

/* Under the lock. */
static struct place *free_place(struct farewell *farewell) {
    for (int i = 0; i < FAREWELLS_MAX; i++)
        if (farewell->places[i].fd < 0) return &farewell->places[i];
    return NULL;
}

void farewell_take(struct farewell *farewell, int fd) {
    pthread_mutex_lock(&farewell->lock);
    struct place *place = free_place(farewell);
    const int copy = place ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (copy >= 0) {
        struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP };
        *place = (struct place){ copy, clock_ns() + FAREWELL_NS, 0 };
        shutdown(copy, SHUT_WR);
        epoll_ctl(farewell->epoll, EPOLL_CTL_ADD, copy, &event); /* else LOOK_MS will do */
    }
    pthread_mutex_unlock(&farewell->lock);
    if (copy >= 0) wake(farewell);
}

static bool start(struct farewell *farewell) {
    struct epoll_event event = { .events = EPOLLIN };
    sigset_t all, before;
    farewell->epoll = epoll_create1(EPOLL_CLOEXEC);
    farewell->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (farewell->epoll < 0 || farewell->wake < 0 ||
        epoll_ctl(farewell->epoll, EPOLL_CTL_ADD, farewell->wake, &event) < 0)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the main thread */
    const bool started = pthread_create(&farewell->thread, NULL, run, farewell) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) pthread_setname_np(farewell->thread, "farewell");
    return started;
}

static void release(struct farewell *farewell) {
    for (int i = 0; i < FAREWELLS_MAX; i++)
        if (farewell->places[i].fd >= 0) leave(&farewell->places[i]);
    if (farewell->epoll >= 0) close(farewell->epoll);
    if (farewell->wake >= 0) close(farewell->wake);
    pthread_mutex_destroy(&farewell->lock);
    free(farewell);
}

struct farewell *farewell_create(void) {
    struct farewell *farewell = calloc(1, sizeof *farewell);
    if (!farewell) return NULL;
    pthread_mutex_init(&farewell->lock, NULL);
    for (int i = 0; i < FAREWELLS_MAX; i++) farewell->places[i].fd = -1;
    if (start(farewell)) return farewell;
    release(farewell);
    return NULL;
}

void farewell_destroy(struct farewell *farewell) {
    if (!farewell) return;
    __atomic_store_n(&farewell->stop, true, __ATOMIC_RELEASE);
    wake(farewell);
    pthread_join(farewell->thread, NULL);
    release(farewell);
}
