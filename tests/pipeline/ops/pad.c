// SPDX-License-Identifier: Apache-2.0
/* pad against tables by hand and against a slow function that walks along the border; channels that
 * the background's colour and alpha add; sides that would be too long.
 * covers: pipeline/ops/resize/canvas.c */
#include "pipeline/ops/pad.h"

#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

static void by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 1, 2, 3, 4, 5, 6 };
    check_8("pad", 3, 2, 1, in, 1, in);
    check_8("pad:top=1,left=2,background=000000", 2, 1, 1, in, 1,
            (const uint8_t[]){ 0, 0, 0, 0, 0, 0, 1, 2 });
    check_8("pad:left=4,right=3,around=mirror", 3, 1, 1, in, 1,
            (const uint8_t[]){ 3, 3, 2, 1, 1, 2, 3, 3, 2, 1 });
    check_8("pad:right=2,bottom=1,around=edge", 1, 2, 3, in, 3,
            (const uint8_t[]){ 1, 2, 3, 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5,
                               6, 4, 5, 6, 4, 5, 6, 4, 5, 6, 4, 5, 6 });
    const uint16_t wide[] = { 1, 300 };
    check_16("pad:left=1,background=808080", 1, 1, 2, wide, 2,
             (const uint16_t[]){ 128 * 257, 65535, 1, 300 });
}

static void channels_that_the_colour_needs(void **state) {
    (void)state;
    const uint8_t in[] = { 7 }, colour[] = { 9, 8, 7 };
    check_8("pad:left=1,background=102030", 1, 1, 1, in, 3,
            (const uint8_t[]){ 16, 32, 48, 7, 7, 7 });
    check_8("pad:left=1,background=20202080", 1, 1, 1, in, 2, (const uint8_t[]){ 32, 128, 7, 255 });
    check_8("pad:right=1,background=10203000", 1, 1, 1, in, 4,
            (const uint8_t[]){ 7, 7, 7, 255, 16, 32, 48, 0 });
    check_8("pad:right=1,background=00000080", 1, 1, 3, colour, 4,
            (const uint8_t[]){ 9, 8, 7, 255, 0, 0, 0, 128 });
    check_8("pad:right=1,background=10203080,around=edge", 1, 1, 1, in, 1,
            (const uint8_t[]){ 7, 7 });
}

/* Folds the axis at the picture's ends until the place lies between them. */
static int64_t mirrored(int64_t place, int64_t length) {
    while (place < 0 || place >= length) place = (place < 0 ? 0 : 2 * length) - 1 - place;
    return place;
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t column,
                         uint32_t row, unsigned c) {
    const int64_t x = (int64_t)column - params->number[PAD_LEFT],
                  y = (int64_t)row - params->number[PAD_TOP];
    const bool inside = x >= 0 && x < in->width && y >= 0 && y < in->height;
    if (inside || params->number[PAD_AROUND] == AROUND_EDGE)
        return (uint32_t)against_sample(in, x, y, c);
    if (params->number[PAD_AROUND] == AROUND_MIRROR)
        return (uint32_t)against_sample(in, mirrored(x, in->width), mirrored(y, in->height), c);
    return image_max(in);
}

/* Noise alone: pixels are moved, whatever they are. */
static void every_shape(void **state) {
    (void)state;
    static const char *const plans[] = {
        "pad:top=2,right=3,bottom=1,left=5",
        "pad:right=1,bottom=40,left=7,around=edge",
        "pad:top=45,left=43,right=21,around=mirror",
    };
    struct plan plan;
    struct failure failure = { 0 };
    for (int i = 0; i < (int)AWKWARD_SIZES * 8 * 3; i++) {
        const struct image shape =
            image_shape(awkward_sizes[i / 24].width, awkward_sizes[i / 24].height,
                        1 + (unsigned)i / 3 % 4, i / 12 % 2 ? 8 : 16);
        assert_int_equal(plan_parse(&plan, plans[i % 3], &failure), STATUS_OK);
        against_one(plans[i % 3], &plan.steps[0], shape, PICTURE_NOISE, expected);
    }
}

static void long_sides_are_refused(void **state) {
    (void)state;
    struct plan plan;
    struct image shapes[PLAN_STEPS_MAX + 1];
    struct failure failure = { 0 };
    const struct image in = image_shape(100, 3, 4, 8);
    assert_int_equal(plan_parse(&plan, "pad:left=65434,right=1", &failure), STATUS_OK);
    assert_int_equal(plan_shapes(&plan, &in, 1 << 30, shapes, &failure), STATUS_OK);
    assert_int_equal(plan_parse(&plan, "pad:left=65434,right=2", &failure), STATUS_OK);
    assert_int_equal(plan_shapes(&plan, &in, 1 << 30, shapes, &failure), STATUS_TOO_LARGE);
    assert_int_equal(plan_parse(&plan, "pad:top=65534,bottom=65534", &failure), STATUS_OK);
    assert_int_equal(plan_shapes(&plan, &in, 1 << 30, shapes, &failure), STATUS_TOO_LARGE);
    assert_int_equal(plan_parse(&plan, "pad:top=65535", &failure), STATUS_BAD_PARAM);
    assert_int_equal(plan_parse(&plan, "pad:left=-1", &failure), STATUS_BAD_PARAM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(channels_that_the_colour_needs),
        cmocka_unit_test(every_shape),
        cmocka_unit_test(long_sides_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
