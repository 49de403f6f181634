// SPDX-License-Identifier: Apache-2.0
/* tint against values by hand; tests/reference has Pillow's colorize. */
#include "tests/pipeline/ops/table.h"

static void by_hand(void **state) {
    (void)state;
    /* luma of 200 100 50 is 124.4; of that 1, 128/255 and 0 */
    const uint8_t in[] = { 200, 100, 50, 255, 255, 255, 0, 0, 0 };
    check_8("tint:color=ff8000,amount=1", 3, 1, 3, in, 3,
            (const uint8_t[]){ 124, 62, 0, 255, 128, 0, 0, 0, 0 });
    /* with as much of the picture: 162.2, 81.2, 25 */
    check_8("tint", 1, 1, 3, in, 3, (const uint8_t[]){ 162, 81, 25 });
    check_8("tint:amount=0", 3, 1, 3, in, 3, in);
    /* the colour's alpha does nothing */
    check_8("tint:color=4080ff00,amount=1", 1, 1, 2, (const uint8_t[]){ 255, 9 }, 4,
            (const uint8_t[]){ 64, 128, 255, 9 });
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(by_hand) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
