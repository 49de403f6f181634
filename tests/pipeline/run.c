// SPDX-License-Identifier: Apache-2.0
/* A plan over a batch: what each step puts out is what the next one gets, image by image; the
 * values that a step reports stand beside the result.
 * covers: pipeline/values.h */
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
static void times_are_reported(void **state) {
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

/* ---- values */

/* Reports for each channel the sum and the number of its samples. */
static struct values_shape sum_shape(const struct op *op, const struct params *params,
                                     const struct image *in) {
    (void)params;
    assert_non_null(op);
    return (struct values_shape){ VALUE_INT64, image_colours(in), 2, true, 0 };
}

static enum status run_sum(struct op_call *call) {
    int64_t *numbers = call->values;
    assert_non_null(numbers);
    assert_true((uintptr_t)numbers % 256 == 0);
    assert_ptr_equal(call->in.pixels, call->out.pixels);
    assert_true(image_same_shape(&call->in, &call->out));
    assert_string_equal(call->op->name, "sum");
    numbers[0] = numbers[1] = 0;
    for (uint32_t y = 0; y < call->in.height; y++)
        for (uint32_t x = 0; x < call->in.width; x++, numbers[1]++)
            numbers[0] += image_row(&call->in, y)[x];
    return STATUS_OK;
}

static const struct op sum = {
    .name = "sum", .summary = "a test's", .values = sum_shape, .run = run_sum
};

/* Checks the values of `sum` after steps that have added ADD. */
static void check_sum(const struct run_item *item, int k, int s, int add) {
    const struct values *values = &item->values[s];
    int64_t expected = 0;
    const size_t pixels = (size_t)item->in.width * item->in.height;
    for (size_t i = 0; i < pixels; i++) {
        const int sample = sample_of(k, i) + add;
        expected += sample > 255 ? 255 : sample;
    }
    assert_int_equal(values->shape.type, VALUE_INT64);
    assert_int_equal(values_count(&values->shape), 2);
    assert_true(((const int64_t *)values->numbers)[0] == expected);
    assert_true(((const int64_t *)values->numbers)[1] == (int64_t)pixels);
}

/* '+' adds 10; 's' is `sum`, which reports on the image so far and passes it on. */
static void a_step_with_values_passes_the_image_on(void **state) {
    (void)state;
    static const char *const orders[] = { "s",   "ss",    "s+",       "+s",
                                          "+s+", "s+s+s", "+ss+s+s+", "sss+++" };
    struct lane *lane = open_lane();
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        struct plan plan = { 0 };
        struct run_item items[COUNT];
        struct failure failure = { 0 };
        for (const char *c = orders[o]; *c; c++) {
            assert_int_equal(plan_add(&plan, "brightness", &failure), STATUS_OK);
            assert_int_equal(plan_set(&plan, "shift", "10", &failure), STATUS_OK);
            if (*c == 's') plan.steps[plan.count - 1].op = &sum;
        }
        assert_int_equal(plan_only_reports(&plan), strchr(orders[o], '+') == NULL);
        lay(lane, &plan, items);
        assert_int_equal(run_batch(lane, &plan, items, COUNT, &failure), STATUS_OK);
        int add = 0;
        for (int s = 0; s < plan.count; s++) {
            for (int k = 0; k < COUNT && orders[o][s] == 's'; k++) check_sum(&items[k], k, s, add);
            for (int k = 0; k < COUNT && orders[o][s] == '+'; k++)
                assert_int_equal(items[k].values[s].shape.type, VALUE_NONE);
            add += orders[o][s] == '+' ? 10 : 0;
        }
        check(items, add, -1);
    }
    device_cpu.close(lane);
}

static size_t downloaded, wanted, largest;

static enum status count_download(struct lane *lane, size_t bytes, struct failure *failure) {
    (void)lane, (void)failure;
    downloaded = bytes;
    return STATUS_OK;
}

static enum status count_reserve(struct lane *lane, const struct lane_need *need,
                                 struct failure *failure) {
    wanted = need->out;
    largest = need->image;
    return device_cpu.reserve(lane, need, failure);
}

/* One copy brings images and values; without a step that makes an image, values alone. */
static void an_image_that_stays_as_it_is_is_not_downloaded(void **state) {
    (void)state;
    struct device_driver counting = device_cpu;
    counting.download = count_download;
    counting.reserve = count_reserve;
    struct lane *lane = open_lane();
    lane->driver = &counting;
    struct plan plan;
    struct run_item items[COUNT];
    plan_parse(&plan, "brightness:shift=10;brightness:shift=10", NULL);
    plan.steps[1].op = &sum;
    lay(lane, &plan, items);
    assert_int_equal(largest, image_bytes(&items[2].in));
    assert_int_equal(run_batch(lane, &plan, items, COUNT, NULL), STATUS_OK);
    assert_int_equal(downloaded, 2 * COUNT * 256);
    assert_int_equal(wanted, downloaded);
    plan.steps[0].op = &sum;
    lay(lane, &plan, items);
    for (int k = 0; k < COUNT; k++) assert_ptr_equal(items[k].in.pixels, items[k].out.pixels);
    assert_int_equal(run_batch(lane, &plan, items, COUNT, NULL), STATUS_OK);
    assert_int_equal(downloaded, 2 * COUNT * 256);
    assert_int_equal(wanted, downloaded);
    lane->driver = &device_cpu;
    device_cpu.close(lane);
}

