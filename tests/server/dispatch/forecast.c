// SPDX-License-Identifier: Apache-2.0
/* Which of two GPUs and a CPU, which exist only as handles, would answer a job first. */
#include "server/dispatch/forecast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { WORKERS = 3, CPU = 2, NOBODY = -1 };

static struct worker_list workers;
static struct forecast forecast;
static struct forecast_round round_now;

static int begin(void **state) {
    (void)state;
    static const char *const devices[WORKERS] = { "cuda:0", "cuda:1", "cpu" };
    workers.count = WORKERS;
    for (int i = 0; i < WORKERS; i++) {
        worker_handle_init(&workers.all[i], devices[i], false);
        workers.all[i].pid = 1;
        workers.all[i].lanes = 1;
        workers.all[i].ready = workers.all[i].self_test_ok = true;
    }
    forecast_init(&forecast, &workers);
    forecast_begin(&forecast, &round_now);
    return 0;
}

/* Rows of coefficients; the names give their defaults in ms. */
enum {
    GPU_0_02_CPU_5 = COST_DECODE_ROW(FORMAT_JPEG, 0) + 1,
    BOTH_0_05 = COST_DECODE_ROW(FORMAT_PNG, 0)
};

static struct job job_of(const char *device, double fast_on_gpu, double same) {
    struct job job = { .batch = 1 };
    snprintf(job.device, sizeof job.device, "%s", device);
    job.work = (struct cost_work){ .count = 2,
                                   .terms = { { GPU_0_02_CPU_5, COST_DECODE, (float)fast_on_gpu },
                                              { BOTH_0_05, COST_DECODE, (float)same } } };
    return job;
}

static int choose(const struct job *job, struct forecast_job *predicted, int died_at) {
    forecast_predict(&forecast, job, predicted);
    return forecast_choose(&forecast, &round_now, predicted, died_at, job->deaths > 0);
}

/* Chooses a worker and counts the job there as ahead of later ones. */
static int assign(struct job job) {
    struct forecast_job predicted;
    const int worker = choose(&job, &predicted, NOBODY);
    if (worker != NOBODY) forecast_reserve(&round_now, &predicted, worker);
    return worker;
}

static void defaults_are_what_this_test_takes_them_for(void **state) {
    (void)state;
    for (int i = 0; i < WORKERS; i++) {
        const float *rows = forecast.costs[i].rows;
        assert_float_equal(rows[GPU_0_02_CPU_5], i == CPU ? 5 : 0.02F, 1e-6F);
        assert_float_equal(rows[BOTH_0_05], 0.05F, 1e-6F);
    }
}

/* 1 ms on a GPU, 250 ms on the CPU: the CPU is sooner behind 249 * 6 jobs. */
static void an_idle_gpu_is_first(void **state) {
    (void)state;
    for (int i = 0; i < 2000; i++) assert_int_equal(assign(job_of("auto", 50, 0)), i % 2);
}

/* Jobs of 5.96 ms on a GPU, which does six at once, and 8.45 ms on the CPU. */
static void full_gpus_are_helped_by_the_cpu(void **state) {
    (void)state;
    int count[WORKERS] = { 0 };
    for (int i = 0; i < 6; i++) count[assign(job_of("auto", 0.5, 119))]++;
    assert_int_equal(count[CPU], 0);
    for (int i = 0; i < 100; i++) count[assign(job_of("auto", 0.5, 119))]++;
    assert_true(count[CPU] >= 4 && count[CPU] <= 10); /* a core beside twice six */
    assert_true(count[0] >= 45 && count[1] >= 45);
}

/* Jobs of 0.02 ms on a GPU, which does six at once, and 5 ms on the CPU. 3,000 on two GPUs take as
 * long, but the CPU gets one only when eight times as many wait. */
static void cores_are_left_to_the_front(void **state) {
    (void)state;
    int count[WORKERS] = { 0 };
    for (int i = 0; i < 6000; i++) count[assign(job_of("auto", 1, 0))]++;
    assert_int_equal(count[CPU], 0);
    for (int i = 0; i < 30000; i++) count[assign(job_of("auto", 1, 0))]++;
    assert_true(count[CPU] > 0);
}

