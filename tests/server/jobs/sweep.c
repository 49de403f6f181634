// SPDX-License-Identifier: Apache-2.0
/* Jobs on their way to a worker of which there is nothing but the channel, and back: the test is
 * the worker, the clock and the reader of the pipe, and loses what it likes. */
#include "server/jobs/sweep.h"

#include "server/jobs/completion_pipe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

enum { SLOT = 3, RUN = 7, SLOTS = 4096 };
static const int64_t sent_ns = INT64_C(1000000000000), ms_ns = 1000000;

static struct worker_handle worker;
static struct job job;
static struct sweep_job what;
static int channel[2], pipe_ends[2];

static int begin(void **state) {
    (void)state;
    struct failure failure = { 0 };
    if (!channel_open(channel) || completion_pipe_open(pipe_ends, SLOTS, &failure)) return -1;
    worker_handle_init(&worker, "cpu", false);
    worker.channel = channel[0];
    job = (struct job){ .run_number = RUN };
    what = (struct sweep_job){
        .slot = SLOT, .job = &job, .worker = &worker, .pipe = pipe_ends[1], .sent_ns = sent_ns
    };
    return 0;
}

static int end(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        close(channel[i]);
        close(pipe_ends[i]);
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

static void check_completion_came(void) {
    struct completion completion;
    assert_int_equal(completion_pipe_take(pipe_ends[0], &completion, 1), 1);
    assert_int_equal(completion.slot, SLOT);
    assert_int_equal(completion.run_number, RUN);
    assert_int_equal(completion_pipe_take(pipe_ends[0], &completion, 1), 0);
}

static void a_lost_job_is_sent_again(void **state) {
    (void)state;
    assert_false(again_after(SWEEP_MS - 1));
    assert_true(again_after(SWEEP_MS));
    check_run_came();
    assert_true(again_after(2 * SWEEP_MS)); /* that one was lost, too */
    check_run_came();
    job.received = RUN;
    assert_false(again_after(3600 * 1000)); /* however long it waits or runs */
}

/* All lanes are at work: it waits to be read. */
static void a_job_that_is_not_read_yet_is_not_lost(void **state) {
    (void)state;
    const struct message other = { .kind = CHANNEL_SELF_TEST };
    assert_true(channel_send(channel[0], &other));
    assert_false(again_after(3600 * 1000));
}

static void a_worker_that_is_gone_is_sent_nothing(void **state) {
    (void)state;
    worker.channel = -1;
    assert_false(again_after(3600 * 1000));
}

static void a_lost_answer_is_told_again(void **state) {
    (void)state;
    job.received = RUN;
    job.finished_ns = sent_ns + 1000 * ms_ns;
    assert_false(again_after(1000 + SWEEP_MS - 1));
    assert_true(again_after(1000 + SWEEP_MS));
    check_completion_came();
}

static void what_was_sent_back_is_told_again(void **state) {
    (void)state;
    what.worker = NULL;
    assert_false(again_after(SWEEP_MS - 1));
    assert_true(again_after(SWEEP_MS));
    check_completion_came();
}

/* Its reader gets no core: a supervisor that filled the pipe would wait for it. */
static void an_answer_that_is_not_read_yet_is_not_lost(void **state) {
    (void)state;
    int sent = 0;
    what.worker = NULL;
    while (sent < SLOTS && again_after(SWEEP_MS)) sent++;
    assert_int_equal(sent, COMPLETION_UNREAD_MAX);
    assert_int_equal(completion_pipe_unread(pipe_ends[0]), COMPLETION_UNREAD_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_lost_job_is_sent_again),
        TEST(a_job_that_is_not_read_yet_is_not_lost),
        TEST(a_worker_that_is_gone_is_sent_nothing),
        TEST(a_lost_answer_is_told_again),
        TEST(what_was_sent_back_is_told_again),
        TEST(an_answer_that_is_not_read_yet_is_not_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
