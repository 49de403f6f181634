// SPDX-License-Identifier: Apache-2.0
/* Messages between two ends of one process: their borders, a full channel, a closed end. */
#include "server/jobs/channel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

enum { FRONT, WORKER };

static struct message run_of(int slot) {
    return (struct message){ .kind = CHANNEL_RUN, .slot = slot };
}

static void messages_keep_their_borders_and_order(void **state) {
    (void)state;
    int ends[2];
    struct message taken[4];
    assert_true(channel_open(ends));
    for (int slot = 0; slot < 6; slot++) {
        const struct message message = run_of(slot);
        assert_true(channel_send(ends[FRONT], &message));
    }
    assert_int_equal(channel_take(ends[WORKER], taken, 4, CHANNEL_FOREVER), 4);
    for (int i = 0; i < 4; i++) assert_int_equal(taken[i].slot, i);
    assert_int_equal(channel_take(ends[WORKER], taken, 4, CHANNEL_FOREVER), 2);
    assert_int_equal(taken[1].slot, 5);
    assert_int_equal(channel_take(ends[WORKER], taken, 4, 0), -1); /* none is there */
    assert_int_equal(channel_take(ends[WORKER], taken, 4, 10), -1);
    assert_int_equal(channel_take(ends[FRONT], taken, 4, CHANNEL_FOREVER), -1); /* never blocks */
    close(ends[FRONT]);
    close(ends[WORKER]);
}

static void a_full_channel_refuses_the_front(void **state) {
    (void)state;
    int ends[2], sent = 0;
    struct message message = run_of(7);
    assert_true(channel_open(ends));
    while (sent < 1 << 20 && channel_send(ends[FRONT], &message)) sent++;
    assert_in_range(sent, 64, 1 << 16);
    assert_int_equal(channel_take(ends[WORKER], &message, 1, 0), 1);
    assert_true(channel_send(ends[FRONT], &message)); /* and takes one again */
    close(ends[FRONT]);
    close(ends[WORKER]);
}

/* Earlier messages still arrive, whether the other end had read all of its own or not. */
static void a_closed_end_is_reported_after_the_last_message(void **state) {
    (void)state;
    for (int unread = 0; unread <= 1; unread++) {
        int ends[2];
        struct message message = run_of(3);
        assert_true(channel_open(ends));
        if (unread) assert_true(channel_send(ends[FRONT], &message));
        assert_true(channel_send(ends[WORKER], &message));
        close(ends[WORKER]);
        assert_int_equal(channel_take(ends[FRONT], &message, 1, 1000), 1);
        assert_int_equal(message.slot, 3);
        assert_int_equal(channel_take(ends[FRONT], &message, 1, 1000), 0);
        assert_false(channel_send(ends[FRONT], &message));
        close(ends[FRONT]);
    }
}

static void it_is_read_when_all_was_taken(void **state) {
    (void)state;
    int ends[2];
    struct message message = run_of(1);
    assert_true(channel_open(ends));
    assert_true(channel_is_read(ends[FRONT]));
    for (int i = 0; i < 2; i++) assert_true(channel_send(ends[FRONT], &message));
    for (int i = 0; i < 2; i++) {
        assert_false(channel_is_read(ends[FRONT]));
        assert_int_equal(channel_take(ends[WORKER], &message, 1, 0), 1);
    }
    assert_true(channel_is_read(ends[FRONT]));
    assert_false(channel_is_read(-1));
    close(ends[FRONT]);
    close(ends[WORKER]);
}

/* A failed read is no reason to end. */
static void a_read_that_fails_is_no_end(void **state) {
    (void)state;
    struct message message;
    int pipe_ends[2]; /* no socket */
    assert_int_equal(pipe(pipe_ends), 0);
    assert_int_equal(channel_take(pipe_ends[0], &message, 1, 0), -1);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

/* It sleeps through messages, which are for the lanes, and wakes when the other end closes. */
static void a_sleep_ends_with_the_other_end(void **state) {
    (void)state;
    int ends[2];
    struct message message = run_of(1);
    assert_true(channel_open(ends));
    assert_true(channel_send(ends[FRONT], &message));
    assert_true(channel_sleep(ends[WORKER], 20));
    assert_int_equal(channel_take(ends[WORKER], &message, 1, 0), 1);
    close(ends[FRONT]);
    alarm(20);
    assert_false(channel_sleep(ends[WORKER], 3600 * 1000));
    alarm(0);
    close(ends[WORKER]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_keep_their_borders_and_order),
        cmocka_unit_test(a_full_channel_refuses_the_front),
        cmocka_unit_test(a_closed_end_is_reported_after_the_last_message),
        cmocka_unit_test(it_is_read_when_all_was_taken),
        cmocka_unit_test(a_read_that_fails_is_no_end),
        cmocka_unit_test(a_sleep_ends_with_the_other_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