/* ---- steps that are one piece of work */

static bool fusing;
static size_t working;

/* All that add belong together. */
static int chain_additions(struct lane *lane, const struct op *const *ops, int count,
                           const struct image *in, bool *ready) {
    int length = 0;
    (void)lane;
    assert_int_equal(in->depth, 8);
    while (length < count && strcmp(ops[length]->name, "brightness") == 0) length++;
    *ready = fusing && length > 1;
    return length > 0 ? length : 1;
}

/* One addition for all of them. */
static enum status run_additions(struct lane *lane, const struct op *op, struct op_call *calls,
                                 int count) {
    struct params params = *calls[0].params;
    for (const struct op_call *one = calls[0].before; one; one = one->before) {
        assert_string_equal(one->op->name, "brightness");
        params.number[0] += one->params->number[0];
    }
    for (int i = 0; i < count; i++) {
        assert_ptr_equal(calls[i].before, calls[0].before);
        calls[i].params = &params;
    }
    return device_cpu.run(lane, op, calls, count);
}

static enum status count_work(struct lane *lane, const struct lane_need *need,
                              struct failure *failure) {
    working = need->work;
    return device_cpu.reserve(lane, need, failure);
}

/* '+' adds 1, '>' is a threshold, 's' is `sum`: the results are the same, and what is between steps
 * that are fused takes no memory, IMAGES times what all items have together. */
static void fused_steps_write_nothing_between(void **state) {
    (void)state;
    static const struct {
        const char *order;
        int images, fused_images, add, level;
    } rows[] = {
        { "+", 0, 0, 1, -1 },      { "++", 1, 0, 2, -1 },  { "+++", 2, 0, 3, -1 },
        { ">++", 2, 1, -1, -1 },   { "++>", 2, 1, 2, 99 }, { "+++++>", 2, 1, 5, 99 },
        { "++s+++", 2, 1, 5, -1 }, { "+s+", 1, 1, 2, -1 }, { "s++s", 1, 0, 2, -1 },
    };
    struct device_driver fuses = device_cpu;
    fuses.chain = chain_additions;
    fuses.run = run_additions;
    fuses.reserve = count_work;
    struct lane *lane = open_lane();
    lane->driver = &fuses;
    for (size_t r = 0; r < 2 * sizeof rows / sizeof *rows; r++) {
        const char *order = rows[r / 2].order;
        struct plan plan = { 0 };
        struct run_item items[COUNT];
        struct timing timing = { .span_count = 0 };
        fusing = r % 2;
        for (const char *c = order; *c; c++) {
            plan_add(&plan, *c == '>' ? "threshold" : "brightness", NULL);
            plan_set(&plan, *c == '>' ? "level" : "shift", *c == '>' ? "99" : "1", NULL);
            if (*c == 's') plan.steps[plan.count - 1].op = &sum;
        }
        lay(lane, &plan, items);
        items[0].timing = &timing;
        assert_int_equal(working,
                         COUNT * 256 *
                             (size_t)(fusing ? rows[r / 2].fused_images : rows[r / 2].images));
        assert_int_equal(run_batch(lane, &plan, items, COUNT, NULL), STATUS_OK);
        if (rows[r / 2].add >= 0) check(items, rows[r / 2].add, rows[r / 2].level);
        for (int s = 0, add = 0; s < plan.count; add += order[s++] == '+')
            for (int k = 0; k < COUNT && order[s] == 's'; k++) check_sum(&items[k], k, s, add);
        /* The layout serves later runs too, whether or not the fused kernel is ready. */
        fusing = !fusing;
        assert_int_equal(run_batch(lane, &plan, items, COUNT, NULL), STATUS_OK);
        if (rows[r / 2].add >= 0) check(items, rows[r / 2].add, rows[r / 2].level);
    }
    lane->driver = &device_cpu;
    device_cpu.close(lane);
}

/* ---- limits */

static struct values_shape too_many(const struct op *op, const struct params *params,
                                    const struct image *in) {
    (void)op, (void)params;
    return (struct values_shape){ VALUE_INT32, image_colours(in), 65536, true, 0 };
}

/* Five times 65536 numbers for three channels are under PLAN_VALUES_MAX, six times are not. */
static void values_are_limited_before_memory_is_taken(void **state) {
    (void)state;
    const struct op many = { .name = "many", .values = too_many, .run = run_sum };
    struct lane *lane = open_lane();
    struct plan plan = { .count = 5 };
    struct failure failure = { 0 };
    struct run_item item = { .in = image_shape(4, 4, 3, 8) };
    for (int s = 0; s < 6; s++) plan.steps[s].op = &many;
    assert_int_equal(run_reserve(lane, &plan, &item, 1, 1000, &failure), STATUS_OK);
    plan.count = 6;
    assert_int_equal(run_reserve(lane, &plan, &item, 1, 1000, &failure), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "1179648"));
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
        cmocka_unit_test(times_are_reported),
        cmocka_unit_test(a_step_with_values_passes_the_image_on),
        cmocka_unit_test(an_image_that_stays_as_it_is_is_not_downloaded),
        cmocka_unit_test(fused_steps_write_nothing_between),
        cmocka_unit_test(values_are_limited_before_memory_is_taken),
        cmocka_unit_test(what_is_cancelled_fails_with_a_sentence),
        cmocka_unit_test(limits_are_judged_before_memory_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
