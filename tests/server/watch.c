// SPDX-License-Identifier: Apache-2.0
/* The watcher on pairs of sockets: deadlines of every phase, clients that leave in every way and at
 * every time, and the races between the two threads. */
#include "server/http/watch.h"

#include "pipeline/timing.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
enum { SLOW_MS = 20000, LATE_MS = 1500 }; /* the machine may be busy */

static const struct watch_limits slow = { SLOW_MS, SLOW_MS, 1, SLOW_MS, 1 };

struct pair {
    int ours, theirs;
};

static struct pair local_pair(void) {
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    return (struct pair){ fds[0], fds[1] };
}

static struct pair tcp_pair(void) {
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

static void reset(int fd) {
    struct linger hard = { 1, 0 };
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(fd);
}

static void sleep_ms(int ms) {
    usleep((useconds_t)ms * 1000);
}

static void count_call(void *argument) {
    atomic_fetch_add((atomic_int *)argument, 1);
}

static bool becomes(atomic_int *value, int wanted) {
    for (int64_t end = clock_ns() + (int64_t)LATE_MS * 1000000; clock_ns() < end; sleep_ms(1))
        if (atomic_load(value) == wanted) return true;
    return false;
}

/* Milliseconds until the peer sees the end of the connection, -1: not within TIMEOUT_MS. */
static int cut_after(int theirs, int timeout_ms) {
    struct pollfd wait = { theirs, POLLRDHUP, 0 };
    int64_t start = clock_ns();
    return poll(&wait, 1, timeout_ms) > 0 ? (int)((clock_ns() - start) / 1000000) : -1;
}

static uint64_t reason_count(struct watch *watch, enum watch_reason reason) {
    struct watch_counts counts;
    watch_counts(watch, &counts);
    return counts.by_reason[reason];
}

static void end(struct watch *watch, struct watched *watched, struct pair pair, bool theirs_too) {
    watch_remove(watch, watched);
    close(pair.ours);
    if (theirs_too) close(pair.theirs);
    struct watch_counts counts;
    watch_counts(watch, &counts);
    assert_int_equal(counts.watched, 0);
    watch_destroy(watch);
}

/* ---- clients that leave ---- */

static void half_close(int fd) {
    shutdown(fd, SHUT_WR);
}

static void whole_close(int fd) {
    shutdown(fd, SHUT_RDWR);
}

static void (*const leavings[])(int) = { half_close, whole_close };

static void fin_while_waiting(void **state) {
    (void)state;
    for (size_t kind = 0; kind < COUNT(kinds); kind++)
        for (size_t how = 0; how < COUNT(leavings); how++) {
            struct watch *watch = watch_create(&slow);
            struct pair pair = kinds[kind]();
            struct watched *watched = watch_add(watch, pair.ours);
            atomic_int calls = 0;
            watch_phase_body(watched, 0);
            watch_phase_waiting(watched, count_call, &calls);
            sleep_ms(60);
            assert_int_equal(calls, 0);
            int64_t start = clock_ns();
            leavings[how](pair.theirs);
            assert_true(becomes(&calls, 1));
            assert_true(clock_ns() - start < (int64_t)LATE_MS * 1000000);
            sleep_ms(120);
            assert_int_equal(calls, 1);
            assert_int_equal(reason_count(watch, WATCH_LEFT), 1);
            /* our side is not shut down: an answer can be sent to a half-closed client */
            if (leavings[how] == half_close) {
                watch_phase_write(watched, 5);
                assert_int_equal(send(pair.ours, "hello", 5, MSG_NOSIGNAL), 5);
            }
            end(watch, watched, pair, true);
        }
}

static void data_and_reset_while_waiting(void **state) {
    (void)state;
    struct watch *watch = watch_create(&slow);
    struct pair pair = tcp_pair();
    struct watched *watched = watch_add(watch, pair.ours);
    atomic_int calls = 0;
    watch_phase_waiting(watched, count_call, &calls);
    assert_int_equal(send(pair.theirs, "next", 4, 0), 4); /* a pipelined request is no hang-up */
    sleep_ms(120);
    assert_int_equal(calls, 0);
    reset(pair.theirs);
    assert_true(becomes(&calls, 1));
    sleep_ms(120);
    assert_int_equal(calls, 1);
    end(watch, watched, pair, false);
}

/* Data and FIN in one burst, before the waiting phase: the data stay readable, and the callback
 * comes as soon as the phase is entered; once for each request. */
static void left_before_waiting(void **state) {
    (void)state;
    for (size_t kind = 0; kind < COUNT(kinds); kind++) {
        struct watch *watch = watch_create(&slow);
        struct pair pair = kinds[kind]();
        struct watched *watched = watch_add(watch, pair.ours);
        atomic_int calls = 0;
        char data[8];
        watch_phase_body(watched, 4);
        assert_int_equal(send(pair.theirs, "body", 4, 0), 4);
        shutdown(pair.theirs, SHUT_WR);
        sleep_ms(600);
        assert_int_equal(recv(pair.ours, data, sizeof data, MSG_DONTWAIT), 4);
        assert_int_equal(calls, 0);
        for (int request = 1; request <= 3; request++) {
            watch_phase_waiting(watched, count_call, &calls);
            assert_true(becomes(&calls, request));
            watch_phase_write(watched, 0);
            watch_phase_idle(watched);
            watch_phase_headers(watched);
        }
        sleep_ms(60);
        assert_int_equal(calls, 3);
        end(watch, watched, pair, true);
    }
}

/* All was read, and the library did not see the FIN: cut off, but not while an answer is sent. */
static void overlooked_fin(void **state) {
    (void)state;
    for (size_t kind = 0; kind < COUNT(kinds); kind++) {
        struct watch *watch = watch_create(&slow);
        struct pair pair = kinds[kind]();
        struct watched *watched = watch_add(watch, pair.ours);
        shutdown(pair.theirs, SHUT_WR);
        watch_phase_write(watched, 1);
        assert_int_equal(cut_after(pair.theirs, 600), -1);
        watch_phase_idle(watched);
        int ms = cut_after(pair.theirs, LATE_MS);
        assert_in_range(ms, 200, LATE_MS);
        assert_int_equal(reason_count(watch, WATCH_HUNG_UP), 1);
        sleep_ms(150);
        assert_int_equal(reason_count(watch, WATCH_HUNG_UP), 1);
        end(watch, watched, pair, true);
    }
}

/* A body of which something moves now and then is not taken for an overlooked FIN. */
static void fin_with_progress(void **state) {
    (void)state;
    struct watch *watch = watch_create(&slow);
    struct pair pair = tcp_pair();
    struct watched *watched = watch_add(watch, pair.ours);
    watch_phase_body(watched, 1 << 20);
    shutdown(pair.theirs, SHUT_WR);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(cut_after(pair.theirs, 60), -1);
        watch_progress(watched, (SLOW_MS / 1000 + i) * 2); /* at a byte a second: a later end */
    }
    end(watch, watched, pair, true);
}

