// SPDX-License-Identifier: Apache-2.0
/* carve against tables computed by hand; its masks, sizes, memory, progress and how it stops.
 * covers: pipeline/ops/carve/context.c
 * covers: pipeline/arena.h */
#include "pipeline/rows/simd.h"
#include "tests/pipeline/ops/carve_case.h"
#include "tests/pipeline/ops/table.h"

#include <pthread.h>

/* ---- energies by hand */

/* show=energy of a gray image of 3 x 3. */
static void check_energy(const char *plan, const uint8_t *in, const uint8_t *out) {
    check_8(plan, 3, 3, 1, in, 1, out);
}

/* Right, lower and across: at the first pixel |10 - 14|, |10 - 13|, |10 - 20| * 0.7071 = 7. In the
 * last column the right neighbour is the pixel itself and across is below; in the last row across
 * is right: 235 + 0 + 166 is shown as 255. */
static void gradient_by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 10, 14, 30, 13, 20, 20, 0, 255, 20 };
    const uint8_t out[] = { 4 + 3 + 7, 16 + 6 + 4, 0 + 10 + 7, 7 + 13 + 171, 0 + 235 + 0, 0 + 0 + 0,
                            255,       255,        0 };
    check_energy("carve:show=energy", in, out);
    simd_limit(SIMD_NONE);
    check_energy("carve:show=energy", in, out);
    simd_limit(SIMD_BEST);
}

/* An edge of 20 between the last two columns: gx = 4 * 20 beside it, 0 elsewhere; a slope of 5 down
 * the rows and 3 to the right: gx = 8 * 3 = 24, gy = 8 * 5 = 40 in the middle, root of 2176 = 46;
 * on the border one difference is half. */
static void sobel3_by_hand(void **state) {
    (void)state;
    const uint8_t edge[] = { 7, 7, 27, 7, 7, 27, 7, 7, 27 };
    const uint8_t edges[] = { 0, 80, 80, 0, 80, 80, 0, 80, 80 };
    check_energy("carve:show=energy,energy=sobel3", edge, edges);
    const uint8_t slope[] = { 0, 3, 6, 5, 8, 11, 10, 13, 16 };
    /* corners: gx = 12, gy = 20: 23; sides: (24, 20): 31; (12, 40): 41 */
    const uint8_t slopes[] = { 23, 31, 23, 41, 46, 41, 23, 31, 23 };
    check_energy("carve:show=energy,energy=sobel3", slope, slopes);
}

/* One pixel of 1 in the middle of 0: taps of (1 4 6 4 1) x (-1 -2 0 2 1), of which the border folds
 * the outer two into one, so that each pixel sees the middle once. Beside it (4 or 6 across) * 2:
 * corners 4 * 2 twice: root of 128 = 11, sides 6 * 2 = 12. */
static void sobel5_by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 0, 0, 0, 1, 0, 0, 0, 0 };
    const uint8_t out[] = { 11, 12, 11, 12, 0, 12, 11, 12, 11 };
    check_energy("carve:show=energy,energy=sobel5", in, out);
}

/* Over 255 is 255; 16 bit times 257; alpha stays. */
static void energy_is_shown_clamped(void **state) {
    (void)state;
    const uint8_t gray[] = { 0, 255, 255, 8 }, shown[] = { 255, 255, 0, 8 };
    check_8("carve:show=energy", 2, 1, 2, gray, 2, shown);
    const uint16_t deep[] = { 0x0100, 0x01ff, 0x0102, 65535, 0x0300, 0x0399, 0x0320, 65535 };
    const uint16_t drawn[] = { (2 + 1) * 257, 65535, 0,
                               65535 }; /* luma 1 and 3: 2, 0 and 2 * 0.7 */
    check_16("carve:show=energy", 2, 1, 4, deep, 2, drawn);
}

/* ---- seams by hand */

/* Between 90 and 90 nothing changes, nor at the end: of energies 153, 0, 153, 0 the leftmost least
 * goes. */
static void the_flat_column_goes(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 90, 90, 0, 0, 90, 90, 0, 0, 90, 90, 0 };
    const uint8_t out[] = { 0, 90, 0, 0, 90, 0, 0, 90, 0 };
    check_8("carve:dx=-1", 4, 3, 1, in, 1, out);
    check_8("carve:width=3", 4, 3, 1, in, 1, out);
    const uint8_t red[] = { 0, 0, 0, 255, 0, 0, 90, 90, 90, 0, 0, 0 };
    check_8("carve:width=3,show=seams", 4, 1, 1, in, 3, red);
}

