// SPDX-License-Identifier: Apache-2.0
/* Pixels weighed by alpha: every way against fractions and against plain C; one colour stays, and
 * hidden colours move nothing.
 * covers: pipeline/rows/resample_alpha.h, pipeline/rows/resample_alpha_plain.c
 * covers: pipeline/rows/resample_alpha_avx2.c, pipeline/rows/resample_alpha_vnni.c */
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

/* Memory has exactly the size of the rows, so that a sanitizer sees any access outside. */
static struct image image_new(uint32_t width, uint32_t height, unsigned channels, unsigned depth) {
    struct image image = image_shape(width, height, channels, depth);
    image.stride = image_row_bytes(&image);
    image.pixels = malloc(image.stride * height);
    return image;
}

static struct image scaled(struct image in, struct resample_axis x, struct resample_axis y) {
    struct resample job = { .in = in,
                            .out = image_new(x.count, y.count, in.channels, in.depth),
                            .x = x,
                            .y = y,
                            .depth = in.depth,
                            .alpha = true };
    const size_t bytes = (resample_bytes(&job) + 63) / 64 * 64;
    job.scratch = aligned_alloc(64, bytes);
    memset(job.scratch, 0xa5, bytes);
    assert_int_equal(resample_run(&job), STATUS_OK);
    free(job.scratch);
    return job.out;
}

/* By each way the same as by plain C, which is returned. */
static struct image scaled_by_all(struct image in, struct resample_axis x, struct resample_axis y) {
    simd_limit(SIMD_NONE);
    struct image expected = scaled(in, x, y);
    for (int limit = SIMD_NONE + 1; limit <= SIMD_BEST; limit++) {
        simd_limit((enum simd)limit);
        struct image out = scaled(in, x, y);
        assert_memory_equal(out.pixels, expected.pixels, image_bytes(&out));
        free(out.pixels);
    }
    simd_limit(SIMD_BEST);
    return expected;
}

static void set_pixel(struct image *image, uint32_t pixel, uint32_t colour, uint32_t alpha) {
    for (unsigned c = 0; c < image->channels; c++)
        sample_put(image_row(image, pixel / image->width),
                   (size_t)(pixel % image->width) * image->channels + c, image->depth,
                   c + 1 < image->channels ? colour : alpha);
}

/* The mean of two pixels: alpha (a + b) / 2, the colour (c a + d b) / (a + b), both half up. */
static void means_of_two(void **state) {
    (void)state;
    const uint32_t levels[] = { 0, 1, 2, 77, 127, 128, 200, 254, 255 };
    for (unsigned shape = 0; shape < 4; shape++)
        for (uint32_t n = 0; n < 9 * 9 * 9 * 9; n++) {
            struct image in = image_new(2, 1, shape % 2 ? 4 : 2, shape / 2 ? 16 : 8);
            const uint64_t times = shape / 2 ? 257 : 1;
            const uint64_t c = levels[n % 9] * times, d = levels[n / 9 % 9] * times;
            const uint64_t a = levels[n / 81 % 9] * times, b = levels[n / 729] * times;
            set_pixel(&in, 0, (uint32_t)c, (uint32_t)a);
            set_pixel(&in, 1, (uint32_t)d, (uint32_t)b);
            struct image out = scaled_by_all(in, (struct resample_axis){ 2, 1, 0, 1, RESAMPLE_BOX },
                                             (struct resample_axis){ 1, 1, 0, 1, RESAMPLE_BOX });
            const uint64_t sum = a + b;
            assert_int_equal(sample_get(out.pixels, in.channels - 1, in.depth), (sum + 1) / 2);
            assert_int_equal(sample_get(out.pixels, 0, in.depth),
                             sum ? (2 * (c * a + d * b) + sum) / (2 * sum) : 0);
            free(in.pixels);
            free(out.pixels);
        }
}

