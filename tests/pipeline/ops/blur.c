// SPDX-License-Identifier: Apache-2.0
/* blur against values computed by hand, and against a slow function with weights that OpenCV 4.6
 * has (tests/reference/test_blur.py compares whole pictures with it).
 * covers: pipeline/smooth.c pipeline/reflect.h */
#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

/* Sigma 1 weighs 1 14 62 102 62 14 1. A white sample among black ones: 255 * w * 256 / 65536,
 * rounded: 62 is 61.76, 14 is 13.95. */
static void one_white_sample(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 0, 0, 0, 255, 0, 0, 0, 0 };
    const uint8_t out[] = { 0, 1, 14, 62, 102, 62, 14, 1, 0 };
    check_8("blur", 9, 1, 1, in, 1, out);
    check_8("blur", 1, 9, 1, in, 1, out);
    check_8("blur:sigma=1.000", 9, 1, 1, in, 1, out);
}

/* Two samples, 0 and 255, are 0 255 0 255 ... without end: at the first, 62 + 1 on either side, 126
 * of 256, are white: 125.5, half up; at the second 130: 129.49. */
static void borders_are_reflected(void **state) {
    (void)state;
    check_8("blur", 2, 1, 1, (const uint8_t[]){ 0, 255 }, 1, (const uint8_t[]){ 126, 129 });
    /* 10 20 30 at the first: 102 * 10 + 2 * 62 * 20 + 2 * 14 * 30 + 2 * 1 * 20 = 4380; 17.1 */
    check_8("blur", 3, 1, 1, (const uint8_t[]){ 10, 20, 30 }, 1, (const uint8_t[]){ 17, 20, 23 });
}

/* Weights 254 and 1: red of alpha 0 weighs nothing, and what is left of it goes back to full red.
 * At the first pixel alpha is 254 / 256 of 255, 253.008: 253; red 200 the same, 198.4: 198; back
 * 255 * 198 / 253 = 199.6. At the second alpha is 2 of 256, 1.99: 2, red 1.56: 2; back 255. */
static void colours_are_weighed_by_alpha(void **state) {
    (void)state;
    const uint8_t in[] = { 200, 0, 0, 255, 0, 90, 0, 0 };
    const uint8_t out[] = { 199, 0, 0, 253, 255, 0, 0, 2 };
    check_8("blur:sigma=0.3", 2, 1, 4, in, 4, out);
    check_8("blur:sigma=0.3", 2, 1, 2, (const uint8_t[]){ 200, 255, 90, 0 }, 2,
            (const uint8_t[]){ 199, 253, 255, 2 });
}

/* 16 bit, sigma 0.3 weighs 251 65034 251: 251 * 65535 / 65536 = 250.996, 65034: 65033.0076. */
static void sixteen_bit(void **state) {
    (void)state;
    const uint16_t in[] = { 0, 0, 65535, 0, 0 }, out[] = { 0, 251, 65033, 251, 0 };
    check_16("blur:sigma=0.3", 5, 1, 1, in, 1, out);
    check_16("blur:sigma=0.3", 1, 5, 1, in, 1, out);
}

/* ---- against a slow function */

/* Index beyond a border, mirrored step by step. */
static uint32_t mirrored(int64_t at, int64_t length) {
    while (length > 1 && (at < 0 || at >= length)) at = at < 0 ? -at : 2 * length - 2 - at;
    return length > 1 ? (uint32_t)at : 0;
}

static uint64_t weighed(const struct image *in, int64_t x, int64_t y, unsigned c) {
    const uint8_t *row = image_row(in, mirrored(y, in->height));
    const size_t at = (size_t)mirrored(x, in->width) * in->channels;
    const uint64_t sample = sample_get(row, at + c, in->depth), max = image_max(in);
    if (!image_has_alpha(in) || c == in->channels - 1u) return sample;
    return (sample * sample_get(row, at + in->channels - 1, in->depth) + max / 2) / max;
}

static const uint16_t weights8[] = { 102, 62, 14, 1 }, weights16[] = { 26146, 15857, 3539, 290, 9 };

