// SPDX-License-Identifier: Apache-2.0
/* Both passes: every set of instructions against plain C, parts, threads, rows prepared and
 * finished; plain C against sums written down anew.
 * covers: pipeline/rows/resample_plain.c, pipeline/rows/resample_avx2.c,
 * covers: pipeline/rows/resample_vnni.c */
#include "pipeline/rows/resample.h"

#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"
#include "tests/pipeline/ops/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PADDING = 37, UNTOUCHED = 0x5a };

/* Memory has exactly the size of the rows, so that a sanitizer sees any access outside. */
static struct image image_new(uint32_t width, uint32_t height, unsigned channels, unsigned depth,
                              size_t padding) {
    struct image image = {
        .width = width, .height = height, .channels = (uint8_t)channels, .depth = (uint8_t)depth
    };
    image.stride = image_row_bytes(&image) + padding * depth / 8;
    const size_t bytes = image.stride * (height - 1) + image_row_bytes(&image);
    image.pixels = malloc(bytes);
    memset(image.pixels, UNTOUCHED, bytes);
    return image;
}

static struct resample_axis whole_axis(uint32_t from, uint32_t to, enum resample_kernel kernel) {
    return (struct resample_axis){ from, to, 0, to, kernel };
}

/* Scratch is aligned to 64 bytes, as resample needs, and full of junk. */
static enum status run(struct resample *job) {
    const size_t bytes = (resample_bytes(job) + 63) / 64 * 64;
    job->scratch = aligned_alloc(64, bytes);
    memset(job->scratch, 0xa5, bytes);
    const enum status status = resample_run(job);
    free(job->scratch);
    return status;
}

static struct image scaled(struct image in, struct resample_axis x, struct resample_axis y,
                           size_t padding, struct pool *pool) {
    struct resample job = { .in = in,
                            .out = image_new(x.count, y.count, in.channels, in.depth, padding),
                            .x = x,
                            .y = y,
                            .depth = in.depth,
                            .pool = pool };
    assert_int_equal(run(&job), STATUS_OK);
    return job.out;
}

static void assert_same(struct image a, struct image b) {
    for (uint32_t y = 0; y < a.height; y++)
        assert_memory_equal(image_row(&a, y), image_row(&b, y), image_row_bytes(&a));
}

static void assert_padding_untouched(struct image image) {
    for (uint32_t y = 0; y + 1 < image.height; y++)
        for (size_t i = image_row_bytes(&image); i < image.stride; i++)
            assert_int_equal(image_row(&image, y)[i], UNTOUCHED);
}

static const struct {
    uint32_t width, height;
} targets[] = { { 1, 1 }, { 7, 5 }, { 16, 16 }, { 33, 17 }, { 320, 7 }, { 5, 100 } };
enum { TARGETS = sizeof targets / sizeof *targets };

/* ---- plain C */

static int32_t weight_at(const struct resample_weights *weights, uint32_t target, uint32_t pixel) {
    const struct resample_window window = weights->windows[target];
    return pixel < window.first || pixel >= window.first + window.count
               ? 0
               : weights->weights[(size_t)target * weights->pitch + pixel - window.first];
}

/* One pass over all pixels of the axis, one sample at a time. */
static struct image pass(struct image in, struct resample_axis axis, bool down) {
    struct image out =
        image_new(down ? in.width : axis.to, down ? axis.to : in.height, in.channels, in.depth, 0);
    struct resample_weights weights =
        resample_weights_make(malloc(resample_weights_bytes(&axis)), &axis);
    for (uint32_t y = 0; y < out.height; y++)
        for (uint32_t x = 0; x < out.width; x++)
            for (unsigned c = 0; c < in.channels; c++) {
                int64_t sum = 0;
                for (uint32_t k = 0; k < axis.from; k++) {
                    const uint8_t *row = image_row(&in, down ? k : y);
                    sum += (int64_t)weight_at(&weights, down ? y : x, k) *
                           sample_get(row, (size_t)(down ? x : k) * in.channels + c, in.depth);
                }
                sample_put(image_row(&out, y), (size_t)x * in.channels + c, in.depth,
                           resample_result(sum, image_max(&in)));
            }
    free(weights.windows);
    return out;
}

