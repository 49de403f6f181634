// SPDX-License-Identifier: Apache-2.0
/* Sizes at the edges of what resize's kernels do at once: groups of eight targets, tiles of 8 to 64
 * columns and 32 rows, steps of 32 samples, copies of 16 bytes, windows of 1 to 70 pixels, rows of
 * results that begin anywhere; windows that shared memory does not hold, and results made in
 * strips. `resize tiny` is what compute-sanitizer can look at in a minute.
 * covers: cuda/ops/resize.cu cuda/ops/resize/across.cuh cuda/ops/resize/down.cuh
 * covers: cuda/ops/resize/stage.cuh cuda/ops/resize/table.cuh cuda/ops/resize/axis_sum.cuh
 * covers: cuda/ops/resize/matrix.cuh cuda/ops/resize/work_pixels.cuh
 */
#include "tests/cuda/twin_batch.h"

struct size {
    uint32_t width, height;
};

static struct job *job_of(const char *set, unsigned channels, unsigned depth) {
    struct failure failure = { 0 };
    struct job *job = calloc(1, sizeof *job);
    assert_int_equal(plan_parse(&job->plan, set, &failure), STATUS_OK);
    snprintf(job->name, sizeof job->name, "%s, %u x %u bit", set, channels, depth);
    return job;
}

/* One image by each of the three kinds of padding. */
static void compare_size(const char *set, struct size size, unsigned channels, unsigned depth) {
    for (int padding = 0; padding < PADDINGS; padding++) {
        struct job *job = job_of(set, channels, depth);
        add_image(job, image_shape(size.width, size.height, channels, depth),
                  (enum padding)padding);
        assert_int_equal(job->count, 1);
        compare(job);
        free(job);
    }
}

/* A batch of widths 1 to 63 or 64 to 126, heights the other way round. */
static void compare_widths(const char *set, uint32_t from, unsigned channels, unsigned depth) {
    struct job *job = job_of(set, channels, depth);
    for (uint32_t i = 0; i < 63; i++)
        add_image(job, image_shape(from + i, from + 62 - i, channels, depth),
                  (enum padding)(i % PADDINGS));
    assert_int_equal(job->count, 63);
    compare(job);
    free(job);
}

static void test_every_width(void **state) {
    (void)state;
    static const char *const sets[] = {
        "resize:width=7,height=9,fit=fill",
        "resize:width=8,height=8,fit=fill,kernel=cubic",
        "resize:width=33,height=31,fit=fill,kernel=linear",
        "resize:width=64,height=16,fit=fill",
        "resize:width=65,height=17,fit=fill,linear=true",
        "resize:width=40,height=40,x=900,y=100",
        "resize:width=130,height=70,position=southeast",
        "resize:width=90,height=50,fit=contain,background=80c0ff,kernel=box",
    };
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        for (unsigned channels = 1; channels <= 4; channels++)
            for (unsigned depth = 8; depth <= 16; depth += 8) {
                compare_widths(sets[s], 1, channels, depth);
                compare_widths(sets[s], 64, channels, depth);
            }
}

/* A window of lanczos3 has six times as many pixels as the scale, and one more. */
static void test_windows(void **state) {
    (void)state;
    for (uint32_t scale = 1; scale <= 12; scale++) {
        const struct size size = { 37 * scale + 1, 19 * scale + 2 };
        for (unsigned channels = 1; channels <= 4; channels++)
            compare_size("resize:width=37,height=19,fit=fill", size, channels, 8);
        compare_size("resize:width=37,height=19,fit=fill", size, 3, 16);
        compare_size("resize:width=37,height=19,fit=fill,kernel=cubic", size, 3, 8);
    }
    /* more tiles beside one another (ACROSS_ALONE_TILES) than an image alone has words for */
    compare_size("resize:width=3300,height=5,fit=fill", (struct size){ 12001, 17 }, 3, 8);
}

/* A row's words come in pieces where a group of columns needs more than its tile has room for. */
static void test_long_windows(void **state) {
    (void)state;
    for (unsigned channels = 1; channels <= 4; channels++)
        for (unsigned depth = 8; depth <= 16; depth += 8) {
            compare_size("resize:width=9,height=5,fit=fill", (struct size){ 9001, 40 }, channels,
                         depth);
            compare_size("resize:width=1,height=33,fit=fill,kernel=box", (struct size){ 65535, 3 },
                         channels, depth);
            compare_size("resize:width=3,height=2,fit=fill", (struct size){ 5, 20011 }, channels,
                         depth);
        }
}

