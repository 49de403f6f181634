// SPDX-License-Identifier: Apache-2.0
/* Lost messages between a dispatcher, a worker and the completion pipe: the test plays the worker
 * and the clock, and loses messages. */
#include "server/dispatch/dispatcher.h"

#include "tests/server/jobs/right_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

/* No process has that number, so a kill by mistake hits none. */
enum { NO_PROCESS = 1 << 30 };

enum { SLOTS = 16, CAPACITY = 8, LATE_MS = 1000 };

static const struct config config = { .queue_jobs = SLOTS,
                                      .processing_ms = 1000,
                                      .no_worker_ms = 3000 };
static struct slots *slots;
static struct worker_list workers;
static int ends[2], pipe_ends[2];
static struct dispatcher *dispatcher;

static int begin(void **state) {
    (void)state;
    const struct slot_options options = { .count = SLOTS, .base_bytes = 4096, .span_bytes = 4096 };
    struct worker_handle *worker = &workers.all[0];
    struct failure failure = { 0 };
    slots = slots_create(&options, &failure);
    if (!slots || completion_pipe_open(pipe_ends, SLOTS, &failure) || !channel_open(ends))
        return -1;
    workers.count = 1;
    worker_handle_init(worker, "cuda:0", false);
    worker->pid = NO_PROCESS;
    worker->lanes = 1;
    worker->capacity = CAPACITY;
    worker->channel = ends[0];
    worker->ready = worker->self_test_ok = true;
    const struct dispatcher_options how = { &config, slots, &pipe_ends[1], &workers };
    dispatcher = dispatcher_create(&how, &failure);
    return dispatcher ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    dispatcher_destroy(dispatcher);
    for (int i = 0; i < 2; i++) {
        close(ends[i]);
        close(pipe_ends[i]);
    }
    slots_destroy(slots);
    return 0;
}

static int submit(void) {
    struct failure failure = { 0 };
    const int slot = slot_take(slots, 1, NULL);
    struct job *job = slot_job(slots, slot);
    snprintf(job->device, sizeof job->device, "auto");
    job->work =
        (struct cost_work){ .count = 1,
                            .terms = { { COST_DECODE_ROW(FORMAT_JPEG, 0) + 1, COST_DECODE, 1 } } };
    if (dispatcher_submit(dispatcher, slot, &failure)) fail_msg("%s", failure.message);
    return slot;
}

/* The slot of the next message; -1: there is none. */
static int hear(void) {
    struct message message;
    return channel_take(ends[1], &message, 1, 0) == 1 ? message.slot : -1;
}

static int receive(void) {
    const int slot = hear();
    assert_true(slot >= 0);
    slot_shared_job(slots, slot)->received = slot_job(slots, slot)->run_number;
    return slot;
}

static int64_t later(int times) {
    return clock_ns() + times * LATE_MS * INT64_C(1000000);
}

static int overdue(int io_thread) {
    struct completion completions[SLOTS];
    const int count = dispatcher_overdue(dispatcher, io_thread, later(1), completions, SLOTS);
    assert_true(count <= 1);
    if (count)
        assert_int_equal(completions[0].run_number,
                         slot_job(slots, completions[0].slot)->run_number);
    return count ? completions[0].slot : -1;
}

/* A worker that always has unread messages has read past the lost one. */
static void a_job_that_was_passed_is_sent_again(void **state) {
    (void)state;
    const int lost = submit();
    assert_int_equal(hear(), lost);
    const int second = submit(), third = submit();
    dispatcher_sweep(dispatcher, later(1));
    assert_int_equal(receive(), second);
    dispatcher_sweep(dispatcher, later(2));
    assert_int_equal(receive(), third);
    assert_int_equal(hear(), lost);
    assert_int_equal(hear(), -1);
    dispatcher_sweep(dispatcher, later(3));
    assert_int_equal(hear(), lost); /* sent again, for all was read */
    dispatcher_sweep(dispatcher, later(4));
    assert_int_equal(receive(), lost);
    dispatcher_sweep(dispatcher, later(5));
    assert_int_equal(hear(), -1);
}

/* The dispatcher remembers what the worker has read beyond the job's end. */
static void a_finished_job_has_passed_it(void **state) {
    (void)state;
    const int lost = submit();
    assert_int_equal(hear(), lost);
    const int second = submit(), third = submit();
    assert_int_equal(receive(), second);
    struct job *job = slot_job(slots, second);
    right_answer(slots, second);
    assert_true(dispatcher_completed(dispatcher, second, job->run_number));
    dispatcher_sweep(dispatcher, later(1));
    assert_int_equal(receive(), third);
    assert_int_equal(hear(), lost);
}

static void an_answer_that_is_lost_is_found(void **state) {
    (void)state;
    const int slot = submit();
    struct job *job = slot_job(slots, slot);
    assert_int_equal(receive(), slot);
    assert_int_equal(overdue(0), -1);
    right_answer(slots, slot);
    assert_int_equal(overdue(1), -1); /* the job belongs to the other I/O thread */
    assert_int_equal(overdue(0), slot);
    assert_true(dispatcher_completed(dispatcher, slot, job->run_number));
    assert_int_equal(overdue(0), -1);
    assert_false(dispatcher_completed(dispatcher, slot,
                                      job->run_number)); /* the lost completion came after all */
}

static void a_job_sent_back_and_lost_is_found(void **state) {
    (void)state;
    int slot = -1;
    for (int i = 0; i <= CAPACITY; i++) slot = submit();
    assert_int_equal(dispatcher_waiting(dispatcher), 1);
    assert_int_equal(overdue(0), -1);
    dispatcher_cancel(dispatcher, slot);
    assert_int_equal(overdue(0), slot);
    assert_true(dispatcher_completed(dispatcher, slot, slot_job(slots, slot)->run_number));
    assert_int_equal(overdue(0), -1);
}

/* A worker may write anything into a job; the job still returns to its I/O thread. */
static void a_job_whose_io_thread_was_overwritten_returns(void **state) {
    (void)state;
    int slot = -1;
    for (int i = 0; i <= CAPACITY; i++) slot = submit();
    slot_shared_job(slots, slot)->io_thread = 1 << 30;
    dispatcher_cancel(dispatcher, slot); /* through the pipe of its thread */
    assert_int_equal(overdue(0), slot);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_job_that_was_passed_is_sent_again),
        TEST(a_finished_job_has_passed_it),
        TEST(an_answer_that_is_lost_is_found),
        TEST(a_job_sent_back_and_lost_is_found),
        TEST(a_job_whose_io_thread_was_overwritten_returns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
