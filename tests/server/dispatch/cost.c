// SPDX-License-Identifier: Apache-2.0
/* Default costs against measurements, and what is learned from jobs with made-up times. */
#include "server/dispatch/cost.h"

#include "pipeline/builtin_ops.h"
#include "tests/noise.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- works */

static struct cost_work work_of(const char *text, uint32_t width, uint32_t height, enum format in,
                                uint64_t file_bytes, enum format out) {
    struct cost_work work = { .count = 0 };
    struct plan plan;
    struct image shapes[PLAN_STEPS_MAX + 1];
    struct failure failure = { 0 };
    const struct probe probe = { .format = in,
                                 .components = 3,
                                 .shape = image_shape(width, height, 3, 8) };
    if (plan_parse(&plan, text, &failure) ||
        plan_shapes(&plan, &probe.shape, UINT64_C(1) << 32, shapes, &failure))
        fail_msg("%s", failure.message);
    cost_work_add_file(&work, &probe, file_bytes);
    cost_work_add_plan(&work, &plan, shapes);
    struct encode_options options = encode_options_default;
    options.format = out;
    if (out) cost_work_add_result(&work, &shapes[plan.count], &options);
    return work;
}

static struct cost_work photo(const char *plan) {
    return work_of(plan, 1920, 1080, FORMAT_JPEG, 500000, FORMAT_JPEG);
}

static struct cost_work with_aux(const char *text, int place) {
    struct cost_work work = photo(text);
    struct plan plan;
    struct image shapes[PLAN_STEPS_MAX + 1];
    const struct image in = image_shape(1920, 1080, 3, 8);
    assert_int_equal(plan_parse(&plan, text, NULL), STATUS_OK);
    assert_int_equal(plan_shapes(&plan, &in, UINT64_C(1) << 32, shapes, NULL), STATUS_OK);
    cost_work_add_aux(&work, &plan, shapes, place);
    return work;
}

static double predict(bool cpu, struct cost_work work) {
    struct cost cost;
    cost_init(&cost, cpu);
    return cost_predict(&cost, &work);
}

static void check_between(double value, double least, double most) {
    if (!(value >= least && value <= most)) fail_msg("%g is not %g to %g", value, least, most);
}

/* ---- defaults */

static void defaults_are_near_what_was_measured(void **state) {
    (void)state;
    check_between(predict(false, photo("histeq")), 0.2, 1);
    check_between(predict(true, photo("histeq")), 12, 25);
    check_between(predict(true, work_of("histeq", 320, 240, FORMAT_JPEG, 15000, FORMAT_JPEG)), 0.3,
                  1.5);
    /* 100 seams: 2.5 ms on a GPU, 50 on a core. */
    check_between(predict(false, photo("carve:dx=-100")), 1.5, 5);
    check_between(predict(true, photo("carve:dx=-100")), 40, 100);
    /* A format that only cores can decode costs the same everywhere. */
    const struct cost_work png = work_of("histeq", 1920, 1080, FORMAT_PNG, 3000000, FORMAT_PNG);
    check_between(predict(false, png) / predict(true, png), 0.7, 1);
}

static void the_work_grows_with_the_image_and_the_seams(void **state) {
    (void)state;
    for (int cpu = 0; cpu < 2; cpu++) {
        assert_true(predict(cpu, photo("carve:dx=-200")) >
                    1.5 * predict(cpu, photo("carve:dx=-100")));
        assert_true(predict(cpu, photo("carve:dx=-50,dy=50")) >
                    0.8 * predict(cpu, photo("carve:dx=100")));
        assert_true(predict(cpu, photo("histeq;histeq")) > predict(cpu, photo("histeq")));
        assert_true(predict(cpu, photo("histeq")) >
                    predict(cpu, work_of("histeq", 1920, 1080, FORMAT_JPEG, 500000, FORMAT_NONE)));
        assert_true(predict(cpu, photo("carve:dx=-100,energy=forward")) >
                    2 * predict(cpu, photo("carve:dx=-100")));
        assert_true(predict(cpu, photo("carve:dx=-100,show=energy")) <
                    predict(cpu, photo("carve:dx=-9")));
    }
}

