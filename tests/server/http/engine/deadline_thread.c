// SPDX-License-Identifier: Apache-2.0
/* Deadlines of every phase on pairs of sockets, and clients that disconnect in every way and at
 * every time.
 *
 * covers: server/http/engine/deadline.c */
#include "tests/server/http/engine/deadline_thread_pair.h"

#include <fcntl.h>

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
            struct deadline_thread *deadlines = deadline_thread_create(&slow);
            struct pair pair = kinds[kind]();
            struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
            atomic_int calls = 0;
            deadline_enter_body(deadline, 0);
            deadline_enter_waiting(deadline, count_call, &calls);
            sleep_ms(60);
            assert_int_equal(calls, 0);
            int64_t start = clock_ns();
            leavings[how](pair.theirs);
            assert_true(becomes(&calls, 1));
            assert_true(clock_ns() - start < (int64_t)LATE_MS * 1000000);
            sleep_ms(120);
            assert_int_equal(calls, 1);
            assert_int_equal(reason_count(deadlines, ENDED_LEFT), 1);
            /* our side is not shut down: an answer can be sent to a half-closed client */
            if (leavings[how] == half_close) {
                deadline_enter_write(deadline, 5);
                assert_int_equal(send(pair.ours, "hello", 5, MSG_NOSIGNAL), 5);
            }
            end(deadlines, deadline, pair, true);
        }
}

static void data_and_reset_while_waiting(void **state) {
    (void)state;
    struct deadline_thread *deadlines = deadline_thread_create(&slow);
    struct pair pair = tcp_pair();
    struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
    atomic_int calls = 0;
    deadline_enter_waiting(deadline, count_call, &calls);
    assert_int_equal(send(pair.theirs, "next", 4, 0), 4); /* a pipelined request is no hang-up */
    sleep_ms(120);
    assert_int_equal(calls, 0);
    reset(pair.theirs);
    assert_true(becomes(&calls, 1));
    sleep_ms(120);
    assert_int_equal(calls, 1);
    end(deadlines, deadline, pair, false);
}

/* Data and FIN in one burst, before the waiting phase: the data stay readable, and the callback
 * comes as soon as the phase is entered; once for each request. */
static void left_before_waiting(void **state) {
    (void)state;
    for (size_t kind = 0; kind < COUNT(kinds); kind++) {
        struct deadline_thread *deadlines = deadline_thread_create(&slow);
        struct pair pair = kinds[kind]();
        struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
        atomic_int calls = 0;
        char data[8];
        deadline_enter_body(deadline, 4);
        assert_int_equal(send(pair.theirs, "body", 4, 0), 4);
        shutdown(pair.theirs, SHUT_WR);
        sleep_ms(600);
        assert_int_equal(recv(pair.ours, data, sizeof data, MSG_DONTWAIT), 4);
        assert_int_equal(calls, 0);
        for (int request = 1; request <= 3; request++) {
            deadline_enter_waiting(deadline, count_call, &calls);
            assert_true(becomes(&calls, request));
            deadline_enter_write(deadline, 0);
            deadline_enter_idle(deadline);
            deadline_enter_headers(deadline);
        }
        sleep_ms(60);
        assert_int_equal(calls, 3);
        end(deadlines, deadline, pair, true);
    }
}

/* All bytes were read, but the library did not see the FIN: the connection is closed, though not
 * while an answer is sent. */
static void overlooked_fin(void **state) {
    (void)state;
    for (size_t kind = 0; kind < COUNT(kinds); kind++) {
        struct deadline_thread *deadlines = deadline_thread_create(&slow);
        struct pair pair = kinds[kind]();
        struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
        shutdown(pair.theirs, SHUT_WR);
        deadline_enter_write(deadline, 1);
        assert_int_equal(cut_after(pair.theirs, 600), -1);
        deadline_enter_idle(deadline);
        int ms = cut_after(pair.theirs, LATE_MS);
        assert_in_range(ms, 200, LATE_MS);
        assert_int_equal(reason_count(deadlines, ENDED_HUNG_UP), 1);
        sleep_ms(150);
        assert_int_equal(reason_count(deadlines, ENDED_HUNG_UP), 1);
        end(deadlines, deadline, pair, true);
    }
}

/* True if the connection lasts; *STALLED: the busy machine moved bytes more rarely than planned. */
static bool lasts_while_it_moves(bool *stalled) {
    struct deadline_thread *deadlines = deadline_thread_create(&slow);
    struct pair pair = tcp_pair();
    struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
    int64_t moved = clock_ns();
    bool lasts = true;
    deadline_enter_body(deadline, 1 << 20);
    shutdown(pair.theirs, SHUT_WR);
    *stalled = false;
    for (int i = 0; lasts && i < 10; i++) {
        lasts = cut_after(pair.theirs, 60) == -1;
        deadline_body_progress(deadline,
                               (SLOW_MS / 1000 + i) * 2); /* at a byte a second: a later end */
        *stalled |= ms_since(moved) > 200;
        moved = clock_ns();
    }
    end(deadlines, deadline, pair, true);
    return lasts;
}

