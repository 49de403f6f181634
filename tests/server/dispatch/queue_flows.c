// SPDX-License-Identifier: Apache-2.0
/* Busy flows are found again, and so are the most recent idle ones; older ones are forgotten. */
#include "server/dispatch/queue.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { BUSY = 8 };

static struct client client(int number) {
    struct client client = { IN6ADDR_ANY_INIT };
    memcpy(&client.address.s6_addr[4], &number, sizeof number);
    return client;
}

static struct queue *make(int busy_max) {
    const struct queue_options options = { .capacity = busy_max, .slots = busy_max };
    struct queue *queue = queue_create(&options);
    assert_non_null(queue);
    return queue;
}

static int take(struct queue *queue, int number) {
    const struct client wanted = client(number);
    const int found = take_flow(queue, &wanted);
    assert_memory_equal(&queue->flows[found].client, &wanted, sizeof wanted);
    return found;
}

static void busy_ones_stay_and_the_oldest_idle_one_goes(void **state) {
    (void)state;
    struct queue *queue = make(BUSY);
    int kept[BUSY];
    for (int i = 0; i < BUSY; i++) {
        kept[i] = take(queue, i);
        struct flow *flow = &queue->flows[kept[i]];
        assert_int_equal(flow->first, -1);
        flow->waiting = 1;
        flow->start_ms = 100 + i;
    }
    for (int i = 0; i < 1000; i++) { /* others come and go */
        const int other = take(queue, 1000 + i);
        assert_true(queue->flows[other].start_ms < 1);
        queue->flows[other].start_ms = i;
        join_idle(queue, other);
    }
    for (int i = 0; i < BUSY; i++) assert_int_equal(take(queue, i), kept[i]);
    /* BUSY idle ones are left: the last, from the oldest on */
    for (int i = 1000 - BUSY; i < 1000; i++) {
        const int other = take(queue, 1000 + i);
        assert_true(queue->flows[other].start_ms > i - 0.5);
        join_idle(queue, other);
    }
    join_idle(queue, take(queue, 5000));
    assert_true(queue->flows[take(queue, 1000 + 1000 - BUSY)].start_ms < 1); /* anew */
    queue_destroy(queue);
}

static void one_that_was_idle_is_busy_again(void **state) {
    (void)state;
    struct queue *queue = make(2);
    const int first = take(queue, 1);
    queue->flows[first].start_ms = 7;
    join_idle(queue, first);
    assert_int_equal(take(queue, 1), first);
    queue->flows[first].waiting = 1;
    for (int i = 0; i < 20; i++) join_idle(queue, take(queue, 100 + i));
    assert_int_equal(take(queue, 1), first);
    assert_true(queue->flows[first].start_ms > 6);
    queue_destroy(queue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_ones_stay_and_the_oldest_idle_one_goes),
        cmocka_unit_test(one_that_was_idle_is_busy_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
