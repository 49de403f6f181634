// SPDX-License-Identifier: Apache-2.0
/* histogram against counts made by hand, and against counting one by one. */
#include "pipeline/ops/histogram.h"
#include "tests/pipeline/ops/reported_values.h"

static struct values_shape lists(uint32_t channels, uint32_t length) {
    return (struct values_shape){ VALUE_UINT32, channels, length, true, 0 };
}

static void a_table_by_hand(void **state) {
    (void)state;
    const uint8_t gray[] = { 0, 63, 64, 127, 128, 191, 192, 255, 255 };
    check_values("histogram:bins=4", image_shape(3, 3, 1, 8), gray, lists(1, 4),
                 (const uint32_t[]){ 2, 2, 2, 3 });
    /* floor(v * 3 / 256): 85 is the last of bin 0, 170 of bin 1 */
    const uint8_t thirds[] = { 0, 85, 86, 170, 171, 255 };
    check_values("histogram:bins=3", image_shape(6, 1, 1, 8), thirds, lists(1, 3),
                 (const uint32_t[]){ 2, 2, 2 });
    const uint16_t wide[] = { 0, 32767, 32768, 65535, 1, 2 };
    check_values("histogram:bins=2", image_shape(2, 3, 1, 16), wide, lists(1, 2),
                 (const uint32_t[]){ 4, 2 });
}

static void alpha_is_left_out(void **state) {
    (void)state;
    const uint8_t rgba[] = { 0, 200, 100, 255, 255, 200, 127, 1 };
    check_values("histogram:bins=2", image_shape(2, 1, 4, 8), rgba, lists(3, 2),
                 (const uint32_t[]){ 1, 1, 0, 2, 2, 0 });
    const uint16_t gray[] = { 40000, 1, 40000, 65535, 1, 7 };
    check_values("histogram:bins=2", image_shape(3, 1, 2, 16), gray, lists(1, 2),
                 (const uint32_t[]){ 1, 2 });
}

static void hidden_pixels_are_left_out(void **state) {
    (void)state;
    const uint8_t rgba[] = { 0, 200, 100, 0, 255, 200, 127, 1 };
    check_values("histogram:bins=2", image_shape(2, 1, 4, 8), rgba, lists(3, 2),
                 (const uint32_t[]){ 0, 1, 0, 1, 1, 0 });
    const uint16_t none[] = { 0, 0, 40000, 0 };
    check_values("histogram:bins=4", image_shape(2, 1, 2, 16), none, lists(1, 4),
                 (const uint32_t[]){ 0, 0, 0, 2 });
    check_values("histogram:bins=4,background=404040", image_shape(2, 1, 2, 16), none, lists(1, 4),
                 (const uint32_t[]){ 0, 2, 0, 0 });
}

/* bin(v) = 256 v: of every 256 bins one has any. */
static void more_bins_than_values(void **state) {
    (void)state;
    static uint32_t expected[65536];
    const uint8_t gray[] = { 0, 1, 255, 255 };
    expected[0] = expected[256] = 1;
    expected[255 * 256] = 2;
    check_values("histogram:bins=65536", image_shape(4, 1, 1, 8), gray, lists(1, 65536), expected);
}

static void count(const struct image *in, const struct values_shape *shape, void *values) {
    uint32_t *counts = values;
    for (unsigned c = 0; c < image_colours(in); c++)
        for (uint32_t y = 0; y < in->height; y++)
            for (uint32_t x = 0; x < in->width; x++) {
                const uint64_t sample = colour_sample(in, x, y, c);
                counts[c * shape->length + sample * shape->length / (image_max(in) + 1)] +=
                    is_seen(in, x, y);
            }
    for (unsigned c = 0; c < image_colours(in) && !seen_pixels(in); c++)
        counts[c * shape->length + (uint64_t)image_max(in) * shape->length / (image_max(in) + 1)] =
            in->width * in->height; /* white */
}

static void every_shape(void **state) {
    (void)state;
    check_values_against("histogram", count);
    check_values_against("histogram:bins=100", count);
    check_values_against("histogram:bins=5000", count);
}

/* The GPU relies on this: a bin's levels are those from its first up to the next bin's first. */
static void a_bins_levels_are_adjacent(void **state) {
    (void)state;
    for (uint32_t bins = 2; bins <= 256; bins++) {
        assert_int_equal(histogram_first_level(0, bins), 0);
        assert_int_equal(histogram_first_level(bins, bins), 256);
        for (uint32_t bin = 0; bin < bins; bin++)
            for (uint32_t v = histogram_first_level(bin, bins);
                 v < histogram_first_level(bin + 1, bins); v++)
                assert_int_equal(level_bin(v, bins, 255), bin);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_by_hand),
        cmocka_unit_test(alpha_is_left_out),
        cmocka_unit_test(hidden_pixels_are_left_out),
        cmocka_unit_test(more_bins_than_values),
        cmocka_unit_test(every_shape),
        cmocka_unit_test(a_bins_levels_are_adjacent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
