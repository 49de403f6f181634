// SPDX-License-Identifier: Apache-2.0
/* Many images carved at once, each by a block or two, against the reference: every width of a warp
 * and of a block, two rows and many, all contents, each energy, growing, one direction after the
 * other, sizes mixed in one launch; with masks on all or some; and one that its client leaves.
 * `carve_many small`, or `tiny`, is for the sanitizers, `carve_many times` only prints how long a
 * seam takes.
 * covers: cuda/ops/carve/one_block/layout.cuh cuda/ops/carve/one_block/sweep.cuh
 * covers: cuda/ops/carve/one_block/trace.cuh cuda/ops/carve/one_block/one_block.cuh
 * covers: cuda/ops/carve/one_block/flags.cuh cuda/ops/carve/one_block/flag_plane.cuh
 * covers: cuda/ops/carve/one_block/sobel.cuh
 * covers: cuda/ops/carve/launch_kernel.cuh
 */
#include "tests/cuda/twin_batch.h"

#include <pthread.h>
#include <time.h>

/* LEAST: images for which the method always pays; by sobel twice as many. */
enum { SIZES_MAX = 20, LEAST = 16 };

/* Masks of a mix. VARIED: each image has others, or none. */
enum { KEEP = 1, REMOVE = 2, VARIED = 4, ONE_TOO_SMALL = 8 };

struct mix {
    const char *plan;
    unsigned channels, depth;
    int masks;
    uint32_t sizes[SIZES_MAX][2]; /* ends with zeros */
};

/* A warp sweeps 360 columns up to a width of 360, else 480. Eight warps are a block, sixteen a
 * cluster of two; up to 66 images have two blocks each on an H200. */
static const struct mix small_mixes[] = {
    { "carve:dx=-4", 1, 8, 0, { { 33, 17 }, { 13, 42 }, { 40, 2 }, { 41, 3 }, { 123, 31 } } },
    { "carve:dx=-3", 3, 8, 0, { { 361, 12 }, { 481, 33 }, { 500, 2 }, { 30, 20 } } },
    { "carve:dy=-4", 1, 8, 0, { { 17, 33 }, { 12, 400 } } },
    { "carve:dx=-4,energy=sobel3", 1, 8, 0, { { 33, 17 }, { 481, 33 }, { 500, 4 } } },
    { "carve:dx=-4,energy=sobel5", 1, 8, 0, { { 33, 17 }, { 481, 33 }, { 500, 4 } } },
};

