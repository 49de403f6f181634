// SPDX-License-Identifier: Apache-2.0
/* Only jobs that may share a batch reach the device together; each gets its own image back. */
#include "server/worker/executor.h"
#include "tests/pipeline/plan_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { JOBS_MAX = 8, RUNS_MAX = 16, WIDTH = 40, HEIGHT = 24 };

static struct slots *slots;
static struct lane *lane;
static struct executor executor;
static int answered[JOBS_MAX], answers;

/* The calls that the device was given. */
static struct run {
    int count;
    unsigned channels, depth; /* of the first image */
    bool mixed;
} runs[RUNS_MAX];
static int run_count;

static enum status note_run(struct lane *of, const struct op *op, struct op_call *calls,
                            int count) {
    struct run *run = &runs[run_count++];
    *run = (struct run){ count, calls[0].in.channels, calls[0].in.depth, false };
    for (int i = 0; i < count; i++)
        run->mixed |= calls[i].in.channels != run->channels || calls[i].in.depth != run->depth;
    return device_cpu.run(of, op, calls, count);
}

static void note_answer(void *context, int slot) {
    (void)context;
    answered[answers++] = slot;
}

/* ---- jobs: plain PNM whose samples are all VALUE, so that results are known */

static int publish(const char *plan, unsigned channels, unsigned depth, unsigned value) {
    struct failure failure = { 0 };
    const size_t samples = (size_t)WIDTH * HEIGHT * channels, bytes = samples * depth / 8;
    const int slot = slot_take(slots, 4 * bytes, NULL);
    assert_true(slot >= 0);
    struct job *job = slot_job(slots, slot);
    uint8_t *to = slot_bytes(slots, slot);
    const int head = sprintf((char *)to, "P%d\n%d %d\n%d\n", channels == 1 ? 5 : 6, WIDTH, HEIGHT,
                             depth == 8 ? 255 : 65535);
    for (size_t i = 0; i < bytes; i++)
        to[head + (int)i] = (uint8_t)(depth == 8 || i % 2 ? value : 0);
    job->image_length = job->body_length = (uint64_t)head + bytes;
    job->plan = plan_data_of(plan);
    assert_int_equal(
        probe_image(to, job->image_length, &executor.limits.probe, &job->probe, &failure),
        STATUS_OK);
    return slot;
}

static void run_all(int *of, int count) {
    const int jobs = count;
    run_count = answers = 0;
    while (count > 0) {
        struct failure failure = { 0 };
        const int left = executor_run(&executor, lane, of, count, &failure);
        if (failure.status) fail_msg("%s", failure.message);
        assert_true(left < count);
        count = left;
    }
    assert_int_equal(answers, jobs);
    for (int i = 0; i < run_count; i++) assert_false(runs[i].mixed);
}

/* Brightness adds 10 to every sample of 8 bits, 10 * 257 to one of 16. */
static void check_answer(int slot, unsigned channels, unsigned depth, unsigned value) {
    const struct job *job = slot_job(slots, slot);
    const uint8_t *from = slot_bytes(slots, slot) + job->outputs[0].offset;
    const size_t bytes = (size_t)WIDTH * HEIGHT * channels * depth / 8;
    assert_int_equal(job->failure.status, STATUS_OK);
    assert_true(job->outputs[0].length > bytes);
    assert_int_equal(from[1], channels == 1 ? '5' : '6');
    from += job->outputs[0].length - bytes;
    const unsigned wanted = depth == 8 ? value + 10 : value + 2570;
    for (size_t i = 0; i < bytes; i += depth / 8)
        assert_int_equal(depth == 8 ? from[i] : from[i] << 8 | from[i + 1], wanted);
}

/* ---- tests */

static void kinds_of_samples_go_apart(void **state) {
    (void)state;
    static const unsigned kinds[JOBS_MAX][2] = { { 1, 8 },  { 3, 8 }, { 1, 16 }, { 1, 8 },
                                                 { 3, 16 }, { 3, 8 }, { 1, 8 },  { 1, 16 } };
    int of[JOBS_MAX], all[JOBS_MAX];
    for (int i = 0; i < JOBS_MAX; i++)
        all[i] = of[i] =
            publish("brightness:shift=10", kinds[i][0], kinds[i][1], 20u + (unsigned)i);
    run_all(of, JOBS_MAX);
    assert_int_equal(run_count, 4);
    assert_int_equal(runs[0].count, 3); /* gray of 8 bit, whose first came first */
    assert_int_equal(runs[1].count, 2);
    for (int i = 0; i < JOBS_MAX; i++) {
        check_answer(all[i], kinds[i][0], kinds[i][1], 20u + (unsigned)i);
        slot_give(slots, all[i]);
    }
}

