// SPDX-License-Identifier: Apache-2.0
/* median against tables by hand, against a slow function that sorts each window, and its networks
 * against each input of zeros and ones whose columns are sorted.
 * covers: pipeline/ops/laid_window.h */
#include "pipeline/ops/median.h"

#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

static void by_hand(void **state) {
    (void)state;
    /* The speck goes; corners see themselves four times. */
    const uint8_t in[] = { 1, 2, 3, 4, 200, 6, 7, 8, 9 };
    check_8("median", 3, 3, 1, in, 1, (const uint8_t[]){ 2, 3, 3, 4, 6, 6, 7, 8, 9 });
    /* Five rows of 1 1 1 9 9 are around the second place. */
    const uint8_t step[] = { 1, 1, 9, 9 };
    check_8("median:size=5", 4, 1, 1, step, 1, step);
    check_8("median:size=5", 3, 1, 1, (const uint8_t[]){ 1, 50, 9 }, 1,
            (const uint8_t[]){ 1, 9, 9 });
    const uint16_t wide[] = { 300, 65535, 400 };
    check_16("median", 3, 1, 1, wide, 1, (const uint16_t[]){ 300, 400, 400 });
}

static void channels_apart_and_alpha_kept(void **state) {
    (void)state;
    const uint8_t in[] = { 10, 1, 90, 255, 20, 9, 70, 255, 30, 5, 80, 255 };
    const uint8_t out[] = { 10, 1, 90, 255, 20, 5, 80, 255, 30, 5, 80, 255 };
    check_8("median", 3, 1, 4, in, 4, out);
    /* A hidden pixel counts as white, or as 00ff00's luma, 149. */
    const uint8_t clear[] = { 10, 255, 99, 0, 20, 255 };
    check_8("median", 3, 1, 2, clear, 2, (const uint8_t[]){ 10, 255, 20, 0, 20, 255 });
    const uint8_t ends[] = { 200, 255, 99, 0, 250, 255 };
    check_8("median", 3, 1, 2, ends, 2, (const uint8_t[]){ 200, 255, 250, 0, 250, 255 });
    check_8("median:background=00ff00", 3, 1, 2, ends, 2,
            (const uint8_t[]){ 200, 255, 200, 0, 250, 255 });
}

static int by_value(const void *a, const void *b) {
    const int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return first < second ? -1 : first > second;
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    const int side = params->number[MEDIAN_SIZE] == MEDIAN_5 ? 5 : 3;
    int64_t window[25];
    if (image_has_alpha(in) && c == in->channels - 1u) return (uint32_t)against_sample(in, x, y, c);
    for (int i = 0; i < side * side; i++)
        window[i] =
            against_laid(in, (int64_t)x + i % side - side / 2, (int64_t)y + i / side - side / 2, c);
    qsort(window, (size_t)(side * side), sizeof *window, by_value);
    return (uint32_t)window[side * side / 2];
}

/* One picture a shape: sorting takes its time. */
static void every_shape(void **state) {
    (void)state;
    static const char *const plans[] = { "median", "median:size=5" };
    struct plan plan;
    struct failure failure = { 0 };
    for (int i = 0; i < (int)AWKWARD_SIZES * 16; i++) {
        const struct image shape =
            image_shape(awkward_sizes[i / 16].width, awkward_sizes[i / 16].height,
                        1 + (unsigned)i / 2 % 4, i % 2 ? 8 : 16);
        const char *text = plans[i / 8 % 2];
        assert_int_equal(plan_parse(&plan, text, &failure), STATUS_OK);
        against_one(text, &plan.steps[0], shape, i % 3 ? PICTURE_NOISE : PICTURE_GRADIENT,
                    expected);
    }
}

#define EXCHANGE(a, b)                                                                             \
    {                                                                                              \
        const int lesser = v[a] & v[b];                                                            \
        v[b] |= v[a];                                                                              \
        v[a] = lesser;                                                                             \
    }

static void networks(void **state) {
    (void)state;
    for (int number = 0; number < 6 * 6 * 6 * 6 * 6; number++) {
        int v[25], ones = 0;
        for (int c = 0, rest = number; c < 5; c++, rest /= 6) {
            for (int r = 0; r < 5; r++) v[5 * r + c] = r >= 5 - rest % 6;
            ones += rest % 6;
        }
        MEDIAN_OF_5(EXCHANGE)
        assert_int_equal(v[MEDIAN_AT_5], ones > 12);
    }
    for (int number = 0; number < 32; number++) {
        int v[5], ones = 0;
        for (int r = 0; r < 5; r++) ones += v[r] = number >> r & 1;
        MEDIAN_SORT_5(EXCHANGE)
        for (int r = 0; r < 5; r++) assert_int_equal(v[r], r >= 5 - ones);
    }
}

static void other_sizes_are_refused(void **state) {
    (void)state;
    struct plan plan;
    struct failure failure = { 0 };
    assert_int_equal(plan_parse(&plan, "median:size=4", &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "3 | 5"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(channels_apart_and_alpha_kept),
        cmocka_unit_test(every_shape),
        cmocka_unit_test(networks),
        cmocka_unit_test(other_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