/* ---- deadlines ---- */

static void enter_body(struct watched *watched) {
    watch_phase_body(watched, 1 << 20);
}

static void enter_write(struct watched *watched) {
    watch_phase_write(watched, 50);
}

static const struct deadline {
    struct watch_limits limits;
    void (*enter)(struct watched *watched); /* NULL: from the start */
    enum watch_reason reason;
} deadlines[] = {
    { { 150, SLOW_MS, 1000, SLOW_MS, 1000 }, NULL, WATCH_HEADERS },
    { { SLOW_MS, 150, 1000, SLOW_MS, 1000 }, enter_body, WATCH_BODY },
    { { SLOW_MS, 150, 1000, SLOW_MS, 1000 }, enter_write, WATCH_WRITE },
    { { SLOW_MS, SLOW_MS, 1000, 150, 1000 }, watch_phase_idle, WATCH_KEEP_ALIVE },
    { { 0, 150, 0, 0, 0 }, enter_write, WATCH_WRITE },
};

static void each_phase_ends(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(deadlines); i++) {
        struct watch *watch = watch_create(&deadlines[i].limits);
        struct pair pair = local_pair();
        struct watched *watched = watch_add(watch, pair.ours);
        if (deadlines[i].enter) deadlines[i].enter(watched);
        int ms = cut_after(pair.theirs, LATE_MS);
        assert_in_range(ms, 140, LATE_MS);
        sleep_ms(150);
        for (int reason = 0; reason < WATCH_REASONS; reason++)
            assert_int_equal(reason_count(watch, reason), reason == (int)deadlines[i].reason);
        assert_true(fcntl(pair.ours, F_GETFD) >= 0); /* closing it is the library's */
        end(watch, watched, pair, true);
    }
}

