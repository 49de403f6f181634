// SPDX-License-Identifier: Apache-2.0
#include "server/http/engine/lingering_close.h"

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

#define LINGER_NS (INT64_C(2000) * 1000 * 1000)
enum { BYTES_MAX = 4 << 20, PIECE = 64 << 10, LOOK_MS = 100 };

struct place {
    int fd; /* -1: free */
    int64_t end_ns;
    size_t bytes;
};

struct lingering_close {
    int epoll, wake;
    pthread_t thread;
    bool stop; /* atomic */
    pthread_mutex_t lock;
    struct place places[LINGERING_MAX]; /* under the lock */
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

static void look(struct lingering_close *lingering, char *piece) {
    const int64_t now = clock_ns();
    pthread_mutex_lock(&lingering->lock);
    for (int i = 0; i < LINGERING_MAX; i++) {
        struct place *place = &lingering->places[i];
        if (place->fd >= 0 && (place->end_ns <= now || !drop(place, piece))) leave(place);
    }
    pthread_mutex_unlock(&lingering->lock);
}

static bool any(struct lingering_close *lingering) {
    bool found = false;
    pthread_mutex_lock(&lingering->lock);
    for (int i = 0; i < LINGERING_MAX; i++) found |= lingering->places[i].fd >= 0;
    pthread_mutex_unlock(&lingering->lock);
    return found;
}

static void *run(void *argument) {
    struct lingering_close *lingering = argument;
    static char piece[PIECE]; /* nobody looks at it */
    while (!__atomic_load_n(&lingering->stop, __ATOMIC_ACQUIRE)) {
        struct epoll_event events[16];
        uint64_t ignored;
        epoll_wait(lingering->epoll, events, 16, any(lingering) ? LOOK_MS : -1);
        while (read(lingering->wake, &ignored, sizeof ignored) > 0) continue;
        look(lingering, piece);
    }
    return NULL;
}

static void wake(struct lingering_close *lingering) {
    const uint64_t one = 1;
    const ssize_t ignored = write(lingering->wake, &one, sizeof one);
    (void)ignored;
}

/* Under the lock. */
static struct place *free_place(struct lingering_close *lingering) {
    for (int i = 0; i < LINGERING_MAX; i++)
        if (lingering->places[i].fd < 0) return &lingering->places[i];
    return NULL;
}

void lingering_close_add(struct lingering_close *lingering, int fd) {
    pthread_mutex_lock(&lingering->lock);
    struct place *place = free_place(lingering);
    const int copy = place ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (copy >= 0) {
        struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP };
        *place = (struct place){ copy, clock_ns() + LINGER_NS, 0 };
        shutdown(copy, SHUT_WR);
        epoll_ctl(lingering->epoll, EPOLL_CTL_ADD, copy, &event); /* else LOOK_MS will do */
    }
    pthread_mutex_unlock(&lingering->lock);
    if (copy >= 0) wake(lingering);
}

static bool start(struct lingering_close *lingering) {
    struct epoll_event event = { .events = EPOLLIN };
    sigset_t all, before;
    lingering->epoll = epoll_create1(EPOLL_CLOEXEC);
    lingering->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (lingering->epoll < 0 || lingering->wake < 0 ||
        epoll_ctl(lingering->epoll, EPOLL_CTL_ADD, lingering->wake, &event) < 0)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the main thread */
    const bool started = pthread_create(&lingering->thread, NULL, run, lingering) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) pthread_setname_np(lingering->thread, "lingering");
    return started;
}

static void release(struct lingering_close *lingering) {
    for (int i = 0; i < LINGERING_MAX; i++)
        if (lingering->places[i].fd >= 0) leave(&lingering->places[i]);
    if (lingering->epoll >= 0) close(lingering->epoll);
    if (lingering->wake >= 0) close(lingering->wake);
    pthread_mutex_destroy(&lingering->lock);
    free(lingering);
}

struct lingering_close *lingering_close_create(void) {
    struct lingering_close *lingering = calloc(1, sizeof *lingering);
    if (!lingering) return NULL;
    pthread_mutex_init(&lingering->lock, NULL);
    for (int i = 0; i < LINGERING_MAX; i++) lingering->places[i].fd = -1;
    if (start(lingering)) return lingering;
    release(lingering);
    return NULL;
}

void lingering_close_destroy(struct lingering_close *lingering) {
    if (!lingering) return;
    __atomic_store_n(&lingering->stop, true, __ATOMIC_RELEASE);
    wake(lingering);
    pthread_join(lingering->thread, NULL);
    release(lingering);
}
