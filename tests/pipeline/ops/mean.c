// SPDX-License-Identifier: Apache-2.0
/* mean against sums made by hand, and against adding one sample after the other: equal in every
 * bit, since nothing is rounded but the one division. */
#include "tests/pipeline/ops/reported_values.h"

static void by_hand(void **state) {
    (void)state;
    const uint8_t rgb[] = { 1, 0, 255, 2, 0, 255, 4, 1, 255 };
    check_values("mean", image_shape(3, 1, 3, 8), rgb, one_number(VALUE_DOUBLE, 3),
                 (const double[]){ 7.0 / 3, 1.0 / 3, 255 });
    const uint16_t wide[] = { 65535, 65534, 65535, 65535 };
    check_values("mean", image_shape(2, 2, 1, 16), wide, one_number(VALUE_DOUBLE, 1),
                 (const double[]){ 65534.75 });
}

static void alpha_is_left_out(void **state) {
    (void)state;
    const uint8_t gray[] = { 70, 1, 71, 255 };
    check_values("mean", image_shape(1, 2, 2, 8), gray, one_number(VALUE_DOUBLE, 1),
                 (const double[]){ 70.5 });
}

static void hidden_pixels_are_left_out(void **state) {
    (void)state;
    const uint8_t rgba[] = { 0, 255, 9, 0, 7, 8, 10, 1, 8, 9, 10, 255 };
    check_values("mean", image_shape(3, 1, 4, 8), rgba, one_number(VALUE_DOUBLE, 3),
                 (const double[]){ 7.5, 8.5, 10 });
    const uint8_t none[] = { 1, 2, 3, 0 };
    check_values("mean:background=204060", image_shape(1, 1, 4, 8), none,
                 one_number(VALUE_DOUBLE, 3), (const double[]){ 0x20, 0x40, 0x60 });
}

static void add(const struct image *in, const struct values_shape *shape, void *values) {
    double *numbers = values;
    for (unsigned c = 0; c < shape->channels; c++) {
        uint64_t sum = 0;
        for (uint32_t y = 0; y < in->height; y++)
            for (uint32_t x = 0; x < in->width; x++)
                if (is_seen(in, x, y)) sum += colour_sample(in, x, y, c);
        numbers[c] = seen_pixels(in) ? (double)sum / seen_pixels(in) : image_max(in);
    }
}

static void every_shape(void **state) {
    (void)state;
    check_values_against("mean", add);
}

/* White, so that 16-bit lanes would overflow if they were folded later than after 256 blocks. */
static void white_overflows_nothing(void **state) {
    (void)state;
    for (unsigned depth = 8; depth <= 16; depth += 8) {
        struct image in = image_shape(4096, 64, 1, depth);
        in.pixels = malloc(image_bytes(&in));
        memset(in.pixels, 255, image_bytes(&in));
        struct values_shape shape;
        double *mean = values_of("mean", &in, NULL, &shape);
        assert_true(*mean == image_max(&in));
        free(mean);
        free(in.pixels);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(alpha_is_left_out),
        cmocka_unit_test(hidden_pixels_are_left_out),
        cmocka_unit_test(every_shape),
        cmocka_unit_test(white_overflows_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
