// SPDX-License-Identifier: Apache-2.0
/* progress.h - how far a job is, and whether its result is still wanted.
 *
 * Used by:  operators and codecs at every band, kernel or seam; the front sets `cancelled` and
 *           reads `seen_ns` as a sign that the job's worker lives.
 * Threads:  any, in any process: the struct lies in shared memory. Fields are read and written with
 *           the compiler's atomic builtins because CUDA C++ reads this header too.
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
    int32_t cancelled;   /* set once, by the front */
    uint32_t step;       /* of the plan, begun last (on a GPU: queued last) */
    uint32_t done;       /* finished units of that step, in the operator's `unit` */
    uint32_t total;      /* 0: unknown */
    int64_t deadline_ns; /* by clock_ns(); 0: none */
    int64_t seen_ns; /* time of the last progress, by clock_coarse_ns(); set only where there is a
                    deadline */
};

/* Stores only a changed clock, because rows of several threads share this cache line. */
static inline void progress_seen(struct progress *progress, int64_t now) {
    if (__atomic_load_n(&progress->seen_ns, __ATOMIC_RELAXED) != now)
        __atomic_store_n(&progress->seen_ns, now, __ATOMIC_RELAXED);
}

/* Records DONE of TOTAL units; a changed DONE counts as progress. */
static inline void progress_report(struct progress *progress, uint32_t done, uint32_t total) {
    if (!progress) return;
    if (progress->deadline_ns && __atomic_load_n(&progress->done, __ATOMIC_RELAXED) != done)
        progress_seen(progress, clock_coarse_ns());
    __atomic_store_n(&progress->total, total, __ATOMIC_RELAXED);
    __atomic_store_n(&progress->done, done, __ATOMIC_RELAXED);
}

/* Begins STEP and resets the counts of the step before. */
static inline void progress_step(struct progress *progress, uint32_t step) {
    if (!progress) return;
    __atomic_store_n(&progress->total, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&progress->done, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&progress->step, step, __ATOMIC_RELAXED);
}

/* Returns STATUS_OK, STATUS_CANCELLED or STATUS_DEADLINE; for code that only waits for the work. */
static inline enum status progress_state(const struct progress *progress) {
    if (!progress) return STATUS_OK;
    if (__atomic_load_n(&progress->cancelled, __ATOMIC_RELAXED)) return STATUS_CANCELLED;
    if (progress->deadline_ns && clock_coarse_ns() > progress->deadline_ns) return STATUS_DEADLINE;
    return STATUS_OK;
}

/* The same for the work itself, which also records progress; cheap enough for every few
 * microseconds. */
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
