// SPDX-License-Identifier: Apache-2.0
/* sepia against values by hand; tests/reference has Pillow and OpenCV. */
#include "tests/pipeline/ops/table.h"

static void by_hand(void **state) {
    (void)state;
    /* red 100: 39.3, 34.9, 27.2; green 100: 76.9, 68.6, 53.4; white: 1.351, 1.203, 0.937 times */
    const uint8_t in[] = { 100, 0, 0, 0, 100, 0, 255, 255, 255 };
    check_8("sepia", 3, 1, 3, in, 3, (const uint8_t[]){ 39, 35, 27, 77, 69, 53, 255, 255, 239 });
    /* half of each: 69.65, 17.45, 13.6 */
    check_8("sepia:amount=0.5", 1, 1, 3, in, 3, (const uint8_t[]){ 70, 17, 14 });
    check_8("sepia:amount=0", 3, 1, 3, in, 3, in);
    /* gray 100: 135.1, 120.3, 93.7 */
    check_8("sepia", 1, 1, 2, (const uint8_t[]){ 100, 9 }, 4, (const uint8_t[]){ 135, 120, 94, 9 });
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(by_hand) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