/* Energies 0, 0, 17, 0: a new pixel right of column 0, (10 + 10 + 10) / 3. Energies 17, 0: right of
 * column 1, (10 + 20 + 20) / 3 = 16.7. */
static void growth_by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 10, 10, 10, 20 }, out[] = { 10, 10, 10, 10, 20 };
    check_8("carve:dx=1", 4, 1, 1, in, 1, out);
    const uint8_t step[] = { 10, 20 }, grown[] = { 10, 20, 17 };
    check_8("carve:dx=1", 2, 1, 1, step, 1, grown);
    const uint8_t one[] = { 77 }, many[] = { 77, 77, 77, 77, 77, 77 };
    check_8("carve:width=3,height=2", 1, 1, 1, one, 1, many);
}

/* ---- masks */

static uint32_t count_of(const struct image *image, uint8_t level) {
    uint32_t count = 0;
    for (uint32_t y = 0; y < image->height; y++)
        for (uint32_t x = 0; x < image->width; x++) count += image_row(image, y)[x] == level;
    return count;
}

/* A block of 255 in noise below 250, and a mask over it. */
static struct carve_case block_job(int place) {
    struct carve_case job = job_make(60, 40, 1, 8, PICTURE_NOISE);
    job.aux[place] = padded(image_shape(60, 40, 1, 8));
    for (uint32_t y = 0; y < 40; y++)
        for (uint32_t x = 0; x < 60; x++) {
            const bool inside = x >= 20 && x < 30 && y >= 8 && y < 30;
            uint8_t *pixel = image_row(&job.in, y) + x;
            *pixel = inside ? 255 : (uint8_t)(*pixel % 250);
            image_row(&job.aux[place], y)[x] = inside ? 255 : 0;
        }
    return job;
}

static uint32_t block_left(int place, long dx, long dy) {
    struct carve_case job = block_job(place);
    goal(&job, dx, dy);
    struct image out = run(&job);
    const uint32_t left = count_of(&out, 255);
    free(out.pixels);
    job_free(&job);
    return left;
}

/* Flat and cheap, the block would go first; kept, it stays while there is a way round it. */
static void kept_pixels_stay(void **state) {
    (void)state;
    assert_int_equal(block_left(CARVE_KEEP, -45, 0), 10 * 22);
    assert_int_equal(block_left(CARVE_KEEP, 0, -17), 10 * 22);
    assert_int_equal(block_left(CARVE_KEEP, -20, -10), 10 * 22);
    assert_true(block_left(CARVE_KEEP, -51, 0) < 10 * 22);
}

static void removed_pixels_go(void **state) {
    (void)state;
    assert_int_equal(block_left(CARVE_REMOVE, -10, 0), 0);
    assert_int_equal(block_left(CARVE_REMOVE, 0, -22), 0);
    assert_int_equal(block_left(CARVE_REMOVE, -12, -24), 0);
    assert_true(block_left(CARVE_REMOVE, -5, -3) > 0); /* the seams asked for, no more */
}

/* A block of 10 columns and 22 rows takes 10 vertical seams; as many are put back, or what else is
 * asked for. Without them its pixels would be doubled. */
static void removed_pixels_go_before_growth(void **state) {
    (void)state;
    static const long changes[][2] = { { 0, 0 }, { -9, 0 }, { 0, -3 }, { 9, 0 },  { 0, 7 },
                                       { 5, 4 }, { -2, 9 }, { 9, -1 }, { 60, 50 } };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        assert_int_equal(block_left(CARVE_REMOVE, changes[i][0], changes[i][1]), 0);
}

/* COLUMNS and ROWS of a corner are marked; 0: the request is refused. */
static uint32_t seams_to_clear(long columns, long rows, long dx, long dy) {
    struct progress progress = { 0 };
    struct carve_case job = job_make(30, 20, 3, 8, PICTURE_NOISE);
    struct image out;
    job.progress = &progress;
    job.aux[CARVE_REMOVE] = padded(image_shape(30, 20, 1, 8));
    for (uint32_t y = 0; y < 20; y++)
        for (uint32_t x = 0; x < 30; x++)
            image_row(&job.aux[CARVE_REMOVE], y)[x] = x < columns && y < rows ? 128 : 127;
    goal(&job, dx, dy);
    const enum status status = try_run(&job, &out);
    assert_true(status == STATUS_OK || status == STATUS_MISMATCH);
    if (!status) assert_int_equal(progress.done, progress.total);
    free(out.pixels);
    job_free(&job);
    return status ? 0 : progress.done;
}

