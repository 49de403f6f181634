// SPDX-License-Identifier: Apache-2.0
/* Jobs with two runs: decoding cells and a CPU's worker, which exist only as channels. The test
 * plays both, and the reader of the completion pipe. */
#include "server/dispatch/runs.h"

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

enum { SLOTS = 8, WORKERS = 3, CPU = 0, CELL = 1, OTHER = 2, NOBODY = -1 };
enum { UPLOAD = 1000, PROFILE = 100, WIDTH = 30, HEIGHT = 20, AT = SLOT_PAGE };
enum { PIXELS = WIDTH * HEIGHT * 3, DECODER = 1500 };
static const struct config usual = { .queue_jobs = 4,
                                     .queue_bytes = 2 * PIXELS,
                                     .codec_memory_bytes = DECODER, /* less than the file needs */
                                     .cpu_memory_bytes = 2 * DECODER,
                                     .processing_ms = 5000,
                                     .no_worker_ms = 3000 };
static struct config config;
static struct slots *slots;
static struct worker_list workers;
static int lanes[WORKERS]; /* the workers' ends of their channels */
static int pipe_ends[2];
static struct dispatcher *dispatcher;

static void start(int number) {
    struct worker_handle *worker = &workers.all[number];
    int ends[2];
    assert_true(channel_open(ends));
    worker->pid = 1 << 30; /* no process has that number */
    worker->channel = ends[0], lanes[number] = ends[1];
    worker->ready = worker->self_test_ok = true;
    worker->capacity = worker->lanes = 1;
}

static int begin_with(int cells) {
    const struct slot_options options = { .count = SLOTS, .base_bytes = 4096, .span_bytes = 65536 };
    struct failure failure = { 0 };
    slots = slots_create(&options, &failure);
    if (!slots || completion_pipe_open(pipe_ends, SLOTS, &failure)) return -1;
    workers.count = 1;
    worker_handle_init(&workers.all[CPU], "cpu", false);
    worker_list_add_cells(&workers, cells);
    for (int i = 0; i < workers.count; i++) {
        start(i);
        workers.all[i].wanted = true;
    }
    config = usual;
    const struct dispatcher_options how = { &config, slots, &pipe_ends[1], &workers };
    dispatcher = dispatcher_create(&how, &failure);
    return dispatcher ? 0 : -1;
}

static int begin(void **state) {
    (void)state;
    return begin_with(1);
}

static int begin_two(void **state) {
    (void)state;
    return begin_with(2);
}