/* Milliseconds until a body of EXPECTED bytes, BYTES of them reported, is given up. */
static int body_time(int64_t expected, int64_t bytes) {
    const struct watch_limits limits = { SLOW_MS, 100, 1000, SLOW_MS, 1000 };
    struct watch *watch = watch_create(&limits);
    struct pair pair = local_pair();
    struct watched *watched = watch_add(watch, pair.ours);
    watch_phase_body(watched, expected);
    if (bytes > 0) watch_progress(watched, bytes);
    int ms = cut_after(pair.theirs, 5000);
    assert_int_equal(reason_count(watch, WATCH_BODY), 1);
    end(watch, watched, pair, true);
    return ms;
}

static int write_time(int64_t bytes, int64_t progress) {
    const struct watch_limits limits = { SLOW_MS, 100, 1000, SLOW_MS, 1000 };
    struct watch *watch = watch_create(&limits);
    struct pair pair = local_pair();
    struct watched *watched = watch_add(watch, pair.ours);
    watch_phase_write(watched, bytes);
    if (progress > 0) watch_progress(watched, progress);
    int ms = cut_after(pair.theirs, 5000);
    assert_int_equal(reason_count(watch, WATCH_WRITE), 1);
    end(watch, watched, pair, true);
    return ms;
}

static void rates(void **state) {
    (void)state;
    assert_in_range(body_time(1 << 20, 0), 90, LATE_MS); /* announces much, sends nothing */
    assert_in_range(body_time(1 << 20, 50), 90, LATE_MS);
    assert_in_range(body_time(1 << 20, 500), 490, LATE_MS);
    assert_in_range(body_time(-1, 500), 490, LATE_MS);
    assert_in_range(body_time(200, 4000), 190, LATE_MS); /* no more than was announced counts */
    assert_in_range(write_time(10, 0), 90, LATE_MS);
    assert_in_range(write_time(500, 0), 490, LATE_MS);
    assert_in_range(write_time(500, 4000), 490, LATE_MS);
    assert_in_range(write_time(-1, 500), 490, LATE_MS);
}

static void phases_begin_anew(void **state) {
    (void)state;
    const struct watch_limits limits = { 300, 300, 1000, 300, 1000 };
    struct watch *watch = watch_create(&limits);
    struct pair pair = local_pair();
    struct watched *watched = watch_add(watch, pair.ours);
    atomic_int calls = 0;
    for (int i = 0; i < 8; i++) {
        watch_phase_headers(watched);
        assert_int_equal(cut_after(pair.theirs, 30), -1);
        watch_phase_body(watched, -1);
        assert_int_equal(cut_after(pair.theirs, 30), -1);
        watch_phase_waiting(watched, count_call, &calls);
        assert_int_equal(cut_after(pair.theirs, 30), -1);
        watch_phase_write(watched, 1);
        watch_phase_idle(watched);
        assert_int_equal(cut_after(pair.theirs, 30), -1);
    }
    watch_phase_waiting(watched, count_call, &calls);
    assert_int_equal(cut_after(pair.theirs, 800), -1); /* no deadline here */
    watch_phase_idle(watched);
    assert_true(cut_after(pair.theirs, LATE_MS) > 200);
    assert_int_equal(calls, 0);
    end(watch, watched, pair, true);
}

