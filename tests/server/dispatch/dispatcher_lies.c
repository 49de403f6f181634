// SPDX-License-Identifier: Apache-2.0
/* A worker that returns an invalid answer: its process is killed, and the next one runs its job.
 * The test plays the worker; its process only waits. */
#include "server/dispatch/dispatcher.h"
#include "tests/server/jobs/right_answer.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SLOTS = 4 };
static const int64_t second_ns = 1000000000;

static const struct config config = { .queue_jobs = SLOTS, .no_worker_ms = 3000 };
static struct slots *slots;
static struct worker_list workers;
static struct worker_handle *const worker = &workers.all[0];
static int ends[2], pipe_ends[2];
static struct dispatcher *dispatcher;

static void begin_process(void) {
    worker->pid = fork();
    if (worker->pid == 0) {
        alarm(60);
        for (;;) pause();
    }
    assert_true(worker->pid > 0);
    worker->ready = worker->self_test_ok = true;
    worker->distrusted = worker->killed = worker->alone = false;
    worker->still = NULL;
    worker->running = 0;
}

static int begin(void **state) {
    (void)state;
    const struct slot_options options = { .count = SLOTS, .base_bytes = 4096, .span_bytes = 4096 };
    struct failure failure = { 0 };
    slots = slots_create(&options, &failure);
    if (!slots || completion_pipe_open(pipe_ends, SLOTS, &failure) || !channel_open(ends))
        return -1;
    workers.count = 1;
    worker_handle_init(worker, "cuda:0", false);
    worker->channel = ends[0];
    worker->capacity = worker->lanes = SLOTS;
    begin_process();
    const struct dispatcher_options how = { &config, slots, &pipe_ends[1], &workers };
    dispatcher = dispatcher_create(&how, &failure);
    return dispatcher ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    kill(worker->pid, SIGKILL);
    waitpid(worker->pid, NULL, 0);
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
    slot_shared_job(slots, slot)->started = 1;
    return slot;
}

static bool completes(int slot) {
    right_answer(slots, slot);
    return dispatcher_completed(dispatcher, slot, slot_job(slots, slot)->run_number);
}

/* Lies once; the next process gets the jobs of the killed one. */
static void lie(int slot) {
    right_answer(slots, slot);
    slot_shared_job(slots, slot)->outputs[0].offset = UINT64_MAX - 100;
    assert_false(dispatcher_completed(dispatcher, slot, slot_job(slots, slot)->run_number));
    assert_true(worker->distrusted && !worker_handle_healthy(worker));
    assert_false(completes(slot)); /* nothing else from it is believed either */
    assert_true(worker->kill_due); /* the supervisor sends the signal */
    kill(worker->pid, SIGKILL);
    while (!worker_handle_reap(worker)) usleep(1000);
    dispatcher_recover(dispatcher, worker);
    begin_process();
    dispatcher_assign(dispatcher);
}

/* ---- tests */

static void a_job_that_was_lied_about_runs_again(void **state) {
    (void)state;
    const int slot = submit();
    lie(slot);
    assert_int_equal(slot_job(slots, slot)->deaths, 1);
    assert_true(completes(slot));
    assert_int_equal(slot_job(slots, slot)->failure.status, STATUS_OK);
    assert_int_equal(slot_job(slots, slot)->outputs[0].length, 1);
}

static void but_not_forever(void **state) {
    (void)state;
    struct completion back;
    const int slot = submit();
    lie(slot);
    slot_shared_job(slots, slot)->started = 1;
    lie(slot);
    assert_int_equal(completion_pipe_take(pipe_ends[0], &back, 1), 1);
    assert_true(dispatcher_completed(dispatcher, back.slot, back.run_number));
    assert_int_equal(slot_job(slots, slot)->failure.status, STATUS_INTERNAL);
    assert_int_equal(dispatcher_running(dispatcher), 0);
}

/* An answer that it had finished but not reported is not believed: it may be a lie too. */
static void its_other_jobs_are_not_to_blame(void **state) {
    (void)state;
    const int lied = submit(), begun = submit(), finished = submit();
    right_answer(slots, finished);
    lie(lied);
    const int innocent[] = { begun, finished };
    for (int i = 0; i < 2; i++) {
        assert_int_equal(slot_job(slots, innocent[i])->deaths, 0);
        assert_int_equal(slot_job(slots, innocent[i])->failure.status, STATUS_OK);
        assert_int_equal(slot_job(slots, innocent[i])->outputs[0].length, 0);
    }
    assert_int_equal(dispatcher_waiting(dispatcher) + dispatcher_running(dispatcher), 3);
}

/* A process that died by itself may have finished a job; its answer is checked all the same. */
static void what_a_dead_worker_left_is_checked(void **state) {
    (void)state;
    const int slot = submit();
    right_answer(slots, slot);
    slot_shared_job(slots, slot)->outputs[0].length = UINT64_MAX;
    dispatcher_recover(dispatcher, worker);
    assert_int_equal(slot_job(slots, slot)->outputs[0].length, 0);
    assert_int_equal(slot_job(slots, slot)->deaths, 1);
    assert_int_equal(dispatcher_waiting(dispatcher), 1);
}

/* No time that a worker writes spoils Retry-After. */
static void the_advice_survives(void **state) {
    (void)state;
    static const double times[] = { NAN, INFINITY, -INFINITY, -1e300, 1e300 };
    for (int i = 0; i < 5; i++) {
        const int slot = submit();
        for (int s = 0; s < STAGE_COUNT; s++)
            slot_shared_job(slots, slot)->timing.stage_ms[s] = times[i];
        assert_true(completes(slot));
        slot_give(slots, slot);
        assert_in_range(dispatcher_retry_after_s(dispatcher), 1, 30);
    }
    const int slot = submit();
    slot_job(slots, slot)->submitted_ns -= 1000 * second_ns;
    assert_true(completes(slot));
    assert_in_range(dispatcher_retry_after_s(dispatcher), 2,
                    30); /* it follows the front's own clock */
}

/* A worker can neither move a job's deadline nor report progress from the future. */
static void the_deadline_is_the_fronts(void **state) {
    (void)state;
    const int slot = submit();
    const int64_t now = clock_ns();
    struct progress *written = &slot_shared_job(slots, slot)->progress;
    slot_job(slots, slot)->progress.deadline_ns = now - 1;
    written->deadline_ns = written->seen_ns = now + 1000 * second_ns;
    worker->moved_ns = now - 5;
    assert_true(dispatcher_hangs(dispatcher, worker, now));
    assert_int_equal(worker->moved_ns, now - 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_job_that_was_lied_about_runs_again),
        TEST(but_not_forever),
        TEST(its_other_jobs_are_not_to_blame),
        TEST(what_a_dead_worker_left_is_checked),
        TEST(the_advice_survives),
        TEST(the_deadline_is_the_fronts),
    };
    return cmocka_run_group_tests_name("dispatcher_lies", tests, NULL, NULL);
}
