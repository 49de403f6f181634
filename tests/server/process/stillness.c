// SPDX-License-Identifier: Apache-2.0
/* stillness_count() measures how long a thread was still. The test plays the clock and the kernel,
 * and looks every 50 ms unless a call gives another interval. */
#include "server/process/stillness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { EVERY_MS = 50 };
static const int64_t ms_ns = 1000000;

struct watch {
    struct stillness stillness;
    int64_t now;
    uint64_t turns;
};

static int look(struct watch *watch, enum thread_state state, int after_ms) {
    const struct thread_status status = { .state = state, .turns = watch->turns };
    watch->now += after_ms * ms_ns;
    return (int)(stillness_count(&watch->stillness, &status, watch->now) / ms_ns);
}

/* Milliseconds still, after LOOKS of them. */
static int after(struct watch *watch, enum thread_state state, int looks) {
    int ms = 0;
    for (int i = 0; i < looks; i++) ms = look(watch, state, EVERY_MS);
    return ms;
}

static struct watch begin(void) {
    return (struct watch){ .now = 1000 * ms_ns, .turns = 7 };
}

static void who_is_stopped_or_sleeps_is_still(void **state) {
    (void)state;
    struct watch stopped = begin(), asleep = begin();
    assert_int_equal(after(&stopped, THREAD_STOPPED, 1), 0); /* it is unknown since when */
    assert_int_equal(after(&stopped, THREAD_STOPPED, 10), 500);
    assert_int_equal(after(&asleep, THREAD_SLEEPS, 11), 500);
}

static void who_has_had_a_core_is_not(void **state) {
    (void)state;
    struct watch watch = begin();
    assert_int_equal(after(&watch, THREAD_SLEEPS, 9), 400);
    watch.turns++;
    assert_int_equal(after(&watch, THREAD_SLEEPS, 1), 0);
    assert_int_equal(after(&watch, THREAD_SLEEPS, 2), 100);
}

/* However long it takes. */
static void who_waits_for_a_core_is_not(void **state) {
    (void)state;
    struct watch watch = begin();
    assert_int_equal(after(&watch, THREAD_RUNS, 100000), 0);
    after(&watch, THREAD_SLEEPS, 9);
    assert_int_equal(after(&watch, THREAD_RUNS, 1), 0);
}

static void who_is_debugged_is_not(void **state) {
    (void)state;
    struct watch watch = begin();
    assert_int_equal(after(&watch, THREAD_TRACED, 100000), 0);
}

static void a_thread_held_by_the_kernel_has_thirty_times_as_long(void **state) {
    (void)state;
    struct watch held = begin(), unknown = begin();
    assert_in_range(after(&held, THREAD_HELD, 301), 499, 500);
    assert_in_range(after(&unknown, THREAD_UNKNOWN, 301), 499, 500);
}

/* A look counts at most 0.1 s: the observer itself may not have run, or the machine slept. */
static void a_late_look_counts_little(void **state) {
    (void)state;
    struct watch watch = begin();
    after(&watch, THREAD_STOPPED, 1);
    assert_int_equal(look(&watch, THREAD_STOPPED, 3600 * 1000), 100);
    assert_int_equal(look(&watch, THREAD_STOPPED, 80), 180);
}

static void who_goes_on_begins_anew(void **state) {
    (void)state;
    struct watch watch = begin();
    after(&watch, THREAD_STOPPED, 9);
    stillness_end(&watch.stillness);
    assert_int_equal(after(&watch, THREAD_STOPPED, 3), 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_stopped_or_sleeps_is_still),
        cmocka_unit_test(who_has_had_a_core_is_not),
        cmocka_unit_test(who_waits_for_a_core_is_not),
        cmocka_unit_test(who_is_debugged_is_not),
        cmocka_unit_test(a_thread_held_by_the_kernel_has_thirty_times_as_long),
        cmocka_unit_test(a_late_look_counts_little),
        cmocka_unit_test(who_goes_on_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
