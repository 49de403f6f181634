// SPDX-License-Identifier: Apache-2.0
/* Carving on the GPU against the reference: larger and odder images than every_op takes, masks,
 * growth, pictures of the seams, a batch, a client that leaves. `carve small` leaves out large
 * images, `carve times` only prints how long a seam takes. */
#include "pipeline/device.h"
#include "pipeline/ops/carve/definition.h"
#include "pipeline/plan.h"
#include "pipeline/run.h"
#include "tests/cuda/ops/carve_samples.h"
#include "tests/cuda/ops/carve_scratch.h"
#include "tests/noise.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { THREADS = 8, ALIGN = 256 };

static bool small;
static struct lane *lane;
static struct pool *pool;

/* ---- images */

static uint32_t next_random(uint32_t *state) {
    noise_next(state);
    return *state >> 8;
}

/* Smooth hills with some noise: seams of many lengths of run, few ties. */
static uint32_t hills(uint32_t x, uint32_t y, unsigned channel, uint32_t *state) {
    return (uint32_t)(128 + 100 * sin(0.011 * x + channel) * cos(0.017 * y)) +
           next_random(state) % 9;
}

/* Left dear early and cheap later, right the opposite, a wall between. Costs that are cut off at 16
 * bits would go left, where the true way is right. */
static uint32_t walled(const struct image *image, uint32_t x, uint32_t y, uint32_t *state) {
    const uint32_t width = image->width, height = image->height;
    const bool early = (y < height / 2 ? y : height - 1 - y) < 3 * height / 10;
    const bool dear = x < width / 3 ? early : x < 2 * width / 3 || !early;
    return !dear ? 0 : (x + y) % 2 ? 255 : next_random(state) % 40;
}

static void fill(const struct image *image, enum content content) {
    uint32_t state = 7;
    for (uint32_t y = 0; y < image->height; y++)
        for (uint32_t i = 0; i < image->width * image->channels; i++) {
            const uint32_t x = i / image->channels, channel = i % image->channels;
            const uint32_t level = content == NOISE      ? next_random(&state)
                                   : content == GRADIENT ? x * 40 / image->width + y
                                   : content == PHOTO    ? hills(x, y, channel, &state)
                                   : content == WALLED   ? walled(image, x, y, &state)
                                                         : 77;
            const uint16_t wide =
                (uint16_t)(257 * (level & 255) ^ (content == NOISE ? level >> 8 : 0));
            if (image->depth == 8)
                image_row(image, y)[i] = (uint8_t)level;
            else
                memcpy(image_row(image, y) + 2 * i, &wide, 2);
        }
}

/* A block left of the middle, or one right of it, of a pixel at least. */
static bool in_block(const struct image *mask, int which, uint32_t x, uint32_t y) {
    const uint32_t w = mask->width, h = mask->height;
    return which == 0 ? x > w / 4 && x < w * 2 / 5 && y > h / 5 && y < h / 2
                      : x >= w / 2 && x <= w * 3 / 4 - w / 8 && y >= h / 3;
}

static void fill_mask(const struct image *mask, int which, int masks) {
    uint32_t state = 11 + (uint32_t)which;
    for (uint32_t y = 0; y < mask->height; y++)
        for (uint32_t x = 0; x < mask->width; x++) {
            const uint32_t level = next_random(&state) % 100, marks = (uint32_t)masks & ~3u;
            const bool set = marks == 0        ? in_block(mask, which, x, y)
                             : marks == DENSE  ? level < 50
                             : marks == SPARSE ? level < 2
                             : marks == LINE   ? x == mask->width / 3 + y % 5 + (uint32_t)which
                                               : marks == ALL;
            image_row(mask, y)[x] = (uint8_t)(set ? 128 + (x + y) % 128 : (x * y) % 128);
        }
}

/* ---- jobs: a batch of one plan on both sides */

struct job {
    struct plan plan;
    int count;
    struct run_item items[8];
    struct progress progress;
    struct timing timing;
};