static int end(void **state) {
    (void)state;
    dispatcher_destroy(dispatcher);
    for (int i = 0; i < workers.count; i++) {
        close(workers.all[i].channel);
        close(lanes[i]);
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    slots_destroy(slots);
    return 0;
}

static int new_job(const char *device) {
    const int slot = slot_take(slots, 1, NULL);
    assert_true(slot >= 0);
    struct job *job = slot_job(slots, slot);
    snprintf(job->device, DEVICE_WANT_MAX, "%s", device);
    job->decoding = DECODING_APART;
    job->probe.format = FORMAT_AVIF;
    job->probe.bits = 8;
    job->probe.components = 3;
    job->probe.shape = image_shape(WIDTH, HEIGHT, 3, 8);
    job->body_length = job->image_length = UPLOAD;
    job->pixels_offset = AT;
    return slot;
}

static int submit(void) {
    struct failure failure = { 0 };
    const int slot = new_job("auto");
    if (dispatcher_submit(dispatcher, slot, &failure)) fail_msg("%s", failure.message);
    return slot;
}

/* The worker that was sent the job since the last call. */
static int sent_to(int slot) {
    int found = NOBODY;
    for (int i = 0; i < workers.count; i++) {
        struct message message;
        while (channel_take(lanes[i], &message, 1, 0) == 1)
            if (message.kind == CHANNEL_RUN && message.slot == slot) found = i;
    }
    return found;
}

/* The cell's answer: DECODE_MS for it, after QUEUE_MS. */
static void decoded(int slot, double queue_ms, double decode_ms) {
    struct job *job = slot_shared_job(slots, slot);
    job->notes = NOTE_PROFILE_DROPPED;
    job->profile_length = PROFILE;
    job->timing.stage_ms[STAGE_QUEUE] = queue_ms;
    job->timing.stage_ms[STAGE_DECODE] = decode_ms;
    __atomic_store_n(&job->finished_ns, clock_ns(), __ATOMIC_RELEASE);
}

static void planned(int slot) {
    struct job *job = slot_shared_job(slots, slot);
    right_answer(slots, slot);
    job->notes = NOTE_DEPTH_CUT;
    job->timing.stage_ms[STAGE_DECODE] = 0.5;
}

static bool complete(int slot) {
    return dispatcher_completed(dispatcher, slot, slot_job(slots, slot)->run_number);
}

static void die(int number) {
    workers.all[number].pid = 0;
    workers.all[number].running = 0;
    workers.all[number].alone = false;
    dispatcher_recover(dispatcher, &workers.all[number]);
}

/* The process of worker NUMBER ends in the job, which it had begun; another process follows. */
static void die_in_job(int number, int slot) {
    slot_shared_job(slots, slot)->started = 1;
    die(number);
    workers.all[number].pid = 1 << 30;
    dispatcher_assign(dispatcher);
}

static void test_pixels_then_the_plan(void **state) {
    (void)state;
    const int slot = submit();
    assert_int_equal(sent_to(slot), CELL);
    assert_int_equal(slot_shared_job(slots, slot)->decoding, DECODING_APART);
    assert_int_equal(slot_shared_job(slots, slot)->body_length, UPLOAD);
    decoded(slot, 7, 40);
    const int64_t finished = slot_shared_job(slots, slot)->finished_ns;
    assert_false(complete(slot));
    assert_int_equal(sent_to(slot), CPU);
    const struct job *shared = slot_shared_job(slots, slot), *job = slot_job(slots, slot);
    assert_int_equal(shared->decoding, DECODING_DONE);
    assert_int_equal(shared->body_length, AT + PIXELS + PROFILE);
    assert_int_equal(shared->profile_length, PROFILE);
    assert_int_equal(job->body_length, UPLOAD);
    assert_true(job_bytes_end(job) >= AT + PIXELS + PROFILE); /* these pages are to be freed */
    assert_int_equal(shared->finished_ns, 0); /* else its answer would count as late */
    /* 7 ms of waiting are behind it. */
    const int64_t waited = finished - job->submitted_ns;
    assert_true(waited > 6999000 && waited < 7001000);
    planned(slot);
    assert_true(complete(slot));
    assert_true(job->timing.stage_ms[STAGE_DECODE] > 40.4999 &&
                job->timing.stage_ms[STAGE_DECODE] < 40.5001);
    assert_int_equal(job->notes, NOTE_PROFILE_DROPPED | NOTE_DEPTH_CUT);
    assert_int_equal(dispatcher_waiting(dispatcher) + dispatcher_running(dispatcher), 0);
}

static void test_one_at_a_time(void **state) {
    (void)state;
    const int one = submit(), other = submit();
    assert_int_equal(sent_to(other), NOBODY);
    assert_int_equal(dispatcher_waiting(dispatcher), 1);
    decoded(one, 0, 1);
    assert_false(complete(one));
    struct message messages[3];
    assert_int_equal(channel_take(lanes[CPU], messages, 3, 0), 1);
    assert_int_equal(messages[0].slot, one);
    assert_int_equal(channel_take(lanes[CELL], messages, 3, 0), 1);
    assert_int_equal(messages[0].slot, other);
    planned(one);
    assert_true(complete(one));
    assert_int_equal(dispatcher_running(dispatcher), 1);
}

static void test_a_broken_file_has_one_run(void **state) {
    (void)state;
    const int slot = submit();
    assert_int_equal(sent_to(slot), CELL);
    slot_shared_job(slots, slot)->failure.status = STATUS_CORRUPT;
    decoded(slot, 0, 1);
    assert_true(complete(slot));
    assert_int_equal(slot_job(slots, slot)->failure.status, STATUS_CORRUPT);
}

/* Deaths are counted for each run alone: here two processes die, and the job succeeds. */
static void test_a_death_in_each_run(void **state) {
    (void)state;
    const int slot = submit();
    assert_int_equal(sent_to(slot), CELL);
    die_in_job(CELL, slot);
    assert_int_equal(sent_to(slot), CELL);
    decoded(slot, 0, 1);
    assert_false(complete(slot));
    assert_int_equal(sent_to(slot), CPU);
    die_in_job(CPU, slot);
    assert_int_equal(sent_to(slot), CPU);
    assert_int_equal(slot_shared_job(slots, slot)->decoding, DECODING_DONE);
    planned(slot);
    assert_true(complete(slot));
    assert_int_equal(slot_job(slots, slot)->failure.status, STATUS_OK);
}

static void test_two_deaths_in_one_run(void **state) {
    (void)state;
    struct completion completion;
    const int slot = submit();
    die_in_job(CELL, slot);
    assert_int_equal(completion_pipe_take(pipe_ends[0], &completion, 1), 0);
    die_in_job(CELL, slot);
    assert_int_equal(completion_pipe_take(pipe_ends[0], &completion, 1), 1);
    assert_true(dispatcher_completed(dispatcher, completion.slot, completion.run_number));
    assert_int_equal(slot_job(slots, slot)->failure.status, STATUS_INTERNAL);
}

/* The cell had answered, and died before its completion was read. */
static void test_a_death_behind_the_answer(void **state) {
    (void)state;
    const int slot = submit();
    const uint32_t run = slot_job(slots, slot)->run_number;
    assert_int_equal(sent_to(slot), CELL);
    decoded(slot, 0, 3);
    die_in_job(CELL, slot);
    assert_int_equal(sent_to(slot), CPU);
    assert_false(dispatcher_completed(dispatcher, slot, run));
    planned(slot);
    assert_true(complete(slot));
    assert_true(slot_job(slots, slot)->timing.stage_ms[STAGE_DECODE] > 3.4);
}

/* queue_bytes are two pictures: a third is decoded once one of these has been answered. */
static void test_pixels_do_not_pile_up(void **state) {
    (void)state;
    int jobs[3];
    for (int i = 0; i < 3; i++) jobs[i] = submit();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sent_to(jobs[i]), CELL);
        decoded(jobs[i], 0, 1);
        assert_false(complete(jobs[i]));
    }
    assert_int_equal(sent_to(jobs[2]), NOBODY);
    assert_int_equal(dispatcher_waiting(dispatcher), 1);
    planned(jobs[0]);
    assert_true(complete(jobs[0]));
    assert_int_equal(sent_to(jobs[2]), CELL);
    dispatcher_cancel(dispatcher, jobs[2]);
    slot_shared_job(slots, jobs[2])->failure.status = STATUS_CANCELLED;
    decoded(jobs[2], 0, 1);
    assert_true(complete(jobs[2]));
    planned(jobs[1]);
    assert_true(complete(jobs[1]));
    for (int i = 0; i < 3; i++) slot_give(slots, jobs[i]);
    for (int i = 0; i < 2; i++) { /* all room is there again */
        jobs[i] = submit();
        assert_int_equal(sent_to(jobs[i]), CELL);
        decoded(jobs[i], 0, 1);
        assert_false(complete(jobs[i]));
    }
}

