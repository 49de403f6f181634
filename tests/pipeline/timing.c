// SPDX-License-Identifier: Apache-2.0
/* Spans and what is left for waiting. */
#include "pipeline/timing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void what_is_left_is_waiting(void **state) {
    (void)state;
    struct timing timing = { .stage_ms = { [STAGE_DECODE] = 2, [STAGE_COMPUTE] = 3.5 } };
    timing_close(&timing, 8);
    assert_true(timing.total_ms == 8 && timing.stage_ms[STAGE_WAIT] == 2.5);
    timing_close(&timing, 5); /* less than its stages: clocks differ */
    assert_true(timing.stage_ms[STAGE_WAIT] == 0);
}

static void spans_beyond_the_last_are_left_out(void **state) {
    (void)state;
    struct timing timing = { .span_count = 0 };
    for (int i = 0; i < TIMING_SPANS_MAX + 5; i++)
        timing_span(&timing, "a name that is longer than a span may hold", 1, i);
    assert_int_equal(timing.span_count, TIMING_SPANS_MAX);
    assert_string_equal(timing.spans[63].name, "a name that is longer than ");
    assert_true(timing.spans[63].ms == 63);
    timing_span(NULL, "nobody asks", 0, 1);
}

static void stages_have_names(void **state) {
    (void)state;
    assert_string_equal(stage_name(STAGE_RECEIVE), "receive");
    assert_string_equal(stage_name(STAGE_WAIT), "wait");
    for (int i = 0; i < STAGE_COUNT; i++) assert_non_null(stage_name((enum stage)i));
}

static void clocks_agree(void **state) {
    (void)state;
    const int64_t coarse = clock_coarse_ns(), fine = clock_ns();
    assert_true(coarse <= fine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_is_waiting),
        cmocka_unit_test(spans_beyond_the_last_are_left_out),
        cmocka_unit_test(stages_have_names),
        cmocka_unit_test(clocks_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
