// SPDX-License-Identifier: Apache-2.0
/* timeline.cuh - the times at which a batch's upload, kernels, operators and download began and
 * ended, by CUDA events.
 *
 * Used by:  device_cuda.cu; the twins, through cuda_record_kernel() of cuda_op.h.
 * Owns:     its events, until timeline_release().
 * Threads:  the lane's.
 * Limits:   TIMELINE_MARKS_MAX marks a batch. PLAN_STEPS_MAX of them are kept for the ends of
 *           operators: a longer batch's last kernels are reported as one.
 *
 * A batch's events: start, the first mark (the upload has ended), a mark after each kernel that
 * decodes, after each kernel of the operators, after those that encode, end (the download has
 * ended).
 */
#ifndef BURIN_TIMELINE_CUH
#define BURIN_TIMELINE_CUH

#include "cuda/cuda_op.h"
#include "pipeline/device.h"
#include "pipeline/timing.h"

enum { TIMELINE_MARKS_MAX = TIMING_SPANS_MAX };

struct timeline_mark {
    cudaEvent_t event;
    const char *kernel, *op; /* the pieces that ended here; NULL: none */
    enum span_level level;   /* SPAN_DECODE, SPAN_ENCODE; else an operator's */
};

struct timeline {
    cudaEvent_t start, end;
    bool started;
    int count;
    struct timeline_mark marks[TIMELINE_MARKS_MAX];
};

enum status timeline_init(struct timeline *timeline, struct failure *failure);
void timeline_release(struct timeline *timeline); /* may be zeroed, or half made */

/* Forgets the last batch. */
void timeline_clear(struct timeline *timeline);

/* Both do nothing if the event was recorded before. */
enum status timeline_start(struct timeline *timeline, cudaStream_t stream, struct failure *failure);
enum status timeline_start_computing(struct timeline *timeline, cudaStream_t stream,
                                     struct failure *failure);

/* KERNELS: the number of marks before the operator NAME, a constant. */
enum status timeline_end_op(struct timeline *timeline, cudaStream_t stream, int kernels,
                            const char *name, struct failure *failure);

/* COUNT kernels called NAMES follow, and the caller records EVENTS: the first one before them, then
 * one after each. False where there are too few marks, or TIMELINE is NULL. */
bool timeline_lend(struct timeline *timeline, enum span_level level, const char *const *names,
                   int count, cudaEvent_t *events);
/* The same for one kernel, recorded now. */
void timeline_end_kernel(struct timeline *timeline, cudaStream_t stream, enum span_level level,
                         const char *name);

enum status timeline_end(struct timeline *timeline, cudaStream_t stream, struct failure *failure);

/* Called once the end event has arrived. SPANS: each operator before its kernels, then the parts
 * that long kernels reported in PROGRESS. */
struct kernel_progress_table;
void timeline_times(const struct timeline *timeline, struct lane_times *times);
void timeline_spans(const struct timeline *timeline, const struct kernel_progress_table *progress,
                    struct timing *spans);

#endif