/* The whole image between the passes would be larger than picture and result. */
static void test_strips(void **state) {
    (void)state;
    compare_size("resize:width=1000,height=4,fit=fill,kernel=box", (struct size){ 1, 20000 }, 1, 8);
    compare_size("resize:width=900,height=9,fit=fill,kernel=cubic", (struct size){ 2, 9001 }, 3, 8);
    compare_size("resize:width=600,height=3,fit=fill", (struct size){ 3, 9001 }, 4, 16);
}

/* Noise has each pair of colour and alpha some times. Box copies pixels as they are, so they are
 * weighed and divided again; lanczos3 leaves colours beyond their range, and alpha near 0. */
static void test_alpha(void **state) {
    (void)state;
    static const char *const sets[] = {
        "resize:width=2200,height=900,fit=fill,kernel=box",
        "resize:width=1600,height=900,fit=fill",
        "resize:width=1100,height=1300,fit=fill",
    };
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        for (unsigned channels = 2; channels <= 4; channels += 2)
            compare_size(sets[s], (struct size){ 1100, 900 }, channels, 8);
    for (unsigned channels = 2; channels <= 4; channels += 2) {
        /* six turns of a warp a row; then enough blocks for tiles as wide as they become */
        compare_size("resize:width=320,height=9,fit=fill", (struct size){ 3931, 70 }, channels, 8);
        compare_size("resize:width=320,height=9,fit=fill", (struct size){ 2785, 3400 }, channels,
                     8);
    }
}

/* One step holds the windows of both passes, and there are enough blocks (DOWN_FEW_BLOCKS of
 * weigh.cuh) for the kernels of short windows, even on a GPU of 200 multiprocessors. */
static void test_short_windows(void **state) {
    (void)state;
    static const struct {
        const char *set;
        struct size size;
    } cases[] = { { "resize:width=3000,height=1300,fit=fill", { 1503, 997 } },
                  { "resize:width=2101,height=1603,fit=fill", { 2643, 2001 } } };
    for (size_t s = 0; s < sizeof cases / sizeof *cases; s++)
        for (unsigned channels = 1; channels <= 4; channels++)
            for (unsigned depth = 8; depth <= 16; depth += 8)
                compare_size(cases[s].set, cases[s].size, channels, depth);
    compare_size("resize:width=3000,height=1300,fit=fill,linear=true", cases[0].size, 4, 8);
}

/* Photographs have several tiles each way. */
static void test_photographs(void **state) {
    (void)state;
    static const char *const sets[] = { "resize:width=320", "resize:width=1001,height=707" };
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        for (unsigned channels = 1; channels <= 4; channels++) {
            compare_size(sets[s], (struct size){ 2043, 1361 }, channels, 8);
            compare_size(sets[s], (struct size){ 611, 411 }, channels, channels == 2 ? 8 : 16);
        }
}

/* Rows that a warp copies in several turns, and in one; windows of several steps, and of one. */
static void test_turns(void **state) {
    (void)state;
    for (unsigned channels = 1; channels <= 4; channels++)
        for (unsigned depth = 8; depth <= 16; depth += 8) {
            compare_size("resize:width=320,height=9,fit=fill", (struct size){ 3931, 40 }, channels,
                         depth);
            compare_size("resize:width=150,height=40,fit=fill", (struct size){ 293, 70 }, channels,
                         depth);
        }
}

int main(int count, char **arguments) {
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to compare");
        return 77;
    }
    const struct CMUnitTest few[] = { cmocka_unit_test(test_turns) };
    if (count > 1 && strcmp(arguments[1], "tiny") == 0)
        return cmocka_run_group_tests(few, open_lane, close_lane);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns),         cmocka_unit_test(test_every_width),
        cmocka_unit_test(test_windows),       cmocka_unit_test(test_long_windows),
        cmocka_unit_test(test_strips),        cmocka_unit_test(test_alpha),
        cmocka_unit_test(test_short_windows), cmocka_unit_test(test_photographs),
    };
    return cmocka_run_group_tests(tests, open_lane, close_lane);
}
