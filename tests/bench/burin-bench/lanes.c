// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/burin-bench/lanes.h"

#include "pipeline/pool.h"

#include <stdio.h>
#include <string.h>

static void add(struct lanes *lanes, const char *program, const struct device_driver *driver,
                int index, int threads) {
    struct bench_lane *lane = &lanes->all[lanes->count];
    struct failure failure = { 0 };
    *lane = (struct bench_lane){ .gpu = driver != &device_cpu, .index = index };
    if (lane->gpu)
        snprintf(lane->name, sizeof lane->name, "%s:%d", driver->kind, index);
    else
        snprintf(lane->name, sizeof lane->name, "cpu, %d core%s", threads, threads == 1 ? "" : "s");
    if (threads > 1) lane->pool = pool_create(threads);
    const struct lane_options options = { .staging_bytes = 64 << 20,
                                          .arena_bytes = 256 << 20,
                                          .pool = lane->pool };
    if (driver->open(index, &options, &lane->lane, &failure)) {
        fprintf(stderr, "%s: %s: %s\n", program, lane->name, failure.message);
        pool_destroy(lane->pool);
        lanes->failed++;
    } else {
        lanes->count++;
    }
}

static void add_cpu(struct lanes *lanes, const char *program) {
    struct device_info facts;
    device_cpu.describe(0, &facts, NULL);
    add(lanes, program, &device_cpu, 0, 1);
    if (facts.multiprocessors > 1) add(lanes, program, &device_cpu, 0, facts.multiprocessors);
}

bool lanes_open(struct lanes *lanes, const char *program, const char *device) {
    const struct device_driver *driver;
    struct failure failure = { 0 };
    int index;
    lanes->count = lanes->failed = 0;
    if (strcmp(device, "all") == 0) {
        add_cpu(lanes, program);
        for (index = 0; index < device_cuda.count() && lanes->count < LANES_MAX; index++)
            add(lanes, program, &device_cuda, index, 1);
        return true;
    }
    if (device_choose(device, &driver, &index, &failure)) {
        fprintf(stderr, "%s: %s\n", program, failure.message);
        return false;
    }
    if (driver == &device_cpu)
        add_cpu(lanes, program);
    else
        add(lanes, program, driver, index, 1);
    return true;
}

void lanes_close(struct lanes *lanes) {
    for (struct bench_lane *lane = lanes->all; lane < lanes->all + lanes->count; lane++) {
        lane->lane->driver->close(lane->lane);
        pool_destroy(lane->pool);
    }
    lanes->count = 0;
}

bool lanes_mixed(const struct lanes *lanes) {
    return lanes->count && !lanes->all[0].gpu && lanes->all[lanes->count - 1].gpu;
}
