// SPDX-License-Identifier: Apache-2.0
/* Jobs with results that a cell encodes.
 *
 * covers: server/dispatch/runs.c */
#include "server/dispatch/runs.h"

#include "tests/server/dispatch/runs_scene.h"

enum { RESULT_WIDTH = 8, RESULT = RESULT_WIDTH * RESULT_WIDTH * 3, FILE_BYTES = 77 };

/* A PNG that becomes a PNG and an AVIF. */
static int new_result(void) {
    const int slot = new_job("auto");
    struct job *job = slot_job(slots, slot);
    job->decodes_apart = false;
    job->pixels_end = 0;
    job->probe.format = FORMAT_PNG;
    job->further = 1;
    job->outputs[0].encode.format = FORMAT_PNG;
    job->outputs[1].encode.format = FORMAT_AVIF;
    job->outputs[1].apart = true;
    for (int o = 0; o < 2; o++)
        job->outputs[o].image = image_shape(RESULT_WIDTH, RESULT_WIDTH, 3, 8);
    return slot;
}

static int submit_result(void) {
    struct failure failure = { 0 };
    const int slot = new_result();
    if (dispatcher_submit(dispatcher, slot, &failure)) fail_msg("%s", failure.message);
    return slot;
}

/* The worker's answer: a file of the first result, pixels of the second, the profile. */
static void left(int slot, double encode_ms) {
    struct job *job = slot_shared_job(slots, slot);
    uint64_t at = job->body_length;
    for (int o = 0; o < 2; o++) {
        struct job_output *output = &job->outputs[o];
        output->type = output->encode.format;
        output->offset = at;
        output->length = o ? RESULT : 1;
        output->notes = o ? NOTE_COLOUR_DROPPED : NOTE_DEPTH_CUT;
        at += output->length;
    }
    job->profile_offset = at;
    job->profile_length = PROFILE;
    job->batch = 5;
    job->cpu_ms = 3;
    job->notes = NOTE_FIRST_FRAME;
    snprintf(job->device_name, sizeof job->device_name, "the worker's");
    timing_span(&job->timing, "scale", SPAN_OPERATOR, 2);
    job->timing.stage_ms[STAGE_DECODE] = 1;
    job->timing.stage_ms[STAGE_ENCODE] = encode_ms;
    __atomic_store_n(&job->finished_ns, clock_ns(), __ATOMIC_RELEASE);
}

/* The cell's answer. */
static void encoded(int slot, double encode_ms) {
    struct job *job = slot_shared_job(slots, slot);
    struct job_output *output = &job->outputs[1];
    output->offset = job->body_length;
    output->length = FILE_BYTES;
    output->notes = NOTE_PROFILE_DROPPED;
    output->encode_ms = encode_ms;
    job->outputs[0].length = 12345; /* which is no concern of the cell's */
    job->notes = NOTE_DAMAGED;
    job->batch = 9;
    job->timing = (struct timing){ .span_count = 0 };
    job->timing.stage_ms[STAGE_ENCODE] = encode_ms;
    __atomic_store_n(&job->finished_ns, clock_ns(), __ATOMIC_RELEASE);
}

static void test_the_plan_then_a_file(void **state) {
    (void)state;
    const int slot = submit_result();
    struct job *job = slot_job(slots, slot);
    assert_int_equal(sent_to(slot), CPU);
    left(slot, 2);
    assert_false(complete(slot));
    assert_int_equal(sent_to(slot), CELL);
    const struct job *shared = slot_shared_job(slots, slot);
    assert_int_equal(shared->run, RUN_ENCODE);
    assert_int_equal(shared->outputs[1].offset, UPLOAD + 1);
    assert_int_equal(shared->profile_offset, UPLOAD + 1 + RESULT);
    assert_int_equal(shared->body_length, UPLOAD + 1 + RESULT + PROFILE); /* the file is behind */
    die_in_job(CELL, slot);
    assert_int_equal(sent_to(slot), CELL);
    encoded(slot, 40);
    assert_true(complete(slot));
    assert_int_equal(job->failure.status, STATUS_OK);
    assert_int_equal(job->outputs[0].offset, UPLOAD);
    assert_int_equal(job->outputs[0].length, 1);
    assert_int_equal(job->outputs[0].notes, NOTE_DEPTH_CUT);
    assert_int_equal(job->outputs[1].offset, UPLOAD + 1 + RESULT + PROFILE);
    assert_int_equal(job->outputs[1].length, FILE_BYTES);
    assert_int_equal(job->outputs[1].notes, NOTE_COLOUR_DROPPED | NOTE_PROFILE_DROPPED);
    assert_int_equal(job->notes, NOTE_FIRST_FRAME);
    assert_string_equal(job->device_name, "the worker's");
    assert_int_equal(job->timing.span_count, 1);
    assert_float_equal(job->timing.stage_ms[STAGE_DECODE], 1, 1e-6);
    assert_float_equal(job->timing.stage_ms[STAGE_ENCODE], 42, 1e-6);
    assert_float_equal(job->cpu_ms, 43, 1e-6);
    assert_int_equal(job->batch, 5);
    assert_int_equal(dispatcher_waiting(dispatcher) + dispatcher_running(dispatcher), 0);
}

