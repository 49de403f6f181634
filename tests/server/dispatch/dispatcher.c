// SPDX-License-Identifier: Apache-2.0
/* Each job's worker and its end, with the workers of two GPUs and a CPU that exist only as
 * channels: the test plays the workers, the clock and the pipe's reader. */
#include "server/dispatch/dispatcher.h"

#include "server/jobs/completion_pipe.h"
#include "tests/server/jobs/right_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SLOTS = 16, QUEUE_JOBS = 4, CAPACITY = 2, WORKERS = 3, CPU = 2, NOBODY = -1 };
static const int64_t second_ns = 1000000000;

static const struct config config = { .queue_jobs = QUEUE_JOBS,
                                      .processing_ms = 1000,
                                      .no_worker_ms = 3000 };
static struct slots *slots;
static struct worker_list workers;
static int lanes[WORKERS]; /* the workers' ends of their channels */
static int pipe_ends[2];
static struct dispatcher *dispatcher;

static int begin(void **state) {
    (void)state;
    static const char *const devices[WORKERS] = { "cuda:0", "cuda:1", "cpu" };
    const struct slot_options options = { .count = SLOTS, .base_bytes = 4096, .span_bytes = 4096 };
    struct failure failure = { 0 };
    slots = slots_create(&options, &failure);
    if (!slots || completion_pipe_open(pipe_ends, SLOTS, &failure)) return -1;
    workers.count = WORKERS;
    for (int i = 0; i < WORKERS; i++) {
        struct worker_handle *worker = &workers.all[i];
        int ends[2];
        if (!channel_open(ends)) return -1;
        worker_handle_init(worker, devices[i], false);
        worker->pid = 1 << 30; /* no process has that number */
        worker->channel = ends[0], lanes[i] = ends[1];
        worker->ready = worker->self_test_ok = true;
        worker->capacity = CAPACITY, worker->lanes = 1;
    }
    const struct dispatcher_options how = { &config, slots, &pipe_ends[1], &workers };
    dispatcher = dispatcher_create(&how, &failure);
    return dispatcher ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    dispatcher_destroy(dispatcher);
    for (int i = 0; i < WORKERS; i++) {
        close(workers.all[i].channel);
        close(lanes[i]);
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    slots_destroy(slots);
    return 0;
}

/* A megabyte of JPEG takes 0.02 ms on a GPU and 5 ms on the CPU (cost.c). */
static struct cost_work work_of(float megabytes) {
    return (struct cost_work){
        .count = 1, .terms = { { COST_DECODE_ROW(FORMAT_JPEG, 0) + 1, COST_DECODE, megabytes } }
    };
}

static int new_job(const char *device) {
    const int slot = slot_take(slots, 1, NULL);
    assert_true(slot >= 0);
    snprintf(slot_job(slots, slot)->device, DEVICE_WANT_MAX, "%s", device);
    slot_job(slots, slot)->work = work_of(1);
    return slot;
}

static int submit_work(const char *device, struct cost_work work) {
    struct failure failure = { 0 };
    const int slot = new_job(device);
    slot_job(slots, slot)->work = work;
    if (dispatcher_submit(dispatcher, slot, &failure)) fail_msg("%s", failure.message);
    return slot;
}

static int submit(const char *device) {
    return submit_work(device, work_of(1));
}

static void check_refused(const char *device, enum status status, const char *words) {
    struct failure failure = { 0 };
    const int waiting = dispatcher_waiting(dispatcher), slot = new_job(device);
    assert_int_equal(dispatcher_submit(dispatcher, slot, &failure), status);
    assert_non_null(strstr(failure.message, words));
    assert_int_equal(dispatcher_waiting(dispatcher), waiting);
    slot_give(slots, slot);
}

/* The worker that was sent the job since the last call. */
static int sent_to(int slot) {
    int found = NOBODY;
    for (int i = 0; i < WORKERS; i++) {
        struct message message;
        while (channel_take(lanes[i], &message, 1, 0) == 1) {
            assert_int_equal(message.kind, CHANNEL_RUN);
            if (message.slot == slot) found = i;
        }
    }
    return found;
}

/* Completes a run; true: it was the job's last. */
static bool completes(int slot, uint32_t run_number) {
    right_answer(slots, slot);
    return dispatcher_completed(dispatcher, slot, run_number);
}

static bool complete(int slot) {
    return completes(slot, slot_job(slots, slot)->run_number);
}

/* The slot that the dispatcher itself has returned, and its job's status; -1: none. */
static int sent_back(enum status *status) {
    struct completion completion;
    if (completion_pipe_take(pipe_ends[0], &completion, 1) != 1) return -1;
    assert_true(dispatcher_completed(dispatcher, completion.slot, completion.run_number));
    assert_false(dispatcher_completed(dispatcher, completion.slot, completion.run_number));
    *status = slot_job(slots, completion.slot)->failure.status;
    return completion.slot;
}

static void check_sent_back(int slot, enum status expected) {
    enum status status = STATUS_OK;
    assert_int_equal(sent_back(&status), slot);
    assert_int_equal(status, expected);
    assert_int_equal(sent_back(&status), -1);
}

/* The worker's process has ended, and the next one is ready at once. */
static void replace(int worker) {
    dispatcher_recover(dispatcher, &workers.all[worker]);
    workers.all[worker].running = 0;
    workers.all[worker].alone = false;
    dispatcher_assign(dispatcher);
}

/* ---- choice of the worker */

static void auto_jobs_go_to_the_least_busy_gpu(void **state) {
    (void)state;
    static const int expected[] = { 0, 1, 0, 1 };
    for (int i = 0; i < 2 * CAPACITY; i++) assert_int_equal(sent_to(submit("auto")), expected[i]);
    assert_int_equal(sent_to(submit("auto")), NOBODY); /* the CPU would be much later */
    assert_int_equal(dispatcher_waiting(dispatcher), 1);
    assert_int_equal(dispatcher_running(dispatcher), 4);
}

/* 40 ms on a GPU, 10 s on the CPU: a GPU has room for one, its second lane is for others. */
static void a_long_job_waits_where_short_ones_find_room(void **state) {
    (void)state;
    workers.all[0].lanes = workers.all[1].lanes = 2;
    const int first = submit_work("auto", work_of(2000));
    assert_int_equal(sent_to(first), 0);
    assert_true(slot_job(slots, first)->duration == JOB_LONG);
    assert_float_equal((float)slot_job(slots, first)->predicted_ms, 40, 0.01F);
    assert_int_equal(sent_to(submit_work("auto", work_of(2000))), 1);
    const int waiting = submit_work("auto", work_of(2000));
    assert_int_equal(sent_to(waiting), NOBODY);
    assert_int_equal(sent_to(submit("auto")), 0);
    assert_true(complete(first));
    assert_int_equal(sent_to(waiting), 0);
}

/* Places for many at once: others do not take them, nor do they take others'. */
static void jobs_abreast_have_room_of_their_own(void **state) {
    (void)state;
    workers.all[0].capacity = CAPACITY + 2, workers.all[0].many = 2;
    const struct cost_work work = work_of(10);
    int many[3];
    for (int i = 0; i < 3; i++) {
        many[i] = new_job("cuda:0");
        slot_job(slots, many[i])->work = work;
        slot_job(slots, many[i])->abreast = true;
        assert_int_equal(dispatcher_submit(dispatcher, many[i], NULL), STATUS_OK);
        assert_int_equal(sent_to(many[i]), i < 2 ? 0 : NOBODY);
    }
    assert_int_equal(slot_job(slots, many[0])->duration, JOB_MEDIUM);
    for (int i = 0; i < CAPACITY; i++) assert_int_equal(sent_to(submit("cuda:0")), 0);
    assert_int_equal(sent_to(submit("cuda:0")), NOBODY);
    assert_true(complete(many[0]));
    assert_int_equal(sent_to(many[2]), 0);
}

static void a_named_device_is_obeyed(void **state) {
    (void)state;
    assert_int_equal(sent_to(submit("cpu")), CPU);
    assert_int_equal(sent_to(submit("cuda:1")), 1);
    assert_int_equal(sent_to(submit("cuda")), 0);
    assert_int_equal(sent_to(submit("cuda:1")), 1);
    check_refused("cuda:2", STATUS_BAD_PARAM, "\"cuda:2\" is not served here");
}

static void the_cpu_steps_in_while_no_gpu_is_healthy(void **state) {
    (void)state;
    workers.all[0].self_test_ok = false;
    assert_int_equal(sent_to(submit("auto")), 1);
    workers.all[1].still = "stands still";
    assert_int_equal(sent_to(submit("auto")), CPU);
    assert_int_equal(sent_to(submit("cuda")), NOBODY); /* waits for a GPU to return */
    workers.all[0].self_test_ok = true;
    dispatcher_assign(dispatcher);
    assert_int_equal(workers.all[0].running, 1);
}

/* A full worker delays no job for others. */
static void the_oldest_goes_first_and_the_queue_is_bounded(void **state) {
    (void)state;
    int gpu[CAPACITY], first, second;
    for (int i = 0; i < CAPACITY; i++) gpu[i] = submit("cuda:0");
    first = submit("cuda:0");
    second = submit("cuda:0");
    assert_int_equal(sent_to(submit("cuda:1")), 1);
    submit("cuda:0");
    submit("cuda:0");
    check_refused("cuda:0", STATUS_BUSY, "4 jobs are waiting already");
    assert_true(complete(gpu[1]));
    assert_int_equal(sent_to(first), 0);
    assert_true(complete(gpu[0]));
    assert_int_equal(sent_to(second), 0);
    assert_int_equal(dispatcher_waiting(dispatcher), 2);
}

/* ---- the way back */

static void a_late_completion_is_not_the_last(void **state) {
    (void)state;
    const int slot = submit("cuda:0");
    const uint32_t first = slot_job(slots, slot)->run_number;
    slot_shared_job(slots, slot)->started = 1;
    replace(0);
    assert_false(completes(slot, first));
    slot_shared_job(slots, slot)->finished_ns = 0;
    assert_int_equal(sent_to(slot), 0);
    assert_true(complete(slot));
    assert_false(complete(slot));
    assert_false(dispatcher_completed(dispatcher, -1, first));
    assert_false(dispatcher_completed(dispatcher, SLOTS, first));
}

static void a_cancelled_job_returns_if_it_waits(void **state) {
    (void)state;
    const int running = submit("cuda:0");
    submit("cuda:0");
    const int waiting = submit("cuda:0");
    enum status status;
    dispatcher_cancel(dispatcher, running);
    assert_int_equal(sent_back(&status), -1); /* its worker notices the flag */
    assert_true(slot_shared_job(slots, running)->progress.cancelled);
    dispatcher_cancel(dispatcher, waiting);
    check_sent_back(waiting, STATUS_CANCELLED);
    assert_int_equal(dispatcher_waiting(dispatcher), 0);
}

static void time_passes_in_the_queue(void **state) {
    (void)state;
    for (int i = 0; i < CAPACITY; i++) submit("cuda:0");
    const int patient = submit("cuda:0"), late = submit("cuda:0");
    slot_job(slots, patient)->progress.deadline_ns = clock_ns() + 1000 * second_ns;
    slot_job(slots, late)->progress.deadline_ns = 1;
    dispatcher_expire(dispatcher);
    check_sent_back(late, STATUS_DEADLINE);
    assert_int_equal(dispatcher_waiting(dispatcher), 1);
}

/* The job returns at once, not at its deadline. */
static void no_job_waits_for_workers_that_do_not_return(void **state) {
    (void)state;
    for (int i = 0; i < WORKERS; i++) workers.all[i].ready = false;
    const int waiting = submit("cuda:1"), other = submit("cpu");
    workers.all[1].ill_since_ns = clock_ns() - 4 * second_ns;
    dispatcher_expire(dispatcher);
    check_sent_back(waiting, STATUS_BUSY);
    assert_non_null(strstr(slot_job(slots, waiting)->failure.message, "cuda:1 is healthy"));
    check_refused("cuda:1", STATUS_BUSY, "no worker for device cuda:1 is healthy");
    assert_int_equal(dispatcher_waiting(dispatcher), 1);
    dispatcher_cancel(dispatcher, other);
}

/* ---- workers that die */

static void a_begun_job_is_tried_elsewhere_alone(void **state) {
    (void)state;
    const int suspect = submit("auto"), bystander = submit("cuda:0"), other = submit("cuda:1");
    slot_shared_job(slots, suspect)->started = 1; /* the bystander was never begun */
    sent_to(suspect);
    replace(0);
    assert_int_equal(slot_job(slots, bystander)->deaths, 0);
    assert_int_equal(slot_job(slots, suspect)->deaths, 1);
    assert_int_equal(dispatcher_running(dispatcher), 3);
    assert_int_equal(sent_to(suspect), CPU); /* empty, and did not die with it */
    assert_true(workers.all[CPU].alone);
    assert_int_equal(sent_to(submit("cpu")), NOBODY);
    assert_true(complete(suspect));
    assert_int_equal(workers.all[CPU].running, 1);
    assert_true(complete(bystander));
    assert_true(complete(other));
}

static void with_a_second_worker_it_is_given_up(void **state) {
    (void)state;
    const int slot = submit("cuda:0");
    for (int deaths = 1; deaths <= 2; deaths++) {
        assert_int_equal(sent_to(slot), 0);
        slot_shared_job(slots, slot)->started = 1;
        replace(0);
        assert_int_equal(slot_job(slots, slot)->deaths, deaths);
    }
    check_sent_back(slot, STATUS_INTERNAL);
    assert_non_null(strstr(slot_job(slots, slot)->failure.message, "two workers died"));
    assert_int_equal(dispatcher_running(dispatcher), 0);
}

static void a_finished_job_is_not_run_again(void **state) {
    (void)state;
    struct worker_statistics statistics;
    const int whole = submit("cuda:0"), left = submit("cuda:1");
    slot_shared_job(slots, whole)->started = slot_shared_job(slots, left)->started = 1;
    right_answer(slots, whole);
    dispatcher_recover(dispatcher, &workers.all[0]);
    check_sent_back(whole, STATUS_OK);
    dispatcher_cancel(dispatcher, left);
    dispatcher_recover(dispatcher, &workers.all[1]);
    check_sent_back(left, STATUS_CANCELLED);
    dispatcher_statistics(dispatcher, 1, &statistics);
    assert_float_equal((float)statistics.wait_ms, 0, 1e-9F); /* nothing is left to do */
}

/* A job whose progress is no longer checked hangs after processing_ms. */
static void a_job_hangs_processing_ms_after_its_deadline(void **state) {
    (void)state;
    const int slot = submit("cuda:0");
    const int64_t now = clock_ns();
    slot_job(slots, slot)->progress.deadline_ns = now - second_ns;
    slot_shared_job(slots, slot)->progress.seen_ns = now - 1;
    workers.all[0].moved_ns = now - 5;
    assert_false(dispatcher_hangs(dispatcher, &workers.all[0], now));
    assert_int_equal(workers.all[0].moved_ns, now - 1);
    assert_true(dispatcher_hangs(dispatcher, &workers.all[0], now + 1));
    assert_false(dispatcher_hangs(dispatcher, &workers.all[1], now + 100 * second_ns));
}

static void all_jobs_return_at_the_end(void **state) {
    (void)state;
    bool back[SLOTS] = { false };
    enum status status;
    int count = 0;
    for (int i = 0; i < CAPACITY + 2; i++) submit("cuda:0");
    submit("cpu");
    dispatcher_send_back_all(dispatcher);
    for (int slot; (slot = sent_back(&status)) >= 0; count++) {
        assert_false(back[slot]);
        back[slot] = true;
        assert_int_equal(status, STATUS_BUSY);
    }
    assert_int_equal(count, CAPACITY + 3);
    assert_int_equal(dispatcher_waiting(dispatcher), 0);
}

/* A job took 10 s. The advice is that for each queued job and the new one, divided by the jobs that
 * healthy workers run at once (half their capacity) plus one; 30 s at most. */
static void the_advice_follows_the_queue(void **state) {
    (void)state;
    assert_int_equal(dispatcher_retry_after_s(dispatcher), 1); /* nothing is known yet */
    const int slot = submit("cuda:0");
    slot_job(slots, slot)->submitted_ns -= 10 * second_ns;
    assert_true(complete(slot));
    assert_int_equal(dispatcher_retry_after_s(dispatcher), 3); /* 10 s over 1 + 3 */
    for (int i = 0; i < CAPACITY + QUEUE_JOBS; i++) submit("cuda:0");
    assert_int_equal(dispatcher_retry_after_s(dispatcher), 13); /* 50 s over 1 + 3 */
    workers.all[1].ready = workers.all[2].ready = false;
    assert_int_equal(dispatcher_retry_after_s(dispatcher), 26); /* 50 s over 1 + 1 */
    workers.all[0].ready = false;
    assert_int_equal(dispatcher_retry_after_s(dispatcher), 30);
}

/* The second GPU's worker becomes one for users' operators: it takes all their jobs and no others.
 * */
static void users_operators_have_workers_of_their_own(void **state) {
    (void)state;
    static const struct generation theirs = { .number = 7 };
    workers.all[1].operators = true;
    workers.all[1].generation = &theirs;
    for (int i = 0; i < CAPACITY; i++) assert_int_equal(sent_to(submit("auto")), 0);
    const int built_in = submit("auto");
    assert_int_equal(sent_to(built_in), NOBODY); /* though the other GPU has room */
    const int slot = new_job("auto");
    struct failure failure = { 0 };
    slot_job(slots, slot)->generation = 7;
    assert_int_equal(dispatcher_submit(dispatcher, slot, &failure), STATUS_OK);
    assert_int_equal(sent_to(slot), 1);
    check_refused("cuda:1", STATUS_BAD_PARAM, "not served");
    workers.all[1].ready = false; /* without that worker its jobs wait, and others do not */
    const int waiting = new_job("auto");
    slot_job(slots, waiting)->generation = 7;
    assert_int_equal(dispatcher_submit(dispatcher, waiting, &failure), STATUS_OK);
    assert_int_equal(sent_to(waiting), NOBODY);
    /* They get a quarter of the queue at most. */
    const int more = new_job("auto");
    slot_job(slots, more)->generation = 7;
    assert_int_equal(dispatcher_submit(dispatcher, more, &failure), STATUS_BUSY);
    assert_non_null(strstr(failure.message, "users' operators"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static void progress_is_shown_of_jobs_that_are_here(void **state) {
    (void)state;
    struct job_progress now;
    int slots_used[2 * CAPACITY + 1];
    enum { LAST = 2 * CAPACITY };
    for (int i = 0; i <= LAST; i++) {
        slots_used[i] = new_job("cuda");
        struct job *job = slot_job(slots, slots_used[i]);
        snprintf(job->request_id, sizeof job->request_id, "request-%d", i);
        job->plan.length = 1 + (uint32_t)snprintf((char *)job->plan.bytes, sizeof job->plan.bytes,
                                                  "histeq:bins=%d", i + 2);
        assert_false(dispatcher_progress(dispatcher, job->request_id, &now));
        assert_int_equal(dispatcher_submit(dispatcher, slots_used[i], &job->failure), STATUS_OK);
    }
    progress_step(&slot_shared_job(slots, slots_used[1])->progress, 3);
    progress_report(&slot_shared_job(slots, slots_used[1])->progress, 7, 9);
    assert_true(dispatcher_progress(dispatcher, "request-1", &now));
    assert_false(now.waiting);
    assert_false(now.in_order); /* a GPU has it */
    assert_int_equal(now.step, 3);
    assert_int_equal(now.done, 7);
    assert_int_equal(now.total, 9);
    assert_string_equal((const char *)now.plan.bytes, "histeq:bins=3");
    assert_true(dispatcher_progress(dispatcher, "request-4", &now));
    assert_true(now.waiting);
    assert_string_equal((const char *)now.plan.bytes, "histeq:bins=6");
    assert_false(dispatcher_progress(dispatcher, "request-", &now));
    assert_false(dispatcher_progress(dispatcher, "", &now));
    assert_true(complete(slots_used[1]));
    assert_false(dispatcher_progress(dispatcher, "request-1", &now));
    assert_true(dispatcher_progress(dispatcher, "request-4", &now)); /* it got the free room */
    assert_false(now.waiting);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(auto_jobs_go_to_the_least_busy_gpu),
        TEST(a_long_job_waits_where_short_ones_find_room),
        TEST(jobs_abreast_have_room_of_their_own),
        TEST(a_named_device_is_obeyed),
        TEST(the_cpu_steps_in_while_no_gpu_is_healthy),
        TEST(the_oldest_goes_first_and_the_queue_is_bounded),
        TEST(a_late_completion_is_not_the_last),
        TEST(a_cancelled_job_returns_if_it_waits),
        TEST(time_passes_in_the_queue),
        TEST(no_job_waits_for_workers_that_do_not_return),
        TEST(a_begun_job_is_tried_elsewhere_alone),
        TEST(with_a_second_worker_it_is_given_up),
        TEST(a_finished_job_is_not_run_again),
        TEST(a_job_hangs_processing_ms_after_its_deadline),
        TEST(all_jobs_return_at_the_end),
        TEST(the_advice_follows_the_queue),
        TEST(users_operators_have_workers_of_their_own),
        TEST(progress_is_shown_of_jobs_that_are_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
