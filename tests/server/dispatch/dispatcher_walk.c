// SPDX-License-Identifier: Apache-2.0
/* Walks over the queue: a job behind many that wait for a different worker, which not every walk
 * reaches, and clients that send much more than others. */
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

/* No process has that number, so a kill by mistake hits none. */
enum { NO_PROCESS = 1 << 30 };

enum { SLOTS = 256, WORKERS = 2, CPU = 1 };

static const struct config config = {
    .queue_jobs = SLOTS - 2, .processing_ms = 10000, .refuse_times = 2, .no_worker_ms = 3000
};
static struct slots *slots;
static struct worker_list workers;
static int ends[WORKERS][2], pipe_ends[2];
static struct dispatcher *dispatcher;

static int begin(void **state) {
    (void)state;
    static const char *const devices[WORKERS] = { "cuda:0", "cpu" };
    const struct slot_options options = { .count = SLOTS, .base_bytes = 4096, .span_bytes = 4096 };
    struct failure failure = { 0 };
    slots = slots_create(&options, &failure);
    if (!slots || completion_pipe_open(pipe_ends, SLOTS, &failure)) return -1;
    workers.count = WORKERS;
    for (int i = 0; i < WORKERS; i++) {
        struct worker_handle *worker = &workers.all[i];
        if (!channel_open(ends[i])) return -1;
        worker_handle_init(worker, devices[i], false);
        worker->pid = NO_PROCESS;
        worker->lanes = worker->capacity = 1;
        worker->channel = ends[i][0];
        worker->ready = worker->self_test_ok = true;
    }
    const struct dispatcher_options how = { &config, slots, &pipe_ends[1], &workers };
    dispatcher = dispatcher_create(&how, &failure);
    return dispatcher ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    dispatcher_destroy(dispatcher);
    for (int i = 0; i < WORKERS; i++) {
        close(ends[i][0]);
        close(ends[i][1]);
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    slots_destroy(slots);
    return 0;
}

/* MS: on the CPU. */
static int new_job(int client, const char *device, float ms) {
    const int slot = slot_take(slots, 1, NULL);
    assert_true(slot >= 0);
    struct job *job = slot_job(slots, slot);
    snprintf(job->device, sizeof job->device, "%s", device);
    job->work = (struct cost_work){
        .count = 1, .terms = { { COST_DECODE_ROW(FORMAT_JPEG, 0) + 1, COST_DECODE, ms / 5 } }
    };
    job->client.address.s6_addr[15] = (uint8_t)client;
    return slot;
}

static int submit_work(int client, const char *device, float ms, enum status expected) {
    struct failure failure = { 0 };
    const int slot = new_job(client, device, ms);
    assert_int_equal(dispatcher_submit(dispatcher, slot, &failure), expected);
    return slot;
}

static int submit(int client, const char *device, enum status expected) {
    return submit_work(client, device, 1, expected);
}

/* The GPU has done the job and asks for the next. */
static void complete(int slot) {
    const struct job *job = slot_job(slots, slot);
    right_answer(slots, slot);
    assert_true(dispatcher_completed(dispatcher, slot, job->run_number));
}

static int sent_last(void) {
    struct message message = { .slot = -1 };
    while (channel_take(ends[0][1], &message, 1, 0) == 1) continue;
    return message.slot;
}

static void the_last_of_many_is_reached_in_a_while(void **state) {
    (void)state;
    for (int i = 0; i < SLOTS - 2; i++) submit(0, "cuda:0", STATUS_OK);
    assert_int_equal(workers.all[0].running, 1);
    submit(1, "cpu", STATUS_OK);
    usleep(2000); /* at least: until a whole walk is due */
    dispatcher_assign(dispatcher);
    assert_int_equal(workers.all[CPU].running, 1);
    assert_int_equal(dispatcher_waiting(dispatcher), SLOTS - 3);
}

/* One client keeps the worker busy and has a hundred jobs queued; the other client's only job is
 * next. */
static void a_client_that_used_little_goes_first(void **state) {
    (void)state;
    const int running = submit(1, "cuda:0", STATUS_OK), next = submit(1, "cuda:0", STATUS_OK);
    for (int i = 0; i < 100; i++) submit(1, "cuda:0", STATUS_OK);
    const int other = submit(2, "cuda:0", STATUS_OK);
    assert_int_equal(dispatcher_clients(dispatcher), 2);
    assert_int_equal(sent_last(), running);
    complete(running);
    assert_int_equal(sent_last(), other);
    assert_int_equal(dispatcher_clients(dispatcher), 1);
    complete(other);
    assert_int_equal(sent_last(), next);
}

/* 60 clients wait with a photograph each and have used no time yet; the newcomer has used some. */
static void a_short_newcomer_waits_for_no_walk(void **state) {
    (void)state;
    const int first = submit_work(100, "cpu", 100, STATUS_OK);
    for (int i = 0; i < 60; i++) submit_work(i, "cpu", 100, STATUS_OK);
    assert_int_equal(workers.all[CPU].running, 1);
    for (int i = 0; i < 20; i++) { /* most of the walks end early */
        const int slot = submit_work(100, "cpu", 1, STATUS_OK);
        assert_int_equal(workers.all[CPU].running, 2);
        complete(slot);
        slot_give(slots, slot);
    }
    assert_int_equal(dispatcher_waiting(dispatcher), 60);
    complete(first);
    assert_int_equal(dispatcher_waiting(dispatcher), 59);
}

/* Jobs of 1 s on one lane, each with 30 s of time: the first with too many ahead is refused. A job
 * of a second client is not, since it comes before them. */
static void a_job_that_would_be_late_is_refused(void **state) {
    (void)state;
    int taken = 0;
    struct failure failure = { 0 };
    submit_work(1, "cpu", 1000, STATUS_OK);
    for (; taken < 40; taken++) {
        const int slot = new_job(1, "cpu", 1000);
        slot_job(slots, slot)->progress.deadline_ns = clock_ns() + 30000 * INT64_C(1000000);
        if (dispatcher_submit(dispatcher, slot, &failure)) break;
    }
    /* One job runs, and the last one may take half of its predicted second. The running one may be
     * partly done by now. */
    assert_in_range(taken, 29, 31);
    assert_int_equal(failure.status, STATUS_BUSY);
    assert_non_null(strstr(failure.message, " s in the queue, and only 30 s are left"));
    assert_int_equal(dispatcher_waiting(dispatcher), taken);
    const int other = new_job(2, "cpu", 1000);
    slot_job(slots, other)->progress.deadline_ns = clock_ns() + 30000 * INT64_C(1000000);
    assert_int_equal(dispatcher_submit(dispatcher, other, &failure), STATUS_OK);
    const int never = new_job(3, "auto", 6e6F); /* 24 s even on the GPU */
    assert_int_equal(dispatcher_submit(dispatcher, never, &failure), STATUS_TOO_LARGE);
    assert_int_equal(dispatcher_waiting(dispatcher), taken + 1);
}

/* One client fills the queue and loses its newest job to a newcomer, but not to one that would be
 * late or that finds a worker free. */
static void a_full_queue_makes_room_for_others(void **state) {
    (void)state;
    struct completion news[2];
    struct failure failure = { 0 };
    int newest = -1;
    for (int i = 0; i < SLOTS - 1; i++) newest = submit(1, "cuda:0", STATUS_OK);
    assert_int_equal(dispatcher_waiting(dispatcher), SLOTS - 2);
    slot_give(slots, submit(1, "cuda:0", STATUS_BUSY));
    const int late = new_job(2, "cuda:0", 1);
    slot_job(slots, late)->progress.deadline_ns = clock_ns() - 1;
    assert_int_equal(dispatcher_submit(dispatcher, late, &failure), STATUS_BUSY);
    slot_give(slots, late);
    const int on_the_cpu = submit(2, "cpu", STATUS_OK);
    assert_int_equal(completion_pipe_take(pipe_ends[0], news, 2), 0);
    complete(on_the_cpu);
    slot_give(slots, on_the_cpu);
    submit(2, "cuda:0", STATUS_OK);
    assert_int_equal(dispatcher_waiting(dispatcher), SLOTS - 2);
    assert_int_equal(completion_pipe_take(pipe_ends[0], news, 2), 1);
    assert_int_equal(news[0].slot, newest);
    assert_true(dispatcher_completed(dispatcher, newest, news[0].run_number));
    assert_int_equal(slot_job(slots, newest)->failure.status, STATUS_BUSY);
    assert_non_null(strstr(slot_job(slots, newest)->failure.message, "most of them yours"));
}

/* The GPU's worker becomes one for users' operators. */
static void users_operators_have_a_quarter_of_the_queue(void **state) {
    (void)state;
    static const struct generation generation = { .number = 7 };
    struct failure failure = { 0 };
    enum status status = STATUS_OK;
    int taken = -1;
    workers.all[0].operators = true;
    workers.all[0].generation = &generation;
    for (; !status; taken++) {
        const int slot = new_job(1, "auto", 1);
        slot_job(slots, slot)->generation = generation.number;
        status = dispatcher_submit(dispatcher, slot, &failure);
    }
    assert_int_equal(status, STATUS_BUSY);
    assert_int_equal(taken, 1 + (SLOTS - 2) / 4); /* one runs */
    assert_non_null(strstr(failure.message, "63 jobs for users' operators are waiting already"));
    submit(1, "cpu", STATUS_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_last_of_many_is_reached_in_a_while),
        TEST(a_client_that_used_little_goes_first),
        TEST(a_short_newcomer_waits_for_no_walk),
        TEST(a_job_that_would_be_late_is_refused),
        TEST(a_full_queue_makes_room_for_others),
        TEST(users_operators_have_a_quarter_of_the_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