static const struct mix mixes[] = {
    { "carve:dx=-12",
      1,
      8,
      0,
      { { 33, 17 },
        { 64, 33 },
        { 123, 66 },
        { 300, 2 },
        { 13, 42 },
        { 360, 200 },
        { 359, 31 },
        { 200, 3 },
        { 15, 300 },
        { 320, 240 } } },
    { "carve:dx=-12",
      3,
      8,
      0,
      { { 361, 200 },
        { 480, 40 },
        { 481, 40 },
        { 961, 37 },
        { 1919, 37 },
        { 1920, 36 },
        { 1921, 35 },
        { 370, 2 },
        { 370, 3 },
        { 640, 480 } } },
    { "carve:dx=-7", 3, 16, 0, { { 320, 240 }, { 640, 241 }, { 20, 9 }, { 1000, 61 } } },
    { "carve:dy=-9",
      4,
      8,
      0,
      { { 240, 320 }, { 241, 640 }, { 66, 123 }, { 37, 961 }, { 2, 300 } } },
    { "carve:dx=-3", 1, 8, 0, { { 3840, 31 }, { 3841, 30 }, { 7680, 22 }, { 600, 45 } } },
    { "carve:dx=-2", 1, 8, 0, { { 700, 4000 }, { 30, 11264 }, { 300, 1081 } } },
    { "carve:dx=-9", 2, 8, 0, { { 10, 30 }, { 11, 2 }, { 12, 3 }, { 13, 31 } } },
    { "carve:dx=30", 3, 8, 0, { { 320, 240 }, { 33, 17 }, { 500, 66 }, { 61, 30 } } },
    { "carve:dy=40", 1, 16, 0, { { 240, 320 }, { 17, 33 }, { 66, 500 } } },
    { "carve:width=300,height=200",
      3,
      8,
      0,
      { { 320, 200 }, { 290, 200 }, { 300, 200 }, { 300, 90 } } },
    { "carve:dx=-4,dy=3", 1, 8, 0, { { 120, 90 }, { 400, 33 } } },
    { "carve:dx=-12,energy=sobel3",
      1,
      8,
      0,
      { { 33, 17 }, { 300, 4 }, { 361, 66 }, { 480, 40 }, { 1921, 35 }, { 640, 480 } } },
    { "carve:dx=-12,energy=sobel5",
      3,
      8,
      0,
      { { 33, 17 }, { 300, 4 }, { 361, 66 }, { 480, 40 }, { 1921, 35 }, { 640, 480 } } },
    { "carve:dy=-9,energy=sobel3", 4, 16, 0, { { 240, 320 }, { 66, 480 }, { 4, 482 } } },
    { "carve:dy=-9,energy=sobel5", 2, 8, 0, { { 240, 320 }, { 66, 480 }, { 4, 482 } } },
    { "carve:dx=-3,energy=sobel5", 1, 8, 0, { { 3840, 31 }, { 3841, 30 }, { 7680, 22 } } },
    { "carve:dx=-2,energy=sobel5", 1, 8, 0, { { 700, 4000 }, { 30, 11264 }, { 300, 1081 } } },
    { "carve:dx=9,dy=-5,energy=sobel5", 3, 8, 0, { { 120, 90 }, { 400, 33 }, { 66, 500 } } },
    { "carve:dx=9,dy=-5", 3, 8, 0, { { 120, 90 }, { 400, 33 }, { 66, 500 }, { 12, 40 } } },
    { "carve:dx=20,dy=30", 3, 16, 0, { { 33, 17 }, { 200, 361 }, { 470, 60 }, { 15, 9 } } },
    { "carve:width=100,height=200",
      1,
      8,
      0,
      { { 120, 90 }, { 80, 300 }, { 80, 90 }, { 100, 210 }, { 110, 200 }, { 100, 200 } } },
};

static const struct mix small_masked[] = {
    { "carve:dx=-4", 1, 8, VARIED, { { 33, 17 }, { 40, 2 }, { 361, 12 }, { 481, 33 } } },
    { "carve:dy=3", 3, 8, KEEP | REMOVE, { { 17, 33 }, { 12, 400 } } },
};

/* None goes alone: the blocks of those wait for each other, and racecheck makes that endless. */
static const struct mix tiny_masked = { "carve:dx=-2", 1, 8, KEEP, { { 33, 17 }, { 361, 12 } } };

/* The last one's seams are of a length at which masks go another way. */
static const struct mix masked[] = {
    { "carve:dx=-12",
      3,
      8,
      VARIED,
      { { 33, 17 },
        { 64, 33 },
        { 123, 66 },
        { 300, 2 },
        { 13, 42 },
        { 360, 200 },
        { 361, 60 },
        { 481, 40 },
        { 961, 37 } } },
    { "carve:dx=-12", 1, 8, KEEP, { { 361, 60 }, { 480, 40 }, { 481, 41 }, { 40, 61 } } },
    { "carve:dx=-12", 1, 8, REMOVE, { { 361, 60 }, { 480, 40 }, { 481, 41 }, { 40, 61 } } },
    { "carve:dx=-12", 1, 8, KEEP | REMOVE, { { 361, 60 }, { 480, 40 }, { 481, 41 }, { 40, 61 } } },
    { "carve:dy=-9", 4, 8, VARIED, { { 240, 320 }, { 66, 123 }, { 37, 961 }, { 2, 300 } } },
    { "carve:dx=30", 3, 16, VARIED, { { 320, 240 }, { 33, 17 }, { 200, 66 }, { 61, 30 } } },
    { "carve", 3, 8, VARIED, { { 64, 48 }, { 48, 64 }, { 120, 90 }, { 33, 17 }, { 400, 40 } } },
    { "carve:dx=-4,dy=3", 1, 8, VARIED, { { 120, 90 }, { 400, 33 } } },
    { "carve:dx=-3", 1, 8, VARIED, { { 1920, 36 }, { 3840, 31 }, { 3841, 30 }, { 600, 45 } } },
    { "carve:dx=-2", 1, 8, KEEP | ONE_TOO_SMALL, { { 60, 40 }, { 61, 41 } } },
    { "carve:dx=-2", 1, 8, VARIED, { { 30, 2400 }, { 30, 2401 } } },
};

