// SPDX-License-Identifier: Apache-2.0
/* timing.h - where the milliseconds of a request went.
 *
 * Stages follow one another and sum to the total; spans tell what happened inside compute, each
 * operator followed by its kernels, and inside decode and encode where a GPU did that. On a GPU
 * upload to download are measured with events. Plain data, no pointer: it travels in shared memory.
 *
 * Used by:  devices, run.c, the worker and the front, each for its own stages.
 * Threads:  one at a time.
 * Limits:   TIMING_SPANS_MAX spans; what comes after is left out.
 */
#ifndef BURIN_TIMING_H
#define BURIN_TIMING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum stage {
    STAGE_RECEIVE, /* first byte of the request to last byte of the body */
    STAGE_QUEUE,   /* until a lane takes the job */
    STAGE_DECODE,
    STAGE_UPLOAD,
    STAGE_COMPUTE,
    STAGE_DOWNLOAD,
    STAGE_ENCODE,
    STAGE_WAIT, /* for others of the same batch, for the driver, for messages between processes */
    STAGE_COUNT
};

enum { TIMING_SPANS_MAX = 64 };

enum span_level {
    SPAN_OPERATOR,
    SPAN_KERNEL, /* of the operator before it */
    SPAN_DECODE, /* a kernel of decode */
    SPAN_ENCODE,
    SPAN_LEVELS
};

struct span {
    char name[28];
    int32_t level; /* enum span_level */
    double ms;
};

struct timing {
    double stage_ms[STAGE_COUNT];
    double total_ms;
    int32_t span_count;
    struct span spans[TIMING_SPANS_MAX];
};

/* "receive", "queue"... */
const char *stage_name(enum stage stage);

/* CLOCK_MONOTONIC in nanoseconds: one clock for all processes of the machine. */
int64_t clock_ns(void);

/* The same clock a few milliseconds behind, for a fifth of the price: for deadlines that are looked
 * at in every row. */
int64_t clock_coarse_ns(void);

static inline double ns_to_ms(int64_t ns) {
    return (double)ns / 1e6;
}

/* Adds one span; past TIMING_SPANS_MAX it is left out. */
void timing_span(struct timing *timing, const char *name, int level, double ms);

/* total_ms := TOTAL and STAGE_WAIT := what the other stages leave of it, never below 0. */
void timing_close(struct timing *timing, double total_ms);

#ifdef __cplusplus
}
#endif
#endif
