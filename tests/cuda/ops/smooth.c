// SPDX-License-Identifier: Apache-2.0
/* blur and sharpen at the edges of what their kernels do at once: every reach of the small windows
 * and the first beyond them, all widths and heights that a tile ends within, images smaller than a
 * window, rows that begin anywhere, batches of different sizes.
 * covers: cuda/ops/blur.cu cuda/ops/sharpen.cu cuda/smooth.cu cuda/smooth/strip.cuh
 * covers: cuda/smooth/strip.cuh cuda/smooth/tile.cuh cuda/smooth/passes.cuh
 * covers: cuda/smooth/finish.cuh
 */
#include "tests/cuda/twin_batch.h"

/* Reaches of 1 to 13 pixels of 8 bit; those over 12 are too large for a tile. */
static const char *const blurs[] = {
    "blur:sigma=0.3", "blur:sigma=0.8", "blur:sigma=1",   "blur:sigma=1.4", "blur:sigma=1.7",
    "blur:sigma=2",   "blur:sigma=2.4", "blur:sigma=3",   "blur:sigma=3.3", "blur:sigma=3.6",
    "blur:sigma=4",   "blur:sigma=4.3", "blur:sigma=4.6",
};
enum { BLURS = sizeof blurs / sizeof *blurs };

static void begin_job(struct job *job, const char *set, unsigned channels, unsigned depth) {
    struct failure failure = { 0 };
    memset(job, 0, sizeof *job);
    assert_int_equal(plan_parse(&job->plan, set, &failure), STATUS_OK);
    snprintf(job->name, sizeof job->name, "%s, %u x %u bit", set, channels, depth);
}

/* A batch of 63 widths from FROM on, heights the other way round. */
static void compare_widths(const char *set, uint32_t from, unsigned channels, unsigned depth) {
    static struct job job;
    begin_job(&job, set, channels, depth);
    for (uint32_t i = 0; i < 63; i++)
        add_image(&job, image_shape(from + i, from + 62 - i, channels, depth),
                  (enum padding)(i % PADDINGS));
    assert_int_equal(job.count, 63);
    compare(&job);
}

/* One image by each of the three kinds of padding. */
static void compare_size(const char *set, uint32_t width, uint32_t height, unsigned channels,
                         unsigned depth) {
    static struct job job;
    for (int padding = 0; padding < PADDINGS; padding++) {
        begin_job(&job, set, channels, depth);
        add_image(&job, image_shape(width, height, channels, depth), (enum padding)padding);
        assert_int_equal(job.count, 1);
        compare(&job);
    }
}

static void test_every_width(void **state) {
    (void)state;
    for (int b = 0; b < BLURS; b++)
        for (unsigned channels = 1; channels <= 4; channels++) {
            compare_widths(blurs[b], 1, channels, 8);
            compare_widths(blurs[b], 64, channels, 8);
            compare_widths(blurs[b], 127, channels, 8);
            if (b % 2 == 0) compare_widths(blurs[b], 240, channels, 8); /* many tiles */
            if (b % 4 == 3) compare_widths(blurs[b], 1, channels, 16);
        }
}

static void test_sharpen(void **state) {
    (void)state;
    static const char *const sets[] = { "sharpen:sigma=0.5", "sharpen:amount=250,threshold=9",
                                        "sharpen:sigma=2,amount=77", "sharpen:sigma=3,amount=1000",
                                        "sharpen:sigma=5" };
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        for (unsigned channels = 1; channels <= 4; channels++) {
            compare_widths(sets[s], 1, channels, 8);
            compare_widths(sets[s], 100, channels, 8);
            compare_widths(sets[s], 240, channels, 8);
            compare_widths(sets[s], 60, channels, 16);
        }
}

/* Long and thin ones, and several tiles each way. */
static void test_sizes(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 1, 1 },    { 1, 3000 },  { 3000, 1 },
                                         { 4097, 3 }, { 2, 20011 }, { 1923, 1081 } };
    for (int b = 0; b < BLURS; b += 2)
        for (unsigned channels = 1; channels <= 4; channels++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                compare_size(blurs[b], sizes[s][0], sizes[s][1], channels, 8);
    static const char *const sharpens[] = { "sharpen:sigma=1", "sharpen:sigma=1.5",
                                            "sharpen:sigma=3.5" };
    for (size_t s = 0; s < sizeof sharpens / sizeof *sharpens; s++)
        for (unsigned channels = 1; channels <= 4; channels++) {
            compare_size(sharpens[s], 2, 20011, channels, 8);
            compare_size(sharpens[s], 1923, 1081, channels, 8);
        }
    compare_size("blur:sigma=3", 1923, 1081, 3, 16);
}

int main(void) {
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to compare");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_width),
        cmocka_unit_test(test_sharpen),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, open_lane, close_lane);
}
