// SPDX-License-Identifier: Apache-2.0
/* histeq against values computed by hand. */
#include "tests/pipeline/ops/table.h"

/* Levels 10 (2 x), 20, 30 (4 x), 40: c = 2, 3, 7, 8; c0 = 2, N = 8.
 * minmax: round(255 (c - 2) / 6) = 0, 43 (42.5 up), 213 (212.5 up), 255. */
static const uint8_t steps[] = { 10, 30, 20, 30, 10, 30, 40, 30 };

static void minmax_by_hand(void **state) {
    (void)state;
    const uint8_t out[] = { 0, 213, 43, 213, 0, 213, 255, 213 };
    check_8("histeq", 4, 2, 1, steps, 1, out);
}

/* maxabs: round(255 c / 8) = 64 (63.75), 96 (95.6), 223 (223.1), 255. */
static void maxabs_by_hand(void **state) {
    (void)state;
    const uint8_t out[] = { 64, 223, 96, 223, 64, 223, 255, 223 };
    check_8("histeq:scale=maxabs", 4, 2, 1, steps, 1, out);
}

/* Four bins of 64 levels: 10..40 share bin 0, so N = c0 and nothing changes. */
static void one_bin_is_identity(void **state) {
    (void)state;
    check_8("histeq:bins=4", 4, 2, 1, steps, 1, steps);
    const uint8_t same[] = { 7, 7, 7, 7 };
    check_8("histeq", 2, 2, 1, same, 1, same);
}

/* One level is seen; levels under alpha 0, below it and above it, stay too. */
static void one_visible_level_is_identity(void **state) {
    (void)state;
    const uint8_t gray[] = { 100, 255, 50, 0, 100, 9, 200, 0 };
    check_8("histeq", 2, 2, 2, gray, 2, gray);
    const uint8_t colour[] = { 100, 90, 80, 255, 50, 60, 70, 0, 200, 210, 220, 0, 100, 90, 80, 1 };
    check_8("histeq:channel=each", 2, 2, 4, colour, 4, colour);
}

/* Two bins: 0..127 and 128..255; c = 3, 4; c0 = 3: 0 and 255. maxabs: round(255 * 3 / 4) = 191. */
static void two_bins(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 127, 3, 128 };
    const uint8_t out[] = { 0, 0, 0, 255 }, absolute[] = { 191, 191, 191, 255 };
    check_8("histeq:bins=2", 4, 1, 1, in, 1, out);
    check_8("histeq:bins=2,scale=maxabs", 4, 1, 1, in, 1, absolute);
}

/* V = 100, 200, 200, 0: c(0) = 1, c(100) = 2, c(200) = 4, c0 = 1, N = 4: V' = 85 for 100, 255 for
 * 200, 0. 50 * 85 / 100 = 42.5 -> 43; 20 * 255 / 200 = 25.5 -> 26; 10 * 255 / 200 = 12.75 -> 13. */
static void value_scales_all_channels(void **state) {
    (void)state;
    const uint8_t in[] = { 100, 50, 0, 200, 20, 10, 0, 200, 200, 0, 0, 0 };
    const uint8_t out[] = { 85, 43, 0, 255, 26, 13, 0, 255, 255, 0, 0, 0 };
    check_8("histeq", 2, 2, 3, in, 3, out);
}

/* maxabs lifts black: V' of 0 is round(255 / 4) = 64, in all three channels. Alpha stays. */
static void black_is_lifted_and_alpha_kept(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 0, 0, 5, 200, 200, 200, 6, 200, 0, 100, 7, 200, 200, 0, 8 };
    const uint8_t out[] = { 64, 64, 64, 5, 255, 255, 255, 6, 255, 0, 128, 7, 255, 255, 0, 8 };
    check_8("histeq:scale=maxabs", 2, 2, 4, in, 4, out);
}

/* Luma of (200, 0, 0) is 60, of (0, 0, 0) is 0; c = 1, 2; c0 = 1, N = 2: 60 -> 255, so 200 * 255 /
 * 60 = 850 is clamped. */