/* Rows of work that cores do in any case, and of work that a GPU takes off them. */
static struct job job_of_cores(double cores, double spared) {
    struct job job = { .batch = 1 };
    enum { PNG_MEGABYTE = BOTH_0_05 + 1 };
    snprintf(job.device, sizeof job.device, "auto");
    job.work = (struct cost_work){ .count = 2,
                                   .terms = { { PNG_MEGABYTE, COST_DECODE, (float)cores },
                                              { GPU_0_02_CPU_5, COST_DECODE, (float)spared } } };
    return job;
}

/* Work that a GPU leaves to the cores anyway gives the CPU no handicap; work that it takes off them
 * does. */
static void cores_keep_the_work_that_gpus_leave_them(void **state) {
    (void)state;
    struct forecast_job all, half, little;
    struct job job = job_of_cores(10, 0);
    forecast_predict(&forecast, &job, &all);
    assert_float_equal(all.handicap, 1, 1e-3F);
    job = job_of_cores(10, (double)all.own_ms[CPU] / 5);
    forecast_predict(&forecast, &job, &half);
    assert_float_equal(half.handicap, 2, 1e-3F);
    job = job_of_cores(0.01, 100);
    forecast_predict(&forecast, &job, &little);
    assert_float_equal(little.handicap, 8, 1e-3F);
}

/* A JPEG that cores had to decode teaches nothing about the GPU's codec; and what was learned about
 * a worker without jobs fades. */
static void exceptions_are_not_learned_and_the_rest_fades(void **state) {
    (void)state;
    struct forecast_job predicted;
    struct job job = job_of("auto", 1, 0);
    job.timing.stage_ms[STAGE_DECODE] = 2000;
    job.submitted_ns = 1;
    job.finished_ns = 1 + INT64_C(2000000000);
    assert_int_equal(choose(&job, &predicted, NOBODY), 0);
    const float before = predicted.own_ms[0];
    job.decoded_by = CODEC_KIND;
    forecast_learn(&forecast, 0, &predicted, &job);
    choose(&job, &predicted, NOBODY);
    assert_float_equal(predicted.own_ms[0], before, 1e-6F);
    job.decoded_by = CODEC_DEVICE;
    for (int i = 0; i < 20; i++) forecast_learn(&forecast, 0, &predicted, &job);
    choose(&job, &predicted, NOBODY);
    assert_true(predicted.own_ms[0] > 2 * before);
    for (int i = 0; i < 20; i++) {
        forecast.learned_ns[0] = 0;
        forecast_begin(&forecast, &round_now);
    }
    choose(&job, &predicted, NOBODY);
    assert_float_equal(predicted.own_ms[0], before, 0.01F * before);
}

/* A PNG with a profile takes 5 ms to decode instead of 0.05, and its JPEG is made by a core. */
static void all_but_the_encoding_by_profile_is_learned(void **state) {
    (void)state;
    struct forecast_job predicted;
    struct job job = job_of("auto", 0, 1);
    const int jpeg = COST_ENCODE_ROW(FORMAT_JPEG, 0);
    job.work.terms[0] = (struct cost_term){ (uint16_t)jpeg, COST_ENCODE, 1 };
    job.decoded_by = CODEC_FORMAT;
    job.outputs[0].encoded_by = CODEC_PROFILE;
    job.timing.stage_ms[STAGE_DECODE] = 5;
    job.timing.stage_ms[STAGE_ENCODE] = 90;
    job.submitted_ns = 1;
    job.finished_ns = 1 + INT64_C(95000000);
    forecast_predict(&forecast, &job, &predicted);
    const float before = forecast.costs[0].rows[jpeg];
    for (int i = 0; i < 50; i++) forecast_learn(&forecast, 0, &predicted, &job);
    assert_true(forecast.costs[0].rows[BOTH_0_05] > 4 && forecast.costs[0].rows[BOTH_0_05] <= 5);
    assert_float_equal(forecast.costs[0].rows[jpeg], before, 1e-6F);
    job.outputs[0].encoded_by = CODEC_DEVICE; /* as of a HEIC, whose profile is known before */
    for (int i = 0; i < 50; i++) forecast_learn(&forecast, 0, &predicted, &job);
    assert_true(forecast.costs[0].rows[jpeg] > 4 * before);
}