/* Cells read and write a file each, the worker runs the plan between. */
static void test_three_runs(void **state) {
    (void)state;
    struct failure failure = { 0 };
    const int slot = new_result();
    struct job *job = slot_job(slots, slot);
    job->decodes_apart = true;
    job->pixels_end = AT + PIXELS;
    job->probe.format = FORMAT_AVIF;
    assert_int_equal(dispatcher_submit(dispatcher, slot, &failure), STATUS_OK);
    assert_int_equal(sent_to(slot), CELL);
    decoded(slot, 1, 30);
    assert_false(complete(slot));
    assert_int_equal(sent_to(slot), CPU);
    left(slot, 2);
    assert_false(complete(slot));
    assert_int_equal(sent_to(slot), CELL);
    encoded(slot, 40);
    assert_true(complete(slot));
    assert_float_equal(job->timing.stage_ms[STAGE_DECODE], 31, 1e-6);
    assert_float_equal(job->timing.stage_ms[STAGE_ENCODE], 42, 1e-6);
    assert_float_equal(job->cpu_ms, 73, 1e-6);
    assert_int_equal(job->notes, NOTE_FIRST_FRAME | NOTE_PROFILE_DROPPED);
}

/* Pixels of queue_bytes are held. Jobs that leave none pass those that wait for room; a smaller one
 * that does leave some does not. */
static void test_results_do_not_pile_up(void **state) {
    (void)state;
    config.queue_bytes = RESULT;
    workers.all[CPU].capacity = workers.all[CPU].lanes = 8;
    const int one = submit_result();
    assert_int_equal(sent_to(one), CPU);
    const int other = submit_result();
    assert_int_equal(sent_to(other), NOBODY);
    const int plain = new_result();
    struct failure failure = { 0 };
    slot_job(slots, plain)->outputs[1].apart = false;
    assert_int_equal(dispatcher_submit(dispatcher, plain, &failure), STATUS_OK);
    assert_int_equal(sent_to(plain), CPU);
    left(one, 1);
    assert_false(complete(one));
    assert_int_equal(sent_to(one), CELL);
    assert_int_equal(sent_to(other), NOBODY);
    config.queue_bytes = RESULT + 3;
    const int small = new_result();
    slot_job(slots, small)->outputs[1].image = image_shape(1, 1, 3, 8);
    assert_int_equal(dispatcher_submit(dispatcher, small, &failure), STATUS_OK);
    assert_int_equal(sent_to(small), NOBODY);
    encoded(one, 1);
    assert_true(complete(one));
    assert_int_equal(sent_to(other), CPU);
}

static void test_lies_about_results(void **state) {
    (void)state;
    const int slot = submit_result();
    left(slot, 1);
    slot_shared_job(slots, slot)->outputs[1].length--; /* not all pixels */
    assert_false(complete(slot));
    assert_true(workers.all[CPU].distrusted);
    workers.all[CPU].distrusted = false;
    left(slot, 1);
    slot_shared_job(slots, slot)->profile_offset = UPLOAD - 1;
    assert_false(complete(slot));
    workers.all[CPU].distrusted = false;
    left(slot, 1);
    assert_false(complete(slot));
    encoded(slot, 1);
    slot_shared_job(slots, slot)->outputs[1].offset = UPLOAD - 1;
    assert_false(complete(slot));
    assert_true(workers.all[CELL].distrusted);
}

/* A PNG with an AVIF as its mask: a cell decodes the mask alone. */
static void test_a_mask(void **state) {
    (void)state;
    struct failure failure = { 0 };
    const int slot = new_result();
    struct job *job = slot_job(slots, slot);
    job->outputs[1].apart = false;
    job->aux[1] = (struct job_aux){ .offset = 500, .length = 100, .apart = true };
    job->aux[1].probe = job->probe;
    job->aux[1].probe.format = FORMAT_AVIF;
    job->aux[1].pixels_offset = AT;
    job->pixels_end = AT + WIDTH * HEIGHT;
    assert_int_equal(dispatcher_submit(dispatcher, slot, &failure), STATUS_OK);
    assert_int_equal(sent_to(slot), CELL);
    slot_shared_job(slots, slot)->timing.stage_ms[STAGE_DECODE] = 20;
    __atomic_store_n(&slot_shared_job(slots, slot)->finished_ns, clock_ns(), __ATOMIC_RELEASE);
    assert_false(complete(slot));
    assert_int_equal(sent_to(slot), CPU);
    assert_int_equal(slot_shared_job(slots, slot)->body_length, AT + WIDTH * HEIGHT);
    left(slot, 2);
    assert_true(complete(slot));
    assert_float_equal(job->timing.stage_ms[STAGE_DECODE], 21, 1e-6);
    assert_int_equal(job->failure.status, STATUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUNS_TEST(test_the_plan_then_a_file),
        RUNS_TEST(test_three_runs),
        RUNS_TEST(test_results_do_not_pile_up),
        RUNS_TEST(test_lies_about_results),
        RUNS_TEST(test_a_mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
