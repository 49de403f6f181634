// SPDX-License-Identifier: Apache-2.0
/* carve's map of seams: by hand; for every width the picture that follows from the map equals a
 * carving to that width, for every kind of picture, in both directions, with masks; so does the
 * picture that carve makes when given the map; no map makes carve write behind a row; refusals.
 * covers: pipeline/ops/carve/retarget.c */
#include "pipeline/rows/simd.h"
#include "tests/pipeline/ops/carve_case.h"
#include "tests/pipeline/ops/table.h"

/* ---- by hand */

/* With energies 153, 0, 153, 0 column 1 goes first. In 0 90 0 the last costs nothing: column 3. In
 * 0 90 the second does again: column 2. */
static void rows_by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 90, 90, 0, 0, 90, 90, 0 };
    const uint16_t none[8] = { 0 }, one[] = { 0, 1, 0, 0, 0, 1, 0, 0 };
    const uint16_t two[] = { 0, 1, 0, 2, 0, 1, 0, 2 }, three[] = { 0, 1, 3, 2, 0, 1, 3, 2 };
    check_table("carve:show=map", image_shape(4, 2, 1, 8), in, 1, none);
    check_table("carve:dx=-1,show=map", image_shape(4, 2, 1, 8), in, 1, one);
    check_table("carve:width=2,show=map", image_shape(4, 2, 1, 8), in, 1, two);
    check_table("carve:dx=2,show=map", image_shape(4, 2, 1, 8), in, 1, two);
    check_table("carve:width=1,show=map", image_shape(4, 2, 1, 8), in, 1, three);
}

/* The same on its side, opaque. */
static void columns_by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 255, 0, 255, 90, 255, 90, 255, 90, 255, 90, 255, 0, 255, 0, 255 };
    const uint16_t one[] = { 0, 0, 1, 1, 0, 0, 0, 0 }, three[] = { 0, 0, 1, 1, 3, 3, 2, 2 };
    check_table("carve:dy=1,show=map", image_shape(2, 4, 2, 8), in, 1, one);
    check_table("carve:height=1,show=map", image_shape(2, 4, 2, 8), in, 1, three);
}

/* Energies 297 56 136 and 0 136 0: from the middle of the first row to the smaller column of two
 * that cost nothing. What is left, 200 90 and 90 10, has 354 136 and 136 0. */
static void a_slanted_seam(void **state) {
    (void)state;
    const uint8_t in[] = { 200, 90, 90, 90, 90, 10 };
    const uint8_t grown[] = { 200, 90, 127, 90, 90, 90, 90, 10 };
    const uint16_t map[] = { 0, 1, 2, 1, 0, 2 };
    check_table("carve:dx=-2,show=map", image_shape(3, 2, 1, 8), in, 1, map);
    check_table("carve:dx=1", image_shape(3, 2, 1, 8), in, 1, grown);
}

/* ---- every width that a map says is the carving to it */

static uint32_t number_at(const struct image *map, uint32_t x, uint32_t y) {
    return sample_get(image_row(map, y), x, 16);
}

struct pixel {
    uint32_t sample[4];
};

static struct pixel pixel_of(const struct image *image, bool turned, uint32_t line, uint32_t at) {
    const uint32_t x = turned ? line : at, y = turned ? at : line;
    struct pixel pixel = { { 0 } };
    for (unsigned c = 0; c < image->channels; c++)
        pixel.sample[c] =
            sample_get(image_row(image, y), (size_t)x * image->channels + c, image->depth);
    return pixel;
}

/* Pixel AT of LINE of OUT is WANTED. */
static void check_pixel(const struct carve_case *job, const struct image *out, bool turned,
                        uint32_t line, uint32_t at, struct pixel wanted) {
    const struct pixel got = pixel_of(out, turned, line, at);
    if (memcmp(&got, &wanted, sizeof got) != 0)
        fail_msg("%ux%u, %u x %u bit, dx %ld, dy %ld, energy %ld: line %u, place %u", job->in.width,
                 job->in.height, job->in.channels, job->in.depth, job->params.number[CARVE_DX],
                 job->params.number[CARVE_DY], job->params.number[CARVE_ENERGY], line, at);
}

static uint32_t within(long place, uint32_t length) {
    return place < 0 ? 0 : place < (long)length ? (uint32_t)place : length - 1;
}

