// SPDX-License-Identifier: Apache-2.0
/* The GPU seen through device.h: what is known of it, memory of a lane, times, lanes side by side.
 *
 * How it works. Each test opens a lane of its own and equalizes noise in it, from one thread or
 * from several; results are compared with the reference by their digests. Latencies are only
 * printed.
 * covers: cuda/device_cuda.cu cuda/lane_buffer.cuh cuda/timeline.cu
 */
#include "pipeline/device.h"
#include "pipeline/registry.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STAGING = 1 << 20, ARENA = 4 << 20, LANES = 6, ROUNDS = 200 };

static const struct lane_options options = { .staging_bytes = STAGING, .arena_bytes = ARENA };

static void test_info(void **state) {
    (void)state;
    struct device_info info;
    assert_int_equal(device_cuda.describe(0, &info, NULL), STATUS_OK);
    print_message("%s, %s, %s, %s\n", info.name, info.capability, info.driver, info.pcie);
    print_message("%d multiprocessors, %.1f of %.1f GB free, L2 %.0f MB, %.0f and %.0f MHz, %s%s\n",
                  info.multiprocessors, info.memory_free_bytes / 1e9, info.memory_bytes / 1e9,
                  info.l2_bytes / 1e6, info.clock_mhz, info.memory_clock_mhz,
                  info.ecc ? "ECC" : "no ECC", info.clusters ? ", clusters" : "");
    assert_true(info.name[0] && info.capability[0] && info.driver[0] && info.pcie[0]);
    assert_memory_equal(info.pcie, info.bus, strlen(info.bus));
    assert_true(strlen(info.bus) >= strlen("0000:18:00.0"));
    assert_true(info.multiprocessors > 0 && info.memory_bytes > 0 && info.clock_mhz > 0);
    struct failure failure = { 0 };
    assert_int_equal(device_cuda.describe(999, &info, &failure), STATUS_DEVICE);
    assert_true(failure.message[0]);
}

/* Noise, histeq, and the same again on the CPU. */
static void equalize(struct lane *lane, uint32_t width, uint32_t height, struct timing *spans) {
    const struct op *op = registry_find("histeq");
    struct params params;
    struct failure failure = { 0 };
    struct lane_times times;
    params_init(&params, op->params);
    struct image in = image_shape(width, height, 1, 8), out = in;
    const size_t bytes = image_bytes(&in);
    const struct lane_need need = { .in = bytes, .out = bytes };
    assert_int_equal(device_cuda.reserve(lane, &need, &failure), STATUS_OK);
    for (size_t i = 0; i < bytes; i++) lane->host_in[i] = (uint8_t)(i * i >> 7 ^ i);
    in.pixels = lane->in;
    out.pixels = lane->out;
    struct op_call call = { .params = &params, .in = in, .out = out, .failure = &failure };
    assert_int_equal(device_cuda.upload(lane, bytes, &failure), STATUS_OK);
    assert_int_equal(device_cuda.run(lane, op, &call, 1), STATUS_OK);
    assert_int_equal(device_cuda.download(lane, bytes, &failure), STATUS_OK);
    assert_int_equal(device_cuda.finish(lane, &times, spans, &failure), STATUS_OK);
    assert_true(times.upload_ms > 0 && times.compute_ms > 0 && times.download_ms > 0);
    if (!spans) return;
    static uint8_t expected[16 << 20], scratch[1 << 20];
    assert_true(bytes <= sizeof expected);
    call.in.pixels = lane->host_in;
    call.out.pixels = expected;
    call.scratch = scratch;
    assert_int_equal(op->run(&call), STATUS_OK);
    out.pixels = lane->host_out;
    assert_true(image_digest(&out) == image_digest(&call.out));
}