/* A body that moves now and then is not mistaken for an overlooked FIN. */
static void fin_with_progress(void **state) {
    (void)state;
    bool stalled = true, lasts = false;
    for (int tries = 0; tries < 50 && !lasts && stalled; tries++)
        lasts = lasts_while_it_moves(&stalled);
    assert_true(lasts);
}

/* ---- deadlines ---- */

static void enter_body(struct deadline *deadline) {
    deadline_enter_body(deadline, 1 << 20);
}

static void enter_write(struct deadline *deadline) {
    deadline_enter_write(deadline, 50);
}

static const struct phase_case {
    struct deadline_limits limits;
    void (*enter)(struct deadline *deadline); /* NULL: from the start */
    enum end_reason reason;
} phase_cases[] = {
    { { 150, SLOW_MS, 1000, SLOW_MS, SLOW_MS, 1000, NULL }, NULL, ENDED_HEADERS },
    { { SLOW_MS, 150, 1000, SLOW_MS, SLOW_MS, 1000, NULL }, enter_body, ENDED_BODY },
    { { SLOW_MS, SLOW_MS, 1000, SLOW_MS, 150, 1000, NULL }, enter_write, ENDED_WRITE },
    { { SLOW_MS, SLOW_MS, 1000, 150, SLOW_MS, 1000, NULL }, deadline_enter_idle, ENDED_KEEP_ALIVE },
    { { 0, 0, 0, 0, 150, 0, NULL }, enter_write, ENDED_WRITE },
};

static void each_phase_ends(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(phase_cases); i++) {
        struct deadline_thread *deadlines = deadline_thread_create(&phase_cases[i].limits);
        struct pair pair = local_pair();
        const int64_t start = clock_ns();
        struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
        if (phase_cases[i].enter) phase_cases[i].enter(deadline);
        assert_true(cut_after(pair.theirs, LATE_MS) >= 0);
        assert_true(ms_since(start) >= 149);
        sleep_ms(150);
        for (int reason = 0; reason < END_REASONS; reason++)
            assert_int_equal(reason_count(deadlines, reason), reason == (int)phase_cases[i].reason);
        assert_true(fcntl(pair.ours, F_GETFD) >= 0); /* the library closes it */
        end(deadlines, deadline, pair, true);
    }
}

/* Milliseconds until a body of EXPECTED bytes, BYTES of them reported, is given up. */
static int body_time(int64_t expected, int64_t bytes) {
    const struct deadline_limits limits = { SLOW_MS, 100, 1000, SLOW_MS, 100, 1000, NULL };
    struct deadline_thread *deadlines = deadline_thread_create(&limits);
    struct pair pair = local_pair();
    struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
    const int64_t start = clock_ns();
    deadline_enter_body(deadline, expected);
    if (bytes > 0) deadline_body_progress(deadline, bytes);
    assert_true(cut_after(pair.theirs, LATE_MS) >= 0);
    const int ms = ms_since(start);
    assert_int_equal(reason_count(deadlines, ENDED_BODY), 1);
    end(deadlines, deadline, pair, true);
    return ms;
}

/* Milliseconds until an answer of BYTES that nobody reads is given up. */
static int write_time(struct pair pair, int64_t bytes) {
    const struct deadline_limits limits = { SLOW_MS, 100, 1000, SLOW_MS, 100, 1000, NULL };
    struct deadline_thread *deadlines = deadline_thread_create(&limits);
    struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
    const int64_t start = clock_ns();
    deadline_enter_write(deadline, bytes);
    assert_true(cut_after(pair.theirs, LATE_MS) >= 0);
    const int ms = ms_since(start);
    assert_int_equal(reason_count(deadlines, ENDED_WRITE), 1);
    end(deadlines, deadline, pair, true);
    return ms;
}

static void rates(void **state) {
    (void)state;
    assert_true(body_time(1 << 20, 0) >= 99); /* announces much, sends nothing */
    assert_true(body_time(1 << 20, 50) >= 99);
    assert_true(body_time(1 << 20, 500) >= 499);
    assert_true(body_time(-1, 500) >= 499);
    assert_true(body_time(200, 400000) >= 199); /* no more than was announced counts */
    assert_true(write_time(local_pair(), 10) >= 99);
    assert_true(write_time(local_pair(), 500) >= 499);
    assert_true(write_time(tcp_pair(), 10) >= 99);
    assert_true(write_time(tcp_pair(), 400000) >= 99); /* nobody reads it */
    assert_true(write_time(tcp_pair(), INT64_MAX) >= 99);
}

/* For MS milliseconds, sends as much as there is room for and reads ROOM bytes every 20 ms; false
 * as soon as the connection is closed. The reader sees the end behind all bytes that were sent. */
static bool read_slowly(struct deadline_thread *deadlines, struct pair pair, size_t room, int ms) {
    static char bytes[1 << 16];
    for (int64_t last = clock_ns() + (int64_t)ms * 1000000; clock_ns() < last; sleep_ms(20)) {
        while (send(pair.ours, bytes, sizeof bytes, MSG_NOSIGNAL) > 0) continue;
        recv(pair.theirs, bytes, room, MSG_DONTWAIT);
        if (reason_count(deadlines, ENDED_WRITE)) return false;
    }
    return true;
}

