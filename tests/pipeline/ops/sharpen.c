// SPDX-License-Identifier: Apache-2.0
/* sharpen against values computed by hand, and against its definition over blur's own results
 * (tests/reference/test_sharpen.py compares with OpenCV's blur). */
#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

#include <stdio.h>

/* Sigma 1 weighs 1 14 62 102 62 14 1 of 256. A step from 100 to 200: beside it (100 * 179 + 200 *
 * 77) / 256 = 130.08, then (241, 15) 105.86, then (255, 1) 100.39; on the other side 169.92, 194.14
 * and 199.61. So differences are 0 -6 -30 30 6 0; half of -30 is -15; 250 % of 6 are 15. */
static void a_step(void **state) {
    (void)state;
    const uint8_t in[] = { 100, 100, 100, 100, 200, 200, 200, 200 };
    check_8("sharpen", 8, 1, 1, in, 1, (const uint8_t[]){ 100, 100, 94, 70, 230, 206, 200, 200 });
    check_8("sharpen:amount=50", 8, 1, 1, in, 1,
            (const uint8_t[]){ 100, 100, 97, 85, 215, 203, 200, 200 });
    check_8("sharpen:amount=250", 8, 1, 1, in, 1,
            (const uint8_t[]){ 100, 100, 85, 25, 255, 215, 200, 200 });
    check_8("sharpen:amount=0", 8, 1, 1, in, 1, in);
    /* Over the threshold, not at it. */
    check_8("sharpen:threshold=5", 8, 1, 1, in, 1,
            (const uint8_t[]){ 100, 100, 94, 70, 230, 206, 200, 200 });
    check_8("sharpen:threshold=6", 8, 1, 1, in, 1,
            (const uint8_t[]){ 100, 100, 100, 70, 230, 200, 200, 200 });
    check_8("sharpen:threshold=30", 8, 1, 1, in, 1, in);
}

/* 25 % of -6 is -1.5, and of 6 is 1.5: halves go up. 30: 7.5. */
static void halves_go_up(void **state) {
    (void)state;
    const uint8_t in[] = { 100, 100, 100, 100, 200, 200, 200, 200 };
    check_8("sharpen:amount=25", 8, 1, 1, in, 1,
            (const uint8_t[]){ 100, 100, 99, 93, 208, 202, 200, 200 });
}

/* Sigma 0.3 weighs 251 65034 251 of 65536: of 0 and 40000, (251 + 251) * 40000 / 65536 = 306.4 at
 * the first, the rest at the second. */
static void sixteen_bit(void **state) {
    (void)state;
    const uint16_t in[] = { 1000, 41000 };
    check_16("sharpen:sigma=0.3", 2, 1, 1, in, 1, (const uint16_t[]){ 694, 41306 });
    check_16("sharpen:sigma=0.3,amount=1000", 2, 1, 1, in, 1, (const uint16_t[]){ 0, 44060 });
    /* 306 is over 1 of 255, which is 257, and not over 2. */
    check_16("sharpen:sigma=0.3,threshold=1", 2, 1, 1, in, 1, (const uint16_t[]){ 694, 41306 });
    check_16("sharpen:sigma=0.3,threshold=2", 2, 1, 1, in, 1, in);
}

/* ---- over blur's results */

static struct image blurred;

/* floor(n / d) for any n. */
static int64_t divide(int64_t n, int64_t d) {
    return n / d - (n % d < 0);
}

static uint32_t defined(int64_t v, int64_t b, const struct params *params, int64_t max) {
    const int64_t amount = params->number[1], threshold = params->number[2] * (max / 255);
    const int64_t level = v + divide(2 * amount * (v - b) + 100, 200);
    if (llabs(v - b) <= threshold) return (uint32_t)v;
    return (uint32_t)(level < 0 ? 0 : level > max ? max : level);
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    const size_t at = (size_t)x * in->channels + c;
    const uint32_t v = sample_get(image_row(in, y), at, in->depth);
    if (image_has_alpha(in) && c == in->channels - 1u) return v;
    if (x == 0 && y == 0 && c == 0) {
        struct plan plan;
        struct failure failure = { 0 };
        free(blurred.pixels);
        blurred = against_padded(image_shape(in->width, in->height, in->channels, in->depth));
        assert_int_equal(plan_parse(&plan, "blur:sigma=1.7", &failure), STATUS_OK);
        struct op_call call = {
            .params = &plan.steps[0].params, .in = *in, .out = blurred, .failure = &failure
        };
        call.scratch = aligned_alloc(256, (plan.steps[0].op->scratch(&call) + 511) / 256 * 256);
        assert_int_equal(plan.steps[0].op->run(&call), STATUS_OK);
        free(call.scratch);
    }
    return defined(v, sample_get(image_row(&blurred, y), at, in->depth), params, image_max(in));
}

static void every_shape(void **state) {
    (void)state;
    static const char *const texts[] = { "sharpen:sigma=1.7", "sharpen:sigma=1.7,amount=333",
                                         "sharpen:sigma=1.7,amount=1000,threshold=3" };
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) check_against(texts[t], expected);
    free(blurred.pixels);
}

/* Every amount, where noise has nearly every difference of samples. */
static void every_amount(void **state) {
    (void)state;
    for (int amount = 0; amount <= 1000; amount++) {
        char text[64];
        snprintf(text, sizeof text, "sharpen:sigma=1.7,amount=%d,threshold=%d", amount, amount % 7);
        struct plan plan;
        struct failure failure = { 0 };
        assert_int_equal(plan_parse(&plan, text, &failure), STATUS_OK);
        against_one(text, &plan.steps[0], image_shape(61, 37, 1, 8), PICTURE_NOISE, expected);
    }
    free(blurred.pixels);
    blurred.pixels = NULL;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step),      cmocka_unit_test(halves_go_up),
        cmocka_unit_test(sixteen_bit), cmocka_unit_test(every_amount),
        cmocka_unit_test(every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