static void add(struct job *job, const struct sample *sample) {
    struct run_item *item = &job->items[job->count++];
    item->in = image_shape(sample->width, sample->height, sample->channels, sample->depth);
    for (int i = 0; i < 2; i++)
        if (sample->masks >> i & 1) item->aux[i] = image_shape(sample->width, sample->height, 1, 8);
    item->progress = &job->progress;
    item->timing = &job->timing;
}

static void reserve(struct job *job, const struct sample *sample) {
    struct failure failure = { 0 };
    if (run_reserve(lane, &job->plan, job->items, job->count, UINT64_C(1) << 31, &failure))
        fail_msg("%s: %s", sample->plan, failure.message);
    for (int i = 0; i < job->count; i++) {
        fill(&job->items[i].in, sample->content);
        for (int p = 0; p < 2; p++)
            if (job->items[i].aux[p].width) fill_mask(&job->items[i].aux[p], p, sample->masks);
    }
}

static struct job *make_job(const char *text) {
    struct failure failure = { 0 };
    struct job *job = calloc(1, sizeof *job);
    if (plan_parse(&job->plan, text, &failure)) fail_msg("%s: %s", text, failure.message);
    return job;
}

/* Digest of what the reference makes of the item. */
static uint64_t reference(const struct job *job, const struct run_item *item) {
    const struct op *op = job->plan.steps[0].op;
    struct failure failure = { 0 };
    struct op_call call = { .params = &job->plan.steps[0].params,
                            .in = item->in,
                            .out = item->out,
                            .pool = pool,
                            .failure = &failure };
    memcpy(call.aux, item->aux, sizeof call.aux);
    call.out.pixels = malloc(image_bytes(&call.out));
    call.scratch = aligned_alloc(ALIGN, (op->scratch(&call) + ALIGN) / ALIGN * ALIGN);
    if (op->run(&call)) fail_msg("reference: %s", failure.message);
    const uint64_t digest = image_digest(&call.out);
    free(call.scratch);
    free(call.out.pixels);
    return digest;
}

/* ---- scratch */

/* The first image's, without memory. */
static struct op_call first_call(const struct job *job) {
    const struct run_item *item = &job->items[0];
    struct op_call call = { .params = &job->plan.steps[0].params,
                            .in = item->in,
                            .out = item->out };
    memcpy(call.aux, item->aux, sizeof call.aux);
    return call;
}

static void check_scratch(const struct job *job, const struct sample *sample) {
    const struct op_call call = first_call(job);
    const double bytes = scratch_bytes(lane, &call), pixels = pixels_of(&call);
    if (shortest_of(&call) >= 480)
        print_message("%s on %ux%u: scratch %.2f bytes a pixel\n", sample->plan, sample->width,
                      sample->height, bytes / pixels);
    if (bytes > scratch_most(&call))
        fail_msg("%s on %ux%u: %.2f bytes a pixel", sample->plan, sample->width, sample->height,
                 bytes / pixels);
}

/* ---- against the reference */

/* The reference comes first: afterwards the masks are on the device. */
static void compare(struct job *job, const struct sample *sample) {
    struct failure failure = { 0 };
    uint64_t expected[sizeof job->items / sizeof *job->items];
    for (int i = 0; i < job->count; i++) expected[i] = reference(job, &job->items[i]);
    if (run_batch(lane, &job->plan, job->items, job->count, &failure))
        fail_msg("%s on %ux%u: %s", sample->plan, sample->width, sample->height, failure.message);
    for (int i = 0; i < job->count; i++)
        if (image_digest(&job->items[i].out) != expected[i])
            fail_msg("%s on %ux%u, %u x %u bit, content %d, masks %d: image %d differs",
                     sample->plan, job->items[i].in.width, job->items[i].in.height,
                     sample->channels, sample->depth, (int)sample->content, sample->masks, i);
}

static void walk(const struct sample *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct job *job = make_job(list[i].plan);
        add(job, &list[i]);
        reserve(job, &list[i]);
        check_scratch(job, &list[i]);
        compare(job, &list[i]);
        free(job);
    }
}

static void test_small(void **state) {
    (void)state;
    walk(small_samples, sizeof small_samples / sizeof *small_samples);
}