/* Small, larger than everything made at open, larger still, small again. */
static void test_memory(void **state) {
    (void)state;
    struct lane *lane;
    struct timing spans = { .span_count = 0 };
    assert_int_equal(device_cuda.open(0, &options, &lane, NULL), STATUS_OK);
    const size_t pinned = lane->pinned_bytes;
    assert_true(pinned >= 2 * STAGING && pinned < 2 * STAGING + 4096);
    const uint8_t *const own = (equalize(lane, 100, 100, &spans), lane->host_in);
    assert_int_equal(lane->pinned_bytes, pinned);
    equalize(lane, 2000, 1500, &spans);
    assert_ptr_not_equal(lane->host_in, own);
    assert_in_range(lane->pinned_bytes, pinned + 2 * 2000 * 1500, pinned + 2 * 2000 * 1500 + 4096);
    assert_true(device_cuda.trim(lane)); /* what it borrowed is others' */
    assert_false(device_cuda.trim(lane));
    assert_int_equal(lane->pinned_bytes, pinned);
    equalize(lane, 4000, 3000, &spans);
    equalize(lane, 100, 100, &spans);
    assert_ptr_equal(lane->host_in, own);
    assert_int_equal(lane->pinned_bytes, pinned);
    struct failure failure = { 0 };
    const struct lane_need too_much = { .work = (size_t)1 << 46 };
    assert_int_equal(device_cuda.reserve(lane, &too_much, &failure), STATUS_NO_MEMORY);
    equalize(lane, 100, 100, &spans); /* the lane is as before */
    device_cuda.close(lane);
}

/* Less than a bound that two lanes share, more than it, and one that waits for the other. */
static void test_bounded_memory(void **state) {
    (void)state;
    struct lane_options bounded = options;
    struct lane *lanes[2];
    struct failure failure = { 0 };
    const size_t step = 16 << 20;
    bounded.pinned_pool_bytes = 2 * step;
    bounded.device_pool_bytes = 2 * step;
    for (int i = 0; i < 2; i++)
        assert_int_equal(device_cuda.open(0, &bounded, &lanes[i], NULL), STATUS_OK);
    const struct lane_need fits = { .in = step, .out = step },
                           pinned = { .in = step + 256, .out = step },
                           arena = { .in = 256, .work = 3 * step, .out = 256 };
    assert_int_equal(device_cuda.reserve(lanes[0], &pinned, &failure), STATUS_NO_MEMORY);
    assert_non_null(strstr(failure.message, "pinned_pool_bytes"));
    assert_int_equal(device_cuda.reserve(lanes[0], &arena, &failure), STATUS_NO_MEMORY);
    assert_non_null(strstr(failure.message, "device_pool_bytes"));
    equalize(lanes[0], 100, 100, NULL);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(device_cuda.reserve(lanes[i % 2], &fits, &failure), STATUS_OK);
        memset(lanes[i % 2]->host_in, i, step);
        assert_true(device_cuda.trim(lanes[i % 2]));
    }
    for (int i = 0; i < 2; i++) device_cuda.close(lanes[i]);
}

static void test_spans(void **state) {
    (void)state;
    struct lane *lane;
    struct timing spans = { .span_count = 0 };
    assert_int_equal(device_cuda.open(0, &options, &lane, NULL), STATUS_OK);
    equalize(lane, 640, 480, &spans);
    assert_int_equal(spans.span_count, 2);
    assert_string_equal(spans.spans[0].name, "histeq");
    assert_int_equal(spans.spans[0].level, 0);
    assert_string_equal(spans.spans[1].name, "equalize");
    assert_int_equal(spans.spans[1].level, 1);
    device_cuda.close(lane);
}

