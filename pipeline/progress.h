// SPDX-License-Identifier: Apache-2.0
/* progress.h - how far a job is, and whether anyone still wants it.
 *
 * Used by:  operators and codecs at every band, kernel or seam; the front sets `cancelled`, and
 *           reads `seen_ns` as a sign that the job's worker lives.
 * Threads:  any, and any process: it lies in shared memory. Fields are read and written with the
 *           compiler's atomic builtins because CUDA C++ reads this header too.
 */
#ifndef BURIN_PROGRESS_H
#define BURIN_PROGRESS_H

#include "pipeline/status.h"
#include "pipeline/timing.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct progress {
    int32_t cancelled; /* set once, by the front */
    uint32_t step;     /* of the plan, that was begun last; on a GPU: that was queued last */
    uint32_t done;     /* units of that step's work finished, as the operator's record names them */
    uint32_t total;    /* 0: not told */
    int64_t deadline_ns; /* clock_ns() time; 0: none */
    int64_t seen_ns; /* when its work last went on, by clock_coarse_ns(); told if a deadline is */
};

/* Stored only when the coarse clock has moved: rows of several threads share the line. */
static inline void progress_seen(struct progress *progress, int64_t now) {
    if (__atomic_load_n(&progress->seen_ns, __ATOMIC_RELAXED) != now)
        __atomic_store_n(&progress->seen_ns, now, __ATOMIC_RELAXED);
}

/* Work goes on if DONE is another number than last time. */
static inline void progress_report(struct progress *progress, uint32_t done, uint32_t total) {
    if (!progress) return;
    if (progress->deadline_ns && __atomic_load_n(&progress->done, __ATOMIC_RELAXED) != done)
        progress_seen(progress, clock_coarse_ns());
    __atomic_store_n(&progress->total, total, __ATOMIC_RELAXED);
    __atomic_store_n(&progress->done, done, __ATOMIC_RELAXED);
}

/* Another step begins; what the one before told of itself is over. */
static inline void progress_step(struct progress *progress, uint32_t step) {
    if (!progress) return;
    __atomic_store_n(&progress->total, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&progress->done, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&progress->step, step, __ATOMIC_RELAXED);
}

/* STATUS_OK, STATUS_CANCELLED or STATUS_DEADLINE. For those who only wait for the work. */
static inline enum status progress_state(const struct progress *progress) {
    if (!progress) return STATUS_OK;
    if (__atomic_load_n(&progress->cancelled, __ATOMIC_RELAXED)) return STATUS_CANCELLED;
    if (progress->deadline_ns && clock_coarse_ns() > progress->deadline_ns) return STATUS_DEADLINE;
    return STATUS_OK;
}

/* The same, said by the work itself as it goes on; cheap enough for every few microseconds. */
static inline enum status progress_check(struct progress *progress) {
    if (!progress) return STATUS_OK;
    if (__atomic_load_n(&progress->cancelled, __ATOMIC_RELAXED)) return STATUS_CANCELLED;
    if (!progress->deadline_ns) return STATUS_OK;
    const int64_t now = clock_coarse_ns();
    progress_seen(progress, now);
    return now > progress->deadline_ns ? STATUS_DEADLINE : STATUS_OK;
}

#ifdef __cplusplus
}
#endif
#endif