/* All kinds of masks in all ways; marks on all pixels cannot be cleared unless a side shrinks. */
static void test_masks(void **state) {
    (void)state;
    static const int sides[][2] = { { -19, 0 }, { 0, -33 }, { 23, 0 },
                                    { 9, -6 },  { 0, 21 },  { 0, 0 } };
    const int ways = sizeof sides / sizeof *sides, kinds = 3 * MARKS / 4;
    uint32_t random = 3;
    char text[64];
    for (int i = 0; i < (small ? kinds : 3 * kinds * ways); i++) {
        const int way = (i + i / kinds) % ways, marks = i / 3 % (MARKS / 4) * 4;
        struct sample sample = { text, 0, 0, 1, 8, i % 2 ? NOISE : PHOTO, 1 + i % 3 };
        snprintf(text, sizeof text, "carve:dx=%d,dy=%d,energy=%s%s", sides[way][0], sides[way][1],
                 i % 5 < 2 ? "sobel3" : "gradient", way < 2 && i % 4 == 0 ? ",show=map" : "");
        sample.masks |= way > 1 && marks == ALL ? SPARSE : marks;
        sample.width = 60 + next_random(&random) % 300;
        sample.height = 60 + next_random(&random) % 200;
        walk(&sample, 1);
    }
}

static void test_large(void **state) {
    (void)state;
    if (small) skip();
    walk(samples, sizeof samples / sizeof *samples);
}

static void test_batch(void **state) {
    (void)state;
    struct sample sample = { "carve:dx=-7,dy=-3", 0, 0, 3, 8, PHOTO, 0 };
    struct job *job = make_job(sample.plan);
    for (uint32_t i = 0; i < (small ? 2 : 6); i++) {
        sample.width = 20 + 97 * i;
        sample.height = 200 - 31 * i;
        add(job, &sample);
    }
    reserve(job, &sample);
    compare(job, &sample);
    free(job);
}

/* One image's mask leaves nothing: it fails, the others of its batch do not. */
static void test_mask_of_everything(void **state) {
    (void)state;
    const struct sample sample = { "carve:dx=3", 40, 30, 3, 8, PHOTO, REMOVE };
    struct failure failure = { 0 };
    struct job *job = make_job(sample.plan);
    for (int i = 0; i < 3; i++) add(job, &sample);
    reserve(job, &sample);
    const struct image *mask = &job->items[1].aux[1];
    memset(mask->pixels, 255, image_bytes(mask));
    const uint64_t expected = reference(job, &job->items[0]);
    assert_int_equal(run_batch(lane, &job->plan, job->items, 3, &failure), STATUS_OK);
    assert_int_equal(job->items[1].failure.status, STATUS_MISMATCH);
    assert_non_null(strstr(job->items[1].failure.message, "rmask marks too much"));
    for (int i = 0; i < 3; i += 2) {
        assert_int_equal(job->items[i].failure.status, STATUS_OK);
        assert_int_equal(image_digest(&job->items[i].out), expected);
    }
    free(job);
}

/* ---- a client that leaves */

static int64_t left_ns;

