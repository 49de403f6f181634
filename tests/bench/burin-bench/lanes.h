// SPDX-License-Identifier: Apache-2.0
/* lanes.h - what a benchmark runs on: the CPU with one core, the CPU with all cores, every GPU.
 *
 * Used by:  bench.c opens and closes them; each benchmark runs on them.
 * Owns:     lanes and their thread pools until lanes_close.
 * Fails:    a sentence on standard error; one that does not open is counted and left out.
 * Threads:  the caller's alone.
 */
#ifndef BURIN_BENCH_LANES_H
#define BURIN_BENCH_LANES_H

#include "pipeline/device.h"

#include <stdbool.h>

enum { LANES_MAX = 18 };

struct bench_lane {
    char name[64]; /* "cpu, 1 core", "cuda:0" */
    bool gpu;
    int index; /* of the GPU: N of cuda:N */
    struct lane *lane;
    struct pool *pool; /* NULL: one core */
};

/* In this order: the CPU with one core, with all, the GPUs. */
struct lanes {
    int count, failed; /* opened; could not be opened */
    struct bench_lane all[LANES_MAX];
};

/* DEVICE is "all" or as device_choose reads it; false where there is no such device. */
bool lanes_open(struct lanes *lanes, const char *program, const char *device);
void lanes_close(struct lanes *lanes);

/* Are both the CPU, which is then the first, and a GPU among them? */
bool lanes_mixed(const struct lanes *lanes);

#endif