/* Pixels that rmask marks are removed and put back; both together are at most twice 1080 seams. */
static void a_mask_to_remove_counts(void **state) {
    (void)state;
    static const char *const alike[] = { "carve:dx=-100,dy=-100", "carve:show=map,dx=-9",
                                         "histeq" };
    for (int cpu = 0; cpu < 2; cpu++) {
        check_between(predict(cpu, with_aux("carve", 1)) / predict(cpu, photo("carve:dx=-1079")),
                      0.25, 2);
        assert_true(predict(cpu, with_aux("blur;carve:dx=-9", 1)) >
                    10 * predict(cpu, photo("blur;carve:dx=-9")));
        assert_true(predict(cpu, with_aux("carve", 0)) == predict(cpu, photo("carve")));
        for (int i = 0; i < 3; i++)
            assert_true(predict(cpu, with_aux(alike[i], 1)) == predict(cpu, photo(alike[i])));
    }
}

/* The cost of steps alone, in branches that begin with 1080p in RGB. */
static struct cost_work branches_work(const char *const *texts, int count) {
    struct cost_work work = { .count = 0 };
    const struct image in = image_shape(1920, 1080, 3, 8);
    struct plan plans[3];
    const struct plan *branches[3];
    struct plan_common common;
    for (int b = 0; b < count; b++) {
        assert_int_equal(plan_parse(&plans[b], texts[b], NULL), STATUS_OK);
        branches[b] = &plans[b];
    }
    plan_common_find(&common, branches, count, &in, 0);
    cost_work_add_common(&work, &common, &in);
    for (int b = 0; b < count; b++) {
        struct image shapes[PLAN_STEPS_MAX + 1];
        assert_int_equal(plan_shapes(&plans[b], &in, UINT64_C(1) << 32, shapes, NULL), STATUS_OK);
        cost_work_add_steps(&work, &plans[b], shapes, plan_common_serves(&common, b));
    }
    return work;
}

/* Three widths from one energy map cost hardly more than the one that needs the most seams; two
 * widths from different energies cost the sum. */
static void seams_in_common_are_counted_once(void **state) {
    (void)state;
    const char *const widths[] = { "carve:width=1440", "carve:width=1500", "carve:width=2100" };
    const char *const apart[] = { "carve:width=1440", "carve:width=1440,energy=sobel3" };
    for (int cpu = 0; cpu < 2; cpu++) {
        const double one = predict(cpu, branches_work(widths, 1));
        check_between(predict(cpu, branches_work(widths, 3)) / one, 0.9, 1.1);
        check_between(predict(cpu, branches_work(apart, 2)) / one, 1.9, 2.1);
    }
}

/* 1080p of RGB on a core, beside 5 to 8 ms of a JPEG. */
static double predict_result(bool cpu, struct encode_options options) {
    const struct image result = image_shape(1920, 1080, 3, 8);
    struct cost_work work = { .count = 0 };
    cost_work_add_result(&work, &result, &options);
    return predict(cpu, work);
}

static void every_type_has_its_price(void **state) {
    (void)state;
    struct encode_options options = encode_options_default;
    check_between(predict_result(true, options), 4, 8);
    options.progressive = true;
    check_between(predict_result(true, options), 20, 30);
    options.format = FORMAT_WEBP;
    check_between(predict_result(true, options), 140, 180);
    assert_true(predict_result(true, options) == predict_result(false, options));
    options.effort = 0;
    check_between(predict_result(true, options), 45, 65);
    options.effort = 6;
    check_between(predict_result(true, options), 250, 400);
    options.lossless = true;
    check_between(predict_result(true, options), 200, 400);
    options = encode_options_default;
    options.format = FORMAT_AVIF; /* 0.14 us a pixel when they were measured, at 4 */
    check_between(predict_result(true, options), 250, 600);
    options.effort = 0;
    check_between(predict_result(true, options), 80, 200);
    options.lossless = true;
    check_between(predict_result(true, options), 200, 500);
    options.max_bytes = 1; /* no quality is searched for */
    check_between(predict_result(true, options), 200, 500);
    /* A search encodes several times. */
    options = encode_options_default;
    options.max_bytes = 1;
    check_between(predict_result(true, options), 15, 35);
    options.format = FORMAT_WEBP;
    check_between(predict_result(true, options), 500, 800);
    options.format = FORMAT_PNG;
    const double png = predict_result(true, options);
    options.max_bytes = 0;
    assert_true(predict_result(true, options) == png);
}

