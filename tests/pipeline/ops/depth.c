// SPDX-License-Identifier: Apache-2.0
/* depth against values computed by hand. */
#include "tests/pipeline/ops/table.h"

static void eight_bits_become_sixteen_and_back(void **state) {
    (void)state;
    const uint8_t in[] = { 0, 1, 128, 254, 255, 7 };
    const uint16_t out[] = { 0, 257, 32896, 65278, 65535, 1799 };
    for (unsigned channels = 1; channels <= 3; channels++)
        check_table("depth:bits=16", image_shape(6 / channels, 1, channels, 8), in, channels, out);
    check_8("depth:bits=16;depth", 3, 1, 2, in, 2, in);
    check_8("depth", 6, 1, 1, in, 1, in);
}

/* v / 257, half up: 128 / 257 is below a half, 129 / 257 above. */
static void sixteen_bits_are_rounded(void **state) {
    (void)state;
    const uint16_t in[] = { 0, 128, 129, 385, 386, 65407, 65406, 65535 };
    const uint8_t out[] = { 0, 0, 1, 1, 2, 255, 254, 255 };
    check_table("depth", image_shape(2, 1, 4, 16), in, 4, out);
    check_table("depth:bits=8", image_shape(1, 8, 1, 16), in, 1, out);
    check_16("depth:bits=16", 4, 1, 2, in, 2, in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_bits_become_sixteen_and_back),
        cmocka_unit_test(sixteen_bits_are_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
