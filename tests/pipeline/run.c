// SPDX-License-Identifier: Apache-2.0
/* A plan over a batch: what each step puts out is what the next one gets, image by image. */
#include "pipeline/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 3 };

static const uint32_t sizes[COUNT][2] = { { 5, 3 }, { 1, 1 }, { 40, 2 } };

static struct lane *open_lane(void) {
    struct lane *lane;
    const struct lane_options options = { .staging_bytes = 4096 };
    assert_int_equal(device_cpu.open(0, &options, &lane, NULL), STATUS_OK);
    return lane;
}

/* Sample I of item K, before any step. */
static uint8_t sample_of(int k, size_t i) {
    return (uint8_t)(80 * k + 7 * i);
}

static void lay(struct lane *lane, const struct plan *plan, struct run_item items[COUNT]) {
    struct failure failure = { 0 };
    for (int k = 0; k < COUNT; k++)
        items[k] = (struct run_item){ .in = image_shape(sizes[k][0], sizes[k][1], 1, 8) };
    assert_int_equal(run_reserve(lane, plan, items, COUNT, 1000, &failure), STATUS_OK);
    for (int k = 0; k < COUNT; k++)
        for (uint32_t y = 0; y < items[k].in.height; y++)
            for (uint32_t x = 0; x < items[k].in.width; x++)
                image_row(&items[k].in, y)[x] = sample_of(k, y * items[k].in.width + x);
}

static void check(const struct run_item items[COUNT], int add, int level) {
    for (int k = 0; k < COUNT; k++)
        for (uint32_t y = 0; y < items[k].out.height; y++)
            for (uint32_t x = 0; x < items[k].out.width; x++) {
                const int in = sample_of(k, y * items[k].out.width + x);
                const int sum = in + add > 255 ? 255 : in + add;
                assert_int_equal(image_row(&items[k].out, y)[x], level < 0     ? sum
                                                                 : sum > level ? 255
                                                                               : 0);
            }
}

static void steps_follow_one_another(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int add, level;
    } plans[] = { { "", 0, -1 },
                  { "brightness:shift=10", 10, -1 },
                  { "brightness:shift=10;threshold:level=99", 10, 99 },
                  { "brightness:shift=9;brightness:shift=1;threshold:level=99", 10, 99 },
                  { "brightness:shift=3;brightness:shift=3;brightness:shift=4;threshold:level=99",
                    10, 99 } };
    struct lane *lane = open_lane();
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        struct plan plan;
        struct run_item items[COUNT];
        struct failure failure = { 0 };
        assert_int_equal(plan_parse(&plan, plans[i].text, &failure), STATUS_OK);
        lay(lane, &plan, items);
        assert_int_equal(run_batch(lane, &plan, items, COUNT, &failure), STATUS_OK);
        check(items, plans[i].add, plans[i].level);
    }
    device_cpu.close(lane);
}

/* Every item has the batch's spans; each step one an item, since the CPU runs one by one. */
static void times_are_told(void **state) {
    (void)state;
    struct timing timings[COUNT] = { { .span_count = 0 } };
    struct lane *lane = open_lane();
    struct plan plan;
    struct run_item items[COUNT];
    plan_parse(&plan, "brightness:shift=1;threshold", NULL);
    lay(lane, &plan, items);
    for (int k = 0; k < COUNT; k++) items[k].timing = &timings[k];
    assert_int_equal(run_batch(lane, &plan, items, COUNT, NULL), STATUS_OK);
    for (int k = 0; k < COUNT; k++) {
        assert_int_equal(timings[k].span_count, 2 * COUNT);
        assert_string_equal(timings[k].spans[0].name, "brightness");
        assert_string_equal(timings[k].spans[COUNT].name, "threshold");
    }
    device_cpu.close(lane);
}

static void what_is_cancelled_fails_with_a_sentence(void **state) {
    (void)state;
    struct progress cancelled = { .cancelled = 1 };
    struct lane *lane = open_lane();
    struct plan plan;
    struct run_item items[COUNT];
    struct failure failure;
    plan_parse(&plan, "brightness:shift=1", NULL);
    lay(lane, &plan, items);
    for (int k = 0; k < COUNT; k++) items[k].progress = &cancelled;
    assert_int_equal(run_batch(lane, &plan, items, COUNT, &failure), STATUS_CANCELLED);
    for (int k = 0; k < COUNT; k++) {
        assert_int_equal(items[k].failure.status, STATUS_CANCELLED);
        assert_true(strlen(items[k].failure.message) > 10);
    }
    device_cpu.close(lane);
}

static void limits_are_judged_before_memory_is_taken(void **state) {
    (void)state;
    struct lane *lane = open_lane();
    struct plan plan;
    struct failure failure;
    struct run_item item = { .in = image_shape(100, 100, 1, 8) };
    plan_parse(&plan, "brightness:shift=1", NULL);
    assert_int_equal(run_reserve(lane, &plan, &item, 1, 9999, &failure), STATUS_TOO_LARGE);
    assert_int_equal(run_reserve(lane, &plan, &item, 1, 10000, &failure), STATUS_OK);
    device_cpu.close(lane);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_follow_one_another),
        cmocka_unit_test(times_are_told),
        cmocka_unit_test(what_is_cancelled_fails_with_a_sentence),
        cmocka_unit_test(limits_are_judged_before_memory_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
