// SPDX-License-Identifier: Apache-2.0
/* contrast against values by hand, and against a slow function in long doubles, which hold every
 * product; tests/reference has Pillow and OpenCV. */
#include "tests/pipeline/ops/against.h"
#include "tests/pipeline/ops/table.h"

#include "pipeline/ops/contrast.h"

#include <math.h>

static void by_hand(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 60, 127, 128, 200, 255 };
    /* 127.5 + 2 (v - 127.5): -7.5, 126.5, 128.5, 272.5, 382.5 after the first */
    check_8("contrast:factor=2", 6, 1, 1, in, 1, (const uint8_t[]){ 0, 0, 127, 129, 255, 255 });
    /* 63.75, 93.75, 127.25, 127.75, 163.75, 191.25 */
    check_8("contrast:factor=0.5", 6, 1, 1, in, 1, (const uint8_t[]){ 64, 94, 127, 128, 164, 191 });
    check_8("contrast:factor=0", 6, 1, 1, in, 1, (const uint8_t[]){ 128, 128, 128, 128, 128, 128 });
    /* alpha is kept; 32767.5 + 1.5 (v - 32767.5): -1.75, 32768.25, 33615.75 */
    const uint16_t wide[] = { 10921, 7, 32768, 0, 33333, 65535 };
    check_16("contrast:factor=1.5", 3, 1, 2, wide, 2,
             (const uint16_t[]){ 0, 7, 32768, 0, 33616, 65535 });
}

static void one_changes_nothing(void **state) {
    (void)state;
    static uint16_t wide[65536];
    for (int i = 0; i < 65536; i++) wide[i] = (uint16_t)i;
    check_16("contrast:factor=1", 256, 256, 1, wide, 1, wide);
}

static uint32_t expected(const struct image *in, const struct params *params, uint32_t x,
                         uint32_t y, unsigned c) {
    const long double max = image_max(in), value = against_sample(in, x, y, c);
    if (image_has_alpha(in) && c == in->channels - 1u) return (uint32_t)value;
    const long double level =
        (max * 1000 + (2 * value - max) * params->number[CONTRAST_FACTOR]) / 2000;
    return (uint32_t)fminl(fmaxl(floorl(level + 0.5L), 0), max);
}

static void every_shape(void **state) {
    (void)state;
    check_against("contrast:factor=1.337", expected);
    check_against("contrast:factor=10", expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(one_changes_nothing),
        cmocka_unit_test(every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