static bool small, tiny;

static int sizes_of(const struct mix *mix) {
    int count = 0;
    while (count < SIZES_MAX && mix->sizes[count][0]) count++;
    return count;
}

/* Those of the image with this number. */
static int masks_of(const struct mix *mix, int number) {
    return mix->masks & VARIED ? number % 4 : mix->masks;
}

/* A block left of the middle for the mask that keeps, one right of it for the other; now and then
 * all, nothing, some pixels, or a line from side to side. */
static void draw_mask(const struct image *mask, int number) {
    const uint32_t w = mask->width, h = mask->height;
    const bool keeps = number % 2 == 0;
    uint32_t noise = (uint32_t)number + 1;
    for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < w; x++) {
            const uint32_t first = keeps ? w / 4 : w / 2 + 1;
            const bool block = x >= first && x < first + w / 8 + 1 && y >= h / 5;
            const int kind = number / 2 % 11;
            noise_next(&noise);
            const bool set = kind == 10  ? true
                             : kind == 8 ? false
                             : kind == 5 ? noise >> 24 < 12
                             : kind == 3 ? y == h / 2
                                         : block;
            image_row(mask, y)[x] = (uint8_t)(set ? 128 + (x + y) % 128 : (x * y) % 128);
        }
}

static int least_of(const struct mix *mix) {
    return strstr(mix->plan, "sobel") ? 2 * LEAST : LEAST;
}

/* The sizes again and again, until COUNT images. */
static void run_mix(const struct mix *mix, int count, enum content first) {
    struct failure failure = { 0 };
    struct job job = { .first_content = first, .draw_aux = draw_mask };
    const int sizes = sizes_of(mix);
    snprintf(job.name, sizeof job.name, "%s, %d images, content %d", mix->plan, count, first);
    if (plan_parse(&job.plan, mix->plan, &failure)) fail_msg("%s", failure.message);
    for (int i = 0; i < count; i++) {
        const uint32_t *size = mix->sizes[i % sizes];
        struct image shapes[PLAN_STEPS_MAX + 1];
        job.in[i] = image_shape(size[0], size[1], mix->channels, mix->depth);
        if (plan_shapes(&job.plan, &job.in[i], UINT64_C(1) << 31, shapes, &failure))
            fail_msg("%s: %s", job.name, failure.message);
        job.out[i] = shapes[1];
        job.in[i].stride = padded(&job.in[i], i % 2 ? ODD : NONE);
        for (int p = 0; p < OP_AUX_MAX; p++)
            if (masks_of(mix, i) >> p & 1)
                job.aux[i * OP_AUX_MAX + p] = image_shape(size[0], size[1], 1, 8);
        if (mix->masks & ONE_TOO_SMALL && i == 3) job.aux[i * OP_AUX_MAX].width--;
        job.count++;
    }
    compare(&job);
    /* The ways for one image report these parts, or `seams` for each image; together they are
     * reported once a phase. */
    int seams = 0;
    for (int i = 0; i < job.spans.span_count; i++) {
        if (strcmp(job.spans.spans[i].name, "trace") == 0) fail_msg("%s: not at once", job.name);
        seams += strcmp(job.spans.spans[i].name, "seams") == 0;
    }
    if (seams < 1 || seams >= count) fail_msg("%s: seams were searched %d times", job.name, seams);
}

