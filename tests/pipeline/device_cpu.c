// SPDX-License-Identifier: Apache-2.0
/* What a lane of the CPU keeps of a large batch, and how it gives back the rest. */
#include "pipeline/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { MIB = 1 << 20, PIECE_MOST = 2 * MIB, STAGING = MIB + 100, KEPT = MIB + 4096 };

static const struct lane_need large = { .in = 5 * MIB + 700, .work = 16 * MIB, .out = 3 * MIB };
static const struct lane_need small = { .in = 4096, .work = 0, .out = 4096 };

static struct lane *open_lane(void) {
    struct lane *lane;
    struct failure failure = { 0 };
    const struct lane_options options = { .staging_bytes = STAGING };
    assert_int_equal(device_cpu.open(0, &options, &lane, &failure), STATUS_OK);
    return lane;
}

static void reserve(struct lane *lane, const struct lane_need *need) {
    struct failure failure = { 0 };
    assert_int_equal(device_cpu.reserve(lane, need, &failure), STATUS_OK);
}

static void fill(struct lane *lane, const struct lane_need *need, int value) {
    memset(lane->in, value, need->in);
    memset(lane->work, value, need->work);
    memset(lane->out, value, need->out);
}

static size_t resident(const uint8_t *start, size_t length) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (length + page - 1) / page;
    unsigned char *there = malloc(pages);
    assert_non_null(there);
    assert_int_equal(mincore((void *)(uintptr_t)start, length, there), 0);
    size_t bytes = 0;
    for (size_t i = 0; i < pages; i++) bytes += there[i] & 1 ? page : 0;
    free(there);
    return bytes;
}

/* Of the large batch's memory. Small ones lie at the same addresses. */
static size_t held(const struct lane *lane) {
    return resident(lane->in, large.in) + resident(lane->work, large.work) +
           resident(lane->out, large.out);
}

static void a_large_batch_is_given_back_in_pieces(void **state) {
    (void)state;
    struct lane *lane = open_lane();
    assert_false(device_cpu.trim(lane));
    reserve(lane, &large);
    fill(lane, &large, 7);
    size_t before = held(lane);
    assert_true(before >= large.in + large.work + large.out);
    reserve(lane, &small);
    fill(lane, &small, 8);
    assert_int_equal(held(lane), before);
    while (device_cpu.trim(lane)) {
        const size_t after = held(lane);
        assert_true(after < before && before - after <= PIECE_MOST);
        before = after;
    }
    assert_int_equal(before, 3 * KEPT);
    for (size_t i = 0; i < KEPT; i++) assert_int_equal(lane->in[i], i < small.in ? 8 : 7);
    device_cpu.close(lane);
}

static void a_small_batch_is_kept(void **state) {
    (void)state;
    struct lane *lane = open_lane();
    const struct lane_need need = { .in = STAGING, .work = STAGING, .out = STAGING };
    reserve(lane, &need);
    fill(lane, &need, 7);
    assert_false(device_cpu.trim(lane));
    assert_int_equal(lane->work[STAGING - 1], 7);
    device_cpu.close(lane);
}

/* A batch that comes between two pieces has all that it asked for, and what it wrote stays. */
static void a_batch_between_two_pieces(void **state) {
    (void)state;
    struct lane *lane = open_lane();
    reserve(lane, &large);
    fill(lane, &large, 7);
    assert_true(device_cpu.trim(lane));
    reserve(lane, &large);
    fill(lane, &large, 9);
    for (size_t i = 0; i < large.work; i++) assert_int_equal(lane->work[i], 9);
    while (device_cpu.trim(lane)) continue;
    assert_int_equal(held(lane), 3 * KEPT);
    device_cpu.close(lane);
}

/* Not even of what is kept. */
static void nothing_is_left_of_an_emptied_lane(void **state) {
    (void)state;
    struct failure failure = { 0 };
    struct lane *lane = open_lane();
    reserve(lane, &large);
    fill(lane, &large, 7);
    assert_int_equal(device_cpu.empty(lane, &failure), STATUS_OK);
    assert_int_equal(held(lane), 0);
    reserve(lane, &large);
    for (size_t i = 0; i < large.in; i++) assert_int_equal(lane->in[i], 0);
    for (size_t i = 0; i < large.work; i++) assert_int_equal(lane->work[i], 0);
    for (size_t i = 0; i < large.out; i++) assert_int_equal(lane->out[i], 0);
    device_cpu.close(lane);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_batch_is_given_back_in_pieces),
        cmocka_unit_test(a_small_batch_is_kept),
        cmocka_unit_test(a_batch_between_two_pieces),
        cmocka_unit_test(nothing_is_left_of_an_emptied_lane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