/* A batch of ten JPEGs took the GPU 20 ms together; ten PNGs took a core 20 ms each. */
static void times_of_cores_are_not_shared_by_a_batch(void **state) {
    (void)state;
    struct forecast_job predicted = { .backlog = { .ms = 1 } };
    struct job job = job_of("auto", 100, 0);
    const float before = 100 * 0.02F;
    job.batch = 10;
    job.timing.stage_ms[STAGE_DECODE] = 10 * (double)before;
    job.submitted_ns = 1;
    job.finished_ns = 1 + INT64_C(100000000);
    forecast_predict(&forecast, &job, &predicted);
    for (int turn = 0; turn < 2; turn++) {
        job.decoded_by = turn ? CODEC_FORMAT : CODEC_DEVICE;
        for (int i = 0; i < 50; i++) {
            backlog_add(&forecast.backlogs[0], &predicted.backlog);
            forecast_learn(&forecast, 0, &predicted, &job);
        }
        forecast_predict(&forecast, &job, &predicted);
        const float expected = turn ? 10 * before : before;
        assert_float_equal(predicted.own_ms[0], expected, 0.05F * expected);
    }
}

/* 0.1 s on a GPU, 25 s on the CPU, and each GPU has two to do already. */
static void a_long_job_is_not_the_cpus(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) assert_int_equal(assign(job_of("auto", 5000, 0)), i % 2);
    assert_true(assign(job_of("auto", 5000, 0)) != CPU);
}

static void a_device_that_is_named_decides(void **state) {
    (void)state;
    assert_int_equal(assign(job_of("cpu", 50, 0)), CPU);
    assert_int_equal(assign(job_of("cuda:1", 50, 0)), 1);
    assert_int_equal(assign(job_of("cuda", 50, 0)), 0);
    workers.all[1].ready = false;
    forecast_begin(&forecast, &round_now);
    assert_int_equal(round_now.open, 2);
    assert_int_equal(assign(job_of("cuda:1", 50, 0)), NOBODY);
}

static void a_suspect_goes_elsewhere_and_where_it_is_alone_soon(void **state) {
    (void)state;
    struct forecast_job predicted;
    struct job suspect = job_of("auto", 50, 0);
    suspect.deaths = 1;
    assert_int_equal(choose(&suspect, &predicted, 0), 1);
    workers.all[1].running = 1;
    assert_int_equal(choose(&suspect, &predicted, 0), CPU);
    workers.all[CPU].running = 2;
    assert_int_equal(choose(&suspect, &predicted, 0), 1);
    workers.all[1].self_test_ok = workers.all[CPU].self_test_ok = false;
    forecast_begin(&forecast, &round_now);
    assert_int_equal(choose(&suspect, &predicted, 0), 0); /* better than no worker */
}

/* Operators of 40 ms on a GPU would delay the rest of a batch; a decode of 40 ms would not. */
static void long_operators_are_not_batched(void **state) {
    (void)state;
    struct forecast_job predicted;
    struct job job = job_of("auto", 2000, 0);
    assert_int_equal(choose(&job, &predicted, NOBODY), 0);
    assert_true(forecast_reserve(&round_now, &predicted, 0).duration == JOB_LONG);
    assert_false(forecast_needs_own_batch(&forecast, &predicted, 0));
    job.work.terms[0].stage = COST_COMPUTE;
    forecast_predict(&forecast, &job, &predicted);
    assert_true(forecast_needs_own_batch(&forecast, &predicted, 0));
    job.work.terms[0].amount = 100;
    forecast_predict(&forecast, &job, &predicted);
    assert_false(forecast_needs_own_batch(&forecast, &predicted, 0));
}

/* Other jobs do not wait for a worker that runs a suspect, however short that is predicted. */
static void no_job_waits_for_a_suspect(void **state) {
    (void)state;
    workers.all[0].alone = true;
    assert_int_equal(assign(job_of("auto", 50, 0)), 1);
    workers.all[1].alone = true;
    assert_int_equal(assign(job_of("auto", 50, 0)), CPU);
    assert_int_equal(assign(job_of("cuda:0", 50, 0)), 0);
}