/* A GPU has no codec for this. */
/* With many steps and types in many outputs, the last one counts as much as if it were alone. */
static void nothing_of_much_work_is_left_out(void **state) {
    (void)state;
    const struct image result = image_shape(1000, 1000, 3, 8);
    struct encode_options options = encode_options_default;
    struct image shapes[PLAN_STEPS_MAX + 1];
    struct plan plan;
    char text[64];
    struct cost_work work = photo("histeq"), last = { .count = 0 };
    for (int i = 0; i < builtin_op_count(); i++) {
        const char *name = builtin_op_at(i)->name;
        const bool sized = strcmp(name, "extract") == 0 || strcmp(name, "resize") == 0 ||
                           strstr(name, "crop") != NULL;
        const bool taps = strcmp(name, "convolve") == 0, matrix = strcmp(name, "matrix") == 0;
        snprintf(text, sizeof text, "%s%s", name,
                 sized    ? ":width=9,height=9"
                 : taps   ? ":taps=0 0 0 0 1 0 0 0 0"
                 : matrix ? ":matrix=1 0 0 0 1 0 0 0 1"
                          : "");
        assert_int_equal(plan_parse(&plan, text, NULL), STATUS_OK);
        assert_int_equal(plan_shapes(&plan, &result, UINT64_C(1) << 32, shapes, NULL), STATUS_OK);
        cost_work_add_steps(&work, &plan, shapes, false);
    }
    for (int f = FORMAT_NONE + 1; f < FORMAT_COUNT; f++)
        for (int i = 0; i < 16; i++) {
            options.format = (enum format)f;
            options.progressive = i & 1;
            options.max_bytes = i & 2;
            options.compression = i / 4;
            cost_work_add_result(&work, &result, &options);
        }
    options = encode_options_default;
    options.format = FORMAT_WEBP;
    options.lossless = true;
    const double before = predict(true, work);
    cost_work_add_result(&work, &result, &options);
    cost_work_add_result(&last, &result, &options);
    check_between((predict(true, work) - before) / predict(true, last), 0.99, 1.01);
}

static void cores_are_needed_for_what_no_gpu_makes(void **state) {
    (void)state;
    static const struct {
        enum format in, out;
        bool progressive, cores;
    } cases[] = {
        { FORMAT_JPEG, FORMAT_JPEG, false, false }, { FORMAT_JPEG, FORMAT_JPEG, true, true },
        { FORMAT_JPEG, FORMAT_WEBP, false, true },  { FORMAT_JPEG, FORMAT_PNG, false, true },
        { FORMAT_JPEG, FORMAT_PNM, false, false },  { FORMAT_PNM, FORMAT_JPEG, false, false },
        { FORMAT_WEBP, FORMAT_JPEG, false, true },  { FORMAT_PNG, FORMAT_JPEG, false, true },
        { FORMAT_JPEG, FORMAT_AVIF, false, true },
    };
    struct cost cost;
    cost_init(&cost, true);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cost_work work = work_of("histeq", 100, 100, cases[i].in, 1000, FORMAT_NONE);
        const struct image result = image_shape(100, 100, 3, 8);
        struct encode_options options = encode_options_default;
        options.format = cases[i].out;
        options.progressive = cases[i].progressive;
        cost_work_add_result(&work, &result, &options);
        assert_int_equal(cost_predict_cores(&cost, &work) > 0, cases[i].cores);
    }
}

/* A PNG of 320x180 of a photograph is a small part of what the cores would do without a GPU. */
static void cores_do_a_part_of_it(void **state) {
    (void)state;
    struct cost cost;
    cost_init(&cost, true);
    const struct cost_work small =
        work_of("resize:width=320", 1920, 1080, FORMAT_JPEG, 200000, FORMAT_PNG);
    check_between(cost_predict_cores(&cost, &small) / cost_predict(&cost, &small), 0.02, 0.2);
    const struct cost_work all =
        work_of("brightness:shift=1", 1920, 1080, FORMAT_PNG, 2000000, FORMAT_PNG);
    check_between(cost_predict_cores(&cost, &all) / cost_predict(&cost, &all), 0.8, 1);
}

static void an_empty_work_is_hardly_any_time(void **state) {
    (void)state;
    check_between(predict(true, (struct cost_work){ .count = 0 }), 1e-9, 0.01);
}

/* ---- learning: a worker whose true coefficients differ from the defaults */

static double noise_unit(uint32_t *noise) {
    return (noise_next(noise) >> 8) / (double)(1 << 24);
}

static struct cost_work some_photo(uint32_t *noise) {
    const uint32_t width = 16 + (uint32_t)(noise_unit(noise) * noise_unit(noise) * 4000);
    static const char *const plans[] = { "histeq", "edge", "brightness:shift=3" };
    return work_of(plans[(noise_next(noise) >> 20) % 3], width, width, FORMAT_JPEG,
                   (uint64_t)width * width / 4, FORMAT_JPEG);
}

