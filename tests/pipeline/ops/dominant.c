// SPDX-License-Identifier: Apache-2.0
/* dominant against pictures counted by hand, and against a slow function. */
#include "tests/pipeline/ops/reported_values.h"

static struct values_shape colours(uint32_t count) {
    return one_number(VALUE_UINT32, count);
}

static void by_hand(void **state) {
    (void)state;
    /* 16..31 has two, 240..255 one. */
    const uint8_t gray[] = { 31, 250, 16 };
    check_values("dominant", image_shape(3, 1, 1, 8), gray, colours(1), (const uint32_t[]){ 24 });
    /* Two pixels of (240.., 0.., 16..); the other's channels are each as frequent. */
    const uint8_t rgb[] = { 255, 15, 16, 0, 15, 31, 240, 0, 31 };
    check_values("dominant", image_shape(1, 3, 3, 8), rgb, colours(3),
                 (const uint32_t[]){ 248, 8, 24 });
    const uint16_t wide[] = { 65535, 4096, 0, 61440, 8191, 4095 };
    check_values("dominant", image_shape(2, 1, 3, 16), wide, colours(3),
                 (const uint32_t[]){ 248, 24, 8 });
}

/* (0, 255, 255) has a lower number than (16, 0, 0): red counts most. */
static void of_equals_the_lower_number(void **state) {
    (void)state;
    const uint8_t rgb[] = { 16, 0, 0, 0, 255, 255 };
    check_values("dominant", image_shape(2, 1, 3, 8), rgb, colours(3),
                 (const uint32_t[]){ 8, 248, 248 });
    const uint8_t gray[] = { 200, 100, 40, 90 };
    check_values("dominant", image_shape(4, 1, 1, 8), gray, colours(1), (const uint32_t[]){ 40 });
}

static void alpha_is_left_out(void **state) {
    (void)state;
    const uint8_t rgba[] = { 1, 2, 3, 1, 4, 5, 6, 255, 250, 250, 250, 255 };
    check_values("dominant", image_shape(3, 1, 4, 8), rgba, colours(3),
                 (const uint32_t[]){ 8, 8, 8 });
}

static void hidden_pixels_are_left_out(void **state) {
    (void)state;
    const uint8_t rgba[] = { 1, 2, 3, 0, 4, 5, 6, 0, 250, 250, 20, 1 };
    check_values("dominant", image_shape(3, 1, 4, 8), rgba, colours(3),
                 (const uint32_t[]){ 248, 248, 24 });
    check_values("dominant:background=204060", image_shape(2, 1, 4, 8), rgba, colours(3),
                 (const uint32_t[]){ 40, 72, 104 });
}

static void count(const struct image *in, const struct values_shape *shape, void *values) {
    static uint32_t counts[16][16][16];
    const uint32_t n = shape->channels, step = in->depth == 8 ? 16 : 4096;
    uint32_t most = 0, best[3] = { 15, 15, 15 }; /* white */
    memset(counts, 0, sizeof counts);
    for (uint32_t y = 0; y < in->height; y++)
        for (uint32_t x = 0; x < in->width; x++)
            counts[colour_sample(in, x, y, 0) / step][n < 3 ? 0 : colour_sample(in, x, y, 1) / step]
                  [n < 3 ? 0 : colour_sample(in, x, y, 2) / step] += is_seen(in, x, y);
    for (uint32_t r = 0; r < 16; r++)
        for (uint32_t g = 0; g < 16; g++)
            for (uint32_t b = 0; b < 16; b++)
                if (counts[r][g][b] > most)
                    most = counts[r][g][b], best[0] = r, best[1] = g, best[2] = b;
    for (uint32_t c = 0; c < n; c++) ((uint32_t *)values)[c] = 16 * best[c] + 8;
}

static void every_shape(void **state) {
    (void)state;
    check_values_against("dominant", count);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),           cmocka_unit_test(of_equals_the_lower_number),
        cmocka_unit_test(alpha_is_left_out), cmocka_unit_test(hidden_pixels_are_left_out),
        cmocka_unit_test(every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
