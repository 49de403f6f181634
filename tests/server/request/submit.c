// SPDX-License-Identifier: Apache-2.0
/* Limits on several results together: pixels, values; and their predicted time. */
#include "server/request/submit.c"
#include "tests/pipeline/plan_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct work work; /* some 100 KB */
static struct job job;

/* COUNT JPEG results of a PNG, one for each part of TEXT in turn, from part FIRST on. */
static void begin(const char *text, uint32_t width, uint32_t height, int first, int count) {
    memset(&job, 0, sizeof job);
    job.probe = (struct probe){ .format = FORMAT_PNG, .shape = image_shape(width, height, 3, 8) };
    job.image_length = 100000;
    job.further = (uint32_t)count - 1;
    assert_int_equal(plan_tree_read(&work.plans, text, NULL), STATUS_OK);
    for (int o = 0; o < count; o++) {
        job.outputs[o].encode = encode_options_default;
        job.outputs[o].part = first + o % (work.plans.count - first);
    }
    assert_int_equal(compute_shapes(&work, &job.probe.shape, 1 << 26, NULL), STATUS_OK);
}

static double predict(enum cost_stage stage) {
    struct cost cost;
    double ms = 0;
    cost_init(&cost, true);
    add_cost(&work, &job);
    for (uint32_t i = 0; i < job.work.count; i++)
        if (job.work.terms[i].stage == (int)stage)
            ms += (double)cost.rows[job.work.terms[i].row] * (double)job.work.terms[i].amount;
    return ms;
}

static double predict_one(const char *text, enum cost_stage stage) {
    begin(text, 1000, 800, 0, 1);
    assert_int_equal(size_results(&work, &job, 1 << 26, NULL), STATUS_OK);
    return predict(stage);
}

static double predict_all(const char *text, int count, enum cost_stage stage) {
    begin(text, 1000, 800, 1, count);
    assert_int_equal(size_results(&work, &job, 1 << 26, NULL), STATUS_OK);
    return predict(stage);
}

static void check_near(double value, double wanted) {
    if (!(value > 0.999 * wanted && value < 1.001 * wanted)) fail_msg("%g, not %g", value, wanted);
}

/* One decode and one shared call; each branch and each result counts by itself. */
static void the_time_is_the_sum(void **state) {
    (void)state;
    static const char all[] = "histeq|blur:sigma=2|carve:dx=-30|edge;threshold";
    check_near(predict_all(all, 3, COST_DECODE), predict_one("histeq", COST_DECODE));
    check_near(predict_all(all, 3, COST_REST), predict_one("histeq", COST_REST));
    const double compute =
        predict_one("histeq", COST_COMPUTE) + predict_one("blur:sigma=2", COST_COMPUTE) +
        predict_one("carve:dx=-30", COST_COMPUTE) + predict_one("edge;threshold", COST_COMPUTE);
    check_near(predict_all(all, 3, COST_COMPUTE), compute);
    const double encode = predict_one("blur:sigma=2", COST_ENCODE) +
                          predict_one("carve:dx=-30", COST_ENCODE) +
                          predict_one("edge", COST_ENCODE);
    check_near(predict_all(all, 3, COST_ENCODE), encode);
    check_near(predict_all(all, 6, COST_ENCODE), 2 * encode);
}

/* A GPU carves many images side by side in one direction after the other; where both sides shrink,
 * the two directions are weighed at each seam instead. */
static void check_abreast(const char *text, bool expected) {
    begin(text, 1000, 800, 0, 1);
    add_cost(&work, &job);
    if (job.abreast != expected) fail_msg("%s: %d", text, job.abreast);
}

/* With masks by gradient alone, and not if seams are too long. */
static void check_abreast_masked(const char *text, uint32_t width, uint32_t height, bool expected) {
    begin(text, width, height, 0, 1);
    job.aux[1].length = 1;
    job.aux[1].probe = job.probe;
    add_cost(&work, &job);
    if (job.abreast != expected) fail_msg("%s, %ux%u: %d", text, width, height, job.abreast);
}