static struct pixel mean_at(const struct image *in, bool turned, uint32_t line, uint32_t at,
                            uint32_t length) {
    const unsigned last = in->channels - 1u; /* alpha, with 2 and 4 channels */
    struct pixel mean = { { 0 } };
    double sums[4] = { 0 }, weights = 0, alpha = 0;
    for (int d = -1; d <= 1; d++)
        alpha += pixel_of(in, turned, line, within((long)at + d, length)).sample[last];
    for (int d = -1; d <= 1; d++) {
        const struct pixel one = pixel_of(in, turned, line, within((long)at + d, length));
        const double weight = last % 2 && alpha > 0 ? one.sample[last] : 1;
        for (int c = 0; c < 4; c++) sums[c] += weight * one.sample[c];
        weights += weight;
    }
    for (int c = 0; c < 4; c++) mean.sample[c] = (uint32_t)(sums[c] / weights + 0.5);
    if (last % 2) mean.sample[last] = (uint32_t)(alpha / 3 + 0.5);
    return mean;
}

/* A line of OUT, K seams shorter or longer, as MAP says. */
static void check_line(const struct carve_case *job, const struct image *map,
                       const struct image *out, bool turned, uint32_t line, long change) {
    const struct image *in = &job->in;
    const uint32_t length = turned ? in->height : in->width;
    const uint32_t k = (uint32_t)labs(change);
    uint32_t to = 0;
    for (uint32_t at = 0; at < length; at++) {
        const uint32_t number = turned ? number_at(map, line, at) : number_at(map, at, line);
        const bool crossed = number > 0 && number <= k;
        if (crossed && change < 0) continue;
        check_pixel(job, out, turned, line, to++, pixel_of(in, turned, line, at));
        if (crossed)
            check_pixel(job, out, turned, line, to++, mean_at(in, turned, line, at, length));
    }
    assert_int_equal(to, (long)length + change);
}

/* Carve itself, given the map, with INSTRUCTIONS. */
static struct image retargeted(struct carve_case *job, const struct image *map, uint32_t width,
                               enum simd instructions) {
    struct failure failure = { 0 };
    struct image made = padded(image_shape(width, job->in.height, job->in.channels, job->in.depth));
    struct op_call call = call_of(job, made, &failure);
    call.common = *map;
    simd_limit(instructions);
    assert_int_equal(carve()->scratch(&call), 0);
    assert_int_equal(carve()->run(&call), STATUS_OK);
    simd_limit(SIMD_BEST);
    return made;
}

/* It writes OUT too, and no further. */
static void check_retarget(struct carve_case *job, const struct image *map,
                           const struct image *out) {
    for (int instructions = SIMD_NONE; instructions <= SIMD_BEST; instructions++) {
        struct image made = retargeted(job, map, out->width, (enum simd)instructions);
        assert_memory_equal(made.pixels, out->pixels, image_bytes(out));
        free(made.pixels);
    }
}

static void check_change(struct carve_case *job, const struct image *map, bool turned,
                         long change) {
    goal(job, turned ? 0 : change, turned ? change : 0);
    job->params.number[CARVE_SHOW] = CARVE_SHOW_RESULT;
    struct image out = run(job);
    const uint32_t lines = turned ? job->in.width : job->in.height;
    for (uint32_t line = 0; line < lines; line++) check_line(job, map, &out, turned, line, change);
    if (!turned) check_retarget(job, map, &out);
    free(out.pixels);
}

/* The least number of seams that make the same with the map as carving does: with rmask those that
 * cross a marked pixel; more than the map's LENGTH where they do not cross all. */
static long least_served(const struct carve_case *job, const struct image *map, uint32_t length) {
    const struct image *remove = &job->aux[CARVE_REMOVE];
    uint32_t least = 0;
    for (uint32_t y = 0; y < remove->height; y++)
        for (uint32_t x = 0; x < remove->width; x++) {
            const uint32_t number = number_at(map, x, y);
            if (image_row(remove, y)[x] < CARVE_MASK_LEVEL) continue;
            if (!number) return (long)length + 1;
            least = number > least ? number : least;
        }
    return (long)least;
}

