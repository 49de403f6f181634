// SPDX-License-Identifier: Apache-2.0
/* Jobs on their way to a worker that exists only as a channel: the test plays the worker and the
 * clock, and loses messages. */
#include "server/dispatch/sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

enum { SLOT = 3, RUN = 7 };
static const int64_t sent_ns = INT64_C(1000000000000), ms_ns = 1000000;

static struct worker_handle worker;
static struct job job;
static struct sweep_channel order;
static struct sweep_mark mark;
static const struct sweep_job what = { SLOT, &job, &job, &worker, &order, &mark };
static int channel[2];

static int begin(void **state) {
    (void)state;
    if (!channel_open(channel)) return -1;
    worker_handle_init(&worker, "cpu", false);
    worker.channel = channel[0];
    job = (struct job){ .run_number = RUN };
    order = (struct sweep_channel){ 0 };
    sweep_note_sent(&order, &mark, sent_ns);
    return 0;
}

static int end(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        close(channel[i]);
    }
    return 0;
}

static bool again_after(int ms) {
    return sweep_send_again(&what, sent_ns + ms * ms_ns);
}

static void check_run_came(void) {
    struct message message;
    assert_int_equal(channel_take(channel[1], &message, 1, 0), 1);
    assert_int_equal(message.kind, CHANNEL_RUN);
    assert_int_equal(message.slot, SLOT);
    assert_int_equal(message.run_number, RUN);
    assert_int_equal(channel_take(channel[1], &message, 1, 0), -1);
}

static void a_lost_job_is_sent_again(void **state) {
    (void)state;
    assert_false(again_after(SWEEP_OLD_MS - 1));
    assert_true(again_after(SWEEP_OLD_MS));
    check_run_came();
    assert_true(again_after(2 * SWEEP_OLD_MS)); /* that one was lost, too */
    check_run_came();
    job.received = RUN;
    assert_false(again_after(3600 * 1000)); /* even if it waits or runs for long */
}

/* All lanes are busy, so the message is unread. */
static void a_job_that_is_not_read_yet_is_not_lost(void **state) {
    (void)state;
    const struct message other = { .kind = CHANNEL_SELF_TEST };
    assert_true(channel_send(channel[0], &other));
    assert_false(again_after(3600 * 1000));
}

/* Messages come all the time, so some are always unread. */
static void a_job_is_lost_where_a_later_one_was_received(void **state) {
    (void)state;
    const struct message other = { .kind = CHANNEL_SELF_TEST };
    struct sweep_mark later;
    struct message message;
    sweep_note_sent(&order, &later, sent_ns);
    assert_true(channel_send(channel[0], &other));
    sweep_note_received(&order, &mark); /* its first copy, of an earlier run */
    assert_false(again_after(SWEEP_OLD_MS));
    sweep_note_received(&order, &later);
    assert_false(again_after(SWEEP_OLD_MS - 1));
    assert_true(again_after(SWEEP_OLD_MS));
    assert_int_equal(channel_take(channel[1], &message, 1, 0), 1);
    check_run_came();
    assert_true(channel_send(channel[0], &other));
    sweep_note_sent(&order, &mark, sent_ns); /* nothing behind the copy was received */
    assert_false(again_after(3600 * 1000));
}

static void a_dead_worker_is_sent_nothing(void **state) {
    (void)state;
    worker.channel = -1;
    assert_false(again_after(3600 * 1000));
}

static void an_answer_is_overdue_a_while_after_its_end(void **state) {
    (void)state;
    const int64_t finished_ns = sent_ns + 1000 * ms_ns;
    job.received = RUN;
    job.finished_ns = finished_ns;
    assert_int_equal(sweep_look(&job, sent_ns, finished_ns + (SWEEP_OLD_MS - 1) * ms_ns),
                     SWEEP_NOTHING);
    assert_int_equal(sweep_look(&job, sent_ns, finished_ns + SWEEP_OLD_MS * ms_ns),
                     SWEEP_NOT_REPORTED);
    assert_false(again_after(3600 * 1000));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_lost_job_is_sent_again),
        TEST(a_job_that_is_not_read_yet_is_not_lost),
        TEST(a_job_is_lost_where_a_later_one_was_received),
        TEST(a_dead_worker_is_sent_nothing),
        TEST(an_answer_is_overdue_a_while_after_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
