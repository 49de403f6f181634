// SPDX-License-Identifier: Apache-2.0
/* composite by hand: places, sizes, samples and what is refused; vectors against plain C. Pillow
 * and numpy are asked in tests/reference/test_composite.py.
 * covers: pipeline/rows/over.c */
#include "pipeline/ops/composite.h"

#include "pipeline/plan.h"
#include "pipeline/rows/over.h"
#include "pipeline/rows/simd.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct plan plan_of(const char *text) {
    struct plan plan;
    struct failure failure = { 0 };
    if (plan_parse(&plan, text, &failure)) fail_msg("%s: %s", text, failure.message);
    return plan;
}

static void check_corner(const char *text, uint32_t width, uint32_t height, int left, int top) {
    const struct plan plan = plan_of(text);
    struct op_call call = { .params = &plan.steps[0].params, .in = image_shape(11, 8, 3, 8) };
    const struct image over = image_shape(width, height, 4, 8);
    const struct composite_corner corner = composite_corner_of(&call, &over);
    assert_int_equal(corner.left, left);
    assert_int_equal(corner.top, top);
}

static void places(void **state) {
    (void)state;
    check_corner("composite", 4, 3, 3, 2);
    check_corner("composite:x=2,y=-1", 4, 3, 5, 1);
    check_corner("composite", 14, 13, -2, -3);
    check_corner("composite:position=northwest,x=2,y=1", 4, 3, 2, 1);
    check_corner("composite:position=southeast,x=2,y=1", 4, 3, 5, 4);
    check_corner("composite:position=east,x=-2", 4, 3, 9, 2);
    check_corner("composite:position=south,x=1,y=9", 4, 3, 4, -4);
    assert_int_equal(composite_first_tile(7, 3), -2);
    assert_int_equal(composite_first_tile(-7, 3), -1);
    assert_int_equal(composite_first_tile(6, 3), 0);
}

static void check_size(const char *text, uint32_t width, uint32_t height, uint32_t to_width,
                       uint32_t to_height) {
    const struct plan plan = plan_of(text);
    const struct image in = image_shape(200, 100, 3, 8), over = image_shape(width, height, 4, 16);
    const struct image shape = composite_shape(&plan.steps[0].params, &in, &over);
    assert_int_equal(shape.width, to_width);
    assert_int_equal(shape.height, to_height);
    assert_int_equal(shape.depth, 16);
}

static void sizes(void **state) {
    (void)state;
    check_size("composite", 65535, 1, 65535, 1);
    check_size("composite:scale=100", 400, 100, 200, 50);
    check_size("composite:scale=25", 8, 3, 50, 19); /* 18.75 */
    check_size("composite:scale=1", 30, 1, 2, 1);
    check_size("composite:scale=50", 10, 20, 50, 100); /* not 100 x 200 */
    check_size("composite:scale=100", 1, 65535, 1, 100);
    check_size("composite:scale=100", 65535, 1, 200, 1);
}

/* Runs TEXT on a picture of WIDTH x 1 with an overlay of OVER_WIDTH x 1. */
static void check_row(const char *text, uint32_t width, unsigned channels, const void *in,
                      uint32_t over_width, unsigned over_depth, const void *over,
                      unsigned out_channels, const void *expected) {
    const struct plan plan = plan_of(text);
    struct failure failure = { 0 };
    struct op_call call = { .op = plan.steps[0].op,
                            .params = &plan.steps[0].params,
                            .in = image_shape(width, 1, channels, 8),
                            .failure = &failure };
    uint8_t out[64];
    assert_int_equal(call.op->size(call.params, &call.in, &call.out, &failure), STATUS_OK);
    assert_int_equal(call.out.channels, out_channels);
    call.in.pixels = (uint8_t *)in;
    call.out.pixels = out;
    if (over) call.aux[0] = image_shape(over_width, 1, 4, over_depth);
    call.aux[0].pixels = (uint8_t *)over;
    assert_int_equal(call.op->run(&call), STATUS_OK);
    assert_memory_equal(out, expected, image_row_bytes(&call.out));
}

#define U8(...)                                                                                    \
    (const uint8_t[]) {                                                                            \
        __VA_ARGS__                                                                                \
    }
#define U16(...)                                                                                   \
    (const uint16_t[]) {                                                                           \
        __VA_ARGS__                                                                                \
    }

