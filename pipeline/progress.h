// SPDX-License-Identifier: Apache-2.0
/* progress.h - how far a job is, and whether anyone still wants it.
 *
 * Used by:  operators and codecs at every band, kernel or seam; the front sets `cancelled`.
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
    int32_t cancelled;   /* set once, by the front */
    uint32_t done;       /* units of work finished, as the operator's record names them */
    uint32_t total;      /* 0: not told */
    int64_t deadline_ns; /* clock_ns() time; 0: none */
};

static inline void progress_report(struct progress *progress, uint32_t done, uint32_t total) {
    if (!progress) return;
    __atomic_store_n(&progress->total, total, __ATOMIC_RELAXED);
    __atomic_store_n(&progress->done, done, __ATOMIC_RELAXED);
}

/* STATUS_OK, STATUS_CANCELLED or STATUS_DEADLINE; cheap enough for every few microseconds. */
static inline enum status progress_check(const struct progress *progress) {
    if (!progress) return STATUS_OK;
    if (__atomic_load_n(&progress->cancelled, __ATOMIC_RELAXED)) return STATUS_CANCELLED;
    if (progress->deadline_ns && clock_coarse_ns() > progress->deadline_ns) return STATUS_DEADLINE;
    return STATUS_OK;
}

#ifdef __cplusplus
}
#endif
#endif
