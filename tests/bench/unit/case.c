// SPDX-License-Identifier: Apache-2.0
/* Only the times of right results are reported.
 *
 * covers: tests/bench/burin-bench/picture.c */
#include "tests/bench/burin-bench/case.h"

#include "tests/bench/burin-bench/picture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int reported;

static void count_report(void *context, const struct bench_lane *lane,
                         const struct measurement *times, const struct measurement *core) {
    const struct lanes *lanes = context;
    assert_ptr_equal(lane, &lanes->all[reported]);
    assert_true(times->compute_ms > 0 && core);
    if (reported == 0) assert_memory_equal(times, core, sizeof *times);
    reported++;
}

static bool brighter(const struct image *in, const struct image *out) {
    for (uint32_t y = 0; y < in->height; y++)
        for (uint32_t x = 0; x < in->width; x++) {
            const int level = image_row(in, y)[x] + 10;
            image_row(out, y)[x] = (uint8_t)(level < 255 ? level : 255);
        }
    return true;
}

/* In the last sample alone. */
static bool wrong(const struct image *in, const struct image *out) {
    brighter(in, out);
    image_row(out, in->height - 1)[in->width - 1] ^= 1;
    return true;
}

static bool without_memory(const struct image *in, const struct image *out) {
    (void)in, (void)out;
    return false;
}

static bool measure(bool (*plain)(const struct image *in, const struct image *out)) {
    const struct image shape = image_shape(61, 47, 1, 8);
    const struct bench_options options = { .program = "case" };
    const struct bench_case one = { .name = "61 x 47",
                                    .plan = "brightness:shift=10",
                                    .in = shape,
                                    .out = shape,
                                    .repeats = 1,
                                    .draw = picture_noise,
                                    .plain = plain };
    struct lanes lanes;
    reported = 0;
    assert_true(lanes_open(&lanes, "case", "cpu"));
    const bool complete = case_measure(&one, &options, &lanes, count_report, &lanes);
    assert_true(reported == 0 || reported == lanes.count);
    lanes_close(&lanes);
    return complete;
}

static void only_right_results_are_reported(void **state) {
    (void)state;
    assert_true(measure(brighter));
    assert_true(reported > 0);
    assert_false(measure(wrong));
    assert_int_equal(reported, 0);
    assert_false(measure(without_memory));
    assert_int_equal(reported, 0);
}

static void noise_is_the_same_each_time(void **state) {
    (void)state;
    uint8_t one[128] = { 0 }, other[128] = { 0 };
    struct image image = image_shape(10, 8, 1, 8);
    image.pixels = one;
    picture_noise(&image, NULL);
    image.pixels = other;
    picture_noise(&image, NULL);
    assert_memory_equal(one, other, sizeof one);
    for (uint32_t y = 1; y < image.height; y++)
        assert_memory_not_equal(image_row(&image, 0), image_row(&image, y), image.width);
}

static void sky_and_grass_have_a_level_each(void **state) {
    (void)state;
    uint8_t pixels[256];
    struct image image = image_shape(11, 7, 1, 8);
    image.pixels = pixels;
    picture_two_levels(&image, NULL);
    for (uint32_t y = 0; y < image.height; y++)
        for (uint32_t x = 0; x < image.width; x++)
            assert_int_equal(image_row(&image, y)[x], *image_row(&image, y < 3 ? 0 : 6));
    assert_int_not_equal(*image_row(&image, 0), *image_row(&image, 6));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_right_results_are_reported),
        cmocka_unit_test(noise_is_the_same_each_time),
        cmocka_unit_test(sky_and_grass_have_a_level_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
