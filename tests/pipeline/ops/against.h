// SPDX-License-Identifier: Apache-2.0
/* against.h - an operator on made pictures of every awkward size, depth and channel count, rows
 * padded, in plain C and in vectors, compared with what a test's own slow function says. */
#ifndef BURIN_TESTS_OPS_AGAINST_H
#define BURIN_TESTS_OPS_AGAINST_H

#include "pipeline/plan.h"
#include "pipeline/rows/simd.h"
#include "tests/made_table.h"
#include "tests/pipeline/ops/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { AGAINST_PADDING = 38 };

static struct image against_table; /* of the picture, for operators by profile */

/* Returns the right sample CHANNEL of the result's pixel X, Y. */
typedef uint32_t (*against_expected)(const struct image *in, const struct params *params,
                                     uint32_t x, uint32_t y, unsigned channel);

/* Borders replicated. */
static inline int64_t against_sample(const struct image *in, int64_t x, int64_t y, unsigned c) {
    const int64_t right = (int64_t)in->width - 1, low = (int64_t)in->height - 1;
    const int64_t row = y < 0 ? 0 : y > low ? low : y, column = x < 0 ? 0 : x > right ? right : x;
    return sample_get(image_row(in, (uint32_t)row), (size_t)column * in->channels + c, in->depth);
}

/* Colour C over white. */
static inline int64_t against_laid(const struct image *in, int64_t x, int64_t y, unsigned c) {
    const int64_t sample = against_sample(in, x, y, c), max = image_max(in);
    if (in->channels % 2) return sample;
    const int64_t alpha = against_sample(in, x, y, in->channels - 1u);
    return (2 * (sample * alpha + max * (max - alpha)) + max) / (2 * max);
}

static inline struct image against_padded(struct image shape) {
    shape.stride = image_row_bytes(&shape) + AGAINST_PADDING;
    shape.pixels = calloc(1, image_bytes(&shape));
    assert_non_null(shape.pixels);
    return shape;
}

static inline struct image against_wanted(const struct step *step, const struct image *in,
                                          const struct image *shape, against_expected expected) {
    struct image wanted = against_padded(*shape);
    for (uint32_t y = 0; y < wanted.height; y++)
        for (uint32_t x = 0; x < wanted.width; x++)
            for (unsigned c = 0; c < wanted.channels; c++)
                sample_put(image_row(&wanted, y), (size_t)x * wanted.channels + c, wanted.depth,
                           expected(in, &step->params, x, y, c));
    return wanted;
}

/* The bytes behind each row are zero on both sides. */
static inline void against_compare(const char *text, const struct image *in,
                                   const struct image *out, const struct image *wanted) {
    if (memcmp(out->pixels, wanted->pixels, image_bytes(out)) == 0) return;
    for (uint32_t y = 0; y < out->height; y++)
        for (size_t i = 0; i < (size_t)out->width * out->channels; i++) {
            const uint32_t got = sample_get(image_row(out, y), i, out->depth);
            const uint32_t want = sample_get(image_row(wanted, y), i, out->depth);
            if (got != want)
                fail_msg("%s on %ux%u, %u x %u bit: pixel %zu, %u, channel %zu is %u, should be %u",
                         text, in->width, in->height, in->channels, in->depth, i / out->channels, y,
                         i % out->channels, got, want);
        }
    fail_msg("%s on %ux%u, %u x %u bit: written behind a row", text, in->width, in->height,
             in->channels, in->depth);
}

/* In plain C and with each kind of vectors. */
static inline void against_one(const char *text, const struct step *step, struct image shape,
                               enum picture picture, against_expected expected) {
    struct failure failure = { 0 };
    const struct image in = against_padded(shape);
    picture_draw(&in, picture, 3);
    if (step->op->size)
        assert_int_equal(step->op->size(&step->params, &in, &shape, &failure), STATUS_OK);
    if (step->op->by_profile) {
        against_table = against_padded(srgb_table_shape(&in));
        against_table.stride -= AGAINST_PADDING;
        made_table_fill(&against_table, &in, in.width + in.height + picture);
    }
    simd_limit(SIMD_NONE);
    const struct image wanted = against_wanted(step, &in, &shape, expected);
    for (enum simd most = SIMD_NONE; most <= SIMD_BEST; most++) {
        simd_limit(most);
        struct image out = against_padded(shape);
        struct op_call call = { .params = &step->params,
                                .in = in,
                                .out = out,
                                .table = against_table,
                                .failure = &failure };
        const size_t scratch = step->op->scratch ? step->op->scratch(&call) : 0;
        call.scratch = aligned_alloc(256, (scratch + 511) / 256 * 256);
        assert_int_equal(step->op->run(&call), STATUS_OK);
        against_compare(text, &in, &out, &wanted);
        free(call.scratch);
        free(out.pixels);
    }
    free(wanted.pixels);
    free(in.pixels);
    free(against_table.pixels);
    against_table = (struct image){ 0 };
}

/* TEXT is a plan of one step. */
static inline void check_against(const char *text, against_expected expected) {
    struct plan plan;
    struct failure failure = { 0 };
    if (plan_parse(&plan, text, &failure)) fail_msg("%s: %s", text, failure.message);
    for (size_t s = 0; s < AWKWARD_SIZES; s++)
        for (unsigned channels = 1; channels <= 4; channels++)
            for (unsigned depth = 8; depth <= 16; depth += 8)
                for (int p = 0; p < PICTURES; p++)
                    against_one(text, &plan.steps[0],
                                image_shape(awkward_sizes[s].width, awkward_sizes[s].height,
                                            channels, depth),
                                (enum picture)p, expected);
}

#endif
