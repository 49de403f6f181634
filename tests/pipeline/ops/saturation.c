// SPDX-License-Identifier: Apache-2.0
/* saturation against values by hand: factor 0 is grayscale, grays stay. */
#include "pipeline/luma.h"
#include "tests/pipeline/ops/table.h"

static void by_hand(void **state) {
    (void)state;
    /* luma of 200 100 50 is 124.4, of which the distances are doubled: 275.6, 75.6, -24.4 */
    const uint8_t in[] = { 200, 100, 50, 77, 77, 77, 0, 0, 0 };
    check_8("saturation:factor=2", 3, 1, 3, in, 3,
            (const uint8_t[]){ 255, 76, 0, 77, 77, 77, 0, 0, 0 });
    check_8("saturation:factor=1", 3, 1, 3, in, 3, in);
    /* half: 162.2, 112.2, 87.2 */
    const uint16_t wide[] = { 20000, 10000, 5000, 3 };
    check_16("saturation:factor=0.5", 1, 1, 4, wide, 4,
             (const uint16_t[]){ 16221, 11221, 8721, 3 });
}

static void factor_0_is_luma(void **state) {
    (void)state;
    static uint8_t in[4096 * 3], out[4096 * 3];
    for (int i = 0; i < 4096; i++) {
        for (int c = 0; c < 3; c++) in[3 * i + c] = (uint8_t)((i >> 4 * c & 15) * 17);
        memset(out + 3 * i, (int)luma(in[3 * i], in[3 * i + 1], in[3 * i + 2]), 3);
    }
    check_8("saturation:factor=0", 64, 64, 3, in, 3, out);
}

static void grays_stay(void **state) {
    (void)state;
    static uint16_t in[65536 * 3];
    for (int i = 0; i < 65536 * 3; i++) in[i] = (uint16_t)(i / 3);
    check_16("saturation:factor=7.777", 256, 256, 3, in, 3, in);
    check_16("saturation:factor=3", 256, 256, 1, in, 1, in);
    check_16("saturation:factor=0", 128, 256, 2, in, 2, in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(factor_0_is_luma),
        cmocka_unit_test(grays_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