/* Saying it again buys no time, nor does the first request's line. */
static void headers_once(void **state) {
    (void)state;
    const struct watch_limits limits = { 200, SLOW_MS, 1000, SLOW_MS, 1000 };
    struct watch *watch = watch_create(&limits);
    struct pair pair = local_pair();
    struct watched *watched = watch_add(watch, pair.ours);
    int waited = 0;
    for (; waited < 100 && cut_after(pair.theirs, 20) < 0; waited++) watch_phase_headers(watched);
    assert_in_range(waited, 1, 60);
    end(watch, watched, pair, true);
}

/* A connection cut in a phase and set waiting by a handler that did not know: it is told. */
static void waiting_after_a_cut(void **state) {
    (void)state;
    const struct watch_limits limits = { 60, 60, 1000, 60, 1000 };
    struct watch *watch = watch_create(&limits);
    struct pair pair = tcp_pair();
    struct watched *watched = watch_add(watch, pair.ours);
    atomic_int calls = 0;
    assert_true(cut_after(pair.theirs, LATE_MS) >= 0);
    watch_phase_waiting(watched, count_call, &calls);
    assert_true(becomes(&calls, 1));
    watch_phase_idle(watched);
    sleep_ms(250);
    assert_int_equal(reason_count(watch, WATCH_KEEP_ALIVE), 0); /* once is enough */
    end(watch, watched, pair, true);
}

/* ---- two threads ---- */

struct slow_call {
    atomic_int begun, done;
};

static void call_slowly(void *argument) {
    struct slow_call *call = argument;
    atomic_store(&call->begun, 1);
    sleep_ms(150);
    atomic_store(&call->done, 1);
}

static void leaving_waits_for_the_callback(void **state) {
    (void)state;
    for (int by_removal = 0; by_removal < 2; by_removal++) {
        struct watch *watch = watch_create(&slow);
        struct pair pair = tcp_pair();
        struct watched *watched = watch_add(watch, pair.ours);
        struct slow_call call = { 0 };
        watch_phase_waiting(watched, call_slowly, &call);
        shutdown(pair.theirs, SHUT_WR);
        assert_true(becomes(&call.begun, 1));
        /* other connections come and go meanwhile */
        struct pair other = tcp_pair();
        struct watched *other_watched = watch_add(watch, other.ours);
        watch_phase_body(other_watched, 1);
        watch_remove(watch, other_watched);
        assert_int_equal(atomic_load(&call.done), 0);
        close(other.ours), close(other.theirs);
        if (!by_removal) watch_phase_write(watched, 1);
        if (!by_removal) assert_int_equal(atomic_load(&call.done), 1);
        watch_remove(watch, watched);
        assert_int_equal(atomic_load(&call.done), 1);
        close(pair.ours), close(pair.theirs);
        watch_destroy(watch);
    }
}

/* What a callback may touch: valid in the waiting phase alone. */
struct ticket {
    atomic_bool valid;
    atomic_int calls;
};

static atomic_int misuses, calls_in_storm;

static void use_ticket(void *argument) {
    struct ticket *ticket = argument;
    if (!atomic_load(&ticket->valid) || atomic_fetch_add(&ticket->calls, 1) > 0)
        atomic_fetch_add(&misuses, 1);
    atomic_fetch_add(&calls_in_storm, 1);
}