/* GPUs whose decodes take 2 s, as with a faulty driver, get only the jobs that name them. */
static void times_of_jobs_are_learned(void **state) {
    (void)state;
    struct forecast_job predicted;
    struct job job = job_of("auto", 1, 0);
    int gpu = 0, worker;
    job.timing.stage_ms[STAGE_DECODE] = 2000;
    job.submitted_ns = 1;
    job.finished_ns = 1 + INT64_C(2000000000);
    for (; (worker = choose(&job, &predicted, NOBODY)) != CPU && gpu < 100; gpu++) {
        predicted.backlog = forecast_reserve(&round_now, &predicted, worker);
        backlog_add(&forecast.backlogs[worker], &predicted.backlog);
        forecast_learn(&forecast, worker, &predicted, &job);
        forecast_begin(&forecast, &round_now);
    }
    assert_true(gpu > 4 && gpu < 100); /* a single one is no proof */
    struct worker_statistics statistics;
    forecast_statistics(&forecast, 0, &statistics);
    assert_true(statistics.actual_ms >= 4000);
    assert_float_equal((float)statistics.wait_ms, 0, 1e-9F);
}

/* Failed and cancelled jobs teach nothing. */
static void failures_are_not_learned(void **state) {
    (void)state;
    struct forecast_job predicted;
    struct job job = job_of("auto", 1, 0);
    job.failure.status = STATUS_CANCELLED;
    job.finished_ns = INT64_C(5000000000);
    job.timing.stage_ms[STAGE_DECODE] = 5000;
    assert_int_equal(choose(&job, &predicted, NOBODY), 0);
    predicted.backlog = forecast_reserve(&round_now, &predicted, 0);
    backlog_add(&forecast.backlogs[0], &predicted.backlog);
    forecast_learn(&forecast, 0, &predicted, &job);
    assert_float_equal(forecast.costs[0].rows[GPU_0_02_CPU_5], 0.02F, 1e-6F);
    assert_int_equal(forecast.backlogs[0].shorts, 0);
}

/* 4 s, of which an encoder had 3.9: its operators are as quick as before. */
static void a_slow_codec_is_not_its_operators(void **state) {
    (void)state;
    struct forecast_job predicted;
    struct job job = job_of("cpu", 0, 0);
    job.work = (struct cost_work){ .count = 2,
                                   .terms = { { COST_ENCODE_ROWS, COST_ENCODE, 100 },
                                              { COST_OP_ROWS, COST_COMPUTE, 100 } } };
    const float before = forecast.costs[CPU].rows[COST_OP_ROWS];
    job.failure.status = STATUS_DEADLINE;
    job.submitted_ns = 1;
    job.finished_ns = 1 + INT64_C(4000000000);
    job.timing.stage_ms[STAGE_ENCODE] = 3900;
    for (int i = 0; i < 40; i++) {
        assert_int_equal(choose(&job, &predicted, NOBODY), CPU);
        predicted.backlog = (struct backlog_job){ .ms = 0 };
        forecast_learn(&forecast, CPU, &predicted, &job);
    }
    assert_float_equal(forecast.costs[CPU].rows[COST_OP_ROWS], before, 1e-6F);
    assert_float_equal((float)cost_predict(&forecast.costs[CPU], &job.work), 4000, 400);
}

/* A third of its seams took 4 s, so the job takes 12 s. A faulty worker may report no seam. */
static void missed_deadlines_are_learned(void **state) {
    (void)state;
    struct forecast_job predicted;
    struct job job = job_of("cpu", 0, 0);
    job.work.terms[0] = (struct cost_term){ COST_OP_ROWS, COST_COMPUTE, 1000 };
    job.work.count = 1;
    job.failure.status = STATUS_DEADLINE;
    job.submitted_ns = 1;
    job.finished_ns = 1 + INT64_C(4000000000);
    job.progress.done = 10, job.progress.total = 30;
    for (int i = 0; i < 40; i++) {
        assert_int_equal(choose(&job, &predicted, NOBODY), CPU);
        predicted.backlog = (struct backlog_job){ .ms = 0 };
        forecast_learn(&forecast, CPU, &predicted, &job);
    }
    assert_float_equal((float)cost_predict(&forecast.costs[CPU], &job.work), 12000, 1000);
    job.progress.done = 0;
    forecast_learn(&forecast, CPU, &predicted, &job);
    assert_float_equal((float)cost_predict(&forecast.costs[CPU], &job.work), 12000, 1000);
}