/* Seams that go, and seams that come back, for the direction with fewer; a side that shrinks gives
 * it. */
static void the_direction_with_fewer_seams_clears(void **state) {
    (void)state;
    assert_int_equal(seams_to_clear(4, 9, 0, 0), 4 + 4);
    assert_int_equal(seams_to_clear(9, 4, 0, 0), 4 + 4);
    assert_int_equal(seams_to_clear(3, 3, -1, 0), 3 + 2);
    assert_int_equal(seams_to_clear(9, 4, -1, 0), 9 + 8); /* it is the width that shrinks */
    assert_int_equal(seams_to_clear(4, 9, 0, -2), 9 + 7);
    assert_int_equal(seams_to_clear(4, 9, -7, 0), 7);
    assert_int_equal(seams_to_clear(4, 9, -1, -1), 2);
    assert_int_equal(seams_to_clear(30, 9, 0, 0), 9 + 9);
    assert_int_equal(seams_to_clear(9, 20, 0, 0), 9 + 9);
    assert_int_equal(seams_to_clear(30, 9, -2, 0), 2); /* no vertical seam can do it */
    assert_int_equal(seams_to_clear(0, 0, 0, 0), 0);
    assert_int_equal(seams_to_clear(30, 20, 0, 0), 0);
    assert_int_equal(seams_to_clear(30, 20, -2, -1), 3);
}

static void masks_of_another_size_are_refused(void **state) {
    (void)state;
    struct carve_case job = job_make(60, 40, 1, 8, PICTURE_NOISE);
    job.aux[CARVE_REMOVE] = padded(image_shape(40, 60, 1, 8));
    goal(&job, -1, 0);
    struct image out;
    assert_int_equal(try_run(&job, &out), STATUS_MISMATCH);
    free(out.pixels);
    job_free(&job);
}

/* ---- sizes */

static void refuse(const char *plan_text, const char *part) {
    struct plan plan;
    struct failure failure = { 0 };
    struct image shapes[PLAN_STEPS_MAX + 1], in = image_shape(1920, 1080, 3, 8);
    assert_int_equal(plan_parse(&plan, plan_text, &failure), STATUS_OK);
    assert_int_not_equal(plan_shapes(&plan, &in, UINT64_C(1) << 32, shapes, &failure), STATUS_OK);
    if (!strstr(failure.message, part)) fail_msg("%s: %s", plan_text, failure.message);
}

static void wrong_sizes_are_refused(void **state) {
    (void)state;
    refuse("carve:dx=-1920",
           "carve: dx must be -1919..63615 for an image 1920 pixels wide, not -1920");
    refuse("carve:dy=64456",
           "carve: dy must be -1079..64455 for an image 1080 pixels high, not 64456");
    refuse("carve:width=100,dx=0", "width or dx");
    refuse("carve:width=100,dx=-3", "width or dx");
    refuse("carve:height=1080,dy=5,show=energy", "height or dy");
    refuse("carve:width=20000,show=seams", "width, height, dx and dy may ask for at most 2 times");
    refuse("carve:dy=1081,show=seams", "or 1048576 in all; 1920 x 1080 to 1920 x 2161 is more");
}

/* Bytes of scratch for each pixel of the input or, where that has more, of what is carved to. */
static double scratch_a_pixel(const struct carve_case *job, long width, long height) {
    struct carve_case wanted = *job;
    wanted.params.number[CARVE_WIDTH] = width;
    wanted.params.number[CARVE_HEIGHT] = height;
    const struct op_call call = call_of(&wanted, job->in, NULL);
    const double in = (double)image_pixels(&job->in), out = (double)width * (double)height;
    return (double)carve()->scratch(&call) / (in > out ? in : out);
}

enum { KINDS = 2 * 3 * 3 * 4 * 2 };

/* A job of WIDTH x HEIGHT: energy, what it shows, masks, channels and depth by KIND < KINDS. */
static struct carve_case job_of_kind(uint32_t width, uint32_t height, int kind) {
    struct carve_case job = { .in = image_shape(width, height, 1 + kind / 18 % 4u,
                                                kind < 72 ? 8 : 16) };
    params_init(&job.params, carve()->params);
    job.params.number[CARVE_ENERGY] = kind % 3;
    job.params.number[CARVE_SHOW] = kind / 3 % 2;
    for (int part = 0; part < kind / 6 % 3; part++)
        job.aux[part] = image_shape(width, height, 1, 8);
    return job;
}

enum { GOALS = 10 };

