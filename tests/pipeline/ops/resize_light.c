// SPDX-License-Identifier: Apache-2.0
/* Tables of light: what sRGB's standard says of single levels, 8 bits there and back, and order;
 * tests/reference/test_resize.py has every level of them.
 * covers: pipeline/ops/resize/light.c */
#include "pipeline/ops/resize/light.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void single_levels(void **state) {
    (void)state;
    const struct light_tables *light = light_tables();
    /* 65535 / 255 / 12.92 = 19.9; ((128 / 255 + 0.055) / 1.055)^2.4 = 0.21586, of 65535 14146.4 */
    assert_int_equal(light->of_8[0], 0);
    assert_int_equal(light->of_8[1], 20);
    assert_int_equal(light->of_8[128], 14146);
    assert_int_equal(light->of_8[255], 65535);
    assert_int_equal(light->of_16[12], 1); /* 12 / 12.92 = 0.93 */
    assert_int_equal(light->of_16[65535], 65535);
    assert_int_equal(light->to_8[65535], 255);
    assert_int_equal(light->to_8[32768], 188);
    assert_int_equal(light->to_16[1], 13);
    assert_int_equal(light->to_16[65535], 65535);
}

static void eight_bits_come_back(void **state) {
    (void)state;
    const struct light_tables *light = light_tables();
    for (int i = 0; i < 256; i++) {
        assert_int_equal(light->to_8[light->of_8[i]], i);
        assert_int_equal(light->of_16[257 * i], light->of_8[i]);
    }
    for (int i = 1; i < LIGHT_LEVELS; i++) {
        assert_true(light->of_16[i] >= light->of_16[i - 1]);
        assert_true(light->to_16[i] >= light->to_16[i - 1]);
        assert_true(light->to_8[i] >= light->to_8[i - 1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_levels),
        cmocka_unit_test(eight_bits_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
