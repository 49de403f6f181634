// SPDX-License-Identifier: Apache-2.0
/* grayscale against values computed by hand. */
#include "tests/pipeline/ops/table.h"

static void luma_by_hand(void **state) {
    (void)state;
    /* (77 R + 150 G + 29 B + 128) >> 8 */
    const uint8_t in[] = { 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30 };
    const uint8_t out[] = { 0, 255, 77, 149, 29, 18 };
    check_8("grayscale", 6, 1, 3, in, 1, out);
}

static void alpha_is_kept(void **state) {
    (void)state;
    const uint8_t in[] = { 255, 0, 0, 9, 0, 255, 0, 200 };
    const uint8_t out[] = { 77, 9, 149, 200 };
    check_8("grayscale", 2, 1, 4, in, 2, out);
}

static void gray_stays(void **state) {
    (void)state;
    const uint8_t in[] = { 3, 250, 77, 1 };
    check_8("grayscale", 4, 1, 1, in, 1, in);
    check_8("grayscale", 2, 1, 2, in, 2, in);
}

static void sixteen_bit(void **state) {
    (void)state;
    /* 77 * 65535 + 128 = 5046323, / 256 = 19712.1; 150 * 1000 + 128 = 150128, / 256 = 586.4 */
    const uint16_t in[] = { 65535, 65535, 65535, 65535, 0, 0, 0, 1000, 0 };
    const uint16_t out[] = { 65535, 19712, 586 };
    check_16("grayscale", 3, 1, 3, in, 1, out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(luma_by_hand),
        cmocka_unit_test(alpha_is_kept),
        cmocka_unit_test(gray_stays),
        cmocka_unit_test(sixteen_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
