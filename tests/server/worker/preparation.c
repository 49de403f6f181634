// SPDX-License-Identifier: Apache-2.0
/* Users' operators prepared at a sandbox's start: the common ones are awaited, the others come
 * behind, one that fails is left alone, and the end does not wait for all. */
#include "server/worker/preparation.h"

#include "pipeline/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { OPS = 3, CALLS_MAX = 64, SHAPES = 8, COMMON = 4 };

static struct op ops[OPS] = { { .name = "first-of-test" },
                              { .name = "wrong-of-test" },
                              { .name = "last-of-test" } };

static struct call {
    const struct op *op;
    int depth, channels;
} calls[CALLS_MAX];
static int count;               /* atomic */
static int hold_at = CALLS_MAX; /* atomic: this call and those behind it wait */
static enum status wrong;       /* what the second operator gives */

static enum status prepare(struct lane *lane, const struct op *op, int depth, int channels,
                           struct failure *failure) {
    (void)lane;
    while (__atomic_load_n(&hold_at, __ATOMIC_ACQUIRE) <= count) usleep(1000);
    calls[count] = (struct call){ op, depth, channels };
    __atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
    return op == &ops[1] && wrong ? (fail)(failure, wrong, "wrong-of-test: as planned") : STATUS_OK;
}

static const struct device_driver driver = { .kind = "cuda", .prepare = prepare };
static struct lane lane = { .driver = &driver };

static void begin(struct preparation *preparation, int hold, enum status status) {
    *preparation = (struct preparation){ 0 };
    count = 0;
    wrong = status;
    __atomic_store_n(&hold_at, hold, __ATOMIC_RELEASE);
}

static void wait_for_calls(int wanted) {
    for (int i = 0; i < 10000 && __atomic_load_n(&count, __ATOMIC_ACQUIRE) < wanted; i++)
        usleep(1000);
    assert_int_equal(count, wanted);
}

static void test_common_ones_first(void **state) {
    (void)state;
    struct preparation preparation;
    begin(&preparation, COMMON * OPS, STATUS_OK); /* those that are not common do not come */
    preparation_start(&preparation, &lane, 60000);
    assert_int_equal(count, COMMON * OPS);
    __atomic_store_n(&hold_at, CALLS_MAX, __ATOMIC_RELEASE);
    wait_for_calls(SHAPES * OPS);
    preparation_join(&preparation);
    for (int i = 0; i < SHAPES * OPS; i++) {
        assert_ptr_equal(calls[i].op, &ops[i % OPS]);
        assert_true(calls[i].depth == 8 || calls[i].depth == 16);
        assert_int_equal(calls[i].channels == 1 || calls[i].channels == 3, i < COMMON * OPS);
        for (int j = 0; j < i; j++) assert_memory_not_equal(&calls[i], &calls[j], sizeof *calls);
    }
}

/* The wait has an end where a compiler has none. */
static void test_start_does_not_wait_for_ever(void **state) {
    (void)state;
    struct preparation preparation;
    begin(&preparation, 1, STATUS_OK);
    preparation_start(&preparation, &lane, 20);
    assert_int_equal(count, 1);
    __atomic_store_n(&preparation.stop, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&hold_at, CALLS_MAX, __ATOMIC_RELEASE);
    preparation_join(&preparation);
    assert_int_equal(count, 2); /* the one that was under way */
}

static void test_one_that_fails_is_left_alone(void **state) {
    (void)state;
    struct preparation preparation;
    begin(&preparation, CALLS_MAX, STATUS_INTERNAL);
    preparation_start(&preparation, &lane, 60000);
    wait_for_calls(SHAPES * (OPS - 1) + 1);
    preparation_join(&preparation);
    assert_int_equal(count, SHAPES * (OPS - 1) + 1);
}

/* There is no compiler: it is said once. */
static void test_nothing_can_be_prepared(void **state) {
    (void)state;
    struct preparation preparation;
    begin(&preparation, CALLS_MAX, STATUS_BAD_PARAM);
    preparation_start(&preparation, &lane, 60000);
    preparation_join(&preparation);
    assert_int_equal(count, 2);
}

static void test_none_was_started(void **state) {
    (void)state;
    struct preparation preparation = { 0 };
    preparation_join(&preparation);
}

static int add_ops(void **state) {
    (void)state;
    for (int i = 0; i < OPS; i++)
        if (!registry_add(&ops[i])) return -1;
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_common_ones_first),
        cmocka_unit_test(test_start_does_not_wait_for_ever),
        cmocka_unit_test(test_one_that_fails_is_left_alone),
        cmocka_unit_test(test_nothing_can_be_prepared),
        cmocka_unit_test(test_none_was_started),
    };
    return cmocka_run_group_tests(tests, add_ops, NULL);
}
