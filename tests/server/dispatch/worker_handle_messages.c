// SPDX-License-Identifier: Apache-2.0
/* Messages of a worker that an attacker controls: an invalid one costs it its process. */
#include "server/dispatch/worker_handle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* No process has that number, so a kill by mistake hits none. */
enum { NO_PROCESS = 1 << 30 };

static const struct message right = {
    .kind = CHANNEL_READY, .capacity = 8, .lanes = 2, .thread = 9, .text = "a GPU"
};

/* True if MESSAGE gets its sender killed and distrusted. */
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

static void invalid_messages_kill(void **state) {
    (void)state;
    static const int numbers[] = { INT32_MIN, -1, 0, INT32_MAX };
    static const uint32_t kinds[] = { 0, CHANNEL_RUN, CHANNEL_SELF_TEST, CHANNEL_UNPIN,
                                      CHANNEL_HEARTBEAT + 1 };
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
    }
    for (int i = 0; i < 5; i++) assert_true(is_killed_for(&(struct message){ .kind = kinds[i] }));
}

/* They appear in /readyz, /metrics and the log. */
static void texts_of_messages_are_cleaned(void **state) {
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

/* A worker sends READY once, and answers only a self-test that was sent. */
static void unexpected_messages_change_nothing(void **state) {
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
        cmocka_unit_test(invalid_messages_kill),
        cmocka_unit_test(texts_of_messages_are_cleaned),
        cmocka_unit_test(unexpected_messages_change_nothing),
    };
    return cmocka_run_group_tests_name("worker_handle_messages", tests, NULL, NULL);
}
