// SPDX-License-Identifier: Apache-2.0
/* Which of the jobs that wait run together. */
#include "server/worker/pending.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { JOBS = 6 };

static struct slots *slots;

static int begin(void **state) {
    (void)state;
    struct failure failure = { 0 };
    const struct slot_options options = { .count = JOBS, .base_bytes = 4096, .span_bytes = 4096 };
    slots = slots_create(&options, &failure);
    for (int i = 0; slots && i < JOBS; i++) {
        const int slot = slot_take(slots, 1, NULL);
        if (slot != i) return -1;
        struct job *job = slot_job(slots, slot);
        job->plan.length =
            1 + (uint32_t)snprintf((char *)job->plan.bytes, sizeof job->plan.bytes, "histeq");
        job->probe.shape = image_shape(64, 48, 3, 8);
        job->predicted_ms = 1;
    }
    return slots ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    slots_destroy(slots);
    return 0;
}

static void check(int most, const int *expected, int count) {
    int waiting[JOBS] = { 0, 1, 2, 3, 4, 5 };
    struct pending pending = { .options = { .batch = most, .slots = slots },
                               .waiting = waiting,
                               .count = JOBS };
    struct group group = { .count = 9 };
    fill(&pending, 0, &group);
    assert_int_equal(pending.count, JOBS - count);
    assert_int_equal(group.count, count);
    assert_memory_equal(group.slots, expected, (size_t)count * sizeof *expected);
    assert_false(group.self_test);
    assert_int_equal(group.is_long, slot_job(slots, 0)->duration == JOB_LONG);
}

static void those_of_one_kind_go_together(void **state) {
    (void)state;
    check(8, (int[]){ 0, 1, 2, 3, 4, 5 }, 6);
    check(2, (int[]){ 0, 1 }, 2);
    memcpy(slot_job(slots, 1)->plan.bytes, "edge", 5);
    slot_job(slots, 3)->probe.shape = image_shape(64, 48, 1, 8);
    slot_job(slots, 4)->probe.shape = image_shape(64, 48, 3, 16);
    slot_job(slots, 5)->probe.shape = image_shape(7, 9, 3, 8); /* any size */
    check(8, (int[]){ 0, 2, 5 }, 3);
}

/* Four times as long and one millisecond more, either way. */
static void those_of_like_cost_go_together(void **state) {
    (void)state;
    static const double ms[JOBS] = { 1, 5, 5.1, 0.1, 0, 3 };
    for (int i = 0; i < JOBS; i++) slot_job(slots, i)->predicted_ms = ms[i];
    check(8, (int[]){ 0, 1, 3, 4, 5 }, 5);
    slot_job(slots, 0)->predicted_ms = 1.5;
    check(8, (int[]){ 0, 1, 2, 5 }, 4);
}

static void enough_is_enough(void **state) {
    (void)state;
    for (int i = 0; i < JOBS; i++) slot_job(slots, i)->predicted_ms = 6;
    slot_job(slots, 4)->predicted_ms = 2;
    check(8, (int[]){ 0, 1, 2, 4 }, 4); /* 20 ms */
    slot_job(slots, 0)->predicted_ms = 60;
    check(8, (int[]){ 0 }, 1);
}

/* A decode that takes cores 30 ms is done for many at once; a long carve is not. */
static void only_what_codecs_make_long_goes_together(void **state) {
    (void)state;
    for (int i = 0; i < JOBS; i++) {
        slot_job(slots, i)->predicted_ms = 30;
        slot_job(slots, i)->duration = JOB_LONG;
    }
    check(8, (int[]){ 0, 1, 2, 3, 4, 5 }, 6);
    slot_job(slots, 0)->own_batch = 1;
    check(8, (int[]){ 0 }, 1);
}

/* Many small carves side by side: their times do not add up. */
static void those_abreast_have_no_bound(void **state) {
    (void)state;
    for (int i = 0; i < JOBS; i++) {
        slot_job(slots, i)->predicted_ms = 9;
        slot_job(slots, i)->abreast = true;
    }
    check(8, (int[]){ 0, 1, 2, 3, 4, 5 }, 6);
    check(4, (int[]){ 0, 1, 2, 3 }, 4);
    slot_job(slots, 2)->own_batch = 1;   /* it is not as short as it looks */
    slot_job(slots, 3)->abreast = false; /* with a mask, perhaps */
    check(8, (int[]){ 0, 1, 4, 5 }, 4);
    slot_job(slots, 0)->abreast = false;
    check(8, (int[]){ 0, 1 }, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(those_of_one_kind_go_together),
        TEST(those_of_like_cost_go_together),
        TEST(enough_is_enough),
        TEST(only_what_codecs_make_long_goes_together),
        TEST(those_abreast_have_no_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
