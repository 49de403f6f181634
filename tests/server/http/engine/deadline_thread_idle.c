// SPDX-License-Identifier: Apache-2.0
/* The connections that a stopping daemon waits for, and those that it does not wait for.
 *
 * covers: server/http/engine/eviction.c */
#include "tests/server/http/engine/deadline_thread_pair.h"

#include <fcntl.h>

enum { IDLE_MS = 100, FRESH_MS = 300 };

static void enter_idle(struct deadline *deadline) {
    deadline_enter_idle(deadline);
}

static void stay_fresh(struct deadline *deadline) {
    (void)deadline;
}

static void enter_body(struct deadline *deadline) {
    deadline_enter_body(deadline, 100);
}

static void enter_waiting(struct deadline *deadline) {
    static atomic_int calls;
    deadline_enter_waiting(deadline, count_call, &calls);
}

static void enter_write(struct deadline *deadline) {
    deadline_enter_write(deadline, 100);
}

static const struct {
    void (*enter)(struct deadline *deadline);
    int after_ms; /* of silence until it is closed; 0: never */
} phases[] = {
    { enter_idle, IDLE_MS }, { stay_fresh, FRESH_MS }, { enter_body, 0 },
    { enter_waiting, 0 },    { enter_write, 0 },
};

/* Not before its time, and only if no byte has arrived. */
static void phases_end_or_stay(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(phases); i++)
        for (int unread = 0; unread < 2; unread++) {
            struct deadline_thread *deadlines = deadline_thread_create(&slow);
            struct pair pair = tcp_pair();
            const int64_t start = clock_ns();
            struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
            phases[i].enter(deadline);
            if (unread) {
                assert_int_equal(send(pair.theirs, "GET", 3, 0), 3);
                sleep_ms(20);
            }
            const bool ends = phases[i].after_ms && !unread;
            while (ms_since(start) < 2 * FRESH_MS && cut_after(pair.theirs, 0) < 0) {
                deadline_thread_end_idle(deadlines, IDLE_MS, FRESH_MS);
                sleep_ms(5);
            }
            if (!ends) assert_int_equal(cut_after(pair.theirs, 0), -1);
            if (ends) assert_in_range(ms_since(start), phases[i].after_ms, LATE_MS);
            if (ends) assert_true(cut_after(pair.theirs, LATE_MS) >= 0);
            assert_int_equal(reason_count(deadlines, ENDED_KEEP_ALIVE), ends);
            end(deadlines, deadline, pair, true);
        }
}

/* Repeated calls close each connection once, and the thread does not close it again. */
static void each_ends_once(void **state) {
    (void)state;
    struct deadline_thread *deadlines = deadline_thread_create(&slow);
    struct pair pair = tcp_pair();
    struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
    deadline_enter_idle(deadline);
    for (int i = 0; i < 20; i++) deadline_thread_end_idle(deadlines, 0, 0);
    sleep_ms(150);
    assert_int_equal(reason_count(deadlines, ENDED_KEEP_ALIVE), 1);
    end(deadlines, deadline, pair, true);
}

/* Only bodies are closed, no other phase; not those that still receive a byte now and then, and
 * none while bytes wait to be read. */
static void silent_bodies_end(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(phases); i++)
        for (int unread = 0; unread < 2; unread++) {
            struct deadline_thread *deadlines = deadline_thread_create(&slow);
            struct pair pair = tcp_pair();
            struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
            phases[i].enter(deadline);
            if (unread) assert_int_equal(send(pair.theirs, "P6", 2, 0), 2);
            sleep_ms(IDLE_MS);
            deadline_body_progress(deadline, 1);
            deadline_thread_end_slow(deadlines, SLOW_MS);
            assert_int_equal(cut_after(pair.theirs, 0), -1);
            sleep_ms(IDLE_MS);
            deadline_thread_end_slow(deadlines, IDLE_MS);
            const bool ends = phases[i].enter == enter_body && !unread;
            assert_int_equal(cut_after(pair.theirs, 0) >= 0, ends);
            assert_int_equal(reason_count(deadlines, ENDED_BODY), ends);
            end(deadlines, deadline, pair, true);
        }
}