static uint64_t smoothed(const struct image *in, uint32_t x, uint32_t y, unsigned c) {
    const uint16_t *weights = in->depth == 8 ? weights8 : weights16;
    const int reach = in->depth == 8 ? 3 : 4;
    uint64_t sum = UINT64_C(1) << (2 * in->depth - 1);
    for (int dy = -reach; dy <= reach; dy++)
        for (int dx = -reach; dx <= reach; dx++)
            sum += (uint64_t)weights[abs(dy)] * weights[abs(dx)] *
                   weighed(in, (int64_t)x + dx, (int64_t)y + dy, c);
    return sum >> (2 * in->depth);
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    (void)params;
    const uint64_t sample = smoothed(in, x, y, c), max = image_max(in);
    if (!image_has_alpha(in) || c == in->channels - 1u) return (uint32_t)sample;
    const uint64_t alpha = smoothed(in, x, y, in->channels - 1u);
    if (alpha == 0 || alpha == max) return (uint32_t)sample;
    return (uint32_t)(max * sample / alpha < max ? max * sample / alpha : max);
}

static void every_shape(void **state) {
    (void)state;
    check_against("blur", expected);
}

/* ---- shares of threads, and constants */

static void run_blur(const char *text, struct image in, struct image out, struct pool *pool) {
    struct plan plan;
    struct failure failure = { 0 };
    assert_int_equal(plan_parse(&plan, text, &failure), STATUS_OK);
    const struct step *step = &plan.steps[0];
    struct op_call call = {
        .params = &step->params, .in = in, .out = out, .pool = pool, .failure = &failure
    };
    call.scratch = aligned_alloc(256, (step->op->scratch(&call) + 511) / 256 * 256);
    assert_int_equal(step->op->run(&call), STATUS_OK);
    free(call.scratch);
}

/* Many threads cut into bands too; one has strips alone, in a picture wider than a strip. */
static void bands_and_strips_change_nothing(void **state) {
    (void)state;
    struct pool *pool = pool_create(7);
    for (unsigned channels = 1; channels <= 4; channels++)
        for (unsigned depth = 8; depth <= 16; depth += 8) {
            const struct image in = against_padded(image_shape(1300, 131, channels, depth)),
                               alone = against_padded(in), shared = against_padded(in);
            picture_draw(&in, PICTURE_NOISE, 5);
            run_blur("blur:sigma=3.5", in, alone, NULL);
            run_blur("blur:sigma=3.5", in, shared, pool);
            assert_memory_equal(alone.pixels, shared.pixels, image_bytes(&alone));
            free(in.pixels), free(alone.pixels), free(shared.pixels);
        }
    pool_destroy(pool);
}

static void a_constant_stays(void **state) {
    (void)state;
    static const char *const texts[] = { "blur:sigma=0.3", "blur", "blur:sigma=33.333",
                                         "blur:sigma=64" };
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        for (unsigned depth = 8; depth <= 16; depth += 8)
            for (uint32_t level = 0; level < 3; level++) {
                const struct image in = against_padded(image_shape(67, 23, 3, depth)),
                                   out = against_padded(in);
                for (uint32_t y = 0; y < in.height; y++)
                    for (size_t i = 0; i < 3 * (size_t)in.width; i++)
                        sample_put(image_row(&in, y), i, depth, image_max(&in) * level / 2);
                run_blur(texts[t], in, out, NULL);
                assert_memory_equal(in.pixels, out.pixels, image_bytes(&in));
                free(in.pixels), free(out.pixels);
            }
}

static void sigma_has_a_range(void **state) {
    (void)state;
    static const char *const bad[] = { "blur:sigma=0.299", "blur:sigma=64.001", "blur:sigma=0",
                                       "blur:sigma=-1",    "blur:sigma=1.0001", "blur:sigma=",
                                       "blur:sigma=nan",   "blur:radius=3" };
    struct plan plan;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct failure failure = { 0 };
        assert_int_equal(plan_parse(&plan, bad[i], &failure), STATUS_BAD_PARAM);
        assert_non_null(strstr(failure.message, "sigma"));
        if (i < 7) assert_non_null(strstr(failure.message, "0.3..64"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_white_sample),
        cmocka_unit_test(borders_are_reflected),
        cmocka_unit_test(colours_are_weighed_by_alpha),
        cmocka_unit_test(sixteen_bit),
        cmocka_unit_test(every_shape),
        cmocka_unit_test(bands_and_strips_change_nothing),
        cmocka_unit_test(a_constant_stays),
        cmocka_unit_test(sigma_has_a_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
