// SPDX-License-Identifier: Apache-2.0
/* rotate against tables by hand, and against a slow function, plain and with vectors. */
#include "pipeline/ops/rotate.h"

#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

/* 1 2 3
 * 4 5 6, clockwise: the left column, from below, becomes the upper row. */
static void by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 1, 2, 3, 4, 5, 6 };
    const uint8_t quarter[] = { 4, 1, 5, 2, 6, 3 }, half[] = { 6, 5, 4, 3, 2, 1 };
    check_8("rotate:angle=0", 3, 2, 1, in, 1, in);
    check_8("rotate", 3, 2, 1, in, 1, quarter);
    check_8("rotate:angle=90", 3, 2, 1, in, 1, quarter);
    check_8("rotate:angle=180", 3, 2, 1, in, 1, half);
    check_8("rotate:angle=270", 3, 2, 1, in, 1, (const uint8_t[]){ 3, 6, 2, 5, 1, 4 });
    check_8("rotate:angle=90", 1, 2, 3, in, 3, (const uint8_t[]){ 4, 5, 6, 1, 2, 3 });
    check_8("rotate:angle=270", 1, 2, 3, in, 3, in);
    const uint16_t wide[] = { 1, 65535, 300, 400 };
    check_16("rotate:angle=180", 2, 1, 2, wide, 2, (const uint16_t[]){ 300, 400, 1, 65535 });
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    const int64_t right = (int64_t)in->width - 1, low = (int64_t)in->height - 1;
    switch (rotate_quarters(params)) {
    case ROTATE_90: return (uint32_t)against_sample(in, y, low - x, c);
    case ROTATE_180: return (uint32_t)against_sample(in, right - x, low - y, c);
    case ROTATE_270: return (uint32_t)against_sample(in, right - y, x, c);
    default: return (uint32_t)against_sample(in, x, y, c);
    }
}

static void every_shape(void **state) {
    (void)state;
    check_against("rotate:angle=0", expected);
    check_against("rotate:angle=90", expected);
    check_against("rotate:angle=180", expected);
    check_against("rotate:angle=270", expected);
}

static void quarters_have_several_names(void **state) {
    (void)state;
    const uint8_t in[] = { 1, 2, 3, 4, 5, 6 };
    check_8("rotate:angle=-90", 3, 2, 1, in, 1, (const uint8_t[]){ 3, 6, 2, 5, 1, 4 });
    check_8("rotate:angle=-180.000", 3, 2, 1, in, 1, (const uint8_t[]){ 6, 5, 4, 3, 2, 1 });
    check_8("rotate:angle=360,background=ff000080", 3, 2, 1, in, 1, in);
}

/* One pixel of 80 turned by an eighth, on black. The result's sides are 2 x sqrt(1/2), so 2. Each
 * of its four pixels is sqrt(1/2) from the middle on one axis, 181 of 256, and 0 on the other: 75 x
 * 80 / 256 = 23.4. Alpha likewise: 75 x 255 / 256 = 74.7, and the colour stays. */
static void a_pixel_by_hand(void **state) {
    (void)state;
    check_8("rotate:angle=45,background=000000", 1, 1, 1, (const uint8_t[]){ 80 }, 1,
            (const uint8_t[]){ 23, 23, 23, 23 });
    check_8("rotate:angle=45,background=ffffff00", 1, 1, 1, (const uint8_t[]){ 80 }, 2,
            (const uint8_t[]){ 80, 75, 80, 75, 80, 75, 80, 75 });
}

/* In floating point from the definition, places as the header rounds them. */
static uint32_t tilted(const struct image *in, const struct params *params, uint32_t column,
                       uint32_t row, unsigned c) {
    const double angle = (double)params->number[ROTATE_ANGLE] / 180000 * 3.14159265358979323846;
    const double cosine = cos(angle), sine = sin(angle);
    const double x = column + 0.5 - ceil(in->width * fabs(cosine) + in->height * fabs(sine)) / 2,
                 y = row + 0.5 - ceil(in->width * fabs(sine) + in->height * fabs(cosine)) / 2;
    const int64_t u = llrint(256 * (cosine * x + sine * y + (in->width - 1.0) / 2)),
                  v = llrint(256 * (cosine * y - sine * x + (in->height - 1.0) / 2));
    const unsigned colours = image_colours(in);
    const int64_t max = image_max(in), beyond = params->number[ROTATE_BACKGROUND] & 255 ? max : 0;
    int64_t sum = 0, weight = 0;
    for (int t = 0; t < 4; t++) {
        const int64_t left = (u >> 8) + t % 2, top = (v >> 8) + t / 2;
        const int64_t share = (256 - llabs(256 * left - u)) * (256 - llabs(256 * top - v));
        const bool inside = left >= 0 && top >= 0 && left < in->width && top < in->height;
        const int64_t alpha = !inside               ? beyond
                              : image_has_alpha(in) ? against_sample(in, left, top, colours)
                                                    : max;
        const int64_t sample = !inside ? max : against_sample(in, left, top, c % colours);
        sum += share * (c == colours ? alpha : alpha * sample);
        weight += share * (c == colours ? 1 : alpha);
    }
    return weight ? (uint32_t)((2 * sum + weight) / (2 * weight)) : 0;
}

/* White around, or nothing: then an opaque image gets alpha. Wide results have pieces within
 * the image, across its edges and beyond it. */
static void any_angle(void **state) {
    (void)state;
    static const char *const plans[] = { "rotate:angle=17.001", "rotate:angle=-131.3",
                                         "rotate:angle=17.001,background=ffffff00" };
    const uint32_t sizes[3][2] = { { 61, 34 }, { 3, 50 }, { 170, 21 } };
    struct plan plan;
    struct failure failure = { 0 };
    for (unsigned i = 0; i < 72; i++) {
        const char *text = plans[i % 3];
        const uint32_t *size = sizes[i / 3 % 3];
        assert_int_equal(plan_parse(&plan, text, &failure), STATUS_OK);
        against_one(text, &plan.steps[0],
                    image_shape(size[0], size[1], 1 + i / 9 % 4, i / 36 ? 8 : 16), PICTURE_NOISE,
                    tilted);
    }
}

static void others_are_refused(void **state) {
    (void)state;
    struct plan plan;
    struct image shapes[PLAN_STEPS_MAX + 1];
    struct failure failure = { 0 };
    const struct image in = image_shape(65535, 65535, 1, 8);
    assert_int_equal(plan_parse(&plan, "rotate:angle=361", &failure), STATUS_BAD_PARAM);
    assert_int_equal(plan_parse(&plan, "rotate:angle=1.0001", &failure), STATUS_BAD_PARAM);
    assert_int_equal(plan_parse(&plan, "rotate:angle=45", &failure), STATUS_OK);
    assert_int_equal(plan_shapes(&plan, &in, UINT64_MAX, shapes, &failure), STATUS_TOO_LARGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(every_shape),
        cmocka_unit_test(quarters_have_several_names),
        cmocka_unit_test(a_pixel_by_hand),
        cmocka_unit_test(any_angle),
        cmocka_unit_test(others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