/* A slow reader is served for many times write_ms, and closed once it stops. */
static void client_that_reads_slowly(void **state) {
    (void)state;
    const struct deadline_limits limits = { SLOW_MS, SLOW_MS, 1, SLOW_MS, 1500, 50000, NULL };
    const int room = 1 << 17;
    struct deadline_thread *deadlines = deadline_thread_create(&limits);
    struct pair pair = tcp_pair();
    setsockopt(pair.ours, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    setsockopt(pair.theirs, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    fcntl(pair.ours, F_SETFL, O_NONBLOCK);
    struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
    for (int answer = 0; answer < 2; answer++) {
        deadline_enter_write(deadline, 1 << 20);
        assert_true(read_slowly(deadlines, pair, 30000, 2500));
    }
    assert_false(read_slowly(deadlines, pair, 0, LATE_MS));
    end(deadlines, deadline, pair, true);
}

static void phases_begin_anew(void **state) {
    (void)state;
    const struct deadline_limits limits = { 1200, 1200, 1000, 1200, 1200, 1000, NULL };
    struct deadline_thread *deadlines = deadline_thread_create(&limits);
    struct pair pair = local_pair();
    struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
    atomic_int calls = 0;
    for (int i = 0; i < 8; i++) {
        deadline_enter_headers(deadline);
        assert_int_equal(cut_after(pair.theirs, 60), -1);
        deadline_enter_body(deadline, -1);
        assert_int_equal(cut_after(pair.theirs, 60), -1);
        deadline_enter_waiting(deadline, count_call, &calls);
        assert_int_equal(cut_after(pair.theirs, 60), -1);
        deadline_enter_write(deadline, 1);
        deadline_enter_idle(deadline);
        assert_int_equal(cut_after(pair.theirs, 60), -1);
    }
    deadline_enter_waiting(deadline, count_call, &calls);
    assert_int_equal(cut_after(pair.theirs, 1600), -1); /* no deadline here */
    const int64_t start = clock_ns();
    deadline_enter_idle(deadline);
    assert_true(cut_after(pair.theirs, LATE_MS) >= 0 && ms_since(start) >= 1199);
    assert_int_equal(calls, 0);
    end(deadlines, deadline, pair, true);
}

/* Entering the phase again gains no time, nor does the first request's line. */
static void headers_once(void **state) {
    (void)state;
    const struct deadline_limits limits = { 200, SLOW_MS, 1000, SLOW_MS, SLOW_MS, 1000, NULL };
    struct deadline_thread *deadlines = deadline_thread_create(&limits);
    struct pair pair = local_pair();
    struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
    int waited = 0;
    for (; waited < 500 && cut_after(pair.theirs, 20) < 0; waited++)
        deadline_enter_headers(deadline);
    assert_true(waited < 500);
    end(deadlines, deadline, pair, true);
}

/* A connection was closed in a phase, and a handler that did not know sets it waiting: the handler
 * gets the callback. */
static void waiting_after_a_cut(void **state) {
    (void)state;
    const struct deadline_limits limits = { 60, 60, 1000, 60, 60, 1000, NULL };
    struct deadline_thread *deadlines = deadline_thread_create(&limits);
    struct pair pair = tcp_pair();
    struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
    atomic_int calls = 0;
    assert_true(cut_after(pair.theirs, LATE_MS) >= 0);
    deadline_enter_waiting(deadline, count_call, &calls);
    assert_true(becomes(&calls, 1));
    deadline_enter_idle(deadline);
    sleep_ms(250);
    assert_int_equal(reason_count(deadlines, ENDED_KEEP_ALIVE), 0); /* once is enough */
    end(deadlines, deadline, pair, true);
}

static void refusals(void **state) {
    (void)state;
    struct deadline_thread *deadlines = deadline_thread_create(&slow);
    assert_null(deadline_thread_add(deadlines, -1));
    assert_int_equal(reason_count(deadlines, ENDED_UNWATCHED), 1);
    deadline_enter_headers(NULL);
    deadline_enter_body(NULL, 1);
    deadline_body_progress(NULL, 1);
    deadline_hold(NULL, 1);
    deadline_enter_waiting(NULL, count_call, NULL);
    deadline_enter_write(NULL, 1);
    deadline_enter_idle(NULL);
    deadline_thread_remove(deadlines, NULL);
    deadline_thread_destroy(deadlines);
    deadline_thread_destroy(NULL);
    for (int reason = 0; reason < END_REASONS; reason++)
        assert_string_not_equal(deadline_thread_reason_name(reason), "unknown");
    assert_string_equal(deadline_thread_reason_name(END_REASONS), "unknown");
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
        cmocka_unit_test(client_that_reads_slowly),
        cmocka_unit_test(phases_begin_anew),
        cmocka_unit_test(headers_once),
        cmocka_unit_test(waiting_after_a_cut),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests_name("deadlines", tests, NULL, NULL);
}