/* Goals of a side: nearly nothing, less, one less, itself, more, the most, as long as the other. */
static long goal_of(uint32_t side, uint32_t other, int choice) {
    const long goals[GOALS] = { 1,        side / 8,  side / 2,  side - 1, side,
                                side + 1, 2L * side, 8L * side, 65535,    other };
    return goals[choice] < 65535 ? goals[choice] : 65535;
}

/* Bytes a pixel, as definition.h says. */
static double bound_of(const struct carve_case *job) {
    const bool seams = job->params.number[CARVE_SHOW] == CARVE_SHOW_SEAMS;
    return 16 + (job->aux[CARVE_REMOVE].width > 0) +
           (seams && image_has_alpha(&job->in) ? job->in.depth / 8 : 0);
}

/* The bound of definition.h holds where no side is short. Every third case is tried: PAIRS is no
 * multiple of 3, so each kind meets other pairs than the kind before. */
static void scratch_is_within_16_or_17_bytes_a_pixel(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = { { 640, 480 },   { 480, 640 },   { 1920, 1080 },
                                         { 1081, 1919 }, { 4000, 3000 }, { 8192, 8192 },
                                         { 46747, 161 }, { 160, 65535 }, { 160, 160 },
                                         { 255, 257 },   { 224, 224 },   { 223, 65535 } };
    enum { PAIRS = GOALS * GOALS };
    for (int i = 0; i < 12 * KINDS * PAIRS; i += 3) {
        const uint32_t *size = sizes[i / (KINDS * PAIRS)];
        const struct carve_case job = job_of_kind(size[0], size[1], i / PAIRS % KINDS);
        const long width = goal_of(size[0], size[1], i % GOALS),
                   height = goal_of(size[1], size[0], i / GOALS % GOALS);
        const bool grows = width > size[0] || height > size[1];
        if (grows && (width < 160 || height < 160)) continue;
        const double bytes = scratch_a_pixel(&job, width, height);
        if (bytes > bound_of(&job))
            fail_msg("%ux%u to %ldx%ld, kind %d: %.2f bytes a pixel", size[0], size[1], width,
                     height, i / PAIRS % KINDS, bytes);
    }
}

/* Narrow pictures: 16 bytes a pixel and something for every row and column. Every fifth
 * case: KINDS is no multiple of 5, so each size meets other kinds than the size before. */
static void scratch_of_narrow_pictures_is_bounded(void **state) {
    (void)state;
    static const uint32_t sides[] = { 1, 2, 63, 159, 8192, 65535 };
    static const long goals[] = { 1, 2, 50, 150, 9000, 65535 };
    for (int i = 0; i < 6 * 6 * 6 * 6 * KINDS; i += 5) {
        const struct carve_case job =
            job_of_kind(sides[i / KINDS % 6], sides[i / KINDS / 6 % 6], i % KINDS);
        const long width = goals[i / KINDS / 36 % 6], height = goals[i / KINDS / 216];
        const double in = (double)image_pixels(&job.in), out = (double)width * (double)height;
        const double pixels = in > out ? in : out;
        const double lines = (double)job.in.width + job.in.height + (double)(width + height);
        const double bytes = scratch_a_pixel(&job, width, height) * pixels;
        if (bytes > bound_of(&job) * pixels + 64 * lines + 16384)
            fail_msg("%ux%u to %ldx%ld, kind %d: %.0f bytes", job.in.width, job.in.height, width,
                     height, i % KINDS, bytes);
    }
}

/* ---- stopping, progress */

struct canceller {
    struct progress *progress;
    int64_t at_ns;
};