static void plain_is_the_definition(void **state) {
    (void)state;
    simd_limit(SIMD_NONE);
    for (int i = 0; i < 32; i++) {
        struct image in = image_new(13 + i, 42 - i, 1 + i % 4, i / 4 % 2 ? 16 : 8, PADDING);
        picture_draw(&in, PICTURE_NOISE, i);
        const struct resample_axis x = whole_axis(in.width, 20, (enum resample_kernel)(i % 4));
        const struct resample_axis y = whole_axis(in.height, 11, (enum resample_kernel)(i % 4));
        struct image middle = pass(in, x, false), expected = pass(middle, y, true);
        struct image out = scaled(in, x, y, PADDING, NULL);
        assert_same(out, expected);
        assert_padding_untouched(out);
        free(in.pixels);
        free(middle.pixels);
        free(expected.pixels);
        free(out.pixels);
    }
    simd_limit(SIMD_BEST);
}

/* ---- every set of instructions */

static void compare_ways(struct image in, struct resample_axis x, struct resample_axis y) {
    simd_limit(SIMD_NONE);
    struct image plain = scaled(in, x, y, 0, NULL);
    for (int limit = SIMD_AVX2; limit <= SIMD_BEST; limit++) {
        simd_limit((enum simd)limit);
        struct image out = scaled(in, x, y, PADDING, NULL);
        assert_same(out, plain);
        assert_padding_untouched(out);
        free(out.pixels);
    }
    simd_limit(SIMD_BEST);
    free(plain.pixels);
}

static void every_way_is_plain(void **state) {
    (void)state;
    for (int s = 0; s < AWKWARD_SIZES; s++)
        for (int t = 0; t < TARGETS; t++)
            for (unsigned shape = 0; shape < 8; shape++) {
                struct image in = image_new(awkward_sizes[s].width, awkward_sizes[s].height,
                                            shape % 4 + 1, shape / 4 ? 16 : 8, shape % 3 * 5);
                picture_draw(&in, (s + t) % 3 ? PICTURE_NOISE : PICTURE_GRADIENT, shape);
                const enum resample_kernel kernel = (enum resample_kernel)((s + t + shape) % 4);
                compare_ways(in, whole_axis(in.width, targets[t].width, kernel),
                             whole_axis(in.height, targets[t].height, kernel));
                free(in.pixels);
            }
}

/* Sums are largest for black and white in the order of the weights' signs. */
static void every_way_holds_the_largest_sums(void **state) {
    (void)state;
    for (unsigned depth = 8; depth <= 16; depth += 8)
        for (uint32_t width = 5; width < 500; width = width * 5 / 3) {
            const struct resample_axis x = whole_axis(width, 3, RESAMPLE_LANCZOS3);
            struct resample_weights weights =
                resample_weights_make(malloc(resample_weights_bytes(&x)), &x);
            struct image in = image_new(width, 18, 3, depth, 0);
            for (uint32_t y = 0; y < in.height; y++)
                for (uint32_t i = 0; i < 3 * width; i++) {
                    const bool up = weight_at(&weights, y % 3, i / 3) > 0;
                    sample_put(image_row(&in, y), i, depth, up == (y % 6 < 3) ? image_max(&in) : 0);
                }
            compare_ways(in, x, whole_axis(18, 18, RESAMPLE_LANCZOS3));
            compare_ways(in, x, whole_axis(18, 18000, RESAMPLE_LANCZOS3));
            free(weights.windows);
            free(in.pixels);
        }
}

