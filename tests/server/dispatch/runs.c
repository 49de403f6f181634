// SPDX-License-Identifier: Apache-2.0
/* Jobs whose image a cell decodes. runs_results.c has those whose results a cell encodes. */
#include "server/dispatch/runs.h"

#include "tests/server/dispatch/runs_scene.h"

static void test_pixels_then_the_plan(void **state) {
    (void)state;
    const int slot = submit();
    assert_int_equal(sent_to(slot), CELL);
    assert_int_equal(slot_shared_job(slots, slot)->run, RUN_DECODE);
    assert_int_equal(slot_shared_job(slots, slot)->body_length, UPLOAD);
    decoded(slot, 7, 40);
    const int64_t finished = slot_shared_job(slots, slot)->finished_ns;
    assert_false(complete(slot));
    assert_int_equal(sent_to(slot), CPU);
    const struct job *shared = slot_shared_job(slots, slot), *job = slot_job(slots, slot);
    assert_int_equal(shared->run, RUN_PLAN);
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
    assert_int_equal(slot_shared_job(slots, slot)->run, RUN_PLAN);
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
    assert_int_equal(slot_job(slots, slot)->run, RUN_DECODE);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
