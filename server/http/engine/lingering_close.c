// SPDX-License-Identifier: Apache-2.0
/* How it works. The copies of the sockets are in a fixed array under one lock. Adding one shuts
 * down its write side, so that the client sees the end of the answer. A thread then reads and drops
 * what arrives, a piece of each socket at a time, when epoll reports it and at least every
 * CHECK_MS, until the client closes or a bound is reached. */
#include "server/http/engine/lingering_close.h"

#include "pipeline/timing.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINGER_NS (INT64_C(2000) * 1000 * 1000)
enum { BYTES_MAX = 4 << 20, PIECE = 64 << 10, CHECK_MS = 100 };

struct entry {
    int fd; /* -1: free */
    int64_t end_ns;
    size_t bytes;
};

struct lingering_close {
    int epoll, wake;
    pthread_t thread;
    bool stop; /* atomic */
    int max;   /* entries that may be used */
    pthread_mutex_t lock;
    struct entry entries[LINGERING_MAX]; /* under the lock */
};

static void remove_entry(struct entry *entry) {
    close(entry->fd); /* this also removes it from the epoll */
    entry->fd = -1;
}

static bool client_has_closed(int fd) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0) return true;
    return info.tcpi_state != TCP_ESTABLISHED && info.tcpi_state != TCP_FIN_WAIT1 &&
           info.tcpi_state != TCP_FIN_WAIT2;
}

/* Drops one piece, no more: other threads wait for the lock. False: the client has closed, or
 * BYTES_MAX is reached. recv() also returns 0 after a shutdown of our own; then the client is still
 * there, and a reset shows it the end. */
static bool drop_piece(struct entry *entry, char *piece) {
    const ssize_t got = recv(entry->fd, piece, PIECE, MSG_DONTWAIT);
    if (got == 0 && !client_has_closed(entry->fd)) reset_on_close(entry->fd);
    if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
    entry->bytes += (size_t)got;
    return entry->bytes <= BYTES_MAX;
}

static void drop_all(struct lingering_close *lingering, char *piece) {
    const int64_t now = clock_ns();
    pthread_mutex_lock(&lingering->lock);
    for (int i = 0; i < LINGERING_MAX; i++) {
        struct entry *entry = &lingering->entries[i];
        if (entry->fd >= 0 && (entry->end_ns <= now || !drop_piece(entry, piece)))
            remove_entry(entry);
    }
    pthread_mutex_unlock(&lingering->lock);
}

static bool any(struct lingering_close *lingering) {
    bool found = false;
    pthread_mutex_lock(&lingering->lock);
    for (int i = 0; i < LINGERING_MAX; i++) found |= lingering->entries[i].fd >= 0;
    pthread_mutex_unlock(&lingering->lock);
    return found;
}

/* A wake-up may be lost: the thread checks `stop` this often anyway. */
enum { LOOK_MS = 500 };

static void *run(void *argument) {
    struct lingering_close *lingering = argument;
    pthread_setname_np(pthread_self(), "linger");
    static char piece[PIECE]; /* dropped bytes */
    while (!__atomic_load_n(&lingering->stop, __ATOMIC_ACQUIRE)) {
        struct epoll_event events[16];
        uint64_t ignored;
        epoll_wait(lingering->epoll, events, 16, any(lingering) ? CHECK_MS : LOOK_MS);
        while (read(lingering->wake, &ignored, sizeof ignored) > 0) continue;
        drop_all(lingering, piece);
    }
    return NULL;
}

static void wake(struct lingering_close *lingering) {
    const uint64_t one = 1;
    const ssize_t ignored = write(lingering->wake, &one, sizeof one);
    (void)ignored;
}

/* Under the lock. */
static struct entry *free_entry(struct lingering_close *lingering) {
    for (int i = 0; i < lingering->max; i++)
        if (lingering->entries[i].fd < 0) return &lingering->entries[i];
    return NULL;
}

void lingering_close_add(struct lingering_close *lingering, int fd) {
    pthread_mutex_lock(&lingering->lock);
    struct entry *entry = free_entry(lingering);
    const int copy = entry ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (copy >= 0) {
        struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP };
        *entry = (struct entry){ copy, clock_ns() + LINGER_NS, 0 };
        shutdown(copy, SHUT_WR);
        epoll_ctl(lingering->epoll, EPOLL_CTL_ADD, copy, &event); /* on failure CHECK_MS suffices */
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
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the main thread takes all signals */
    const bool started = pthread_create(&lingering->thread, NULL, run, lingering) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static void release(struct lingering_close *lingering) {
    for (int i = 0; i < LINGERING_MAX; i++)
        if (lingering->entries[i].fd >= 0) remove_entry(&lingering->entries[i]);
    if (lingering->epoll >= 0) close(lingering->epoll);
    if (lingering->wake >= 0) close(lingering->wake);
    pthread_mutex_destroy(&lingering->lock);
    free(lingering);
}

struct lingering_close *lingering_close_create(void) {
    struct lingering_close *lingering = calloc(1, sizeof *lingering);
    if (!lingering) return NULL;
    lingering->max = LINGERING_MAX;
    pthread_mutex_init(&lingering->lock, NULL);
    for (int i = 0; i < LINGERING_MAX; i++) lingering->entries[i].fd = -1;
    if (start(lingering)) return lingering;
    release(lingering);
    return NULL;
}

void lingering_close_set_max(struct lingering_close *lingering, int max) {
    lingering->max = max < LINGERING_MAX ? max : LINGERING_MAX;
}

void lingering_close_destroy(struct lingering_close *lingering) {
    if (!lingering) return;
    __atomic_store_n(&lingering->stop, true, __ATOMIC_RELEASE);
    wake(lingering);
    pthread_join(lingering->thread, NULL);
    release(lingering);
}