static void luma_is_clamped(void **state) {
    (void)state;
    const uint8_t in[] = { 200, 0, 0, 0, 0, 0 };
    const uint8_t out[] = { 255, 0, 0, 0, 0, 0 };
    check_8("histeq:channel=luma", 2, 1, 3, in, 3, out);
}

/* Channels on their own: red 0, 9 -> 0, 255; green 5, 5 stays; blue 9, 0 -> 255, 0. */
static void each_channel_on_its_own(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 5, 9, 9, 5, 0 };
    const uint8_t out[] = { 0, 5, 255, 255, 5, 0 };
    check_8("histeq:channel=each", 2, 1, 3, in, 3, out);
}

/* 16 bit, 65536 bins: 1000, 1001, 65535: c = 1, 2, 3: 0, round(65535 / 2) = 32768, 65535. With 256
 * bins the first two share a bin: c = 2, 3: 0, 0, 65535. */
static void sixteen_bit(void **state) {
    (void)state;
    const uint16_t in[] = { 1000, 65535, 1001 };
    const uint16_t fine[] = { 0, 65535, 32768 }, coarse[] = { 0, 65535, 0 };
    check_16("histeq:bins=65536", 3, 1, 1, in, 1, fine);
    check_16("histeq", 3, 1, 1, in, 1, coarse);
}

/* The result's pixels, heap, of WIDTH x 37 with GAP bytes behind each row of input and output. */
static uint8_t *with_gap(unsigned channels, const uint8_t *pixels, uint32_t width, size_t gap) {
    enum { ROWS = 37 };
    struct plan plan;
    struct failure failure = { 0 };
    struct image in = image_shape(width, ROWS, channels, 8), out;
    const size_t bytes = image_row_bytes(&in);
    assert_int_equal(plan_parse(&plan, "histeq", &failure), STATUS_OK);
    in.stride = bytes + gap;
    out = in;
    in.pixels = malloc(image_bytes(&in)), out.pixels = malloc(image_bytes(&out));
    for (uint32_t y = 0; y < ROWS; y++) memcpy(image_row(&in, y), pixels + y * bytes, bytes);
    struct op_call call = {
        .params = &plan.steps[0].params, .in = in, .out = out, .failure = &failure
    };
    call.scratch = malloc(plan.steps[0].op->scratch(&call));
    assert_int_equal(plan.steps[0].op->run(&call), STATUS_OK);
    for (uint32_t y = 0; y < ROWS; y++) memmove(out.pixels + y * bytes, image_row(&out, y), bytes);
    free(call.scratch);
    free(in.pixels);
    return out.pixels;
}

/* Rows without a gap go as one run; the bands' edges and the result are the same. */
static void gaps_change_nothing(void **state) {
    (void)state;
    enum { WIDTH = 45, BYTES = WIDTH * 37 * 3 };
    static uint8_t pixels[BYTES];
    uint32_t seed = 5;
    for (int i = 0; i < BYTES; i++) pixels[i] = (uint8_t)((seed = seed * 1664525 + 1) >> 24);
    for (unsigned channels = 1; channels <= 3; channels += 2) {
        uint8_t *none = with_gap(channels, pixels, WIDTH, 0);
        uint8_t *some = with_gap(channels, pixels, WIDTH, 13);
        assert_memory_equal(none, some, (size_t)WIDTH * 37 * channels);
        free(none);
        free(some);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minmax_by_hand),
        cmocka_unit_test(maxabs_by_hand),
        cmocka_unit_test(one_bin_is_identity),
        cmocka_unit_test(one_visible_level_is_identity),
        cmocka_unit_test(two_bins),
        cmocka_unit_test(value_scales_all_channels),
        cmocka_unit_test(black_is_lifted_and_alpha_kept),
        cmocka_unit_test(luma_is_clamped),
        cmocka_unit_test(each_channel_on_its_own),
        cmocka_unit_test(sixteen_bit),
        cmocka_unit_test(gaps_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