static void test_mixes(void **state) {
    (void)state;
    const struct mix *list = small ? small_mixes : mixes;
    const size_t count = tiny    ? 1
                         : small ? sizeof small_mixes / sizeof *mixes
                                 : sizeof mixes / sizeof *mixes;
    for (size_t i = 0; i < count; i++) {
        run_mix(&list[i], tiny ? 6 : least_of(&list[i]), NOISE);
        if (small) continue;
        run_mix(&list[i], RUN_BATCH_MAX, GRADIENT);
        run_mix(&list[i], least_of(&list[i]) + 5, (enum content)(i % CONTENTS));
    }
}

static void test_masks(void **state) {
    (void)state;
    const struct mix *list = tiny ? &tiny_masked : small ? small_masked : masked;
    const size_t count = tiny    ? 1
                         : small ? sizeof small_masked / sizeof *masked
                                 : sizeof masked / sizeof *masked;
    for (size_t i = 0; i < count; i++) {
        run_mix(&list[i], tiny ? 6 : LEAST, NOISE);
        if (!small) run_mix(&list[i], RUN_BATCH_MAX, (enum content)(i % CONTENTS));
    }
}

static void test_full_hd(void **state) {
    (void)state;
    static const struct mix large[] = {
        { "carve:dx=-12", 3, 8, 0, { { 1920, 1080 }, { 1280, 720 } } },
        { "carve:dx=-3", 1, 8, 0, { { 3840, 2160 } } },
        { "carve:dx=-12,energy=sobel3", 1, 8, 0, { { 1920, 1080 } } },
        { "carve:dx=-3,energy=sobel5", 1, 8, 0, { { 1920, 1080 } } },
        { "carve:dx=-3", 1, 8, KEEP, { { 3840, 2160 } } },
        { "carve:dx=-3", 3, 8, VARIED, { { 1280, 720 } } }
    };
    if (small) skip();
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        run_mix(&large[i], least_of(&large[i]), NOISE);
}

/* ---- one image's client leaves; the others do not notice */

