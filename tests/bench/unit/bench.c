// SPDX-License-Identifier: Apache-2.0
/* Exit codes of a benchmark: what was measured, what failed, words that are not understood.
 *
 * covers: tests/bench/burin-bench/options.c tests/bench/burin-bench/lanes.c */
#include "tests/bench/burin-bench/bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int measured;
static bool rows_are_good, words_are_good, ready;

static bool words(const struct bench_options *options) {
    (void)options;
    return words_are_good;
}

static bool measure(const struct bench_options *options, const struct lanes *lanes,
                    struct report *report) {
    (void)options, (void)report;
    assert_true(lanes->count > 0);
    measured++;
    return rows_are_good;
}

/* Comes before lanes are opened: while it says no, none is. */
static bool prepare(const struct bench_options *options) {
    (void)options;
    return ready;
}

/* The exit code; MEASURED counts whether it came to rows. */
static int run(bool (*takes)(const struct bench_options *options), bool good_rows, char *option,
               char *value) {
    char *arguments[] = { "nothing", option, value, NULL };
    const struct bench bench = { .name = "nothing", .words = takes, .measure = measure };
    rows_are_good = good_rows;
    measured = 0;
    return bench_run(&bench, value ? 3 : 2, arguments);
}

static void exit_codes(void **state) {
    (void)state;
    assert_int_equal(run(NULL, true, "--device", "cpu"), 0);
    assert_int_equal(measured, 1);
    assert_int_equal(run(NULL, false, "--device", "cpu"), 1);
    assert_int_equal(measured, 1);
    assert_int_equal(run(NULL, true, "--device", "gpu"), 2);
    assert_int_equal(run(NULL, true, "--device", NULL), 2);
    assert_int_equal(run(NULL, true, "word", NULL), 2);
    words_are_good = false;
    assert_int_equal(run(words, true, "word", NULL), 2);
    assert_int_equal(measured, 0);
    words_are_good = true;
    assert_int_equal(run(words, true, "word", NULL), 0);
    assert_int_equal(measured, 1);
}

static void what_is_prepared_comes_first(void **state) {
    (void)state;
    char *arguments[] = { "nothing", "--device", "cpu", NULL };
    const struct bench bench = { .name = "nothing", .prepare = prepare, .measure = measure };
    rows_are_good = true;
    measured = 0;
    ready = false;
    assert_int_equal(bench_run(&bench, 3, arguments), 1);
    assert_int_equal(measured, 0);
    ready = true;
    assert_int_equal(bench_run(&bench, 3, arguments), 0);
    assert_int_equal(measured, 1);
}

static void who_is_held_against_whom(void **state) {
    (void)state;
    const struct bench_lane cpu = { .gpu = false }, gpu = { .gpu = true };
    assert_false(lanes_mixed(&(struct lanes){ 0 }));
    assert_false(lanes_mixed(&(struct lanes){ .count = 1, .all = { cpu } }));
    assert_false(lanes_mixed(&(struct lanes){ .count = 2, .all = { cpu, cpu } }));
    assert_true(lanes_mixed(&(struct lanes){ .count = 3, .all = { cpu, cpu, gpu } }));
    assert_false(lanes_mixed(&(struct lanes){ .count = 1, .all = { gpu } }));
}

static const char *own_value;
static bool own_switch;

static bool set_value(const char *value) {
    own_value = value;
    return *value == 'g';
}

static bool set_switch(const char *value) {
    own_switch = !value;
    return true;
}

static const struct bench_option own[] = {
    { "--colour", "green or gray", set_value },
    { "--fast", NULL, set_switch },
    { NULL, NULL, NULL },
};

static int run_own(int count, char **arguments, const struct bench_option *options) {
    const struct bench bench = { .name = "nothing", .options = options, .measure = measure };
    rows_are_good = true;
    measured = 0;
    own_value = NULL;
    own_switch = false;
    return bench_run(&bench, count, arguments);
}

static void options_of_its_own(void **state) {
    (void)state;
    char *all[] = { "nothing", "--fast", "--device", "cpu", "--colour", "green", NULL };
    assert_int_equal(run_own(6, all, own), 0);
    assert_string_equal(own_value, "green");
    assert_true(own_switch);
    assert_int_equal(measured, 1);
    assert_int_equal(run_own(5, all, own), 2); /* without its value */
    all[5] = "red";
    assert_int_equal(run_own(6, all, own), 2);
    assert_int_equal(run_own(2, all, NULL), 2); /* another benchmark has it not */
    assert_int_equal(measured, 0);
}

static void a_picture_of_too_many_pixels_is_left_out(void **state) {
    (void)state;
    const struct bench_options some = { .pixels_max = 100 }, all = { .pixels_max = 0 };
    assert_false(bench_options_skip(&some, 10, 10));
    assert_true(bench_options_skip(&some, 10, 11));
    assert_false(bench_options_skip(&all, 100000, 100000));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_codes),
        cmocka_unit_test(what_is_prepared_comes_first),
        cmocka_unit_test(who_is_held_against_whom),
        cmocka_unit_test(options_of_its_own),
        cmocka_unit_test(a_picture_of_too_many_pixels_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