/* The times of the stages of WORK with the coefficients of TRUTH. */
static struct timing run(const struct cost *truth, const struct cost_work *work, double *total_ms) {
    static const enum stage stages[COST_STAGES] = { STAGE_DECODE, STAGE_COMPUTE, STAGE_ENCODE,
                                                    STAGE_WAIT };
    struct timing timing = { .span_count = 0 };
    for (uint32_t i = 0; i < work->count; i++)
        timing.stage_ms[stages[work->terms[i].stage]] +=
            (double)truth->rows[work->terms[i].row] * (double)work->terms[i].amount;
    *total_ms = cost_predict(truth, work);
    return timing;
}

/* Decoders and operators take three times as long, the rest a third. */
static struct cost slower_truth(void) {
    struct cost truth;
    cost_init(&truth, true);
    for (int i = 0; i < COST_ROWS; i++)
        truth.rows[i] *= (float)(i < COST_ENCODE_ROWS || i >= COST_OP_ROWS ? 3 : 0.3);
    return truth;
}

/* The mean of |predicted / true - 1| over JOBS, learning from each; one in OUTLIERS takes a hundred
 * times as long (0: none). */
static double mean_error(struct cost *cost, const struct cost *truth, int jobs, int outliers,
                         uint32_t *noise) {
    double sum = 0;
    for (int i = 0; i < jobs; i++) {
        const struct cost_work work = some_photo(noise);
        const double predicted = cost_predict(cost, &work);
        double total;
        struct timing timing = run(truth, &work, &total);
        sum += fabs(predicted / total - 1);
        if (outliers && i % outliers == 0) {
            for (int s = 0; s < STAGE_COUNT; s++) timing.stage_ms[s] *= 100;
            total *= 100;
        }
        cost_learn(cost, &work, &timing, total, predicted, 1, 0);
    }
    return sum / jobs;
}

static void predictions_come_near_the_truth(void **state) {
    (void)state;
    const struct cost truth = slower_truth();
    struct cost cost;
    uint32_t noise = 1;
    cost_init(&cost, true);
    assert_true(mean_error(&cost, &truth, 10, 0, &noise) > 0.3);
    mean_error(&cost, &truth, 200, 0, &noise);
    check_between(mean_error(&cost, &truth, 200, 0, &noise), 0, 0.15);
}

static void an_outlier_moves_little(void **state) {
    (void)state;
    const struct cost truth = slower_truth();
    struct cost cost;
    uint32_t noise = 1;
    cost_init(&cost, true);
    mean_error(&cost, &truth, 400, 20, &noise);
    check_between(mean_error(&cost, &truth, 200, 20, &noise), 0, 0.35);
}

/* Small files alone do not show what megabytes cost, nor the reverse. */
static void small_jobs_do_not_spoil_large_ones(void **state) {
    (void)state;
    struct cost cost;
    cost_init(&cost, true);
    const struct cost_work small = work_of("histeq", 4, 4, FORMAT_JPEG, 600, FORMAT_JPEG);
    const struct cost_work large = photo("histeq");
    const double before = cost_predict(&cost, &large);
    for (int i = 0; i < 100; i++) {
        const struct timing timing = { .stage_ms = { [STAGE_DECODE] = 1, [STAGE_ENCODE] = 1 } };
        cost_learn(&cost, &small, &timing, 2.5, 1, 1, 0);
    }
    check_between(cost_predict(&cost, &small), 2, 3);
    check_between(cost_predict(&cost, &large), before * 0.8, before * 1.5 + 3);
}

/* A carve that was cut off after a minute is known to take at least a minute. */
static void what_was_not_done_in_time_is_learned(void **state) {
    (void)state;
    struct cost cost;
    cost_init(&cost, true);
    const struct cost_work work = photo("carve:dx=-900"), other = photo("histeq");
    const double before = cost_predict(&cost, &work), of_other = cost_predict(&cost, &other);
    check_between(before, 100, 30000);
    cost_learn_least(&cost, &work, COST_COMPUTE, before / 2); /* below the known time */
    assert_true(cost_predict(&cost, &work) == before);
    for (int i = 0; i < 60; i++) cost_learn_least(&cost, &work, COST_COMPUTE, 60000);
    check_between(cost_predict(&cost, &work), 55000, 65000);
    assert_true(cost_predict(&cost, &other) == of_other);
    cost_learn_least(&cost, &work, COST_COMPUTE, INFINITY);
    cost_learn_least(&cost, &work, COST_COMPUTE, NAN);
    check_between(cost_predict(&cost, &work), 55000, 65000);
}

