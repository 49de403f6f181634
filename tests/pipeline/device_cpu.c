// SPDX-License-Identifier: Apache-2.0
/* A lane of the CPU keeps part of a large batch's memory and gives back the rest in pieces. If the
 * system refuses it memory, the lane waits for other lanes or refuses the batch.
 * covers: pipeline/cpu_memory.c */
#include "pipeline/cpu_memory.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { MIB = 1 << 20, PIECE_MOST = 2 * MIB, STAGING = MIB + 100, KEPT = MIB + 4096, IDLE = 4096 };

static const struct lane_need large = { .in = 5 * MIB + 700, .work = 16 * MIB, .out = 3 * MIB };
static const struct lane_need small = { .in = 4096, .work = 0, .out = 4096 };

static struct lane *open_lane_of(size_t staging_bytes, size_t idle_bytes) {
    struct lane *lane;
    struct failure failure = { 0 };
    const struct lane_options options = { .staging_bytes = staging_bytes,
                                          .idle_bytes = idle_bytes };
    assert_int_equal(device_cpu.open(0, &options, &lane, &failure), STATUS_OK);
    return lane;
}

/* This lane keeps the same however long ago batches ran. */
static struct lane *open_lane(void) {
    return open_lane_of(STAGING, STAGING);
}

static void reserve(struct lane *lane, const struct lane_need *need) {
    struct failure failure = { 0 };
    assert_int_equal(device_cpu.reserve(lane, need, &failure), STATUS_OK);
}

static void fill(struct lane *lane, const struct lane_need *need, int value) {
    if (need->in) memset(lane->in, value, need->in);
    if (need->work) memset(lane->work, value, need->work);
    if (need->out) memset(lane->out, value, need->out);
}

static size_t resident(const uint8_t *start, size_t length) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char there;
    size_t bytes = 0;
    for (size_t i = 0; i < length; i += page) /* what is not even mapped is not there */
        if (mincore((void *)(uintptr_t)(start + i), page, &there) == 0 && there & 1) bytes += page;
    return bytes;
}

/* Resident bytes of a large batch's memory; small batches lie at the same addresses. */
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

static void wait_ms(int ms) {
    const struct timespec time = { ms / 1000, ms % 1000 * 1000000L };
    nanosleep(&time, NULL);
}

/* Whether the lane sleeps or is given small ones. */
static void what_no_batch_had_of_late_is_given_back(void **state) {
    (void)state;
    struct lane *lane = open_lane_of(STAGING, IDLE);
    reserve(lane, &large);
    fill(lane, &large, 7);
    while (device_cpu.trim(lane)) continue;
    assert_in_range(held(lane), 3 * IDLE, 3 * KEPT);
    for (int i = 0; i < 2; i++) {
        wait_ms(1010);
        reserve(lane, &small);
        fill(lane, &small, 8);
        while (device_cpu.trim(lane)) continue;
    }
    assert_int_equal(held(lane), 3 * IDLE);
    device_cpu.close(lane);
}

/* ---- where memory is refused */

enum { ROOM = 48 * MIB };

/* A sanitizer needs memory of its own, and waits for it. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { MEMORY_CAN_END = 0 };
#else
enum { MEMORY_CAN_END = 1 };
#endif
static const struct lane_need most_of_it = { .in = 16 * MIB, .work = 16 * MIB, .out = 8 * MIB };

/* ROOM more than this process has, for all that it writes to. */
static struct rlimit leave_room(void) {
    struct rlimit before, limit;
    unsigned long kilobytes = 0;
    char line[128];
    FILE *file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) sscanf(line, "VmData: %lu", &kilobytes);
    fclose(file);
    assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
    limit = before;
    limit.rlim_cur = kilobytes * 1024 + ROOM;
    assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
    return before;
}

static enum status try_reserve(struct lane *lane, enum status (*check)(const void *context)) {
    struct lane_need need = most_of_it;
    struct failure failure = { 0 };
    need.wait.check = check;
    return device_cpu.reserve(lane, &need, &failure);
}

/* A lane opened at OPENED keeps all, unless two windows (cpu_memory.c) have passed since. */
static void assert_keeps_all(struct lane *lane, int64_t opened) {
    const bool trimmed = device_cpu.trim(lane);
    if (clock_ns() - opened < 2 * INT64_C(1000000000)) assert_false(trimmed);
}

