// SPDX-License-Identifier: Apache-2.0
/* deadline_thread_pair.h - a watched connection on a pair of sockets, and checks of its end.
 *
 * Used by:  deadline_thread.c, deadline_thread_idle.c, deadline_thread_races.c, acked_bytes.c,
 *           eviction.c.
 */
#ifndef BURIN_TESTS_DEADLINE_THREAD_PAIR_H
#define BURIN_TESTS_DEADLINE_THREAD_PAIR_H

#include "server/http/engine/eviction.h"

#include "pipeline/timing.h"

#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
enum { SLOW_MS = 60000, LATE_MS = 20000 }; /* the machine may be busy */

static const struct deadline_limits slow = { SLOW_MS, SLOW_MS, 1, SLOW_MS, SLOW_MS, 1, NULL };

struct pair {
    int ours, theirs;
};

static inline struct pair local_pair(void) {
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    return (struct pair){ fds[0], fds[1] };
}

static inline struct pair tcp_pair(void) {
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    int theirs = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(theirs, (struct sockaddr *)&address, length), 0);
    int ours = accept(listener, NULL, NULL);
    assert_true(ours >= 0);
    close(listener);
    return (struct pair){ ours, theirs };
}

static struct pair (*const kinds[])(void) = { local_pair, tcp_pair };

static inline void reset(int fd) {
    struct linger hard = { 1, 0 };
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(fd);
}

static inline void sleep_ms(int ms) {
    usleep((useconds_t)ms * 1000);
}

static inline int ms_since(int64_t start_ns) {
    return (int)((clock_ns() - start_ns) / 1000000);
}

static inline void count_call(void *argument) {
    atomic_fetch_add((atomic_int *)argument, 1);
}

static inline bool becomes(atomic_int *value, int wanted) {
    for (int64_t end = clock_ns() + (int64_t)LATE_MS * 1000000; clock_ns() < end; sleep_ms(1))
        if (atomic_load(value) == wanted) return true;
    return false;
}

/* Milliseconds until the peer sees the end of the connection; -1: not within TIMEOUT_MS. */
static inline int cut_after(int theirs, int timeout_ms) {
    struct pollfd wait = { theirs, POLLRDHUP, 0 };
    int64_t start = clock_ns();
    return poll(&wait, 1, timeout_ms) > 0 ? ms_since(start) : -1;
}

static inline uint64_t reason_count(struct deadline_thread *deadlines, enum end_reason reason) {
    struct deadline_counts counts;
    deadline_thread_counts(deadlines, &counts);
    return counts.by_reason[reason];
}

static inline void end(struct deadline_thread *deadlines, struct deadline *deadline,
                       struct pair pair, bool theirs_too) {
    deadline_thread_remove(deadlines, deadline);
    close(pair.ours);
    if (theirs_too) close(pair.theirs);
    struct deadline_counts counts;
    deadline_thread_counts(deadlines, &counts);
    assert_int_equal(counts.connections, 0);
    deadline_thread_destroy(deadlines);
}

#endif