/* All changes that one map of the most seams serves, STEP apart. */
static void check_map(struct carve_case *job, bool turned, uint32_t seams, uint32_t step) {
    const uint32_t length = turned ? job->in.height : job->in.width;
    const long most = (long)seams;
    goal(job, turned ? 0 : -most, turned ? -most : 0);
    job->params.number[CARVE_SHOW] = CARVE_SHOW_MAP;
    struct image map = run(job);
    assert_int_equal(map.width, job->in.width);
    assert_int_equal(map.height, job->in.height);
    assert_int_equal(map.channels, 1);
    assert_int_equal(map.depth, 16);
    const long least = least_served(job, &map, length);
    for (long k = 0; k <= most; k += (long)step) {
        if (k >= least) check_change(job, &map, turned, -k);
        if (!least && k <= (long)carve_grow_most(length)) check_change(job, &map, turned, k);
    }
    free(map.pixels);
}

static void check_kinds(uint32_t width, uint32_t height, unsigned channels, unsigned depth,
                        enum picture picture, uint32_t step) {
    for (int kind = 0; kind < 3 * 4 * 2; kind++) {
        const bool turned = kind % 2;
        const uint32_t length = turned ? height : width;
        struct carve_case job = job_make(width, height, channels, depth, picture);
        job.params.number[CARVE_ENERGY] = kind / 8;
        if (kind & 2) add_mask(&job, CARVE_KEEP, width + 3, 3, 4);
        if (kind & 4) add_mask(&job, CARVE_REMOVE, height + 5, 2, 5);
        check_map(&job, turned, length - 1, step);
        job_free(&job);
    }
}

static void every_width_is_the_carving(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 1, 1 }, { 1, 17 }, { 19, 1 }, { 2, 2 }, { 13, 42 } };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned kind = 0; kind < 8; kind++)
            check_kinds(sizes[s][0], sizes[s][1], 1 + kind % 4, kind < 4 ? 8 : 16,
                        (enum picture)(kind % PICTURES), 1);
    check_kinds(123, 66, 3, 8, PICTURE_NOISE, 13);
}

/* Several threads make the same map. */
static void long_rows_and_columns(void **state) {
    (void)state;
    struct carve_case wide = job_make(4097, 3, 3, 8, PICTURE_NOISE);
    wide.pool = pool_create(3);
    check_map(&wide, false, 300, 60);
    check_map(&wide, true, 2, 1);
    pool_destroy(wide.pool);
    job_free(&wide);
    struct carve_case high = job_make(260, 270, 2, 16, PICTURE_GRADIENT);
    high.pool = pool_create(2);
    check_map(&high, true, 150, 30);
    check_map(&high, false, 150, 30);
    pool_destroy(high.pool);
    job_free(&high);
}

/* Three pixels for each sum that they can have, and a seam through the middle one: MOST of them in
 * a row, all of SUMS. */
static void check_means(unsigned depth, uint32_t sums, uint32_t most) {
    const uint32_t rows = (sums + most - 1) / most, level = depth == 8 ? 255 : 65535;
    struct carve_case job = job_make(3 * most, rows, 1, depth, PICTURE_BLACK);
    struct image map = padded(image_shape(3 * most, rows, 1, 16));
    memset(map.pixels, 0, image_bytes(&map));
    for (uint32_t i = 0; i < rows * most; i++) {
        uint32_t sum = i % sums;
        for (uint32_t p = 0; p < 3; p++) {
            const uint32_t sample = sum < level ? sum : level;
            sample_put(image_row(&job.in, i / most), i % most * 3 + (p + i) % 3, depth, sample);
            sum -= sample;
        }
        sample_put(image_row(&map, i / most), i % most * 3 + 1, 16, i % most + 1);
    }
    goal(&job, (long)most, 0);
    struct image out = retargeted(&job, &map, 4 * most, SIMD_BEST);
    for (uint32_t i = 0; i < rows * most; i++) {
        const uint32_t got = sample_get(image_row(&out, i / most), i % most * 4 + 2, depth);
        if (got != (2 * (i % sums) + 3) / 6) fail_msg("a sum of %u has the mean %u", i % sums, got);
    }
    free(out.pixels);
    free(map.pixels);
    job_free(&job);
}