/* The first job decides: a batch of 16 bits takes no job of 8, one of 3 channels none of 1. */
static void the_first_job_decides(void **state) {
    (void)state;
    static const unsigned kinds[3][2] = { { 3, 16 }, { 3, 8 }, { 1, 16 } };
    int of[3], all[3];
    for (int i = 0; i < 3; i++)
        all[i] = of[i] = publish("brightness:shift=10", kinds[i][0], kinds[i][1], 20);
    run_all(of, 3);
    assert_int_equal(run_count, 3);
    for (int i = 0; i < 3; i++) {
        check_answer(all[i], kinds[i][0], kinds[i][1], 20);
        slot_give(slots, all[i]);
    }
}

/* Appends an overlay of one gray pixel to the job in SLOT. */
static void add_overlay(int slot, unsigned value) {
    struct job *job = slot_job(slots, slot);
    struct job_aux *aux = &job->aux[0];
    struct failure failure = { 0 };
    uint8_t *to = slot_bytes(slots, slot) + job->body_length;
    const int head = sprintf((char *)to, "P5\n1 1\n255\n");
    to[head] = (uint8_t)value;
    *aux = (struct job_aux){ .offset = job->body_length,
                             .length = (uint64_t)head + 1,
                             .name = "overlay",
                             .kind = AUX_PICTURE };
    job->body_length += aux->length;
    assert_int_equal(probe_image(to, aux->length, &executor.limits.probe, &aux->probe, &failure),
                     STATUS_OK);
}

/* Overlays of as many bytes, some of them the same: each job gets its own. */
static void each_gets_its_overlay(void **state) {
    (void)state;
    static const unsigned values[JOBS_MAX] = { 50, 60, 50, 60, 70, 50, 60, 70 };
    int of[JOBS_MAX], all[JOBS_MAX];
    for (int i = 0; i < JOBS_MAX; i++) {
        all[i] = of[i] = publish("composite:tile=true", 3, 8, 20u + (unsigned)i);
        add_overlay(of[i], values[i]);
    }
    run_all(of, JOBS_MAX);
    assert_int_equal(run_count, 1);
    for (int i = 0; i < JOBS_MAX; i++) {
        check_answer(all[i], 3, 8, values[i] - 10);
        slot_give(slots, all[i]);
    }
}

/* The front has parsed every plan: one that is none here is no mistake of a client. */
static void a_plan_that_is_none_here(void **state) {
    (void)state;
    struct failure failure = { 0 };
    int slot = publish("unheard_of", 1, 8, 20), of = slot;
    answers = 0;
    assert_int_equal(executor_run(&executor, lane, &of, 1, &failure), 0);
    assert_int_equal(answers, 1);
    assert_int_equal(slot_job(slots, slot)->failure.status, STATUS_INTERNAL);
    assert_non_null(strstr(slot_job(slots, slot)->failure.message, "damaged"));
    slot_give(slots, slot);
}

/* Each job of a batch has its own values in its slot, before its result. */
static void values_come_with_the_result(void **state) {
    (void)state;
    int of[4], all[4];
    for (int i = 0; i < 4; i++) {
        all[i] = of[i] = publish("minimum;brightness:shift=10;mean", 3, 8, 20u + (unsigned)i);
        struct job *job = slot_job(slots, all[i]);
        job->value_count = 6;
        job->json_only = i == 3;
    }
    run_all(of, 4);
    assert_int_equal(runs[0].count, 4);
    for (int i = 0; i < 4; i++) {
        const struct job *job = slot_job(slots, all[i]);
        const char *text = (const char *)slot_bytes(slots, all[i]) + job->values_offset;
        char expected[256];
        const int v = 20 + i, w = v + 10;
        snprintf(expected, sizeof expected,
                 "[{\"operation\":\"minimum\",\"step\":0,\"value\":[%d,%d,%d]},"
                 "{\"operation\":\"mean\",\"step\":2,\"value\":[%d.0,%d.0,%d.0]}]",
                 v, v, v, w, w, w);
        assert_int_equal(job->values_length, strlen(expected));
        assert_memory_equal(text, expected, job->values_length);
        assert_true(job->values_offset >= job->body_length);
        assert_true(job_bytes_end(job) >= job->values_offset + job->values_length);
        if (i == 3) assert_int_equal(job->outputs[0].length, 0);
        if (i < 3) assert_true(job->outputs[0].offset >= job->values_offset + job->values_length);
        if (i < 3) check_answer(all[i], 3, 8, 20u + (unsigned)i);
        slot_give(slots, all[i]);
    }
}