/* Windows of all of the image, rows and columns longer than any cache: made in strips. */
static void every_way_takes_the_longest_sides(void **state) {
    (void)state;
    static const struct {
        uint32_t from[2], to[2];
        unsigned channels, depth;
    } cases[] = { { { 65535, 2 }, { 1, 1 }, 3, 8 },     { { 2, 65535 }, { 1, 1 }, 3, 8 },
                  { { 65535, 3 }, { 70, 2 }, 4, 16 },   { { 99, 65535 }, { 99, 3 }, 2, 16 },
                  { { 90, 20000 }, { 77, 10 }, 4, 16 }, { { 20000, 40 }, { 19999, 40 }, 4, 8 },
                  { { 1, 1 }, { 65535, 1 }, 1, 8 },     { { 1, 2 }, { 1, 65535 }, 1, 16 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t *from = cases[i].from, *to = cases[i].to;
        struct image in = image_new(from[0], from[1], cases[i].channels, cases[i].depth, 0);
        picture_draw(&in, PICTURE_NOISE, (uint32_t)i);
        compare_ways(in, whole_axis(from[0], to[0], RESAMPLE_LANCZOS3),
                     whole_axis(from[1], to[1], RESAMPLE_LANCZOS3));
        free(in.pixels);
    }
}

/* Every shape is tried, to the largest of 64 megapixels. */
static void scratch_is_bounded(void **state) {
    (void)state;
    static const uint32_t sides[] = { 1, 7, 64, 1000, 8192, 65535 };
    enum { SIDES = sizeof sides / sizeof *sides };
    for (int i = 0; i < SIDES * SIDES * SIDES * SIDES; i++) {
        const uint32_t from[2] = { sides[i % SIDES], sides[i / SIDES % SIDES] };
        const uint32_t to[2] = { sides[i / SIDES / SIDES % SIDES],
                                 sides[i / SIDES / SIDES / SIDES] };
        if ((uint64_t)from[0] * from[1] > 1 << 26 || (uint64_t)to[0] * to[1] > 1 << 26) continue;
        const struct image in = image_shape(from[0], from[1], 4, 16);
        const struct image out = image_shape(to[0], to[1], 4, 16);
        const struct resample job = { .in = in,
                                      .out = out,
                                      .x = whole_axis(from[0], to[0], RESAMPLE_LANCZOS3),
                                      .y = whole_axis(from[1], to[1], RESAMPLE_LANCZOS3),
                                      .depth = 16 };
        assert_true(resample_bytes(&job) < 75e6);
    }
}

/* ---- what must stay as it is */

static void constants_stay(void **state) {
    (void)state;
    static const uint32_t values[] = { 0, 1, 100, 127, 128, 254, 255, 257, 32768, 65534, 65535 };
    for (int limit = SIMD_NONE; limit <= SIMD_BEST; limit++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++)
            for (uint32_t to = 1; to < 400; to = to * 4 / 3 + 1) {
                const unsigned depth = values[v] > 255 || v % 2 ? 16 : 8;
                struct image in = image_new(97, 61, 1 + to % 4, depth, 0);
                for (uint32_t y = 0; y < in.height; y++)
                    for (size_t i = 0; i < in.width * in.channels; i++)
                        sample_put(image_row(&in, y), i, depth, values[v]);
                simd_limit((enum simd)limit);
                const enum resample_kernel kernel = (enum resample_kernel)(to / 2 % 4);
                struct image out = scaled(in, whole_axis(in.width, to, kernel),
                                          whole_axis(in.height, 1 + to / 2, kernel), 0, NULL);
                for (uint32_t y = 0; y < out.height; y++)
                    for (size_t i = 0; i < out.width * out.channels; i++)
                        assert_int_equal(sample_get(image_row(&out, y), i, depth), values[v]);
                free(in.pixels);
                free(out.pixels);
            }
    simd_limit(SIMD_BEST);
}

static void same_size_copies(void **state) {
    (void)state;
    for (int limit = SIMD_NONE; limit <= SIMD_BEST; limit++)
        for (unsigned shape = 0; shape < 8; shape++) {
            simd_limit((enum simd)limit);
            struct image in = image_new(123, 66, shape % 4 + 1, shape / 4 ? 16 : 8, PADDING);
            picture_draw(&in, PICTURE_NOISE, shape);
            struct image out = scaled(in, whole_axis(123, 123, RESAMPLE_CUBIC),
                                      whole_axis(66, 66, RESAMPLE_CUBIC), 3, NULL);
            assert_same(in, out);
            free(in.pixels);
            free(out.pixels);
        }
    simd_limit(SIMD_BEST);
}

/* ---- parts, threads, rows prepared and finished */

static void parts_are_of_the_whole(void **state) {
    (void)state;
    for (int limit = SIMD_NONE; limit <= SIMD_BEST; limit++)
        for (unsigned i = 0; i < 40; i++) {
            struct image in = image_new(150, 90, i % 4 + 1, i / 4 % 2 ? 16 : 8, 0);
            picture_draw(&in, PICTURE_NOISE, i);
            struct resample_axis x = whole_axis(150, i % 5 ? 20 + 9 * i : 150, RESAMPLE_LANCZOS3);
            struct resample_axis y = whole_axis(90, i % 7 ? 20 + 4 * i : 90, RESAMPLE_LANCZOS3);
            simd_limit(SIMD_NONE);
            struct image whole = scaled(in, x, y, 0, NULL);
            x.first = i % x.to / 3, x.count = 1 + (x.to - x.first) / (1 + i % 4) / 2;
            y.first = i % y.to / 2, y.count = 1 + (y.to - y.first) / (1 + i % 3) / 2;
            simd_limit((enum simd)limit);
            struct image part = scaled(in, x, y, 0, NULL);
            for (uint32_t row = 0; row < y.count; row++)
                assert_memory_equal(image_row(&part, row),
                                    image_row(&whole, y.first + row) +
                                        x.first * image_pixel_bytes(&in),
                                    image_row_bytes(&part));
            free(in.pixels);
            free(whole.pixels);
            free(part.pixels);
        }
    simd_limit(SIMD_BEST);
}

static void threads_change_nothing(void **state) {
    (void)state;
    struct pool *pool = pool_create(5);
    for (uint32_t to = 1; to < 200; to = 2 * to + 1) {
        struct image in = image_new(300, 200, 3, 8, 0);
        picture_draw(&in, PICTURE_NOISE, to);
        const struct resample_axis x = whole_axis(300, to, RESAMPLE_LANCZOS3);
        const struct resample_axis y = whole_axis(200, to, RESAMPLE_LANCZOS3);
        struct image alone = scaled(in, x, y, 0, NULL), shared = scaled(in, x, y, 0, pool);
        assert_same(alone, shared);
        free(in.pixels);
        free(alone.pixels);
        free(shared.pixels);
    }
    pool_destroy(pool);
}

/* widen() makes 16 bits and narrow() 8 again; each inverts the samples. */
static void widen(const void *argument, const uint8_t *from, uint8_t *to, size_t pixels) {
    for (size_t i = 0; i < pixels * *(const unsigned *)argument; i++)
        sample_put(to, i, 16, 257u * (255u - from[i]));
}

static void narrow(const void *argument, const uint8_t *from, uint8_t *to, size_t pixels) {
    for (size_t i = 0; i < pixels * *(const unsigned *)argument; i++)
        to[i] = (uint8_t)(255 - sample_get(from, i, 16) / 257);
}

static void rows_are_prepared_and_finished(void **state) {
    (void)state;
    for (int limit = SIMD_NONE; limit <= SIMD_BEST; limit++)
        for (unsigned i = 0; i < 16; i++) {
            const unsigned channels = i % 4 + 1;
            struct image in = image_new(61, 45, channels, 8, 3), wide = in;
            picture_draw(&in, PICTURE_NOISE, i);
            struct resample_axis x = whole_axis(61, i & 4 ? 61 : 33, RESAMPLE_LANCZOS3);
            struct resample_axis y = whole_axis(45, i & 8 ? 45 : 31, RESAMPLE_LANCZOS3);
            x.first = 4, x.count = 20, y.first = 3, y.count = 9;
            wide = image_new(61, 45, channels, 16, 0);
            for (uint32_t row = 0; row < 45; row++)
                widen(&channels, image_row(&in, row), image_row(&wide, row), 61);
            simd_limit(SIMD_NONE);
            struct image middle = scaled(wide, x, y, 0, NULL);
            struct resample job = { .in = in,
                                    .out = image_new(20, 9, channels, 8, PADDING),
                                    .x = x,
                                    .y = y,
                                    .depth = 16,
                                    .prepare = widen,
                                    .finish = narrow,
                                    .argument = &channels };
            simd_limit((enum simd)limit);
            assert_int_equal(run(&job), STATUS_OK);
            for (uint32_t row = 0; row < 9; row++) {
                uint8_t expected[20 * 4];
                narrow(&channels, image_row(&middle, row), expected, 20);
                assert_memory_equal(image_row(&job.out, row), expected, 20 * channels);
            }
            assert_padding_untouched(job.out);
            free(in.pixels);
            free(wide.pixels);
            free(middle.pixels);
            free(job.out.pixels);
        }
    simd_limit(SIMD_BEST);
}

static void stops_when_cancelled(void **state) {
    (void)state;
    struct progress progress = { .cancelled = 1 };
    struct image in = image_new(64, 64, 3, 8, 0);
    struct resample job = { .in = in,
                            .out = image_new(20, 20, 3, 8, 0),
                            .x = whole_axis(64, 20, RESAMPLE_BOX),
                            .y = whole_axis(64, 20, RESAMPLE_BOX),
                            .depth = 8,
                            .progress = &progress };
    assert_int_equal(run(&job), STATUS_CANCELLED);
    free(in.pixels);
    free(job.out.pixels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_is_the_definition),
        cmocka_unit_test(every_way_is_plain),
        cmocka_unit_test(every_way_holds_the_largest_sums),
        cmocka_unit_test(every_way_takes_the_longest_sides),
        cmocka_unit_test(scratch_is_bounded),
        cmocka_unit_test(constants_stay),
        cmocka_unit_test(same_size_copies),
        cmocka_unit_test(parts_are_of_the_whole),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(rows_are_prepared_and_finished),
        cmocka_unit_test(stops_when_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