static void test_lies_of_the_cell(void **state) {
    (void)state;
    const int slot = submit();
    decoded(slot, 0, 1);
    slot_shared_job(slots, slot)->profile_length = UPLOAD + 1;
    assert_false(complete(slot));
    assert_true(workers.all[CELL].distrusted);
    assert_int_equal(slot_job(slots, slot)->decoding, DECODING_APART);
    assert_int_equal(sent_to(slot), CELL); /* what it was sent before */
}

static void test_what_is_not_served(void **state) {
    (void)state;
    struct failure failure = { 0 };
    workers.all[CELL].pid = 0;
    workers.all[CELL].wanted = false;
    const int slot = new_job("cuda:3");
    assert_int_equal(dispatcher_submit(dispatcher, slot, &failure), STATUS_BAD_PARAM);
    assert_false(workers.all[CELL].wanted);
    workers.all[CELL].pid = 1 << 30;
}

static void test_a_cell_lives_while_it_is_needed(void **state) {
    (void)state;
    struct worker_handle *cell = &workers.all[CELL];
    const int64_t now = clock_ns(), second = 1000000000;
    cell->pid = 0;
    cell->wanted = false;
    cell->ill_since_ns = now - 3600 * second; /* since it ended for the last time */
    assert_null(worker_list_next_start(&workers, now));
    const int slot = submit();
    assert_int_equal(sent_to(slot), NOBODY);
    assert_ptr_equal(worker_list_next_start(&workers, now), cell);
    dispatcher_expire(dispatcher);
    assert_int_equal(dispatcher_waiting(dispatcher), 1);
    cell->pid = 1 << 30;
    cell->used_ns = now;
    dispatcher_assign(dispatcher);
    assert_int_equal(sent_to(slot), CELL);
    assert_false(worker_handle_is_left(cell, now + 100 * second, second));
    slot_shared_job(slots, slot)->failure.status = STATUS_CORRUPT;
    decoded(slot, 0, 1);
    assert_true(complete(slot));
    assert_false(worker_handle_is_left(cell, cell->used_ns + second, second));
    assert_true(worker_handle_is_left(cell, cell->used_ns + second + 1, second));
    assert_false(worker_handle_is_left(&workers.all[CPU], now + 100 * second, second));
    worker_handle_end(cell, now); /* it is ending, and a job comes */
    submit();
    assert_false(cell->wanted);
    cell->pid = 0;
    dispatcher_expire(dispatcher);
    assert_true(cell->wanted);
}

