// SPDX-License-Identifier: Apache-2.0
/* hashes.h - what blurhash and thumbhash make of a small picture that is given to their text()
 * directly, and of an image by way of the whole operator.
 *
 * The picture: red is 7 x + 3 y, green x x + 5 y, blue 11 (x + 1) (y + 2), each modulo 256; alpha,
 * where there is any, 255 - 6 x - y.
 */
#ifndef BURIN_TESTS_OPS_HASHES_H
#define BURIN_TESTS_OPS_HASHES_H

#include "pipeline/plan.h"
#include "tests/pipeline/ops/reported_values.h"

enum { HASH_SIDE = 32 };

static inline uint32_t hash_sample(uint32_t x, uint32_t y, unsigned c) {
    switch (c) {
    case 0: return (7 * x + 3 * y) % 256;
    case 1: return (x * x + 5 * y) % 256;
    case 2: return 11 * (x + 1) * (y + 2) % 256;
    default: return 255 - 6 * x - y;
    }
}

/* TEXT, a plan of one step, must make the text EXPECTED of NUMBERS, a picture. */
static inline void check_hash_of(const char *text, struct values_shape shape, void *numbers,
                                 const char *expected) {
    struct plan plan;
    struct failure failure = { 0 };
    if (plan_parse(&plan, text, &failure)) fail_msg("%s: %s", text, failure.message);
    const struct values values = { shape, numbers };
    char got[VALUES_TEXT_MAX + 1];
    const struct step *step = &plan.steps[0];
    const size_t length = step->op->text(&step->params, &values, got);
    assert_true(length < VALUES_TEXT_MAX);
    got[length] = '\0';
    assert_string_equal(got, expected);
}

/* Checks the made picture; samples of 16 bits are off by as much as still rounds to those of 8. */
static inline void check_hash(const char *text, uint32_t width, uint32_t height, unsigned channels,
                              const char *expected) {
    uint8_t bytes[HASH_SIDE * HASH_SIDE * 4];
    uint16_t wide[HASH_SIDE * HASH_SIDE * 4];
    size_t i = 0;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            for (unsigned c = 0; c < channels; c++, i++) {
                const uint32_t sample = hash_sample(x, y, c);
                const int off = sample == 255 || (i % 2 && sample) ? -128 : 128;
                bytes[i] = (uint8_t)sample;
                wide[i] = (uint16_t)((int)sample * 257 + off);
            }
    struct values_shape shape = { VALUE_UINT8, channels, width * height, false, width };
    check_hash_of(text, shape, bytes, expected);
    shape.type = VALUE_UINT16;
    check_hash_of(text, shape, wide, expected);
}

/* Checks a gray picture, and the same in three equal colours. */
static inline void check_hash_gray(const char *text, uint32_t width, uint32_t height,
                                   const uint8_t *gray, const char *expected) {
    uint8_t rgb[HASH_SIDE * HASH_SIDE * 3];
    for (uint32_t i = 0; i < width * height * 3; i++) rgb[i] = gray[i / 3];
    struct values_shape shape = { VALUE_UINT8, 3, width * height, false, width };
    check_hash_of(text, shape, rgb, expected);
    shape.channels = 1;
    check_hash_of(text, shape, (void *)gray, expected);
}

/* The values of an image are the pixels that resize makes of it. */
static inline void hash_expected(const struct image *in, const struct values_shape *shape,
                                 void *values) {
    struct plan plan;
    struct image shapes[PLAN_STEPS_MAX + 1], out;
    struct failure failure = { 0 };
    if (plan_parse(&plan, "resize:width=32,height=32,fit=inside,kernel=linear", &failure) ||
        plan_shapes(&plan, in, UINT64_MAX, shapes, &failure))
        fail_msg("%s", failure.message);
    out = shapes[1];
    out.pixels = malloc(image_bytes(&out));
    struct op_call call = {
        .op = plan.steps[0].op, .params = &plan.steps[0].params, .in = *in, .out = out
    };
    call.scratch = aligned_alloc(256, (call.op->scratch(&call) + 511) / 256 * 256);
    call.failure = &failure;
    assert_int_equal(call.op->run(&call), STATUS_OK);
    assert_int_equal(shape->width, out.width);
    assert_int_equal(shape->length, out.width * out.height);
    assert_int_equal(shape->channels, in->channels);
    assert_int_equal(shape->type, in->depth == 8 ? VALUE_UINT8 : VALUE_UINT16);
    for (uint32_t y = 0; y < out.height; y++)
        memcpy((uint8_t *)values + y * image_row_bytes(&out), image_row(&out, y),
               image_row_bytes(&out));
    free(call.scratch);
    free(out.pixels);
}

#endif
