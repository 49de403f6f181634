// SPDX-License-Identifier: Apache-2.0
/* thumbhash against the published encoder, and by hand. tests/reference/test_placeholders.py has
 * photographs, and the encoder itself. */
#include "tests/pipeline/ops/hashes.h"

/* The npm package thumbhash 0.1.1, its bytes in base 64: rgbaToThumbHash(width, height, pixels). */
static void as_published(void **state) {
    (void)state;
    check_hash("thumbhash", 32, 32, 3, "4BcGHwogSJckWYmGd3h3eIh3CFBiQGkG");
    check_hash("thumbhash", 32, 32, 4, "3geGFQYpEEUiZ3Z3dwAzB4R4f4h5iHiIdw==");
    check_hash("thumbhash", 32, 20, 3, "3xcKNIxgZphmeHiHh3dAZgd5eA==");
    check_hash("thumbhash", 32, 20, 4, "nAeGG4YpMGVVd4cgZQd5eH+IiIiHiIg=");
    check_hash("thumbhash", 13, 32, 3, "W8cJKwSBYGhod4iHgGHH198=");
    check_hash("thumbhash", 13, 32, 4, "G8eJIgIccWBoeIdwUdjm3394i4h3iIg=");
}

/* Bits: lightness 40 of 63, both colours 32 of 63, which is none, nothing of any variation, no
 * alpha, 7 waves down. */
static void the_mean_by_hand(void **state) {
    (void)state;
    struct plan plan;
    uint8_t gray[HASH_SIDE * HASH_SIDE];
    char text[VALUES_TEXT_MAX];
    assert_int_equal(plan_parse(&plan, "thumbhash", NULL), STATUS_OK);
    memset(gray, 162, sizeof gray); /* 63 162 / 255 = 40.02 */
    const struct values square = { { VALUE_UINT8, 1, 32 * 32, false, 32 }, gray };
    assert_int_equal(plan.steps[0].op->text(&plan.steps[0].params, &square, text), 32);
    /* 40 | 32 << 6 | 32 << 12 = 0x020828: bytes 28 08 02, then 07 00. */
    assert_memory_equal(text, "KAgCBw", 6);
    assert_in_range(text[6], 'A', 'D'); /* its upper four bits are the last of 00 */
    /* Half as high as wide: 4 waves down (3.5 is rounded up), and it lies. */
    const struct values lying = { { VALUE_UINT8, 1, 32 * 16, false, 32 }, gray };
    plan.steps[0].op->text(&plan.steps[0].params, &lying, text);
    assert_memory_equal(text, "KAgCBI", 6); /* bytes 04 80 */
}

static void every_shape(void **state) {
    (void)state;
    check_values_against("thumbhash", hash_expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_published),
        cmocka_unit_test(the_mean_by_hand),
        cmocka_unit_test(every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
