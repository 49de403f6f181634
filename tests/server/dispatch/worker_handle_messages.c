// SPDX-License-Identifier: Apache-2.0
/* Messages of a worker that was taken over: what no worker sends costs it its process. */
#include "server/dispatch/worker_handle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* There is none of that number: one that is killed by mistake is nobody's. */
enum { NO_PROCESS = 1 << 30 };

static const struct message right = {
    .kind = CHANNEL_READY, .capacity = 8, .lanes = 2, .thread = 9, .text = "a GPU"
};

/* Whether a process that sends MESSAGE is to be killed, and no longer believed. */
static bool is_killed_for(const struct message *message) {
    struct worker_handle worker;
    worker_handle_init(&worker, "cuda:1", false);
    worker.pid = NO_PROCESS;
    worker_handle_receive(&worker, message);
    const bool killed = worker.distrusted && worker.killed;
    worker_handle_receive(&worker, &right);
    assert_true(worker.ready == !killed);
    assert_true(worker.kill_due == killed);
    return killed;
}

static void messages_that_no_worker_sends(void **state) {
    (void)state;
    static const int numbers[] = { INT32_MIN, -1, 0, INT32_MAX };
    static const uint32_t kinds[] = { 0, CHANNEL_RUN, CHANNEL_SELF_TEST, CHANNEL_HEARTBEAT + 1 };
    assert_false(is_killed_for(&right));
    for (int i = 0; i < 4; i++) {
        struct message forged = right;
        forged.capacity = numbers[i];
        assert_true(is_killed_for(&forged));
        forged.kind = CHANNEL_HEARTBEAT;
        assert_true(is_killed_for(&forged) == (numbers[i] != 0)); /* 0: it is not ready yet */
        forged = right;
        forged.lanes = numbers[i];
        assert_true(is_killed_for(&forged));
        assert_true(is_killed_for(&(struct message){ .kind = kinds[i] }));
    }
}

/* They stand in /readyz, /metrics and the log. */
static void texts_of_messages_are_put_in_order(void **state) {
    (void)state;
    struct worker_handle worker;
    struct message forged = right;
    worker_handle_init(&worker, "cuda:1", false);
    memset(forged.text, '\n', sizeof forged.text);
    worker_handle_receive(&worker, &forged);
    assert_int_equal(strlen(worker.name), sizeof worker.name - 1);
    assert_null(strchr(worker.name, '\n'));
    worker.self_test_pending = true;
    forged.kind = CHANNEL_SELF_TESTED;
    worker_handle_receive(&worker, &forged);
    assert_int_equal(strlen(worker.trouble), sizeof worker.trouble - 1);
    assert_null(strchr(worker.trouble, '\n'));
}

/* One that is ready says so once, and answers when it is asked. */
static void what_comes_unasked_changes_nothing(void **state) {
    (void)state;
    struct worker_handle worker;
    struct message again = right;
    worker_handle_init(&worker, "cuda:1", false);
    worker_handle_receive(&worker, &right);
    again.capacity = 80;
    worker_handle_receive(&worker, &again);
    assert_int_equal(worker.capacity, 8);
    again.kind = CHANNEL_SELF_TESTED;
    again.ok = 0;
    worker_handle_receive(&worker, &again);
    assert_true(worker.self_test_ok);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_that_no_worker_sends),
        cmocka_unit_test(texts_of_messages_are_put_in_order),
        cmocka_unit_test(what_comes_unasked_changes_nothing),
    };
    return cmocka_run_group_tests_name("worker_handle_messages", tests, NULL, NULL);
}
