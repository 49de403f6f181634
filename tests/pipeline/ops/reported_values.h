// SPDX-License-Identifier: Apache-2.0
/* reported_values.h - the values that an operator reports of an image: against a table computed by
 * hand, and against a test's own slow function on made pictures of every awkward size, depth and
 * channel count, rows padded or not, with and without threads.*/
#ifndef BURIN_TESTS_OPS_REPORTED_VALUES_H
#define BURIN_TESTS_OPS_REPORTED_VALUES_H

#include "pipeline/plan.h"
#include "pipeline/rows/simd.h"
#include "tests/pipeline/ops/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { VALUES_PADDING = 38, VALUES_CANARY = 0xa5 };

/* Runs TEXT, a plan of one step, on IN and returns its values, which the caller frees. Checks that
 * no byte behind them is written. */
static inline void *values_of(const char *text, const struct image *in, struct pool *pool,
                              struct values_shape *shape) {
    struct plan plan;
    struct failure failure = { 0 };
    if (plan_parse(&plan, text, &failure)) fail_msg("%s: %s", text, failure.message);
    const struct op *op = plan.steps[0].op;
    assert_null(op->size);
    *shape = op->values(op, &plan.steps[0].params, in);
    const size_t bytes = values_bytes(shape), room = (bytes + 511) / 256 * 256;
    struct op_call call = {
        .op = op, .params = &plan.steps[0].params, .in = *in, .out = *in, .pool = pool
    };
    uint8_t *values = aligned_alloc(256, room);
    memset(values, VALUES_CANARY, room);
    const size_t scratch = op->scratch ? op->scratch(&call) : 0;
    call.scratch = aligned_alloc(256, (scratch + 511) / 256 * 256);
    memset(call.scratch, VALUES_CANARY, scratch);
    call.values = values;
    call.failure = &failure;
    assert_int_equal(op->run(&call), STATUS_OK);
    for (size_t i = bytes; i < room; i++) assert_int_equal(values[i], VALUES_CANARY);
    free(call.scratch);
    return values;
}

/* One number a channel. */
static inline struct values_shape one_number(enum value_type type, uint32_t channels) {
    return (struct values_shape){ type, channels, 1, false, 0 };
}

/* PIXELS follow one another without a gap; EXPECTED is what all channels' values must be. */
static inline void check_values(const char *text, struct image in, const void *pixels,
                                struct values_shape shape, const void *expected) {
    in.stride = image_row_bytes(&in);
    in.pixels = malloc(image_bytes(&in));
    memcpy(in.pixels, pixels, image_bytes(&in));
    struct values_shape is;
    void *values = values_of(text, &in, NULL, &is);
    assert_int_equal(is.type, shape.type);
    assert_int_equal(is.channels, shape.channels);
    assert_int_equal(is.length, shape.length);
    assert_int_equal(is.is_list, shape.is_list);
    assert_memory_equal(values, expected, values_bytes(&shape));
    free(values);
    free(in.pixels);
}

/* Fills VALUES with the right ones of IN. */
typedef void (*values_expected)(const struct image *in, const struct values_shape *shape,
                                void *values);

static inline void check_values_one(const char *text, struct image in, enum picture picture,
                                    struct pool *pool, values_expected expected) {
    in.pixels = calloc(1, image_bytes(&in));
    picture_draw(&in, picture, 5);
    struct values_shape shape;
    void *values = values_of(text, &in, pool, &shape);
    void *wanted = calloc(1, values_bytes(&shape));
    expected(&in, &shape, wanted);
    if (memcmp(values, wanted, values_bytes(&shape)) != 0)
        fail_msg("%s on %ux%u, %u x %u bit, picture %d is wrong", text, in.width, in.height,
                 in.channels, in.depth, picture);
    free(wanted);
    free(values);
    free(in.pixels);
}

static inline void check_values_shapes(const char *text, struct pool *pool,
                                       values_expected expected) {
    for (size_t s = 0; s < AWKWARD_SIZES; s++)
        for (unsigned channels = 1; channels <= 4; channels++)
            for (unsigned depth = 8; depth <= 16; depth += 8)
                for (int picture = 0; picture < PICTURES; picture++) {
                    struct image in = image_shape(awkward_sizes[s].width, awkward_sizes[s].height,
                                                  channels, depth);
                    check_values_one(text, in, (enum picture)picture, NULL, expected);
                    in.stride = image_row_bytes(&in);
                    check_values_one(text, in, (enum picture)picture, pool, expected);
                    in.stride += VALUES_PADDING;
                    check_values_one(text, in, (enum picture)picture, pool, expected);
                }
}

/* In plain C and with vectors. */
static inline void check_values_against(const char *text, values_expected expected) {
    struct pool *pool = pool_create(3);
    simd_limit(SIMD_NONE);
    check_values_shapes(text, NULL, expected);
    simd_limit(SIMD_BEST);
    check_values_shapes(text, pool, expected);
    pool_destroy(pool);
}

/* The pixels that count: those without alpha 0. */
static inline bool is_seen(const struct image *in, uint32_t x, uint32_t y) {
    return in->channels % 2 ||
           sample_get(image_row(in, y), (size_t)(x + 1) * in->channels - 1, in->depth) > 0;
}

static inline uint32_t seen_pixels(const struct image *in) {
    uint32_t seen = 0;
    for (uint32_t y = 0; y < in->height; y++)
        for (uint32_t x = 0; x < in->width; x++) seen += is_seen(in, x, y);
    return seen;
}

/* Sample of colour channel C of pixel X, Y. */
static inline uint32_t colour_sample(const struct image *in, uint32_t x, uint32_t y, unsigned c) {
    return sample_get(image_row(in, y), (size_t)x * in->channels + c, in->depth);
}

#endif