/* A lane that keeps much between batches has it for itself only until another is refused some. */
static void idle_lanes_give_back_what_they_keep(void **state) {
    (void)state;
    if (!MEMORY_CAN_END) skip();
    const int64_t opened = clock_ns();
    struct lane *a = open_lane_of(16 * MIB, IDLE), *b = open_lane_of(16 * MIB, IDLE);
    const struct rlimit before = leave_room();
    reserve(a, &most_of_it);
    fill(a, &most_of_it, 7);
    assert_int_equal(try_reserve(b, NULL), STATUS_NO_MEMORY); /* it is in use */
    assert_int_equal(a->work[16 * MIB - 1], 7);
    assert_keeps_all(a, opened);
    assert_int_equal(try_reserve(b, NULL), STATUS_OK);
    fill(b, &most_of_it, 9);
    assert_int_equal(try_reserve(a, NULL), STATUS_NO_MEMORY);
    assert_keeps_all(b, opened);
    cpu_memory_reclaim();
    assert_int_equal(resident(b->work, most_of_it.work), 0);
    assert_int_equal(try_reserve(a, NULL), STATUS_OK);
    assert_int_equal(a->in[0], 0);
    setrlimit(RLIMIT_DATA, &before);
    device_cpu.close(a);
    device_cpu.close(b);
}

static enum status wanted(const void *context) {
    (void)context;
    return STATUS_OK;
}

static enum status late(const void *context) {
    (void)context;
    return STATUS_DEADLINE;
}

static void *end_batch(void *argument) {
    wait_ms(100);
    device_cpu.trim(argument);
    return NULL;
}

static void a_lane_waits_for_large_batches(void **state) {
    (void)state;
    if (!MEMORY_CAN_END) skip();
    struct lane *a = open_lane_of(16 * MIB, IDLE), *b = open_lane_of(16 * MIB, IDLE);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, end_batch, a), 0); /* its stack is data too */
    pthread_join(thread, NULL);
    const struct rlimit before = leave_room();
    reserve(a, &most_of_it);
    assert_int_equal(try_reserve(b, late), STATUS_DEADLINE);
    assert_int_equal(pthread_create(&thread, NULL, end_batch, a), 0);
    assert_int_equal(try_reserve(b, wanted), STATUS_OK);
    pthread_join(thread, NULL);
    /* One that has room enough does not wait its turn. */
    reserve(a, &small);
    setrlimit(RLIMIT_DATA, &before);
    device_cpu.close(a);
    device_cpu.close(b);
}

/* A batch that goes on keeps its input, and waits for nothing. */
static void a_batch_that_goes_on(void **state) {
    (void)state;
    struct lane *lane = open_lane();
    reserve(lane, &small);
    fill(lane, &small, 7);
    const uint8_t *in = lane->in;
    const struct lane_need more = {
        .in = small.in, .work = 4 * small.work, .out = 4 * small.out, .keep = true
    };
    reserve(lane, &more);
    assert_ptr_equal(lane->in, in);
    for (size_t i = 0; i < small.in; i++) assert_int_equal(in[i], 7);
    fill(lane, &more, 8);
    const struct lane_need never = { .in = small.in, .work = (size_t)1 << 60, .keep = true };
    struct failure failure = { 0 };
    assert_int_equal(device_cpu.reserve(lane, &never, &failure), STATUS_NO_MEMORY);
    assert_int_equal(in[0], 8);
    device_cpu.close(lane);
}

static void what_never_fits_is_refused_at_once(void **state) {
    (void)state;
    if (!MEMORY_CAN_END) skip();
    struct lane *lane = open_lane();
    const struct rlimit before = leave_room();
    const struct lane_need need = { .in = ROOM, .work = ROOM, .wait = { .check = wanted } };
    struct failure failure = { 0 };
    assert_int_equal(device_cpu.reserve(lane, &need, &failure), STATUS_NO_MEMORY);
    assert_int_equal(try_reserve(lane, wanted), STATUS_OK);
    setrlimit(RLIMIT_DATA, &before);
    device_cpu.close(lane);
}

/* ---- what all lanes may have together */

enum { MOST = 48 * MIB };

static struct lane *open_lane_within(size_t idle, size_t most) {
    const struct lane_options options = { .staging_bytes = 16 * MIB,
                                          .idle_bytes = idle,
                                          .cpu_memory_bytes = most };
    struct failure failure = { 0 };
    struct lane *lane;
    assert_int_equal(device_cpu.open(0, &options, &lane, &failure), STATUS_OK);
    return lane;
}