/* A byte every few milliseconds, or the rate that is asked for. */
static void slow_bodies_end(void **state) {
    (void)state;
    const struct deadline_limits limits = { SLOW_MS, SLOW_MS, 100000, SLOW_MS, SLOW_MS, 1, NULL };
    for (int fast = 0; fast < 2; fast++) {
        struct deadline_thread *deadlines = deadline_thread_create(&limits);
        struct pair pair = tcp_pair();
        struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
        deadline_enter_body(deadline, -1);
        const int64_t start = clock_ns();
        int64_t bytes = 0;
        for (int i = 0; i < 3 * IDLE_MS / 5; i++) {
            deadline_body_progress(deadline, bytes += fast ? 1 << 20 : 1);
            deadline_thread_end_slow(deadlines, IDLE_MS);
            if (ms_since(start) < IDLE_MS) assert_int_equal(cut_after(pair.theirs, 0), -1);
            sleep_ms(5);
        }
        assert_int_equal(cut_after(pair.theirs, 0) >= 0, !fast);
        assert_int_equal(reason_count(deadlines, ENDED_BODY), !fast);
        end(deadlines, deadline, pair, true);
    }
}

/* A hundred times the first rate that is asked for; the rate doubles with each window. */
static void what_is_asked_grows(void **state) {
    (void)state;
    const struct pressure_options pressure = { .rate_max_bytes = 1 << 30 };
    const struct deadline_limits limits = {
        SLOW_MS, SLOW_MS, 1000, SLOW_MS, SLOW_MS, 1, &pressure
    };
    const int window_ms = 30;
    struct deadline_thread *deadlines = deadline_thread_create(&limits);
    struct pair pair = tcp_pair();
    struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
    deadline_enter_body(deadline, -1);
    const int64_t start = clock_ns();
    while (ms_since(start) < LATE_MS && cut_after(pair.theirs, 0) < 0) {
        deadline_body_progress(deadline, 100 * (1 + ms_since(start)));
        deadline_thread_end_slow(deadlines, window_ms);
        sleep_ms(1);
    }
    assert_in_range(ms_since(start), 3 * window_ms, LATE_MS - 1);
    assert_int_equal(reason_count(deadlines, ENDED_BODY), 1);
    end(deadlines, deadline, pair, true);
}

/* The client reads nothing: a unix socket does not report how much was read. */
static void answers_that_stand_still_end(void **state) {
    (void)state;
    static const char bytes[1 << 16];
    const struct pressure_options pressure = { .rate_max_bytes = 10 << 20 };
    const struct deadline_limits limits = { SLOW_MS, SLOW_MS, 1, SLOW_MS, SLOW_MS, 1, &pressure };
    for (size_t kind = 0; kind < COUNT(kinds); kind++) {
        struct deadline_thread *deadlines = deadline_thread_create(&limits);
        struct pair pair = kinds[kind]();
        struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
        fcntl(pair.ours, F_SETFL, O_NONBLOCK);
        deadline_enter_write(deadline, 1 << 20);
        const int64_t start = clock_ns();
        while (send(pair.ours, bytes, sizeof bytes, MSG_NOSIGNAL) > 0) continue;
        while (ms_since(start) < LATE_MS && !reason_count(deadlines, ENDED_WRITE)) {
            deadline_thread_end_slow(deadlines, IDLE_MS);
            sleep_ms(5);
        }
        assert_in_range(ms_since(start), IDLE_MS, LATE_MS - 1);
        end(deadlines, deadline, pair, true);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_end_or_stay),  cmocka_unit_test(each_ends_once),
        cmocka_unit_test(silent_bodies_end),   cmocka_unit_test(slow_bodies_end),
        cmocka_unit_test(what_is_asked_grows), cmocka_unit_test(answers_that_stand_still_end)
    };
    return cmocka_run_group_tests_name("deadline_thread_idle", tests, NULL, NULL);
}
