// SPDX-License-Identifier: Apache-2.0
/* The deadline thread and its callers' threads at the same time: slow callbacks, many short
 * connections, many that stay. */
#include "tests/server/http/engine/deadline_thread_pair.h"

#include <pthread.h>
#include <stdlib.h>

struct slow_call {
    atomic_int begun, goes_on, done;
};

static void call_slowly(void *argument) {
    struct slow_call *call = argument;
    atomic_store(&call->begun, 1);
    while (!atomic_load(&call->goes_on)) sleep_ms(1);
    sleep_ms(150);
    atomic_store(&call->done, 1);
}

static void leaving_waits_for_the_callback(void **state) {
    (void)state;
    for (int by_removal = 0; by_removal < 2; by_removal++) {
        struct deadline_thread *deadlines = deadline_thread_create(&slow);
        struct pair pair = tcp_pair();
        struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
        struct slow_call call = { 0 };
        deadline_enter_waiting(deadline, call_slowly, &call);
        shutdown(pair.theirs, SHUT_WR);
        assert_true(becomes(&call.begun, 1));
        /* other connections come and go meanwhile */
        struct pair other = tcp_pair();
        struct deadline *other_watched = deadline_thread_add(deadlines, other.ours);
        deadline_enter_body(other_watched, 1);
        deadline_thread_remove(deadlines, other_watched);
        assert_int_equal(atomic_load(&call.done), 0);
        close(other.ours), close(other.theirs);
        atomic_store(&call.goes_on, 1);
        if (!by_removal) deadline_enter_write(deadline, 1);
        if (!by_removal) assert_int_equal(atomic_load(&call.done), 1);
        deadline_thread_remove(deadlines, deadline);
        assert_int_equal(atomic_load(&call.done), 1);
        close(pair.ours), close(pair.theirs);
        deadline_thread_destroy(deadlines);
    }
}

/* Memory that a callback uses: valid only in the waiting phase. */
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
static void live_one(struct deadline_thread *deadlines, unsigned step) {
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) abort();
    struct pair pair = { fds[0], fds[1] };
    struct deadline *deadline = deadline_thread_add(deadlines, pair.ours);
    struct ticket *kept = NULL;
    for (unsigned request = 0; request < 3; request++) {
        struct ticket *ticket = calloc(1, sizeof *ticket);
        bool leaves = step % 4 == request;
        atomic_store(&ticket->valid, true);
        deadline_enter_headers(deadline);
        if (leaves && step % 3 == 0) shutdown(pair.theirs, SHUT_WR);
        deadline_enter_body(deadline, -1);
        deadline_body_progress(deadline, 1000);
        deadline_enter_waiting(deadline, use_ticket, ticket);
        if (leaves && step % 3 == 1) shutdown(pair.theirs, SHUT_RDWR);
        if (step % 5 == 0) usleep(step % 700);
        if (step % 11 == 0) { /* closed while waiting */
            kept = ticket;
            break;
        }
        deadline_enter_write(deadline, 10);
        atomic_store(&ticket->valid, false);
        free(ticket);
        if (leaves && step % 3 == 2) shutdown(pair.theirs, SHUT_WR);
        deadline_enter_idle(deadline);
    }
    deadline_thread_remove(deadlines, deadline);
    free(kept);
    close(pair.ours), close(pair.theirs);
}

static void *storm(void *argument) {
    for (unsigned i = 0; i < 1500; i++) live_one(argument, i);
    return NULL;
}

static void storm_of_connections(void **state) {
    (void)state;
    const struct deadline_limits short_ones = { 40, 40, 1000, 40, 40, 1000, NULL };
    struct deadline_thread *deadlines = deadline_thread_create(&short_ones);
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, storm, deadlines), 0);
    for (size_t i = 0; i < COUNT(threads); i++) pthread_join(threads[i], NULL);
    assert_int_equal(misuses, 0);
    assert_true(calls_in_storm > 0);
    assert_int_equal(reason_count(deadlines, ENDED_LEFT), calls_in_storm);
    struct deadline_counts counts;
    deadline_thread_counts(deadlines, &counts);
    assert_int_equal(counts.connections, 0);
    deadline_thread_destroy(deadlines);
}

static void many_connections(void **state) {
    (void)state;
    enum { MANY = 300 };
    struct deadline_thread *deadlines = deadline_thread_create(&slow);
    struct pair pairs[MANY];
    struct deadline *deadline[MANY];
    atomic_int calls = 0;
    for (int i = 0; i < MANY; i++) {
        pairs[i] = local_pair();
        deadline[i] = deadline_thread_add(deadlines, pairs[i].ours);
        deadline_enter_waiting(deadline[i], count_call, &calls);
    }
    for (int i = 0; i < MANY; i += 2) close(pairs[i].theirs);
    assert_true(becomes(&calls, MANY / 2));
    for (int i = 0; i < MANY; i++) {
        deadline_thread_remove(deadlines, deadline[i]);
        close(pairs[i].ours);
        if (i % 2) close(pairs[i].theirs);
    }
    deadline_thread_destroy(deadlines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaving_waits_for_the_callback),
        cmocka_unit_test(storm_of_connections),
        cmocka_unit_test(many_connections),
    };
    return cmocka_run_group_tests_name("deadline_thread_races", tests, NULL, NULL);
}