static void test_two_cells(void **state) {
    (void)state;
    const int one = submit();
    const int first = sent_to(one);
    assert_true(first == CELL || first == OTHER);
    const int other = submit();
    assert_int_equal(sent_to(other), CELL + OTHER - first);
    die_in_job(first, one); /* which is no concern of the other's */
    assert_int_equal(slot_job(slots, other)->deaths, 0);
    decoded(other, 0, 1);
    assert_false(complete(other));
    planned(other);
    assert_true(complete(other));
}

/* A decoder needs more than half of the memory: the second waits, though a cell is idle. */
static void test_decoders_share_their_memory(void **state) {
    (void)state;
    config.cpu_memory_bytes = 2 * DECODER - 1;
    const int one = submit();
    const int first = sent_to(one);
    const int other = submit();
    assert_true(first == CELL || first == OTHER);
    assert_int_equal(sent_to(other), NOBODY);
    decoded(one, 0, 1);
    assert_false(complete(one)); /* its decoder has ended, its pixels are still there */
    const int second = sent_to(other);
    assert_true(second == CELL || second == OTHER);
    config.cpu_memory_bytes = 1; /* not even for one: that runs alone */
    decoded(other, 0, 1);
    assert_false(complete(other));
    planned(one);
    assert_true(complete(one));
    planned(other);
    assert_true(complete(other));
    const int last = submit();
    assert_true(sent_to(last) != NOBODY);
}

/* There are as many cells as jobs wait for one. */
static void test_cells_come_as_jobs_do(void **state) {
    (void)state;
    struct worker_handle *cell = &workers.all[CELL], *other = &workers.all[OTHER];
    cell->pid = other->pid = 0;
    cell->wanted = other->wanted = false;
    submit();
    assert_true(cell->wanted && !other->wanted);
    dispatcher_expire(dispatcher);
    assert_false(other->wanted);
    submit();
    dispatcher_expire(dispatcher);
    assert_true(other->wanted);
    other->wanted = false;
    cell->pid = 1 << 30;
    dispatcher_assign(dispatcher);
    assert_int_equal(cell->running, 1);
    dispatcher_expire(dispatcher); /* one job is running, one waits */
    assert_true(other->wanted);
    other->wanted = false;
    cell->pid = other->pid = 1 << 30;
    dispatcher_assign(dispatcher);
    assert_int_equal(cell->running + other->running, 2);
}

/* A picture of 2.4 s, which must be done within 4. */
static enum status submit_long(void) {
    struct failure failure = { 0 };
    const int slot = new_job("auto");
    slot_job(slots, slot)->probe.shape = image_shape(10000, 10000, 3, 8);
    slot_job(slots, slot)->progress.deadline_ns = clock_ns() + INT64_C(4000000000);
    const enum status status = dispatcher_submit(dispatcher, slot, &failure);
    const double ms = slot_job(slots, slot)->least_ms;
    assert_true(ms > 2100 && ms < 3900);
    return status;
}

/* A job does not wait behind another one if a cell can be started for it. */
static void test_cells_to_come_count(void **state) {
    (void)state;
    config.refuse_times = 1;
    workers.all[OTHER].pid = 0;
    assert_int_equal(submit_long(), STATUS_OK);
    workers.all[OTHER].early_deaths = 1; /* it does not start */
    assert_int_equal(submit_long(), STATUS_BUSY);
    workers.all[OTHER].early_deaths = 0;
    assert_int_equal(submit_long(), STATUS_OK);
    assert_int_equal(submit_long(), STATUS_BUSY);
}

#define RUNS_TWO(test)  cmocka_unit_test_setup_teardown(test, begin_two, end)
#define RUNS_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        RUNS_TEST(test_pixels_then_the_plan),
        RUNS_TEST(test_one_at_a_time),
        RUNS_TEST(test_a_broken_file_has_one_run),
        RUNS_TEST(test_a_death_in_each_run),
        RUNS_TEST(test_two_deaths_in_one_run),
        RUNS_TEST(test_a_death_behind_the_answer),
        RUNS_TEST(test_pixels_do_not_pile_up),
        RUNS_TEST(test_lies_of_the_cell),
        RUNS_TEST(test_what_is_not_served),
        RUNS_TEST(test_a_cell_lives_while_it_is_needed),
        RUNS_TWO(test_two_cells),
        RUNS_TWO(test_decoders_share_their_memory),
        RUNS_TWO(test_cells_come_as_jobs_do),
        RUNS_TWO(test_cells_to_come_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