/* Sides that stay and sides that change, all of the picture and a part, both depths. Wherever there
 * is alpha, one colour stays; what lies under none moves nothing. */
static void check_shape(int s, unsigned t, unsigned shape) {
    static const uint32_t targets[] = { 0, 1, 7, 33, 100 }; /* 0: as it is */
    struct image in = image_new(awkward_sizes[s].width, awkward_sizes[s].height, shape % 2 ? 4 : 2,
                                shape / 2 ? 16 : 8);
    const uint32_t width = targets[t % 5] ? targets[t % 5] : in.width;
    const uint32_t height = targets[t / 5] ? targets[t / 5] : in.height;
    const uint32_t x = t % 2 * width / 3, y = t % 2 * height / 4, colour = 41 * t % 256;
    const struct resample_axis across = { in.width, width, x, width - x, RESAMPLE_LANCZOS3 };
    const struct resample_axis down = { in.height, height, y, height - y, RESAMPLE_CUBIC };
    picture_draw(&in, t % 3 ? PICTURE_NOISE : PICTURE_GRADIENT, t);
    free(scaled_by_all(in, across, down).pixels);
    for (uint32_t i = 0; i < in.width * in.height; i++) {
        const uint32_t noise = (i + 1) * 2654435761u >> 16;
        set_pixel(&in, i, colour, t % 3 ? (noise & 3 ? 0 : image_max(&in)) : noise % 5);
    }
    struct image out = scaled_by_all(in, across, down);
    for (size_t i = in.channels - 1; i < image_bytes(&out) / (in.depth / 8); i += in.channels)
        for (unsigned c = 1; c < in.channels; c++)
            assert_int_equal(sample_get(out.pixels, i - c, in.depth),
                             sample_get(out.pixels, i, in.depth) ? colour : 0);
    for (uint32_t i = 0; i < in.width * in.height; i++)
        if (!sample_get(in.pixels, (size_t)(i + 1) * in.channels - 1, in.depth))
            set_pixel(&in, i, image_max(&in), 0);
    struct image other = scaled_by_all(in, across, down);
    assert_memory_equal(other.pixels, out.pixels, image_bytes(&out));
    free(in.pixels);
    free(out.pixels);
    free(other.pixels);
}

static void every_shape(void **state) {
    (void)state;
    for (int s = 0; s < AWKWARD_SIZES; s++)
        for (unsigned t = 0; t < 25; t++)
            for (unsigned shape = 0; shape < 4; shape++) check_shape(s, t, shape);
}

/* Windows of more words than can be summed without a carry. */
static void long_windows(void **state) {
    (void)state;
    for (unsigned shape = 0; shape < 4; shape++)
        for (int side = 0; side < 2; side++) {
            const uint32_t length = 9001, width = side ? 3 : length, height = side ? length : 3;
            struct image in = image_new(width, height, shape % 2 ? 4 : 2, shape / 2 ? 16 : 8);
            for (uint32_t i = 0; i < 3 * length; i++)
                set_pixel(&in, i, i % 5 ? 0 : image_max(&in), image_max(&in));
            const struct resample_axis along = { length, 2, 0, 2, RESAMPLE_LANCZOS3 };
            const struct resample_axis beside = { 3, 3, 0, 3, RESAMPLE_LANCZOS3 };
            struct image out = scaled_by_all(in, side ? beside : along, side ? along : beside);
            for (size_t i = 0; i < (size_t)out.width * out.height * out.channels; i++) {
                const bool alpha = (i + 1) % out.channels == 0;
                const uint32_t sample = sample_get(out.pixels, i, out.depth);
                const uint32_t mean = alpha ? image_max(&in) : image_max(&in) / 5;
                assert_in_range(sample, mean - image_max(&in) / 99, mean + image_max(&in) / 99);
            }
            free(in.pixels);
            free(out.pixels);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_of_two),
        cmocka_unit_test(every_shape),
        cmocka_unit_test(long_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