/* Eight jobs ran together in 1.7 ms: each may have taken 0.2 to 1.7 ms. */
static void a_batchs_time_is_that_of_all(void **state) {
    (void)state;
    struct cost cost;
    cost_init(&cost, false);
    const struct cost_work work = photo("histeq");
    const double before = cost_predict(&cost, &work);
    struct timing timing = {
        .stage_ms = { [STAGE_DECODE] = 1, [STAGE_COMPUTE] = 0.2, [STAGE_ENCODE] = 0.3 }
    };
    for (int i = 0; i < 50; i++) cost_learn(&cost, &work, &timing, 1.7, before, 8, 0);
    check_between(cost_predict(&cost, &work), before * 0.99, before * 1.01);
    timing.stage_ms[STAGE_DECODE] = 80;
    for (int i = 0; i < 50; i++) cost_learn(&cost, &work, &timing, 80.6, before, 8, 0);
    check_between(cost_predict(&cost, &work), 9, 12); /* a decode takes a tenth of 80 at least */
}

static void coefficients_stay_within_bounds(void **state) {
    (void)state;
    struct cost cost;
    cost_init(&cost, true);
    const struct cost_work work = photo("histeq");
    const double before = cost_predict(&cost, &work);
    const struct timing slow = {
        .stage_ms = { [STAGE_DECODE] = 9e5, [STAGE_COMPUTE] = 9e5, [STAGE_ENCODE] = 9e5 }
    };
    const struct timing none = { .span_count = 0 };
    for (int i = 0; i < 500; i++) cost_learn(&cost, &work, &slow, 3e6, 1, 1, 0);
    check_between(cost_predict(&cost, &work), before * 100, before * COST_RANGE);
    for (int i = 0; i < 2000; i++) cost_learn(&cost, &work, &none, 0, 1, 1, 0);
    check_between(cost_predict(&cost, &work), 0.999 * before / COST_RANGE, before / 100);
}

/* A worker that went wild may have written anything. */
static void nonsense_is_not_learned(void **state) {
    (void)state;
    struct cost cost, before;
    cost_init(&cost, true);
    before = cost;
    struct cost_work work = photo("histeq");
    struct timing timing = { .stage_ms = { [STAGE_DECODE] = NAN } };
    cost_learn(&cost, &work, &timing, 1, 1, 1, 0);
    timing.stage_ms[STAGE_DECODE] = 2;
    cost_learn(&cost, &work, &timing, 1, 1, 1, 0); /* more than all of it */
    timing.stage_ms[STAGE_DECODE] = 1;
    cost_learn(&cost, &work, &timing, INFINITY, 1, 1, 0);
    cost_learn(&cost, &work, &timing, -1, 1, 1, 0);
    cost_learn(&cost, &work, &timing, 5, 1, 0, 0);
    work.terms[0].row = COST_ROWS;
    cost_learn(&cost, &work, &timing, 5, 1, 1, 0);
    check_between(cost_predict(&cost, &work), 0, 1e3);
    work.count = COST_TERMS_MAX + 1;
    cost_learn(&cost, &work, &timing, 5, 1, 1, 0);
    assert_memory_equal(&cost, &before, sizeof cost);
}

static void the_account_is_kept(void **state) {
    (void)state;
    struct cost cost;
    cost_init(&cost, true);
    const struct cost_work work = photo("histeq");
    const struct timing timing = { .span_count = 0 };
    cost_learn(&cost, &work, &timing, 10, 12, 1, 0);
    cost_learn(&cost, &work, &timing, 26, 20, 1, 0);
    check_between(cost.actual_ms, 36, 36);
    check_between(cost.predicted_ms, 32, 32);
    check_between(cost.error_ms, 8, 8);
    check_between(cost.mean_ms, 11, 11);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_near_what_was_measured),
        cmocka_unit_test(a_mask_to_remove_counts),
        cmocka_unit_test(the_work_grows_with_the_image_and_the_seams),
        cmocka_unit_test(seams_in_common_are_counted_once),
        cmocka_unit_test(every_type_has_its_price),
        cmocka_unit_test(nothing_of_much_work_is_left_out),
        cmocka_unit_test(cores_are_needed_for_what_no_gpu_makes),
        cmocka_unit_test(cores_do_a_part_of_it),
        cmocka_unit_test(an_empty_work_is_hardly_any_time),
        cmocka_unit_test(predictions_come_near_the_truth),
        cmocka_unit_test(an_outlier_moves_little),
        cmocka_unit_test(small_jobs_do_not_spoil_large_ones),
        cmocka_unit_test(what_was_not_done_in_time_is_learned),
        cmocka_unit_test(a_batchs_time_is_that_of_all),
        cmocka_unit_test(coefficients_stay_within_bounds),
        cmocka_unit_test(nonsense_is_not_learned),
        cmocka_unit_test(the_account_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