static void some_carves_go_abreast(void **state) {
    (void)state;
    check_abreast("carve:dx=-30", true);
    check_abreast("grayscale;carve:dy=30;edge", true);
    check_abreast("carve:dx=-30,dy=30", true);
    check_abreast("carve:dx=30,dy=30", true);
    check_abreast("carve:dx=-30;carve:dy=-30", true);
    check_abreast("carve:dx=-30,dy=-30", false);
    check_abreast("carve:dx=-30,energy=sobel3", true);
    check_abreast("carve:dx=-30,dy=30,energy=sobel5", true);
    check_abreast("carve:dx=-30,show=map", false);
    check_abreast("histeq", false);
    check_abreast("carve:dx=-2;carve:dx=-300,dy=-2", false);
    check_abreast("carve:dx=-30,show=seams;carve:dx=-30", false);
    check_abreast("carve:dx=-2;carve:dx=-300,energy=sobel3", true);
    check_abreast("carve:dx=-30|histeq", false);
    begin("carve:dx=-30", 7681, 800, 0, 1);
    add_cost(&work, &job);
    assert_false(job.abreast);
    check_abreast_masked("carve:dx=-30,energy=sobel3", 1000, 2400, false);
    check_abreast_masked("carve:dx=-30", 1000, 2400, true);
    check_abreast_masked("carve:dx=-30", 1000, 2401, false);
    check_abreast_masked("carve:dx=-30", 3840, 2160, true);
    check_abreast_masked("carve:dy=30", 3840, 2160, false);
    check_abreast_masked("carve", 3840, 2160, false);
    check_abreast_masked("carve", 1920, 1080, true);
    check_abreast_masked("carve:dx=100", 3840, 2160, false); /* its first seams may go across */
    check_abreast_masked("carve:dx=100", 1920, 1080, true);
}

/* There are as many terms as kinds, for any number of results. */
static void as_many_as_there_can_be(void **state) {
    (void)state;
    char text[PLAN_TEXT_MAX] = "brightness";
    for (int i = 0; i < PLAN_BRANCHES_MAX; i++)
        strcat(text, i % 2 ? "|edge;threshold;mean" : "|grayscale;histeq;minimum;maximum");
    const double compute = 16 * (predict_one("grayscale;histeq;minimum;maximum", COST_COMPUTE) +
                                 predict_one("edge;threshold;mean", COST_COMPUTE));
    const double all = predict_all(text, OUTPUTS_MAX, COST_COMPUTE);
    check_near(all - predict_one("brightness", COST_COMPUTE), compute);
}

static void pixels_are_counted_together(void **state) {
    (void)state;
    struct failure failure;
    begin("|grayscale|edge", 100, 50, 1, 2);
    assert_int_equal(size_results(&work, &job, 10000, &failure), STATUS_OK);
    assert_int_equal(job.outputs[1].image.width, 100);
    assert_int_equal(job.outputs[1].image.channels, 1);
    assert_int_equal(size_results(&work, &job, 9999, &failure), STATUS_TOO_LARGE);
    assert_non_null(strstr(failure.message, "10000 pixels"));
    begin("|grayscale", 100, 50, 0, 1);
    assert_int_equal(size_results(&work, &job, 1, &failure), STATUS_OK); /* from plan_shapes */
}

static void values_are_counted_together(void **state) {
    (void)state;
    struct failure failure;
    uint32_t count;
    char text[PLAN_TEXT_MAX] = "mean";
    begin("mean|histogram:bins=100|edge;minimum", 10, 10, 1, 2);
    assert_int_equal(count_values(&work, &count, &failure), STATUS_OK);
    assert_int_equal(count, 3 + 300 + 1);
    for (int i = 0; i < 6; i++) strcat(text, "|histogram:bins=65536");
    begin(text, 10, 10, 1, 6);
    assert_int_equal(count_values(&work, &count, &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "1179651 values"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_is_the_sum),
        cmocka_unit_test(some_carves_go_abreast),
        cmocka_unit_test(as_many_as_there_can_be),
        cmocka_unit_test(pixels_are_counted_together),
        cmocka_unit_test(values_are_counted_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