static void by_hand(void **state) {
    (void)state;
    const uint8_t *three = U8(10, 20, 30, 40, 50, 60, 70, 80, 90);
    check_row("composite", 3, 3, three, 0, 8, NULL, 3, three);
    /* Half, all and nothing of white: 10 + 245 * 128 / 255 = 132.98. */
    const uint8_t *white = U8(255, 255, 255, 128, 255, 255, 255, 255, 255, 255, 255, 0);
    check_row("composite", 3, 3, three, 3, 8, white, 3,
              U8(133, 138, 143, 255, 255, 255, 70, 80, 90));
    /* Alpha 128 * 0.5 = 64, 255 * 0.5 = 127.5, up. */
    check_row("composite:opacity=0.5", 3, 3, three, 3, 8, white, 3,
              U8(71, 79, 86, 148, 153, 158, 70, 80, 90));
    /* Gray becomes RGB, or takes the luma: of red 77. */
    const uint8_t *red = U8(255, 0, 0, 255);
    check_row("composite:position=east", 2, 1, U8(9, 8), 1, 8, red, 3, U8(9, 9, 9, 255, 0, 0));
    check_row("composite:position=east,colour=false", 2, 1, U8(9, 8), 1, 8, red, 1, U8(9, 77));
    /* Tiles from the west: the second pixel of the overlay is where the first tile ends. */
    const uint8_t *two = U8(1, 1, 1, 255, 2, 2, 2, 255);
    check_row("composite:tile=true,position=west,x=1,colour=false", 5, 1, U8(0, 0, 0, 0, 0), 2, 8,
              two, 1, U8(2, 1, 2, 1, 2));
    /* 16 bits: (385 + 128) / 257 = 1.996, and 386 is 2. */
    check_row("composite:position=west,colour=false", 2, 1, U8(0, 0), 2, 16,
              U16(385, 385, 385, 65535, 386, 386, 386, 65535), 1, U8(1, 2));
    /* On alpha 0 the overlay stands as it is; nothing changes under its own alpha 0. */
    check_row("composite", 2, 4, U8(9, 9, 9, 0, 7, 7, 7, 0), 2, 8, U8(1, 2, 3, 77, 4, 5, 6, 0), 4,
              U8(1, 2, 3, 77, 7, 7, 7, 0));
}

/* Every pair of alphas, in plain C and in vectors, against the definition. */
static void every_alpha_over_every_other(void **state) {
    (void)state;
    enum { PIXELS = 65536 };
    static uint8_t over[4 * PIXELS], under[4 * PIXELS], out[4 * PIXELS];
    uint32_t seed = 1;
    for (size_t i = 0; i < 4 * PIXELS; i++) over[i] = (uint8_t)(noise_next(&seed) >> 24);
    for (size_t i = 0; i < 4 * PIXELS; i++) under[i] = (uint8_t)(noise_next(&seed) >> 24);
    for (size_t i = 0; i < PIXELS; i++)
        over[4 * i + 3] = (uint8_t)i, under[4 * i + 3] = (uint8_t)(i >> 8);
    for (enum simd most = SIMD_NONE; most <= SIMD_BEST; most++) {
        memcpy(out, under, sizeof out);
        simd_limit(most);
        over_rgba8(out, over, PIXELS, 1000);
        for (size_t i = 0; i < 4 * PIXELS; i += 4) {
            const uint32_t front[] = { over[i], over[i + 1], over[i + 2], over[i + 3] };
            uint32_t back[] = { under[i], under[i + 1], under[i + 2], under[i + 3] };
            composite_pixel(back, front, 4, 8, BLEND_OVER);
            for (size_t c = 0; c < 4; c++) assert_int_equal(out[i + c], back[c]);
        }
    }
}

/* Every pair of samples, in plain C and in vectors, against the definition. */
static void blends_make_the_same(void **state) {
    (void)state;
    enum { PIXELS = 65536 / 3 + 1 };
    static uint8_t over[4 * PIXELS], under[3 * PIXELS], out[3 * PIXELS];
    uint32_t seed = 1;
    for (size_t i = 0; i < 3 * PIXELS; i++)
        under[i] = (uint8_t)i, over[i / 3 * 4 + i % 3] = (uint8_t)(i >> 8);
    for (size_t i = 0; i < PIXELS; i++) over[4 * i + 3] = (uint8_t)(noise_next(&seed) >> 24);
    for (int k = 0; k < 16; k++) {
        const int blend = k / 4;
        const uint32_t opacity = k / 2 % 2 ? 1000 : 333 * (uint32_t)blend;
        memcpy(out, under, sizeof out);
        simd_limit(k % 2 ? SIMD_BEST : SIMD_NONE);
        over_rgb8(out, over, PIXELS, opacity, blend);
        for (size_t i = 0; i < PIXELS; i++) {
            uint32_t front[] = { over[4 * i], over[4 * i + 1], over[4 * i + 2], over[4 * i + 3] };
            uint32_t back[] = { under[3 * i], under[3 * i + 1], under[3 * i + 2] };
            composite_front(front, 8, 3, 8, opacity);
            composite_pixel(back, front, 3, 8, blend);
            for (size_t c = 0; c < 3; c++) assert_int_equal(out[3 * i + c], back[c]);
        }
    }
    simd_limit(SIMD_BEST);
}

static void what_is_missing_is_named(void **state) {
    (void)state;
    struct failure failure = { 0 };
    const bool carves = builtin_op_find("carve");
    struct plan plan = plan_of(carves ? "carve:dx=-1;composite" : "composite");
    assert_int_equal(plan_aux_step(&plan), carves);
    assert_int_equal(plan_aux_complete(&plan, 1, true, &failure), STATUS_OK);
    assert_int_equal(plan_aux_complete(&plan, 0, true, &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "overlay"));
    plan = plan_of("composite;composite");
    assert_int_equal(plan_aux_complete(&plan, 1, true, &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "only one step"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),
        cmocka_unit_test(sizes),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(every_alpha_over_every_other),
        cmocka_unit_test(blends_make_the_same),
        cmocka_unit_test(what_is_missing_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