static void what_needs_more_than_all_may_have(void **state) {
    (void)state;
    struct lane *lane = open_lane_within(IDLE, MOST);
    const struct lane_need need = { .in = 16 * MIB, .work = 16 * MIB, .codec = 17 * MIB };
    struct failure failure = { 0 };
    assert_int_equal(device_cpu.reserve(lane, &need, &failure), STATUS_TOO_LARGE);
    assert_non_null(strstr(failure.message, "51380224 bytes"));
    assert_non_null(strstr(failure.message, "cpu_memory_bytes"));
    assert_int_equal(held(lane), 0);
    reserve(lane, &most_of_it);
    device_cpu.close(lane);
}

/* 40 MiB, its codecs' too, and then another 40: when the first is done, though it keeps some. */
static void a_lane_waits_until_others_claim_less(void **state) {
    (void)state;
    struct lane *a = open_lane_within(IDLE, MOST), *b = open_lane_within(IDLE, MOST);
    const struct lane_need need = { .in = 8 * MIB, .work = 8 * MIB, .codec = 24 * MIB };
    pthread_t thread;
    reserve(a, &need);
    assert_int_equal(try_reserve(b, NULL), STATUS_NO_MEMORY);
    assert_int_equal(try_reserve(b, late), STATUS_DEADLINE);
    reserve(b, &small); /* no small one waits */
    assert_false(device_cpu.trim(b));
    assert_int_equal(pthread_create(&thread, NULL, end_batch, a), 0);
    assert_int_equal(try_reserve(b, wanted), STATUS_OK);
    pthread_join(thread, NULL);
    assert_int_equal(try_reserve(a, late), STATUS_DEADLINE);
    assert_int_equal(device_cpu.empty(b, NULL), STATUS_OK);
    assert_int_equal(try_reserve(a, NULL), STATUS_OK);
    device_cpu.close(a);
    device_cpu.close(b);
}

enum { CROWD = 8, TURNS = 25 };
static size_t crowd_has, crowd_had; /* atomic; bytes, and the most of them */

static void *reserve_and_trim(void *argument) {
    struct lane *lane = argument;
    for (int i = 0; i < TURNS; i++) {
        const size_t bytes = (1 + ((uintptr_t)lane / 64 + 7 * (uintptr_t)i) % 16) * MIB;
        const struct lane_need need = { .work = bytes, .out = bytes, .wait = { .check = wanted } };
        struct failure failure = { 0 };
        if (device_cpu.reserve(lane, &need, &failure)) return lane;
        const size_t all = __atomic_add_fetch(&crowd_has, 2 * bytes, __ATOMIC_RELAXED);
        size_t most = __atomic_load_n(&crowd_had, __ATOMIC_RELAXED);
        while (all > most && !__atomic_compare_exchange_n(&crowd_had, &most, all, false,
                                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        lane->work[0] = 1;
        __atomic_sub_fetch(&crowd_has, 2 * bytes, __ATOMIC_RELAXED);
        while (device_cpu.trim(lane)) continue;
    }
    return NULL;
}

/* Each gets what it needs in the end, and never is there more than all may have. */
static void a_crowd_takes_turns(void **state) {
    (void)state;
    struct lane *lanes[CROWD];
    pthread_t threads[CROWD];
    for (int i = 0; i < CROWD; i++) lanes[i] = open_lane_within(64 << 10, MOST);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, reserve_and_trim, lanes[i]), 0);
    for (int i = 0; i < CROWD; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
        device_cpu.close(lanes[i]);
    }
    assert_in_range(crowd_had, 1, MOST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_batch_is_given_back_in_pieces),
        cmocka_unit_test(a_small_batch_is_kept),
        cmocka_unit_test(a_batch_between_two_pieces),
        cmocka_unit_test(nothing_is_left_of_an_emptied_lane),
        cmocka_unit_test(what_no_batch_had_of_late_is_given_back),
        cmocka_unit_test(idle_lanes_give_back_what_they_keep),
        cmocka_unit_test(a_lane_waits_for_large_batches),
        cmocka_unit_test(a_batch_that_goes_on),
        cmocka_unit_test(what_never_fits_is_refused_at_once),
        cmocka_unit_test(what_needs_more_than_all_may_have),
        cmocka_unit_test(a_lane_waits_until_others_claim_less),
        cmocka_unit_test(a_crowd_takes_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
