// SPDX-License-Identifier: Apache-2.0
#include "pipeline/timing.h"

#include <stdio.h>
#include <time.h>

static const char *const names[STAGE_COUNT] = {
    [STAGE_RECEIVE] = "receive", [STAGE_QUEUE] = "queue",     [STAGE_DECODE] = "decode",
    [STAGE_UPLOAD] = "upload",   [STAGE_COMPUTE] = "compute", [STAGE_DOWNLOAD] = "download",
    [STAGE_ENCODE] = "encode",   [STAGE_WAIT] = "wait",
};

const char *stage_name(enum stage stage) {
    return names[stage];
}

static int64_t read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t clock_ns(void) {
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_coarse_ns(void) {
    return read_clock(CLOCK_MONOTONIC_COARSE);
}

void timing_span(struct timing *timing, const char *name, int level, double ms) {
    if (!timing || timing->span_count >= TIMING_SPANS_MAX) return;
    struct span *span = &timing->spans[timing->span_count++];
    snprintf(span->name, sizeof span->name, "%s", name);
    span->level = level;
    span->ms = ms;
}

void timing_close(struct timing *timing, double total_ms) {
    double known = 0;
    for (int stage = 0; stage < STAGE_WAIT; stage++) known += timing->stage_ms[stage];
    timing->total_ms = total_ms;
    timing->stage_ms[STAGE_WAIT] = total_ms > known ? total_ms - known : 0;
}
