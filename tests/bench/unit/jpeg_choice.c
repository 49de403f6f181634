// SPDX-License-Identifier: Apache-2.0
/* Which rows the options of `burin bench jpeg` choose. */
#include "tests/bench/burin-bench/jpeg_choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct jpeg_size small = { 320, 240 }, large = { 1920, 1080 };

static bool set(const char *name, const char *value) {
    for (const struct bench_option *one = jpeg_choice_options; one->name; one++)
        if (strcmp(one->name, name) == 0) return one->set(value);
    fail_msg("there is no option %s", name);
    return false;
}

static void reset(void) {
    memset(&jpeg_choice, 0, sizeof jpeg_choice);
}

static void lists_are_read_and_refused(void **state) {
    (void)state;
    struct jpeg_size sizes[JPEG_CHOICES_MAX];
    reset();
    assert_true(set("--size", "1080p,4K,33x7"));
    assert_int_equal(jpeg_choice_sizes(sizes), 3);
    assert_int_equal(sizes[1].width, 3840);
    assert_int_equal(sizes[2].height, 7);
    static const char *const wrong[][2] = {
        { "--size", "" },
        { "--size", "0x5" },
        { "--size", "5x" },
        { "--size", "5x5x5" },
        { "--size", "70000x1" },
        { "--size", "1x1," },
        { "--quality", "0" },
        { "--quality", "101" },
        { "--quality", "85,,90" },
        { "--batch", "1025" },
        { "--batch", "x" },
        { "--sampling", "411" },
        { "--work", "decode;" },
        { "--photos", "" },
        { "--batch", "1,2,3,4,5,6,7,8,9" },
        { "--size", "12345678901234567890123456789012x1" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(set(wrong[i][0], wrong[i][1]));
}

static int count_pairs(void) {
    int qualities[JPEG_CHOICES_MAX], pairs = 0;
    const int count = jpeg_choice_qualities(qualities);
    for (int kind = 0; kind < JPEG_KINDS; kind++)
        for (int q = 0; q < count; q++)
            pairs += jpeg_choice_pair((enum jpeg_kind)kind, qualities[q]);
    return pairs;
}

static void pairs_of_sampling_and_quality(void **state) {
    (void)state;
    reset();
    assert_int_equal(count_pairs(), 7); /* 4:2:0 of three, 4:4:4 of two, the others of one */
    assert_true(jpeg_choice_pair(JPEG_KIND_422, 85));
    assert_false(jpeg_choice_pair(JPEG_KIND_422, 50));
    set("--quick", NULL);
    assert_int_equal(count_pairs(), 1);
    reset();
    set("--sampling", "422,4:4:4");
    assert_int_equal(count_pairs(), 6);
    set("--quality", "1,100");
    assert_int_equal(count_pairs(), 4);
    assert_true(jpeg_choice_pair(JPEG_KIND_422, 100));
    assert_false(jpeg_choice_pair(JPEG_KIND_420, 100));
}

static int largest(const struct jpeg_size *size, enum jpeg_kind kind, int quality, int *count) {
    int batches[JPEG_CHOICES_MAX];
    *count = jpeg_choice_batches(size, kind, quality, batches);
    return batches[*count - 1];
}

static void batches_by_size(void **state) {
    (void)state;
    int count;
    reset();
    assert_int_equal(largest(&small, JPEG_KIND_420, 85, &count), 1024);
    assert_int_equal(count, 5);
    assert_int_equal(largest(&large, JPEG_KIND_420, 85, &count), 128);
    assert_int_equal(count, 4);
    assert_int_equal(largest(&large, JPEG_KIND_GRAY, 85, &count), 32);
    assert_int_equal(count, 1);
    assert_int_equal(largest(&small, JPEG_KIND_420, 50, &count), 1024);
    assert_int_equal(count, 1);
    set("--quick", NULL);
    assert_int_equal(largest(&small, JPEG_KIND_420, 85, &count), 1024);
    assert_int_equal(count, 2);
    set("--batch", "64,2,7");
    assert_int_equal(largest(&large, JPEG_KIND_GRAY, 50, &count), 64);
    assert_int_equal(count, 3);
}

static void works(void **state) {
    (void)state;
    reset();
    for (int work = 0; work <= JPEG_WORK_BOTH; work++) assert_true(jpeg_choice_work(work));
    set("--work", "both,decode");
    assert_false(jpeg_choice_work(JPEG_WORK_ENCODE));
    assert_true(jpeg_choice_work(JPEG_WORK_BOTH));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read_and_refused),
        cmocka_unit_test(pairs_of_sampling_and_quality),
        cmocka_unit_test(batches_by_size),
        cmocka_unit_test(works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