static int by_value(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* From the filled host_in to the ready host_out, on the host's clock; then each call's mean. */
static void tell_latency(struct lane *lane, uint32_t width, uint32_t height) {
    enum { CALLS = 5, REPEATS = 2001 };
    static int64_t ns[REPEATS];
    int64_t at[CALLS + 1], sums[CALLS] = { 0 };
    const struct op *op = registry_find("histeq");
    struct params params;
    struct failure failure = { 0 };
    struct lane_times times;
    params_init(&params, op->params);
    struct image in = image_shape(width, height, 1, 8), out = in;
    const size_t bytes = image_bytes(&in);
    const struct lane_need need = { .in = bytes, .out = bytes };
    for (int i = 0; i < REPEATS; i++) {
        at[0] = clock_ns();
        device_cuda.reserve(lane, &need, &failure);
        in.pixels = lane->in;
        out.pixels = lane->out;
        struct op_call call = { .params = &params, .in = in, .out = out, .failure = &failure };
        at[1] = clock_ns();
        device_cuda.upload(lane, bytes, &failure);
        at[2] = clock_ns();
        device_cuda.run(lane, op, &call, 1);
        at[3] = clock_ns();
        device_cuda.download(lane, bytes, &failure);
        at[4] = clock_ns();
        assert_int_equal(device_cuda.finish(lane, &times, NULL, &failure), STATUS_OK);
        at[5] = clock_ns();
        ns[i] = at[5] - at[0];
        for (int k = 0; k < CALLS; k++) sums[k] += at[k + 1] - at[k];
    }
    qsort(ns, REPEATS, sizeof *ns, by_value);
    print_message("%4u x %4u gray, host to host: %.1f us p50, %.1f us p99; events: %.1f up, %.1f "
                  "compute, %.1f down\n",
                  width, height, ns[REPEATS / 2] / 1e3, ns[REPEATS * 99 / 100] / 1e3,
                  times.upload_ms * 1e3, times.compute_ms * 1e3, times.download_ms * 1e3);
    print_message("    host: reserve %.1f, upload %.1f, run %.1f, download %.1f, finish %.1f us\n",
                  sums[0] / 1e3 / REPEATS, sums[1] / 1e3 / REPEATS, sums[2] / 1e3 / REPEATS,
                  sums[3] / 1e3 / REPEATS, sums[4] / 1e3 / REPEATS);
}

static void test_latency(void **state) {
    (void)state;
    struct lane *lane;
    const struct lane_options roomy = { .staging_bytes = 16 << 20, .arena_bytes = 64 << 20 };
    assert_int_equal(device_cuda.open(0, &roomy, &lane, NULL), STATUS_OK);
    tell_latency(lane, 320, 240);
    tell_latency(lane, 1920, 1080);
    tell_latency(lane, 3840, 2160);
    device_cuda.close(lane);
}

static void *work(void *argument) {
    struct lane *lane = argument;
    for (int i = 0; i < ROUNDS; i++) equalize(lane, 320 + 157 * (i % 9), 240 + 111 * (i % 7), NULL);
    return NULL;
}

/* Blocks of one launch wait for one another: launches of several lanes must not block each other.
 */
static void test_lanes_side_by_side(void **state) {
    (void)state;
    struct lane *lanes[LANES];
    pthread_t threads[LANES];
    struct timing spans = { .span_count = 0 };
    const int64_t start = clock_ns();
    for (int i = 0; i < LANES; i++) {
        assert_int_equal(device_cuda.open(0, &options, &lanes[i], NULL), STATUS_OK);
        assert_int_equal(pthread_create(&threads[i], NULL, work, lanes[i]), 0);
    }
    for (int i = 0; i < LANES; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < LANES; i++) {
        equalize(lanes[i], 640, 480, &spans);
        device_cuda.close(lanes[i]);
    }
    print_message("%d lanes, %d batches each: %.1f ms\n", LANES, ROUNDS,
                  ns_to_ms(clock_ns() - start));
}

int main(void) {
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to test");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),           cmocka_unit_test(test_memory),
        cmocka_unit_test(test_bounded_memory), cmocka_unit_test(test_spans),
        cmocka_unit_test(test_latency),        cmocka_unit_test(test_lanes_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
