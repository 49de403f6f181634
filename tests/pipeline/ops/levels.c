// SPDX-License-Identifier: Apache-2.0
/* levels against values by hand, against a slow function in long doubles.
 * covers: pipeline/ops/stretch.h */
#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

#include "pipeline/ops/levels.h"

#include <math.h>

static void by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 50, 51, 100, 125, 200, 255 };
    /* 255 (v - 50) / 150: 1.7, 85, 127.5 */
    check_8("levels:black=50,white=200", 7, 1, 1, in, 1,
            (const uint8_t[]){ 0, 0, 2, 85, 128, 255, 255 });
    /* 255 sqrt((v - 50) / 150): 20.82, 147.22, 180.31 */
    check_8("levels:black=50,white=200,gamma=2", 7, 1, 1, in, 1,
            (const uint8_t[]){ 0, 0, 21, 147, 180, 255, 255 });
    check_8("levels:black=100,white=101", 7, 1, 1, in, 1,
            (const uint8_t[]){ 0, 0, 0, 0, 255, 255, 255 });
    /* 50 and 200 are 12850 and 51400; 65535 / 38550 is 1.7 */
    const uint16_t wide[] = { 12850, 3, 12851, 4, 22850, 5, 51399, 6 };
    check_16("levels:black=50,white=200", 4, 1, 2, wide, 2,
             (const uint16_t[]){ 0, 3, 2, 4, 17000, 5, 65533, 6 });
}

static void a_channel(void **state) {
    (void)state;
    const uint8_t in[] = { 100, 100, 100, 100, 20, 20, 20, 20 };
    check_8("levels:black=50,white=200,channel=green", 2, 1, 4, in, 4,
            (const uint8_t[]){ 100, 85, 100, 100, 20, 0, 20, 20 });
    check_8("levels:black=50,white=200,channel=blue", 4, 1, 2, in, 2,
            (const uint8_t[]){ 85, 100, 85, 100, 0, 20, 0, 20 });
}

static uint32_t level_of(const struct params *params, long double value, long double max) {
    const long double black = params->number[LEVELS_BLACK] * (max / 255);
    const long double white = params->number[LEVELS_WHITE] * (max / 255);
    const long gamma = params->number[LEVELS_GAMMA];
    const long double part = fminl(fmaxl((value - black) / (white - black), 0), 1);
    return (uint32_t)floorl(max * (gamma == 1000 ? part : powl(part, 1000.0L / gamma)) + 0.5L);
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    const uint32_t value = (uint32_t)against_sample(in, x, y, c);
    const long channel = params->number[LEVELS_CHANNEL];
    if (image_has_alpha(in) && c == in->channels - 1u) return value;
    if (channel && in->channels > 2 && (unsigned)channel != c + 1) return value;
    return level_of(params, value, image_max(in));
}

static void every_shape(void **state) {
    (void)state;
    check_against("levels:black=16,white=235,channel=green", expected);
    check_against("levels:black=3,white=254", expected);
}

/* Images of 16 bits with more samples than levels have a table. */
static void with_a_table(void **state) {
    (void)state;
    struct plan plan;
    const char *const text = "levels:black=16,white=235,channel=green";
    assert_int_equal(plan_parse(&plan, text, NULL), STATUS_OK);
    for (unsigned channels = 1; channels <= 4; channels++)
        against_one(text, &plan.steps[0], image_shape(601, 110, channels, 16), PICTURE_NOISE,
                    expected);
}

static void every_level_of_a_power(void **state) {
    (void)state;
    static uint16_t wide[65536];
    uint8_t narrow[256];
    struct plan plan;
    assert_int_equal(plan_parse(&plan, "levels:black=3,white=250,gamma=0.7", NULL), STATUS_OK);
    const struct params *params = &plan.steps[0].params;
    levels_fill(params, 8, 0, 256, narrow);
    levels_fill(params, 16, 0, 65536, wide);
    for (uint32_t v = 0; v < 256; v++) assert_int_equal(narrow[v], level_of(params, v, 255));
    for (uint32_t v = 0; v < 65536; v++) assert_int_equal(wide[v], level_of(params, v, 65535));
}

static void white_is_above_black(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 99, 100, 101, 102, 255 }, out[] = { 0, 0, 0, 255, 255, 255 };
    check_8("levels:black=100,white=101", 6, 1, 1, in, 1, out);
    check_8("levels:black=100,white=100", 6, 1, 1, in, 1, out);
    check_8("levels:black=100,white=30,gamma=3", 6, 1, 1, in, 1, out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(a_channel),
        cmocka_unit_test(every_shape),
        cmocka_unit_test(with_a_table),
        cmocka_unit_test(every_level_of_a_power),
        cmocka_unit_test(white_is_above_black),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
