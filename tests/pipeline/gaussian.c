// SPDX-License-Identifier: Apache-2.0
/* Weights of a Gaussian: some by hand, some as OpenCV 4.6 has them, and what holds for all of them.
 * tests/reference/test_blur.py compares every sigma with OpenCV's. */
#include "pipeline/gaussian.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void check(long sigma, unsigned depth, uint32_t reach, const uint16_t *weights) {
    struct gaussian gaussian;
    gaussian_make(&gaussian, sigma, depth);
    assert_int_equal(gaussian.depth, depth);
    assert_int_equal(gaussian.reach, reach);
    for (uint32_t k = 0; k <= reach; k++) assert_int_equal(gaussian.weight[k], weights[k]);
}

/* exp(-x^2 / 2) is 1, 0.606531, 0.135335, 0.011109 at 0..3; 256 over the sum of all seven, 2.50595,
 * is 102.157. So from the rim: 1.1349 becomes 1, error 0.1349; 13.8254 + 0.1349 becomes 14, error
 * -0.0397; 61.9613 - 0.0397 becomes 62; 256 - 2 * 77 = 102 is left.
 * Sigma 0.3: exp(-1 / 0.18) = 0.003866, times 256 / 1.007732 is 0.98: 1, and 254 is left. */
static void by_hand(void **state) {
    (void)state;
    check(1000, 8, 3, (const uint16_t[]){ 102, 62, 14, 1 });
    check(300, 8, 1, (const uint16_t[]){ 254, 1 });
}

/* Rows of one white sample show OpenCV's weights. The outermost of 17 taps is 0 at sigma 2.5, that
 * of five at 0.5. */
static void as_opencv_has_them(void **state) {
    (void)state;
    check(500, 8, 1, (const uint16_t[]){ 202, 27 });
    check(2500, 8, 7, (const uint16_t[]){ 40, 38, 30, 20, 11, 6, 2, 1 });
    check(300, 16, 1, (const uint16_t[]){ 65034, 251 });
    check(500, 16, 2, (const uint16_t[]){ 51548, 6977, 17 });
    check(1000, 16, 4, (const uint16_t[]){ 26146, 15857, 3539, 290, 9 });
    check(2500, 16, 10,
          (const uint16_t[]){ 10458, 9654, 7595, 5090, 2908, 1415, 587, 208, 62, 16, 4 });
}

/* Sigma 64 has 6 * 64 + 1 = 385 taps of 8 bit and 8 * 64 + 1 = 513 of 16 bit. */
static void sums_are_one(void **state) {
    (void)state;
    for (unsigned depth = 8; depth <= 16; depth += 8)
        for (long sigma = GAUSSIAN_SIGMA_MIN; sigma <= GAUSSIAN_SIGMA_MAX; sigma++) {
            struct gaussian gaussian;
            gaussian_make(&gaussian, sigma, depth);
            uint32_t sum = gaussian.weight[0];
            for (uint32_t k = 1; k <= GAUSSIAN_REACH_MAX; k++) sum += 2u * gaussian.weight[k];
            assert_int_equal(sum, 1 << depth);
            assert_in_range(gaussian.reach, 1, depth == 8 ? 192 : 256);
            assert_int_not_equal(gaussian.weight[gaussian.reach], 0);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(as_opencv_has_them),
        cmocka_unit_test(sums_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
