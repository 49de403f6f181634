// SPDX-License-Identifier: Apache-2.0
/* Jobs whose image a GPU's video engine may decode.
 *
 * covers: server/dispatch/runs.c */
#define GPUS 1

#include "server/dispatch/runs.h"

#include "tests/server/dispatch/runs_scene.h"

static int submit_to(const char *device) {
    struct failure failure = { 0 };
    const int slot = new_job(device);
    slot_job(slots, slot)->by_engine = true;
    if (dispatcher_submit(dispatcher, slot, &failure)) fail_msg("%s", failure.message);
    return slot;
}

/* The two runs of a job that no engine decodes. */
static void end_without(int slot) {
    assert_int_equal(slot_shared_job(slots, slot)->run, RUN_DECODE);
    assert_int_equal(slot_shared_job(slots, slot)->body_length, UPLOAD);
    decoded(slot, 0, 1);
    assert_false(complete(slot));
    assert_int_equal(slot_shared_job(slots, slot)->run, RUN_PLAN);
    planned(slot);
    assert_true(complete(slot));
    assert_int_equal(slot_job(slots, slot)->failure.status, STATUS_OK);
    assert_true(slot_job(slots, slot)->notes & NOTE_PROFILE_DROPPED);
    assert_int_equal(dispatcher_waiting(dispatcher) + dispatcher_running(dispatcher), 0);
}

static void test_one_run(void **state) {
    (void)state;
    static const char *const devices[] = { "auto", "cuda", "cuda:0" };
    for (int i = 0; i < 3; i++) {
        const int slot = submit_to(devices[i]);
        assert_int_equal(sent_to(slot), GPU);
        const struct job *shared = slot_shared_job(slots, slot);
        assert_int_equal(shared->run, RUN_ENGINE);
        assert_int_equal(shared->body_length, UPLOAD); /* results may follow it */
        planned(slot);
        assert_true(complete(slot));
        assert_int_equal(slot_job(slots, slot)->failure.status, STATUS_OK);
        assert_int_equal(slot_job(slots, slot)->notes, NOTE_DEPTH_CUT);
    }
    assert_int_equal(dispatcher_waiting(dispatcher) + dispatcher_running(dispatcher), 0);
}

static void test_other_devices(void **state) {
    (void)state;
    const int on_cpu = submit_to("cpu");
    assert_int_equal(sent_to(on_cpu), CELL);
    end_without(on_cpu);
    const int others = submit(); /* of another format */
    assert_int_equal(sent_to(others), CELL);
    end_without(others);
    workers.all[GPU].engines = 0;
    const int slot = submit_to("auto");
    assert_int_equal(sent_to(slot), CELL);
    end_without(slot);
    workers.all[GPU].engines = 7;
    workers.all[GPU].self_test_ok = false;
    const int ill = submit_to("auto");
    assert_int_equal(sent_to(ill), CELL);
    end_without(ill);
}

/* A worker has no decoder but its engine, and answers so; or the GPU has no memory. */
static void test_refused(void **state) {
    (void)state;
    static const enum status statuses[] = { STATUS_INTERNAL, STATUS_NO_MEMORY };
    for (int i = 0; i < 2; i++) {
        const int slot = submit_to("auto");
        assert_int_equal(sent_to(slot), GPU);
        struct job *shared = slot_shared_job(slots, slot);
        shared->failure.status = statuses[i];
        shared->progress.step = shared->progress.done = shared->progress.total = 7;
        planned(slot);
        workers.all[CELL].wanted = false;
        workers.all[CELL].pid = 0;
        assert_false(complete(slot));
        assert_true(workers.all[CELL].wanted); /* at once */
        workers.all[CELL].pid = 1 << 30;
        dispatcher_assign(dispatcher);
        assert_int_equal(sent_to(slot), CELL);
        const struct progress *progress = &slot_shared_job(slots, slot)->progress;
        assert_int_equal(progress->step + progress->done + progress->total, 0);
        end_without(slot);
        assert_int_equal(slot_job(slots, slot)->decoded_by, CODEC_REFUSED); /* for the metrics */
    }
}