/* Leaves as soon as a seam is done, of 400. */
static void *leave(void *argument) {
    struct progress *progress = argument;
    const struct timespec nap = { 0, 100 * 1000 };
    while (!__atomic_load_n(&progress->done, __ATOMIC_RELAXED)) nanosleep(&nap, NULL);
    __atomic_store_n(&progress->cancelled, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void test_one_leaves(void **state) {
    (void)state;
    if (small) skip();
    struct failure failure = { 0 };
    struct plan plan;
    static struct run_item items[LEAST];
    static struct progress progress[LEAST];
    pthread_t thread;
    assert_int_equal(plan_parse(&plan, "carve:dx=-400", &failure), STATUS_OK);
    for (int i = 0; i < LEAST; i++) {
        items[i].in = image_shape(640, 480, 1, 8);
        items[i].progress = &progress[i];
    }
    assert_int_equal(run_reserve(lane, &plan, items, LEAST, UINT64_C(1) << 31, &failure),
                     STATUS_OK);
    for (int i = 0; i < LEAST; i++) fill(&items[i].in, NOISE, 5);
    pthread_create(&thread, NULL, leave, &progress[3]);
    assert_int_equal(run_batch(lane, &plan, items, LEAST, &failure), STATUS_OK);
    pthread_join(thread, NULL);
    assert_int_equal(items[3].failure.status, STATUS_CANCELLED);
    assert_true(progress[3].done < 400);
    for (int i = 0; i < LEAST; i++) {
        if (i == 3) continue;
        assert_int_equal(items[i].failure.status, STATUS_OK);
        assert_int_equal(progress[i].done, 400);
        assert_int_equal(image_digest(&items[i].out), image_digest(&items[0].out));
    }
}

/* ---- times */

static int by_value(const void *a, const void *b) {
    const double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

/* Milliseconds on the GPU, the median of some runs. */
static double median_ms(const struct mix *mix, int seams, int count, enum content content) {
    static struct run_item items[RUN_BATCH_MAX];
    struct failure failure = { 0 };
    struct timing timing = { .span_count = 0 };
    struct plan plan;
    double runs[5];
    char text[60];
    snprintf(text, sizeof text, "carve:dx=-%d,energy=%s", seams, mix->plan);
    memset(items, 0, sizeof items);
    assert_int_equal(plan_parse(&plan, text, &failure), STATUS_OK);
    for (int i = 0; i < count; i++) {
        items[i].in = image_shape(mix->sizes[0][0], mix->sizes[0][1], 1, 8);
        for (int p = 0; p < OP_AUX_MAX; p++)
            if (mix->masks >> p & 1) items[i].aux[p] = items[i].in;
    }
    items[0].timing = &timing;
    if (run_reserve(lane, &plan, items, count, UINT64_C(1) << 31, &failure))
        fail_msg("%s", failure.message);
    for (int i = 0; i < count; i++) {
        fill(&items[i].in, content, 99u + (unsigned)i);
        for (int p = 0; p < OP_AUX_MAX; p++)
            if (mix->masks >> p & 1) draw_mask(&items[i].aux[p], p);
    }
    for (int i = 0; i < 5; i++) {
        if (run_batch(lane, &plan, items, count, &failure)) fail_msg("%s", failure.message);
        runs[i] = timing.stage_ms[STAGE_COMPUTE];
    }
    qsort(runs, 5, sizeof *runs, by_value);
    return runs[2];
}

/* Between 10 and 110 seams, so that what a job costs once is left out. A ramp has equals
 * everywhere, so its seams go far to the left. */
static void test_times(void **state) {
    (void)state;
    static const struct mix timed[] = { { "gradient", .sizes = { { 320, 240 } } },
                                        { "gradient", .sizes = { { 1920, 1080 } } },
                                        { "gradient", .sizes = { { 1920, 1080 } }, .masks = KEEP },
                                        { "gradient", .sizes = { { 3840, 2160 } } },
                                        { "sobel3", .sizes = { { 1920, 1080 } } },
                                        { "sobel5", .sizes = { { 1920, 1080 } } } };
    for (size_t i = 0; i < 2 * sizeof timed / sizeof *timed; i++) {
        const struct mix *mix = &timed[i / 2];
        const enum content content = i % 2 ? GRADIENT : NOISE;
        const int count = mix->sizes[0][0] > 2000 ? LEAST : RUN_BATCH_MAX;
        const double few = median_ms(mix, 10, count, content);
        const double many = median_ms(mix, 110, count, content);
        print_message("%d of %ux%u by %s, %s, masks %d: %.1f us a seam of all\n", count,
                      mix->sizes[0][0], mix->sizes[0][1], mix->plan, i % 2 ? "ramp" : "noise",
                      mix->masks, (many - few) * 10);
    }
}

int main(int count, char **arguments) {
    const bool times = count > 1 && strcmp(arguments[1], "times") == 0;
    tiny = count > 1 && strcmp(arguments[1], "tiny") == 0;
    small = tiny || (count > 1 && strcmp(arguments[1], "small") == 0);
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to compare");
        return 77;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_mixes), cmocka_unit_test(test_masks),
                                        cmocka_unit_test(test_full_hd),
                                        cmocka_unit_test(test_one_leaves) };
    const struct CMUnitTest clock[] = { cmocka_unit_test(test_times) };
    return times ? cmocka_run_group_tests(clock, open_lane, close_lane)
                 : cmocka_run_group_tests(tests, open_lane, close_lane);
}