/* A connection's life; the client leaves at a point that STEP chooses, or not at all. */
static void live_one(struct watch *watch, unsigned step) {
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) abort();
    struct pair pair = { fds[0], fds[1] };
    struct watched *watched = watch_add(watch, pair.ours);
    struct ticket *kept = NULL;
    for (unsigned request = 0; request < 3; request++) {
        struct ticket *ticket = calloc(1, sizeof *ticket);
        bool leaves = step % 4 == request;
        atomic_store(&ticket->valid, true);
        watch_phase_headers(watched);
        if (leaves && step % 3 == 0) shutdown(pair.theirs, SHUT_WR);
        watch_phase_body(watched, -1);
        watch_progress(watched, 1000);
        watch_phase_waiting(watched, use_ticket, ticket);
        if (leaves && step % 3 == 1) shutdown(pair.theirs, SHUT_RDWR);
        if (step % 5 == 0) usleep(step % 700);
        if (step % 11 == 0) { /* closed while waiting */
            kept = ticket;
            break;
        }
        watch_phase_write(watched, 10);
        atomic_store(&ticket->valid, false);
        free(ticket);
        if (leaves && step % 3 == 2) shutdown(pair.theirs, SHUT_WR);
        watch_phase_idle(watched);
    }
    watch_remove(watch, watched);
    free(kept);
    close(pair.ours), close(pair.theirs);
}

static void *storm(void *argument) {
    for (unsigned i = 0; i < 1500; i++) live_one(argument, i);
    return NULL;
}

static void storm_of_connections(void **state) {
    (void)state;
    const struct watch_limits short_ones = { 40, 40, 1000, 40, 1000 };
    struct watch *watch = watch_create(&short_ones);
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, storm, watch), 0);
    for (size_t i = 0; i < COUNT(threads); i++) pthread_join(threads[i], NULL);
    assert_int_equal(misuses, 0);
    assert_true(calls_in_storm > 0);
    assert_int_equal(reason_count(watch, WATCH_LEFT), calls_in_storm);
    struct watch_counts counts;
    watch_counts(watch, &counts);
    assert_int_equal(counts.watched, 0);
    watch_destroy(watch);
}

static void many_connections(void **state) {
    (void)state;
    enum { MANY = 300 };
    struct watch *watch = watch_create(&slow);
    struct pair pairs[MANY];
    struct watched *watched[MANY];
    atomic_int calls = 0;
    for (int i = 0; i < MANY; i++) {
        pairs[i] = local_pair();
        watched[i] = watch_add(watch, pairs[i].ours);
        watch_phase_waiting(watched[i], count_call, &calls);
    }
    for (int i = 0; i < MANY; i += 2) close(pairs[i].theirs);
    assert_true(becomes(&calls, MANY / 2));
    for (int i = 0; i < MANY; i++) {
        watch_remove(watch, watched[i]);
        close(pairs[i].ours);
        if (i % 2) close(pairs[i].theirs);
    }
    watch_destroy(watch);
}

static void refusals(void **state) {
    (void)state;
    struct watch *watch = watch_create(&slow);
    assert_null(watch_add(watch, -1));
    assert_int_equal(reason_count(watch, WATCH_UNWATCHED), 1);
    watch_phase_headers(NULL);
    watch_phase_body(NULL, 1);
    watch_progress(NULL, 1);
    watch_phase_waiting(NULL, count_call, NULL);
    watch_phase_write(NULL, 1);
    watch_phase_idle(NULL);
    watch_remove(watch, NULL);
    watch_destroy(watch);
    watch_destroy(NULL);
    for (int reason = 0; reason < WATCH_REASONS; reason++)
        assert_string_not_equal(watch_reason_name(reason), "unknown");
    assert_string_equal(watch_reason_name(WATCH_REASONS), "unknown");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fin_while_waiting),
        cmocka_unit_test(data_and_reset_while_waiting),
        cmocka_unit_test(left_before_waiting),
        cmocka_unit_test(overlooked_fin),
        cmocka_unit_test(fin_with_progress),
        cmocka_unit_test(each_phase_ends),
        cmocka_unit_test(rates),
        cmocka_unit_test(phases_begin_anew),
        cmocka_unit_test(headers_once),
        cmocka_unit_test(waiting_after_a_cut),
        cmocka_unit_test(leaving_waits_for_the_callback),
        cmocka_unit_test(storm_of_connections),
        cmocka_unit_test(many_connections),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
