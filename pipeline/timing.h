// SPDX-License-Identifier: Apache-2.0
/* timing.h - how long each stage of a request took.
 *
 * Stages follow one another and sum to the total. Spans break down compute (each operator followed
 * by its kernels), and decode and encode where a GPU did them. A GPU measures upload to download
 * with events. Plain data without pointers: it travels in shared memory.
 *
 * Used by:  devices, run.c, the worker and the front, each for its own stages.
 * Threads:  one at a time.
 * Limits:   TIMING_SPANS_MAX spans; later ones are dropped.
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

/* The same clock, a few milliseconds behind, at a fifth of the cost: for deadlines that are checked
 * in every row. */
int64_t clock_coarse_ns(void);

static inline double ns_to_ms(int64_t ns) {
    return (double)ns / 1e6;
}

/* Adds one span; drops it beyond TIMING_SPANS_MAX. */
void timing_span(struct timing *timing, const char *name, int level, double ms);

/* Sets total_ms to TOTAL and STAGE_WAIT to what the other stages leave of it, at least 0. */
void timing_close(struct timing *timing, double total_ms);

#ifdef __cplusplus
}
#endif
#endif
