// SPDX-License-Identifier: Apache-2.0
/* Colours multiplied by alpha as rows are read: every way against fractions written down anew, and
 * against plain C on a picture that was multiplied before.
 * covers: pipeline/rows/resample_avx2.c, pipeline/rows/resample_vnni.c */
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

/* c a / M to the nearest; of 16 bit a half, which M, being odd, has not, does not matter. */
static uint32_t multiplied(uint64_t colour, uint64_t alpha, uint64_t max) {
    return (uint32_t)((2 * colour * alpha + max) / (2 * max));
}

static void multiply_row(const void *argument, const uint8_t *from, uint8_t *to, size_t pixels) {
    const struct image *image = argument;
    const unsigned channels = image->channels, depth = image->depth;
    for (size_t i = 0; i < pixels * channels; i++) {
        const uint32_t alpha = sample_get(from, i / channels * channels + channels - 1, depth);
        const uint32_t sample = sample_get(from, i, depth);
        sample_put(to, i, depth,
                   i % channels == channels - 1 ? alpha
                                                : multiplied(sample, alpha, image_max(image)));
    }
}

static struct image scaled(struct image in, struct resample_axis x, struct resample_axis y,
                           bool premultiply) {
    struct resample job = { .in = in,
                            .out = image_new(x.count, y.count, in.channels, in.depth),
                            .x = x,
                            .y = y,
                            .depth = in.depth,
                            .prepare = premultiply ? multiply_row : NULL,
                            .premultiply = premultiply,
                            .argument = &in };
    const size_t bytes = (resample_bytes(&job) + 63) / 64 * 64;
    job.scratch = aligned_alloc(64, bytes);
    memset(job.scratch, 0xa5, bytes);
    assert_int_equal(resample_run(&job), STATUS_OK);
    free(job.scratch);
    return job.out;
}

/* Each pixel twice, side by side, so that the half of a row is the pixels as they were weighed. */
static void check_pairs(unsigned channels) {
    struct image in = image_new(512, 256, channels, 8);
    const struct resample_axis x = { 512, 256, 0, 256, RESAMPLE_BOX };
    const struct resample_axis y = { 256, 256, 0, 256, RESAMPLE_BOX };
    for (uint32_t row = 0; row < 256; row++)
        for (uint32_t i = 0; i < 512 * channels; i++) {
            const uint32_t pixel = i / channels / 2, c = i % channels;
            image_row(&in, row)[i] = (uint8_t)(pixel + (c < channels - 1 ? 64 * c : row));
        }
    struct image out = scaled(in, x, y, true);
    for (uint32_t row = 0; row < 256; row++)
        for (uint32_t i = 0; i < 256 * channels; i++) {
            const uint32_t pixel = i / channels, c = i % channels, alpha = (pixel + row) & 255;
            assert_int_equal(image_row(&out, row)[i],
                             c < channels - 1 ? multiplied((pixel + 64 * c) & 255, alpha, 255)
                                              : alpha);
        }
    free(in.pixels);
    free(out.pixels);
}

static void every_colour_under_every_alpha(void **state) {
    (void)state;
    for (int limit = SIMD_NONE; limit <= SIMD_BEST; limit++)
        for (unsigned channels = 2; channels <= 4; channels += 2) {
            simd_limit((enum simd)limit);
            check_pairs(channels);
        }
    simd_limit(SIMD_BEST);
}

/* Every way against plain C on a picture multiplied before. */
static void compare(struct image in, struct resample_axis x, struct resample_axis y) {
    struct image before = image_new(in.width, in.height, in.channels, in.depth);
    for (uint32_t row = 0; row < in.height; row++)
        multiply_row(&in, image_row(&in, row), image_row(&before, row), in.width);
    simd_limit(SIMD_NONE);
    struct image expected = scaled(before, x, y, false);
    for (int limit = SIMD_NONE; limit <= SIMD_BEST; limit++) {
        simd_limit((enum simd)limit);
        struct image out = scaled(in, x, y, true);
        assert_memory_equal(out.pixels, expected.pixels, image_bytes(&out));
        free(out.pixels);
    }
    simd_limit(SIMD_BEST);
    free(before.pixels);
    free(expected.pixels);
}

/* Opaque pixels may take a shorter way, but not beside a pixel that is not opaque. */
static void one_clear_pixel_is_seen(void **state) {
    (void)state;
    for (unsigned channels = 2; channels <= 4; channels += 2)
        for (uint32_t clear = 0; clear < 19 * 18; clear++) {
            struct image in = image_new(19, 18, channels, 8);
            picture_draw(&in, PICTURE_NOISE, clear);
            for (uint32_t i = 0; i < 19 * 18; i++)
                in.pixels[i * channels + channels - 1] = i == clear ? 254 - clear % 255 : 255;
            compare(in, (struct resample_axis){ 19, 17, 0, 17, RESAMPLE_LANCZOS3 },
                    (struct resample_axis){ 18, 18, 0, 18, RESAMPLE_LANCZOS3 });
            free(in.pixels);
        }
}

/* Sides that stay and sides that change, all of the picture and a part, both depths. */
static void every_shape(void **state) {
    (void)state;
    static const uint32_t targets[] = { 0, 1, 7, 33, 100 }; /* 0: as it is */
    for (int s = 0; s < AWKWARD_SIZES; s++)
        for (unsigned t = 0; t < 25; t++)
            for (unsigned shape = 0; shape < 4; shape++) {
                struct image in = image_new(awkward_sizes[s].width, awkward_sizes[s].height,
                                            shape % 2 ? 4 : 2, shape / 2 ? 16 : 8);
                picture_draw(&in, t % 3 ? PICTURE_NOISE : PICTURE_GRADIENT, t);
                const uint32_t width = targets[t % 5] ? targets[t % 5] : in.width;
                const uint32_t height = targets[t / 5] ? targets[t / 5] : in.height;
                const uint32_t x = t % 2 * width / 3, y = t % 2 * height / 4;
                compare(in,
                        (struct resample_axis){ in.width, width, x, width - x, RESAMPLE_LANCZOS3 },
                        (struct resample_axis){ in.height, height, y, height - y, RESAMPLE_CUBIC });
                free(in.pixels);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_colour_under_every_alpha),
        cmocka_unit_test(one_clear_pixel_is_seen),
        cmocka_unit_test(every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
