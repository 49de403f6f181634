// SPDX-License-Identifier: Apache-2.0
/* What `burin bench` makes of a wrong result, of a row that failed and of words that it does not
 * know. */
#include "server/bench/bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* 5 x 3 of RGB, rows of 15 bytes 16 apart. */
static void a_wrong_byte_is_found(void **state) {
    (void)state;
    uint8_t wanted[48], got[48];
    struct lane its = { .host_out = got };
    const struct bench_lane lane = { .name = "a lane", .lane = &its };
    struct image expected = image_shape(5, 3, 3, 8);
    struct failure failure = { 0 };
    memset(wanted, 7, sizeof wanted);
    memcpy(got, wanted, sizeof got);
    got[15] = got[31] = got[47] = 99; /* behind the rows */
    expected.pixels = wanted;
    assert_int_equal(expected.stride, 16);
    assert_int_equal(bench_check(&lane, &expected, &failure), STATUS_OK);
    for (int i = 0; i < 48; i++) {
        if (i % 16 == 15) continue;
        got[i] ^= 1;
        assert_int_equal(bench_check(&lane, &expected, &failure), STATUS_INTERNAL);
        assert_int_equal(failure.message[strlen(failure.message) - 1], '0' + i / 16);
        got[i] ^= 1;
    }
    expected.pixels = NULL;
    got[0] ^= 1;
    assert_int_equal(bench_check(&lane, &expected, &failure), STATUS_OK);
}

static void who_is_held_against_whom(void **state) {
    (void)state;
    const struct bench_lane lanes[] = { { .gpu = false }, { .gpu = false }, { .gpu = true } };
    assert_false(bench_has_both(lanes, 1));
    assert_false(bench_has_both(lanes, 2));
    assert_true(bench_has_both(lanes, 3));
    assert_false(bench_has_both(lanes + 2, 1));
}

/* ---- exit codes */

static int measured;
static bool rows_are, words_are;

static bool words(const struct bench_options *options) {
    return words_are && bench_takes_no_words(options);
}

static bool rows(const struct bench_options *options, struct bench_lane *lanes, int count,
                 json_t *into) {
    (void)options, (void)lanes, (void)into;
    assert_true(count > 0);
    measured++;
    return rows_are;
}

/* The exit code; MEASURED counts whether it came to rows. */
static int command(bool good_words, bool good_rows, char *option, char *value) {
    char *arguments[] = { "nothing", option, value, NULL };
    rows_are = good_rows;
    words_are = good_words;
    measured = 0;
    return bench_command("nothing", words, rows, value ? 3 : 2, arguments);
}

static void exit_codes(void **state) {
    (void)state;
    assert_int_equal(command(true, true, "--device", "cpu"), 0);
    assert_int_equal(measured, 1);
    assert_int_equal(command(true, false, "--device", "cpu"), 1);
    assert_int_equal(measured, 1);
    assert_int_equal(command(false, true, "--device", "cpu"), 2);
    assert_int_equal(command(true, true, "--device", "gpu"), 2);
    assert_int_equal(command(true, true, "--device", NULL), 2);
    assert_int_equal(command(true, true, "word", NULL), 2);
    assert_int_equal(measured, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_byte_is_found),
        cmocka_unit_test(who_is_held_against_whom),
        cmocka_unit_test(exit_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