static void *leave(void *progress) {
    const struct timespec nap = { 0, 30 * 1000 * 1000 };
    nanosleep(&nap, NULL);
    left_ns = clock_ns();
    __atomic_store_n(&((struct progress *)progress)->cancelled, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void check_cancel(const char *plan, int masks) {
    const struct sample sample = { plan, 3840, 2160, 3, 8, PHOTO, masks };
    struct failure failure = { 0 };
    pthread_t thread;
    struct job *job = make_job(sample.plan);
    add(job, &sample);
    reserve(job, &sample);
    assert_int_equal(pthread_create(&thread, NULL, leave, &job->progress), 0);
    const enum status status = run_batch(lane, &job->plan, job->items, 1, &failure);
    const double ms = (double)(clock_ns() - left_ns) / 1e6;
    pthread_join(thread, NULL);
    print_message("%s: stopped %.1f ms after the client left, %u of %u seams done\n", plan, ms,
                  job->progress.done, job->progress.total);
    assert_int_equal(status, STATUS_CANCELLED);
    assert_true(job->progress.done > 0 && job->progress.done < job->progress.total);
    assert_true(ms < 50);
    free(job);
}

static void test_cancel(void **state) {
    (void)state;
    if (small) skip();
    check_cancel("carve:dx=-2500", 0);
    check_cancel("carve:dx=-1500,dy=-1000", 0);
    check_cancel("carve:dx=1500,dy=1000", 0);
    check_cancel("carve", REMOVE);
}

/* ---- times */

/* Milliseconds on the GPU, the least of some runs. */
static double least_ms(const char *text, const struct sample *sample) {
    double least = 1e9;
    struct job *job = make_job(text);
    add(job, sample);
    reserve(job, sample);
    for (int i = 0; i < 3; i++) {
        struct failure failure = { 0 };
        if (run_batch(lane, &job->plan, job->items, 1, &failure)) fail_msg("%s", failure.message);
        least = fmin(least, job->timing.stage_ms[STAGE_COMPUTE]);
    }
    const struct op_call call = first_call(job);
    print_message("    %-42s %9.3f ms, scratch %.2f bytes a pixel\n", text, least,
                  scratch_bytes(lane, &call) / pixels_of(&call));
    free(job);
    return least;
}

/* Between 10 and 110 seams, so that what a job costs once is left out. ACROSS and DOWN: the share
 * of them in either direction, in hundredths; REST: further parameters. */
static void print_seam(const struct sample *sample, int across, int down, const char *rest) {
    char few[96], many[96];
    snprintf(few, sizeof few, "carve:dx=%d,dy=%d%s", across / 10, down / 10, rest);
    snprintf(many, sizeof many, "carve:dx=%d,dy=%d%s", across * 11 / 10, down * 11 / 10, rest);
    const double first = least_ms(few, sample), second = least_ms(many, sample);
    print_message("%ux%u, masks %d: %.1f us a seam\n", sample->width, sample->height, sample->masks,
                  (second - first) * 10);
}

static void test_times(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = {
        { 512, 512 }, { 1024, 1024 }, { 1920, 1080 }, { 3840, 2160 }, { 7680, 4320 }
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct sample sample = { NULL, sizes[i][0], sizes[i][1], 3, 8, PHOTO, 0 };
        print_seam(&sample, -100, 0, "");
        print_seam(&sample, -50, -50, "");
        if (i != 2) continue;
        print_seam(&sample, 0, -100, "");
        print_seam(&sample, -100, 0, ",energy=sobel5");
        print_seam(&sample, 100, 0, "");
        print_seam(&sample, -100, 0, ",energy=forward");
        print_seam(&sample, -100, 0, ",energy=sobel5,rigidity=9");
        for (sample.masks = KEEP; sample.masks <= (KEEP | REMOVE); sample.masks++) {
            print_seam(&sample, -100, 0, ",show=map");
            print_seam(&sample, -100, 0, ",show=map,energy=sobel3");
            least_ms("carve", &sample);
        }
        sample.masks = KEEP | REMOVE;
        print_seam(&sample, -50, -50, "");
    }
}

static int open_lane(void **state) {
    (void)state;
    struct failure failure = { 0 };
    const struct lane_options options = { .staging_bytes = 64 << 20, .arena_bytes = 256 << 20 };
    pool = pool_create(THREADS);
    if (pool && device_cuda.open(0, &options, &lane, &failure) == STATUS_OK) return 0;
    print_error("%s\n", failure.message);
    return 1;
}

static int close_lane(void **state) {
    (void)state;
    device_cuda.close(lane);
    pool_destroy(pool);
    return 0;
}

int main(int count, char **arguments) {
    const bool times = count > 1 && strcmp(arguments[1], "times") == 0;
    small = count > 1 && strcmp(arguments[1], "small") == 0;
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to compare");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_mask_of_everything),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_cancel),
    };
    const struct CMUnitTest clock[] = { cmocka_unit_test(test_times) };
    return times ? cmocka_run_group_tests(clock, open_lane, close_lane)
                 : cmocka_run_group_tests(tests, open_lane, close_lane);
}
