// SPDX-License-Identifier: Apache-2.0
/* convolve against values computed by hand, and against a slow function in wide integers.
 * covers: pipeline/rows/window.h */
#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

#include "pipeline/ops/convolve.h"

static const uint8_t nine[] = { 10, 20, 30, 40, 50, 60, 70, 80, 90 };

static void identity_and_neighbours(void **state) {
    (void)state;
    check_8("convolve:taps=0 0 0 0 1 0 0 0 0", 3, 3, 1, nine, 1, nine);
    /* Not mirrored: a tap right of the middle takes the right neighbour; the border is replicated.
     */
    const uint8_t right[] = { 20, 30, 30, 50, 60, 60, 80, 90, 90 };
    const uint8_t above[] = { 10, 20, 30, 10, 20, 30, 40, 50, 60 };
    check_8("convolve:taps=0 0 0 0 0 1 0 0 0", 3, 3, 1, nine, 1, right);
    check_8("convolve:taps=0 1 0 0 0 0 0 0 0", 3, 3, 1, nine, 1, above);
    /* Two to the left, of five. */
    check_8("convolve:taps=0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0", 4, 1, 1,
            (const uint8_t[]){ 1, 2, 3, 4 }, 1, (const uint8_t[]){ 1, 1, 1, 2 });
}

/* Middle of 3x3: (10 + 20 + ... + 90) / 9 = 50. Upper left, replicated: 4 x 10 + 2 x 20 + 2 x 40 +
 * 50 = 210; 210 / 9 = 23.3. Lower right: 4 x 90 + 2 x 80 + 2 x 60 + 50 = 690; 76.7. Top: 2 x (10 +
 * 20 + 30) + 40 + 50 + 60 = 270; 30. Upper right: 4 x 30 + 2 x 20 + 2 x 60 + 50 = 330; 36.7. Left:
 * 2 x (10 + 40 + 70) + 20 + 50 + 80 = 390; 43.3. Right: 2 x (30 + 60 + 90) + 20 + 50 + 80 = 510;
 * 56.7. Lower left: 4 x 70 + 2 x 40 + 2 x 80 + 50 = 570; 63.3. Bottom: 2 x (70 + 80 + 90) + 150 =
 * 630; 70. */
static void mean_of_nine(void **state) {
    (void)state;
    const uint8_t out[] = { 23, 30, 37, 43, 50, 57, 63, 70, 77 };
    check_8("convolve:taps=1 1 1 1 1 1 1 1 1", 3, 3, 1, nine, 1, out);
}

static void halves_go_up_and_the_rest_down(void **state) {
    (void)state;
    const uint8_t in[] = { 1, 2, 3, 4, 5 }, out[] = { 1, 1, 2, 2, 3 };
    check_8("convolve:taps=0 0 0 0 1 0 0 0 0,divisor=2", 5, 1, 1, in, 1, out);
    /* -v / 2 + 100: -0.5, -1, -1.5, -2, -2.5 go up to 0, -1, -1, -2, -2 */
    const uint8_t negative[] = { 100, 99, 99, 98, 98 };
    check_8("convolve:taps=0 0 0 0 -1 0 0 0 0,divisor=2,offset=100", 5, 1, 1, in, 1, negative);
    /* |-v| / 2 */
    check_8("convolve:taps=0 0 0 0 -1 0 0 0 0,divisor=2,abs=true", 5, 1, 1, in, 1, out);
}

/* The sum of the taps, or 1 where that is not positive. */
static void divisor_by_default(void **state) {
    (void)state;
    const uint8_t in[] = { 10, 20, 40 };
    check_8("convolve:taps=0 0 0 0 4 0 0 0 0", 3, 1, 1, in, 1, in);
    check_8("convolve:taps=0 0 0 -1 0 1 0 0 0", 3, 1, 1, in, 1, (const uint8_t[]){ 10, 30, 20 });
    check_8("convolve:taps=0 0 0 1 0 -2 0 0 0,abs=true", 3, 1, 1, in, 1,
            (const uint8_t[]){ 30, 70, 60 });
}