/* The picture is as it came. */
static void values_alone(void **state) {
    (void)state;
    int of[1] = { publish("maximum", 1, 16, 3) };
    const int slot = of[0];
    struct job *job = slot_job(slots, slot);
    job->value_count = 1;
    run_all(of, 1);
    static const char expected[] = "[{\"operation\":\"maximum\",\"step\":0,\"value\":[3]}]";
    assert_int_equal(job->values_length, strlen(expected));
    assert_memory_equal(slot_bytes(slots, slot) + job->values_offset, expected, strlen(expected));
    assert_memory_equal(slot_bytes(slots, slot) + job->outputs[0].offset, slot_bytes(slots, slot),
                        job->image_length);
    slot_give(slots, slot);
}

/* A job runs again when its worker died late: times and notes of the first try are overwritten. */
static void nothing_of_a_first_try_stays(void **state) {
    (void)state;
    int of[1] = { publish("brightness:shift=10", 1, 8, 30) };
    const int slot = of[0];
    struct job *job = slot_job(slots, slot);
    for (int s = 0; s < STAGE_COUNT; s++) job->timing.stage_ms[s] = 1e9;
    timing_span(&job->timing, "brightness", 0, 1e9);
    job->failure = (struct failure){ .status = STATUS_DEADLINE, .message = "late" };
    job->notes = job->outputs[0].notes = 1;
    job->submitted_ns = clock_ns();
    run_all(of, 1);
    check_answer(slot, 1, 8, 30);
    for (int s = 0; s < STAGE_COUNT; s++) assert_true(job->timing.stage_ms[s] < 1e8);
    assert_int_equal(job->timing.span_count, 1);
    assert_true(job->timing.spans[0].ms < 1e8);
    assert_int_equal(job->notes | job->outputs[0].notes, 0);
    slot_give(slots, slot);
}

static void plans_go_apart(void **state) {
    (void)state;
    static const char *const plans[] = { "brightness:shift=10", "histeq", "brightness:shift=10" };
    int of[3], all[3];
    for (int i = 0; i < 3; i++) all[i] = of[i] = publish(plans[i], 3, 8, 60);
    run_all(of, 3);
    assert_int_equal(run_count, 2);
    assert_int_equal(runs[0].count, 2);
    assert_int_equal(answered[2], all[1]);
    for (int i = 0; i < 3; i++) slot_give(slots, all[i]);
}

static void no_more_than_the_staging_holds(void **state) {
    (void)state;
    int of[4], all[4];
    const size_t room = executor.batch_bytes;
    for (int i = 0; i < 4; i++) all[i] = of[i] = publish("brightness:shift=10", 1, 8, 30);
    executor.batch_bytes = 2 * image_bytes(&slot_job(slots, all[0])->probe.shape);
    run_all(of, 4);
    assert_int_equal(run_count, 2);
    for (int i = 0; i < 4; i++) slot_give(slots, all[i]);
    for (int i = 0; i < 4; i++) all[i] = of[i] = publish("minimum", 1, 8, 30);
    for (int i = 0; i < 4; i++) slot_job(slots, all[i])->value_count = 1;
    run_all(of, 4); /* with their values two are more than that */
    executor.batch_bytes = room;
    assert_int_equal(run_count, 4);
    for (int i = 0; i < 4; i++) slot_give(slots, all[i]);
}

static int left[JOBS_MAX], left_count, runs_when_left;

static void note_left(void *context, const int *of, int count) {
    (void)context;
    memcpy(left, of, (size_t)count * sizeof *of);
    left_count = count;
    runs_when_left = run_count;
}

