// SPDX-License-Identifier: Apache-2.0
/* A benchmark reports a wrong result, and takes the right median. */
#include "tests/bench/burin-bench/measurement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* 5 x 3 of RGB, rows of 15 bytes 16 apart. */
static void a_wrong_byte_is_found(void **state) {
    (void)state;
    uint8_t wanted[48], got[48];
    const struct lane lane = { .host_out = got };
    struct image expected = image_shape(5, 3, 3, 8);
    struct failure failure = { 0 };
    memset(wanted, 7, sizeof wanted);
    memcpy(got, wanted, sizeof got);
    got[15] = got[31] = got[47] = 99; /* behind the rows */
    expected.pixels = wanted;
    assert_int_equal(expected.stride, 16);
    assert_int_equal(measurement_check(&lane, &expected, &failure), STATUS_OK);
    for (int i = 0; i < 48; i++) {
        if (i % 16 == 15) continue;
        got[i] ^= 1;
        assert_int_equal(measurement_check(&lane, &expected, &failure), STATUS_INTERNAL);
        assert_int_equal(failure.message[strlen(failure.message) - 1], '0' + i / 16);
        got[i] ^= 1;
    }
    expected.pixels = NULL;
    got[0] ^= 1;
    assert_int_equal(measurement_check(&lane, &expected, &failure), STATUS_OK);
}

static void the_middle_one_is_the_median(void **state) {
    (void)state;
    double one[] = { 4 }, odd[] = { 9, 1, 5 }, even[] = { 3, 8, 1, 6 };
    assert_true(measurement_median(one, 1) == 4);
    assert_true(measurement_median(odd, 3) == 5);
    assert_true(measurement_median(even, 4) == 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_byte_is_found),
        cmocka_unit_test(the_middle_one_is_the_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