static void channels_apart_and_alpha_kept(void **state) {
    (void)state;
    const uint8_t in[] = { 10, 100, 200, 255, 20, 110, 250, 255 };
    const uint8_t out[] = { 20, 110, 250, 255, 20, 110, 250, 255 };
    check_8("convolve:taps=0 0 0 0 0 1 0 0 0", 2, 1, 4, in, 4, out);
    /* over white and over 204060: 255 where nothing is seen, (20 102 + 255 153) / 255 = 161 */
    const uint8_t clear[] = { 10, 100, 200, 255, 20, 110, 250, 102, 9, 9, 9, 0 };
    const uint8_t white[] = { 161, 197, 253, 255, 255, 255, 255, 102, 255, 255, 255, 0 };
    const uint8_t other[] = { 27, 82, 158, 255, 32, 64, 96, 102, 32, 64, 96, 0 };
    check_8("convolve:taps=0 0 0 0 0 1 0 0 0", 3, 1, 4, clear, 4, white);
    check_8("convolve:taps=0 0 0 0 0 1 0 0 0,background=204060", 3, 1, 4, clear, 4, other);
}

static void sixteen_bit(void **state) {
    (void)state;
    /* 25 x 1024 x 65535 / 2^20 = 1599.98; offset 10 is 2570 */
    const uint16_t white[] = { 65535, 65535 }, out[] = { 4170, 4170 };
    check_16("convolve:taps=1024 1024 1024 1024 1024 1024 1024 1024 1024 1024 1024 1024 1024 1024 "
             "1024 1024 1024 1024 1024 1024 1024 1024 1024 1024 1024,divisor=1048576,offset=10",
             2, 1, 1, white, 1, out);
    const uint16_t black[] = { 0, 0 };
    check_16("convolve:taps=-1024 -1024 -1024 -1024 -1024 -1024 -1024 -1024 -1024 -1024 -1024 "
             "-1024 -1024 -1024 -1024 -1024 -1024 -1024 -1024 -1024 -1024 -1024 -1024 -1024 -1024",
             2, 1, 1, white, 1, black);
}

/* floor((2 r + d) / (2 d)) in 64 bits; C's division goes towards 0. */
static int64_t divide(int64_t r, int64_t d) {
    const int64_t n = 2 * r + d, q = n / (2 * d);
    return n % (2 * d) < 0 ? q - 1 : q;
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    const int side = params->tap_count == 25 ? 5 : 3;
    const int64_t max = image_max(in);
    int64_t r = 0, sum = 0;
    if (image_has_alpha(in) && c == in->channels - 1u) return (uint32_t)against_sample(in, x, y, c);
    for (int i = 0; i < side * side; i++) {
        sum += params->taps[i];
        r += params->taps[i] * against_laid(in, (int64_t)x + i % side - side / 2,
                                            (int64_t)y + i / side - side / 2, c);
    }
    const int64_t given = params->number[CONVOLVE_DIVISOR];
    if (params->number[CONVOLVE_ABS] && r < 0) r = -r;
    const int64_t level = divide(r, given     ? given
                                    : sum > 0 ? sum
                                              : 1) +
                          params->number[CONVOLVE_OFFSET] * (max / 255);
    return (uint32_t)(level < 0 ? 0 : level > max ? max : level);
}

static void every_shape(void **state) {
    (void)state;
    check_against("convolve:taps=1 2 1 2 4 2 1 2 1", expected);
    check_against("convolve:taps=-1 -2 -1 0 0 0 1 2 1,divisor=3,offset=90", expected);
    check_against("convolve:taps=1 4 6 4 1 4 16 24 16 4 6 24 -500 24 6 4 16 24 16 4 1 4 6 4 1,"
                  "divisor=7,abs=true",
                  expected);
}

/* Every divisor near a power of two, and numerators around its multiples up to the largest sum. */
static void division_without_dividing(void **state) {
    (void)state;
    for (int bit = 0; bit <= 20; bit++)
        for (int32_t d = (1 << bit) - 3; d <= (1 << bit) + 3 && d <= 1 << 20; d++) {
            if (d < 1) continue;
            struct convolve_rule rule = { .max = INT32_MAX / 2, .offset = 0 };
            convolve_divisor(&rule, d);
            for (int64_t multiple = 0; multiple <= 1677721600; multiple += 1677721600 / 64)
                for (int64_t r = multiple / d * d - 2; r <= multiple / d * d + 2; r++) {
                    const int64_t want = divide(r, d);
                    if (want >= 0 && want <= rule.max)
                        assert_int_equal(convolve_result((int32_t)r, &rule), want);
                }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity_and_neighbours),
        cmocka_unit_test(mean_of_nine),
        cmocka_unit_test(halves_go_up_and_the_rest_down),
        cmocka_unit_test(divisor_by_default),
        cmocka_unit_test(channels_apart_and_alpha_kept),
        cmocka_unit_test(sixteen_bit),
        cmocka_unit_test(every_shape),
        cmocka_unit_test(division_without_dividing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