/* Jobs without room are given back before the batch runs, so that another lane can run them. */
static void what_finds_no_place_is_left_at_once(void **state) {
    (void)state;
    struct failure failure = { 0 };
    int of[4], all[4];
    for (int i = 0; i < 4; i++)
        all[i] = of[i] = publish(i == 2 ? "histeq" : "brightness:shift=10", 1, 8, 30);
    const size_t room = executor.batch_bytes;
    executor.batch_bytes = 2 * image_bytes(&slot_job(slots, all[0])->probe.shape);
    executor.leave = note_left;
    run_count = 0;
    assert_int_equal(executor_run(&executor, lane, of, 4, &failure), 0);
    executor.leave = NULL;
    executor.batch_bytes = room;
    assert_int_equal(left_count, 2);
    assert_int_equal(left[0], all[2]);
    assert_int_equal(left[1], all[3]);
    assert_int_equal(runs_when_left, 0);
    assert_int_equal(run_count, 1);
    assert_int_equal(slot_job(slots, all[1])->batch, 2);
    for (int i = 0; i < 4; i++) slot_give(slots, all[i]);
}

/* Two of six jobs, among them the first, are cancelled or late: they are answered at once and take
 * no place in the batch, and the first one's plan does not decide. */
static void what_is_over_takes_no_part(void **state) {
    (void)state;
    int of[6], all[6];
    for (int i = 0; i < 6; i++)
        all[i] = of[i] = publish(i ? "brightness:shift=10" : "histeq", 1, 8, 30);
    slot_job(slots, all[0])->progress.cancelled = 1;
    slot_job(slots, all[3])->progress.deadline_ns = 1;
    run_all(of, 6);
    assert_int_equal(run_count, 1);
    assert_int_equal(runs[0].count, 4);
    assert_int_equal(answered[0], all[0]);
    assert_int_equal(slot_job(slots, all[0])->failure.status, STATUS_CANCELLED);
    assert_int_equal(slot_job(slots, all[3])->failure.status, STATUS_DEADLINE);
    assert_int_equal(slot_job(slots, all[1])->batch, 4);
    check_answer(all[5], 1, 8, 30);
    for (int i = 0; i < 6; i++) slot_give(slots, all[i]);
}

static void nothing_is_left_of_a_batch_that_is_over(void **state) {
    (void)state;
    int of[2], all[2];
    for (int i = 0; i < 2; i++) {
        all[i] = of[i] = publish("brightness:shift=10", 1, 8, 30);
        slot_job(slots, all[i])->progress.cancelled = 1;
    }
    run_all(of, 2);
    assert_int_equal(run_count, 0);
    for (int i = 0; i < 2; i++) slot_give(slots, all[i]);
}

static int open_all(void **state) {
    (void)state;
    static struct device_driver driver;
    struct failure failure = { 0 };
    const struct slot_options options = {
        .count = JOBS_MAX,
        .base_bytes = 64 << 10,
        .span_bytes = 4 << 20,
    };
    const struct lane_options lanes = { .staging_bytes = 1 << 20 };
    slots = slots_create(&options, &failure);
    if (!slots || device_cpu.open(0, &lanes, &lane, &failure)) return 1;
    driver = device_cpu;
    driver.run = note_run;
    lane->driver = &driver;
    executor = (struct executor){ .slots = slots,
                                  .limits = codec_limits_default,
                                  .batch_bytes = 1 << 20,
                                  .answer = note_answer };
    return 0;
}

static int close_all(void **state) {
    (void)state;
    device_cpu.close(lane);
    slots_destroy(slots);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_samples_go_apart),
        cmocka_unit_test(the_first_job_decides),
        cmocka_unit_test(values_come_with_the_result),
        cmocka_unit_test(values_alone),
        cmocka_unit_test(nothing_of_a_first_try_stays),
        cmocka_unit_test(plans_go_apart),
        cmocka_unit_test(no_more_than_the_staging_holds),
        cmocka_unit_test(what_finds_no_place_is_left_at_once),
        cmocka_unit_test(each_gets_its_overlay),
        cmocka_unit_test(a_plan_that_is_none_here),
        cmocka_unit_test(what_is_over_takes_no_part),
        cmocka_unit_test(nothing_is_left_of_a_batch_that_is_over),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