/* 16 jobs keep the engines busy; others for the same GPU pass those that wait. */
static void test_few_at_once(void **state) {
    (void)state;
    struct failure failure = { 0 };
    int engine[18];
    workers.all[GPU].capacity = 100;
    workers.all[GPU].lanes = 4;
    workers.all[GPU].many = 40;
    for (int i = 0; i < 18; i++) {
        engine[i] = submit_to("cuda");
        assert_int_equal(sent_to(engine[i]), i < 16 ? GPU : NOBODY);
    }
    assert_int_equal(slot_job(slots, engine[0])->duration, JOB_MEDIUM);
    for (int abreast = 0; abreast < 2; abreast++) {
        const int slot = new_job("cuda");
        struct job *job = slot_job(slots, slot);
        job->decodes_apart = false;
        job->pixels_end = 0;
        job->abreast = abreast;
        assert_int_equal(dispatcher_submit(dispatcher, slot, &failure), STATUS_OK);
        assert_int_equal(sent_to(slot), GPU);
    }
    planned(engine[3]);
    assert_true(complete(engine[3]));
    assert_int_equal(sent_to(engine[16]), GPU);
    assert_int_equal(sent_to(engine[17]), NOBODY);
}

static void test_other_failures_are_the_answer(void **state) {
    (void)state;
    const int slot = submit_to("auto");
    assert_int_equal(sent_to(slot), GPU);
    slot_shared_job(slots, slot)->failure.status = STATUS_TOO_LARGE;
    planned(slot);
    assert_true(complete(slot));
    assert_int_equal(slot_job(slots, slot)->failure.status, STATUS_TOO_LARGE);
}

/* One death is enough; those in the cell count anew. */
static void test_the_worker_dies(void **state) {
    (void)state;
    const int slot = submit_to("auto");
    assert_int_equal(sent_to(slot), GPU);
    die_in_job(GPU, slot);
    assert_int_equal(sent_to(slot), CELL);
    assert_int_equal(slot_job(slots, slot)->deaths, 0);
    assert_int_equal(slot_job(slots, slot)->lost_runs, 1);
    end_without(slot);
}

/* The first job runs, and the second waits for room, until there is no engine for either. */
static void test_no_engine_is_left(void **state) {
    (void)state;
    const int one = submit_to("auto"), other = submit_to("auto");
    assert_int_equal(slot_job(slots, other)->run, RUN_ENGINE);
    dispatcher_expire(dispatcher);
    assert_int_equal(slot_job(slots, other)->run, RUN_ENGINE);
    die(GPU); /* before it began */
    dispatcher_expire(dispatcher);
    dispatcher_assign(dispatcher);
    assert_int_equal(slot_job(slots, other)->run, RUN_DECODE);
    assert_int_equal(sent_to(one), CELL);
    decoded(one, 0, 1);
    assert_false(complete(one));
    assert_int_equal(sent_to(other), CELL);
    planned(one);
    assert_true(complete(one));
    end_without(other);
}

/* Its pixels lie on the GPU alone: others' may fill all room for them. */
static void test_holds_no_pixels(void **state) {
    (void)state;
    config.queue_bytes = PIXELS;
    const int in_cell = submit();
    assert_int_equal(sent_to(in_cell), CELL);
    const int slot = submit_to("auto");
    assert_int_equal(sent_to(slot), GPU);
    planned(slot);
    assert_true(complete(slot));
    end_without(in_cell);
}

static void test_results_of_a_cell(void **state) {
    (void)state;
    struct failure failure = { 0 };
    const int slot = new_job("auto");
    struct job *job = slot_job(slots, slot);
    job->by_engine = true;
    job->outputs[0].encode.format = FORMAT_AVIF;
    job->outputs[0].image = image_shape(8, 8, 1, 8);
    job->outputs[0].apart = true;
    assert_int_equal(dispatcher_submit(dispatcher, slot, &failure), STATUS_OK);
    assert_int_equal(sent_to(slot), GPU);
    planned(slot);
    slot_shared_job(slots, slot)->outputs[0].length = 64;
    assert_false(complete(slot));
    assert_int_equal(sent_to(slot), CELL);
    assert_int_equal(slot_shared_job(slots, slot)->run, RUN_ENCODE);
    planned(slot);
    assert_true(complete(slot));
    assert_int_equal(job->failure.status, STATUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUNS_TEST(test_one_run),         RUNS_TEST(test_other_devices),
        RUNS_TEST(test_refused),         RUNS_TEST(test_other_failures_are_the_answer),
        RUNS_TEST(test_the_worker_dies), RUNS_TEST(test_no_engine_is_left),
        RUNS_TEST(test_holds_no_pixels), RUNS_TEST(test_results_of_a_cell),
        RUNS_TEST(test_few_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
