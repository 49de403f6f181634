// SPDX-License-Identifier: Apache-2.0
/* maximum against values found by hand, and against looking at one sample after the other.
 *
 * covers: pipeline/ops/reduction.h */
#include "tests/pipeline/ops/reported_values.h"

static void by_hand(void **state) {
    (void)state;
    const uint8_t rgb[] = { 9, 200, 7, 3, 255, 17, 5, 201, 254 };
    check_values("maximum", image_shape(3, 1, 3, 8), rgb, one_number(VALUE_UINT32, 3),
                 (const uint32_t[]){ 9, 255, 254 });
    const uint16_t one = 40001;
    check_values("maximum", image_shape(1, 1, 1, 16), &one, one_number(VALUE_UINT32, 1),
                 (const uint32_t[]){ 40001 });
}

static void alpha_is_left_out(void **state) {
    (void)state;
    const uint8_t gray[] = { 70, 1, 71, 255 };
    check_values("maximum", image_shape(1, 2, 2, 8), gray, one_number(VALUE_UINT32, 1),
                 (const uint32_t[]){ 71 });
    const uint16_t rgba[] = { 500, 600, 700, 1, 501, 599, 700, 65535 };
    check_values("maximum", image_shape(2, 1, 4, 16), rgba, one_number(VALUE_UINT32, 3),
                 (const uint32_t[]){ 501, 600, 700 });
}

/* Luma of 204060 is (77 32 + 150 64 + 29 96 + 128) / 256 = 58. */
static void hidden_pixels_are_left_out(void **state) {
    (void)state;
    const uint8_t rgba[] = { 0, 255, 9, 0, 7, 8, 10, 1, 255, 0, 9, 0 };
    check_values("maximum", image_shape(3, 1, 4, 8), rgba, one_number(VALUE_UINT32, 3),
                 (const uint32_t[]){ 7, 8, 10 });
    const uint16_t none[] = { 7, 0, 500, 0 };
    check_values("maximum", image_shape(2, 1, 2, 16), none, one_number(VALUE_UINT32, 1),
                 (const uint32_t[]){ 65535 });
    check_values("maximum:background=204060", image_shape(2, 1, 2, 16), none,
                 one_number(VALUE_UINT32, 1), (const uint32_t[]){ 58 * 257 });
}

static void look(const struct image *in, const struct values_shape *shape, void *values) {
    uint32_t *numbers = values;
    for (unsigned c = 0; c < shape->channels; c++) {
        numbers[c] = seen_pixels(in) ? 0 : image_max(in);
        for (uint32_t y = 0; y < in->height; y++)
            for (uint32_t x = 0; x < in->width; x++) {
                const uint32_t sample = colour_sample(in, x, y, c);
                if (is_seen(in, x, y) && sample > numbers[c]) numbers[c] = sample;
            }
    }
}

static void every_shape(void **state) {
    (void)state;
    check_values_against("maximum", look);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(alpha_is_left_out),
        cmocka_unit_test(hidden_pixels_are_left_out),
        cmocka_unit_test(every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
