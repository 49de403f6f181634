// SPDX-License-Identifier: Apache-2.0
/* Luma of a run, plain and with vectors, against its formula. */
#include "pipeline/rows/rgb_luma.h"

#include "pipeline/rows/simd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Every third red and green with every blue, which holds each distance from the next rounding. */
static void rgb_luma_is_exact(void **state) {
    (void)state;
    uint8_t rgb[3 * 256], gray[256 + 32];
    for (enum simd most = SIMD_NONE; most <= SIMD_BEST; most++) {
        simd_limit(most);
        for (int red = 0; red < 256; red += 3)
            for (int green = 0; green < 256; green += 3) {
                const size_t pixels = green % 2 ? 256 : 1 + (size_t)red;
                for (int blue = 0; blue < 256; blue++) {
                    uint8_t *pixel = rgb + 3 * blue;
                    pixel[0] = (uint8_t)red, pixel[1] = (uint8_t)green, pixel[2] = (uint8_t)blue;
                }
                memset(gray, 0xa5, sizeof gray);
                rgb_luma(rgb, gray, pixels);
                for (size_t i = 0; i < pixels; i++)
                    assert_int_equal(gray[i], (77 * red + 150 * green + 29 * (int)i + 128) / 256);
                assert_int_equal(gray[pixels], 0xa5);
            }
    }
    simd_limit(SIMD_BEST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rgb_luma_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
