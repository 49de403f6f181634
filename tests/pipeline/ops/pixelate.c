// SPDX-License-Identifier: Apache-2.0
/* pixelate against tables by hand, and against a slow function that adds up each block. */
#include "pipeline/ops/pixelate.h"

#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

/* 1 2 | 6    (1 + 2 + 4 + 7) / 4 = 3.5, half up    (6 + 9) / 2 = 7.5
 * 4 7 | 9
 * 3 6 | 5    (3 + 6) / 2 = 4.5 */
static void by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 1, 2, 6, 4, 7, 9, 3, 6, 5 };
    check_8("pixelate:size=2", 3, 3, 1, in, 1, (const uint8_t[]){ 4, 4, 8, 4, 4, 8, 5, 5, 5 });
    /* 100 x 200 / 65735 = 0.3 */
    const uint16_t wide[] = { 0, 65535, 100, 200 };
    check_16("pixelate", 2, 1, 2, wide, 2, (const uint16_t[]){ 0, 32868, 0, 32868 });
}

/* (10 x 255 + 20 x 51) / 306 = 11.7; (255 + 51 + 0) / 3 = 102 */
static void hidden_colours_do_not_count(void **state) {
    (void)state;
    const uint8_t in[] = { 10, 255, 20, 51, 200, 0 }, out[] = { 12, 102, 12, 102, 12, 102 };
    check_8("pixelate", 3, 1, 2, in, 2, out);
    check_8("pixelate", 1, 1, 4, (const uint8_t[]){ 1, 2, 3, 0 }, 4,
            (const uint8_t[]){ 0, 0, 0, 0 });
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    const uint32_t size = (uint32_t)params->number[PIXELATE_SIZE], left = x / size * size,
                   top = y / size * size;
    const bool weighed = image_has_alpha(in) && c < in->channels - 1u;
    int64_t sum = 0, weight = 0;
    for (uint32_t v = top; v < top + size && v < in->height; v++)
        for (uint32_t u = left; u < left + size && u < in->width; u++) {
            const int64_t alpha = weighed ? against_sample(in, u, v, in->channels - 1u) : 1;
            sum += alpha * against_sample(in, u, v, c);
            weight += alpha;
        }
    return weight ? (uint32_t)((2 * sum + weight) / (2 * weight)) : 0;
}

static void every_shape(void **state) {
    (void)state;
    struct plan plan;
    struct failure failure = { 0 };
    check_against("pixelate:size=2", expected);
    assert_int_equal(plan_parse(&plan, "pixelate:size=7", &failure), STATUS_OK);
    for (unsigned i = 0; i < 8; i++)
        against_one("pixelate:size=7", &plan.steps[0],
                    image_shape(123, 66, 1 + i / 2, i % 2 ? 8 : 16), PICTURE_NOISE, expected);
    assert_int_equal(plan_parse(&plan, "pixelate:size=1025", &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "2..1024"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(hidden_colours_do_not_count),
        cmocka_unit_test(every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