static void every_mean(void **state) {
    (void)state;
    check_means(8, 3 * 255 + 1, 400);
    check_means(16, 3 * 65535 + 1, 10000);
}

/* A side of one pixel grows by one. */
static void the_only_column(void **state) {
    (void)state;
    struct carve_case job = job_make(1, 7, 3, 8, PICTURE_NOISE);
    goal(&job, 1, 0);
    job.params.number[CARVE_SHOW] = CARVE_SHOW_MAP;
    struct image map = run(&job);
    for (uint32_t y = 0; y < 7; y++) assert_int_equal(number_at(&map, 0, y), 1);
    check_change(&job, &map, false, 1);
    free(map.pixels);
    job_free(&job);
}

/* ---- maps that do not fit */

/* A search that was broken off numbers fewer seams than the width changes by; one that numbers more
 * would make too many pixels. Neither way is there a byte behind the row. */
static void check_room(struct carve_case *job, uint16_t numbers, uint32_t width) {
    struct image map = padded(image_shape(job->in.width, job->in.height, 1, 16));
    for (uint32_t y = 0; y < map.height; y++)
        for (uint32_t x = 0; x < map.width; x++) sample_put(image_row(&map, y), x, 16, numbers);
    for (int instructions = SIMD_NONE; instructions <= SIMD_BEST; instructions++) {
        struct image out = retargeted(job, &map, width, (enum simd)instructions);
        for (uint32_t y = 0; y < out.height; y++)
            for (int i = 0; i < PADDING; i++)
                assert_int_equal(image_row(&out, y)[image_row_bytes(&out) + (size_t)i], FILL);
        free(out.pixels);
    }
    free(map.pixels);
}

static void no_map_leaves_the_row(void **state) {
    (void)state;
    static const uint32_t widths[] = { 1, 7, 70, 300 };
    for (unsigned kind = 0; kind < 8; kind++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            struct carve_case job =
                job_make(widths[w], 3, 1 + kind % 4, kind < 4 ? 8 : 16, PICTURE_NOISE);
            for (uint16_t numbers = 0; numbers < 2; numbers++) {
                check_room(&job, numbers, (widths[w] + 2) / 3);
                check_room(&job, numbers, widths[w] + 1);
            }
            job_free(&job);
        }
}

/* ---- refused, stopped */

static void refuse(const char *plan_text, const char *part) {
    struct plan plan;
    struct failure failure = { 0 };
    struct image shapes[PLAN_STEPS_MAX + 1], in = image_shape(64, 1, 3, 8);
    assert_int_equal(plan_parse(&plan, plan_text, &failure), STATUS_OK);
    assert_int_equal(plan_shapes(&plan, &in, UINT64_C(1) << 32, shapes, &failure),
                     STATUS_BAD_PARAM);
    if (!strstr(failure.message, part)) fail_msg("%s: %s", plan_text, failure.message);
}

static void wrong_maps_are_refused(void **state) {
    (void)state;
    refuse("carve:dx=-3,dy=1,show=map", "one direction only");
    refuse("carve:dx=33,show=map", "64 pixels wide can grow by at most 32, not 33");
    refuse("carve:height=3,show=map", "1 pixel high can grow by at most 1, not 2");
    refuse("carve:dx=-64,show=map", "dx must be -63..");
}

static void a_client_that_leaves(void **state) {
    (void)state;
    struct progress progress = { .cancelled = 1 };
    struct carve_case job = job_make(40, 30, 3, 8, PICTURE_NOISE);
    struct image out;
    job.progress = &progress;
    job.params.number[CARVE_SHOW] = CARVE_SHOW_MAP;
    for (long dx = -3; dx <= 0; dx += 3) {
        goal(&job, dx, 0);
        assert_int_equal(try_run(&job, &out), STATUS_CANCELLED);
        free(out.pixels);
    }
    job_free(&job);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_by_hand),
        cmocka_unit_test(columns_by_hand),
        cmocka_unit_test(a_slanted_seam),
        cmocka_unit_test(every_width_is_the_carving),
        cmocka_unit_test(long_rows_and_columns),
        cmocka_unit_test(the_only_column),
        cmocka_unit_test(every_mean),
        cmocka_unit_test(no_map_leaves_the_row),
        cmocka_unit_test(wrong_maps_are_refused),
        cmocka_unit_test(a_client_that_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