static void check(enum status status, enum status expected, const struct failure *failure,
                  const char *words) {
    assert_int_equal(status, expected);
    if (status && !strstr(failure->message, words)) fail_msg("%s", failure->message);
}

static const struct config strict = { .processing_ms = 30000, .refuse_times = 2 };
static const struct config patient = { .processing_ms = 30000 };

static void jobs_that_never_end_in_time_are_refused(void **state) {
    (void)state;
    struct failure failure = { 0 };
    check(forecast_check_length(&strict, 60000, &failure), STATUS_OK, &failure, "");
    check(forecast_check_length(&strict, 61000, &failure), STATUS_TOO_LARGE, &failure,
          "this is predicted to take 61 s, and only 30 s are allowed (processing_ms)");
    check(forecast_check_length(&patient, 1e9, &failure), STATUS_OK, &failure, "");
}

/* The job's own time may be half of what is predicted. */
static void jobs_that_would_be_late_are_refused(void **state) {
    (void)state;
    struct failure failure = { 0 };
    check(forecast_check_time(&strict, 20000, 20000, 30000, &failure), STATUS_OK, &failure, "");
    check(forecast_check_time(&strict, 20001, 20000, 30000, &failure), STATUS_BUSY, &failure,
          "predicted to be done in 40 s, after 20 s in the queue, and only 30 s are left");
    check(forecast_check_time(&strict, 0, 1, -5, &failure), STATUS_BUSY, &failure, "only 0 s");
    check(forecast_check_time(&patient, 1e9, 1e9, 1, &failure), STATUS_OK, &failure, "");
    assert_int_equal(forecast_check_time(&strict, 20001, 20000, 30000, NULL), STATUS_BUSY);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

/* They run the same program on the same cores. */
static void all_cells_learn_together(void **state) {
    (void)state;
    struct forecast_job predicted;
    struct worker_statistics statistics;
    struct job job = { .batch = 1, .decodes_apart = true, .run = RUN_DECODE, .image_length = 1000 };
    job.probe.format = FORMAT_AVIF;
    job.probe.shape = image_shape(1000, 1000, 3, 8);
    worker_list_add_cells(&workers, 3);
    forecast_init(&forecast, &workers);
    forecast_predict(&forecast, &job, &predicted);
    const float before = predicted.own_ms[WORKERS];
    assert_true(before > 0 && predicted.own_ms[CPU] < 0);
    for (int i = 1; i < 3; i++) assert_float_equal(predicted.own_ms[WORKERS + i], before, 1e-6F);
    for (int i = 0; i < 100; i++) {
        job.timing.stage_ms[STAGE_DECODE] = 10 * (double)before;
        job.finished_ns = (int64_t)(10e6 * (double)before) + 1;
        forecast_learn(&forecast, WORKERS + i % 3, &predicted, &job);
    }
    forecast_predict(&forecast, &job, &predicted);
    for (int i = 0; i < 3; i++)
        assert_float_equal(predicted.own_ms[WORKERS + i], 10 * before, before);
    forecast_statistics(&forecast, WORKERS, &statistics); /* of all three */
    assert_float_equal((float)statistics.actual_ms, 1000 * before, before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(defaults_are_what_this_test_takes_them_for),
        TEST(an_idle_gpu_is_first),
        TEST(full_gpus_are_helped_by_the_cpu),
        TEST(cores_are_left_to_the_front),
        TEST(cores_keep_the_work_that_gpus_leave_them),
        TEST(exceptions_are_not_learned_and_the_rest_fades),
        TEST(all_but_the_encoding_by_profile_is_learned),
        TEST(times_of_cores_are_not_shared_by_a_batch),
        TEST(a_long_job_is_not_the_cpus),
        TEST(a_device_that_is_named_decides),
        TEST(a_suspect_goes_elsewhere_and_where_it_is_alone_soon),
        TEST(long_operators_are_not_batched),
        TEST(no_job_waits_for_a_suspect),
        TEST(times_of_jobs_are_learned),
        TEST(failures_are_not_learned),
        TEST(missed_deadlines_are_learned),
        TEST(a_slow_codec_is_not_its_operators),
        TEST(jobs_that_never_end_in_time_are_refused),
        TEST(jobs_that_would_be_late_are_refused),
        TEST(all_cells_learn_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