static void *cancel(void *argument) {
    struct canceller *canceller = argument;
    while (!__atomic_load_n(&canceller->progress->done, __ATOMIC_RELAXED)) {
    }
    canceller->at_ns = clock_ns();
    __atomic_store_n(&canceller->progress->cancelled, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* A seam or more into the work of minutes: from the cancelling to the end. */
static int64_t ns_to_stop(long dx, long dy) {
    struct progress progress = { 0 };
    struct canceller canceller = { .progress = &progress };
    struct carve_case job = job_make(3000, 2000, 1, 8, PICTURE_NOISE);
    struct image out;
    pthread_t thread;
    job.progress = &progress;
    job.pool = pool_create(2);
    goal(&job, dx, dy);
    assert_int_equal(pthread_create(&thread, NULL, cancel, &canceller), 0);
    assert_int_equal(try_run(&job, &out), STATUS_CANCELLED);
    const int64_t late = clock_ns();
    pthread_join(thread, NULL);
    pool_destroy(job.pool);
    free(out.pixels);
    job_free(&job);
    return late - canceller.at_ns;
}

/* The least of several tries counts: in the others another program may have had the cores. */
static void check_stop(long dx, long dy) {
    enum { TRIES = 30, MOST_NS = 50000000 };
    int64_t least = INT64_MAX;
    for (int i = 0; i < TRIES && least >= MOST_NS; i++) {
        const int64_t ns = ns_to_stop(dx, dy);
        if (ns < least) least = ns;
    }
    if (least >= MOST_NS) fail_msg("dx=%ld, dy=%ld: %ld us", dx, dy, (long)(least / 1000));
}

static void cancel_stops_soon(void **state) {
    (void)state;
    check_stop(-2900, 0);
    check_stop(0, -1900);
    check_stop(-1500, -1900);
    check_stop(1400, 0);
}

static void the_deadline_stops(void **state) {
    (void)state;
    struct progress progress = { .deadline_ns = clock_ns() + 30000000 };
    struct carve_case job = job_make(3000, 2000, 1, 8, PICTURE_NOISE);
    struct image out;
    job.progress = &progress;
    goal(&job, 0, -1999);
    assert_int_equal(try_run(&job, &out), STATUS_DEADLINE);
    free(out.pixels);
    job_free(&job);
}

static void reports_progress_and_times(void **state) {
    (void)state;
    static const char *const names[] = { "energy", "seam", "trace", "remove" };
    struct progress progress = { 0 };
    struct timing timing = { .span_count = 0 };
    struct carve_case job = job_make(40, 30, 3, 8, PICTURE_NOISE);
    job.progress = &progress;
    job.timing = &timing;
    goal(&job, -3, 40); /* 3 columns less; 30 to 45, 67, 70 rows */
    struct image out = run(&job);
    assert_int_equal(progress.done, 43);
    assert_int_equal(progress.total, 43);
    assert_int_equal(timing.span_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(timing.spans[i].name, names[i]);
        assert_int_equal(timing.spans[i].level, 1);
        assert_true(timing.spans[i].ms >= 0);
    }
    free(out.pixels);
    job_free(&job);
}

/* Rank of a seam of HEIGHT pixels: masks keep KEPT of them and remove REMOVED. */
static uint64_t rank_of(uint32_t height, uint32_t kept, uint32_t removed, uint32_t energy) {
    uint64_t key = kept * carve_key(0, true, false) + removed * carve_key(0, false, true) + energy;
    key += (height - kept - removed) * carve_key(0, false, false);
    return carve_rank(key, height);
}

/* Kept pixels weigh first, then removed ones, then energy, for seams of any length. */
static void seams_of_two_lengths_are_weighed(void **state) {
    (void)state;
    assert_true(rank_of(100, 0, 5, 900) < rank_of(65535, 0, 4, 0));
    assert_true(rank_of(65535, 0, 5, 0) < rank_of(100, 0, 4, 0));
    assert_true(rank_of(65535, 0, 0, 7) < rank_of(10, 0, 0, 8));
    assert_true(rank_of(10, 1, 9, 0) > rank_of(65535, 0, 0, 1u << 29));
    assert_true(rank_of(65535, 40000, 0, 0) > rank_of(65535, 32767, 0, 1u << 29));
    assert_true(rank_of(65535, 65535, 0, 1u << 29) > rank_of(65535, 65534, 0, 0));
    assert_true(rank_of(50, 0, 50, 3) == rank_of(60, 0, 50, 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seams_of_two_lengths_are_weighed),
        cmocka_unit_test(gradient_by_hand),
        cmocka_unit_test(sobel3_by_hand),
        cmocka_unit_test(sobel5_by_hand),
        cmocka_unit_test(energy_is_shown_clamped),
        cmocka_unit_test(the_flat_column_goes),
        cmocka_unit_test(growth_by_hand),
        cmocka_unit_test(kept_pixels_stay),
        cmocka_unit_test(removed_pixels_go),
        cmocka_unit_test(removed_pixels_go_before_growth),
        cmocka_unit_test(the_direction_with_fewer_seams_clears),
        cmocka_unit_test(masks_of_another_size_are_refused),
        cmocka_unit_test(wrong_sizes_are_refused),
        cmocka_unit_test(scratch_is_within_16_or_17_bytes_a_pixel),
        cmocka_unit_test(scratch_of_narrow_pictures_is_bounded),
        cmocka_unit_test(cancel_stops_soon),
        cmocka_unit_test(the_deadline_stops),
        cmocka_unit_test(reports_progress_and_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
