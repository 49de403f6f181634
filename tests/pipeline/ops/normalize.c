// SPDX-License-Identifier: Apache-2.0
/* normalize against values by hand, hidden pixels among them, and against a slow function. */
#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

#include "pipeline/ops/normalize.h"

static void by_hand(void **state) {
    (void)state;
    /* 255 (v - 50) / 150: 85, 127.5 of 125 */
    const uint8_t in[] = { 50, 100, 125, 200 };
    check_8("normalize:lower=0,upper=100", 4, 1, 1, in, 1, (const uint8_t[]){ 0, 85, 128, 255 });
    /* one pixel of four may become black: more than 25 % are up to 100; 75 % up to 125 */
    check_8("normalize:lower=25,upper=75", 4, 1, 1, in, 1, (const uint8_t[]){ 0, 0, 255, 255 });
    check_8("normalize:lower=24.999,upper=75.001", 4, 1, 1, in, 1,
            (const uint8_t[]){ 0, 85, 128, 255 });
    const uint16_t wide[] = { 1000, 1010, 1015, 1000 };
    check_16("normalize:lower=0,upper=100", 4, 1, 1, wide, 1,
             (const uint16_t[]){ 0, 43690, 65535, 0 });
}

static void hidden_pixels_do_not_count(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 0, 50, 9, 200, 255, 255, 0 };
    check_8("normalize:lower=0,upper=100", 4, 1, 2, in, 2,
            (const uint8_t[]){ 0, 0, 0, 9, 255, 255, 255, 0 });
    const uint8_t none[] = { 3, 0, 50, 0, 200, 0, 255, 0 };
    check_8("normalize", 4, 1, 2, none, 2, none);
}

static void one_level_stays(void **state) {
    (void)state;
    const uint8_t in[] = { 7, 7, 7, 7, 7, 7 };
    check_8("normalize", 2, 1, 3, in, 3, in);
    check_8("normalize:channel=each", 2, 1, 3, in, 3, in);
}

static uint32_t value_of(const struct image *in, size_t x, uint32_t y, int channel) {
    const uint8_t *row = image_row(in, y);
    return channel < 0 ? sample_luma(row, x * in->channels, in->channels, in->depth)
                       : sample_get(row, x * in->channels + (unsigned)channel, in->depth);
}

/* The least value with more than PART of the visible pixels up to it, or as many. */
static uint32_t percentile(const struct image *in, int channel, long part, bool more) {
    static uint64_t counts[65536];
    uint64_t sum = 0, pixels = 0;
    memset(counts, 0, sizeof counts);
    for (uint32_t y = 0; y < in->height; y++)
        for (size_t x = 0; x < in->width; x++)
            if (sample_visible(image_row(in, y), x * in->channels, in->channels, in->depth))
                counts[value_of(in, x, y, channel)]++, pixels++;
    for (uint32_t v = 0; pixels && v < 65536; v++) {
        sum += counts[v];
        const double share = 100000.0 * (double)sum / (double)pixels;
        if (more ? share > (double)part : share >= (double)part) return v;
    }
    return 0;
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    static const struct image *last;
    static double low[4], high[4];
    const bool each = params->number[NORMALIZE_CHANNEL] == NORMALIZE_EACH && in->channels > 2;
    const double value = (double)against_sample(in, x, y, c), max = image_max(in);
    if (image_has_alpha(in) && c == in->channels - 1u) return (uint32_t)value;
    if (x + y + c == 0 || last != in)
        for (int k = 0; k < (int)image_colours(in); k++) {
            const int channel = each ? k : in->channels < 3 ? 0 : -1;
            low[k] = percentile(in, channel, params->number[NORMALIZE_LOWER], true);
            high[k] = percentile(in, channel, params->number[NORMALIZE_UPPER], false);
        }
    last = in;
    if (high[c] <= low[c]) return (uint32_t)value;
    const double level = max * (value - low[c]) / (high[c] - low[c]) + 0.5;
    return (uint32_t)(level < 0 ? 0 : level > max ? max : level);
}

static void every_shape(void **state) {
    (void)state;
    check_against("normalize", expected);
    check_against("normalize:channel=each,lower=12.5,upper=99.75", expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(hidden_pixels_do_not_count),
        cmocka_unit_test(one_level_stays),
        cmocka_unit_test(every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
