// SPDX-License-Identifier: Apache-2.0
/* kernel_progress.cuh - the lane's side of struct kernel_progress: reads what long kernels report,
 * and stops them.
 *
 * Used by:  device_cuda.cu, event_wait.cuh, timeline.cu.
 * Owns:     the pinned entries, from kernel_progress_init() on; the lane frees them.
 * Threads:  the lane's alone, and the kernels of its stream.
 * Limits:   KERNEL_PROGRESS_MAX images of a batch, in all its steps; others report nothing.
 */
#ifndef BURIN_KERNEL_PROGRESS_CUH
#define BURIN_KERNEL_PROGRESS_CUH

#include "cuda/check.cuh"
#include "cuda/cuda_op.h"
#include "pipeline/plan.h"

enum { KERNEL_PROGRESS_MAX = PLAN_STEPS_MAX * CUDA_BATCH_MAX };

struct progress_entry {
    struct progress *progress;
    struct failure *failure;
    const char *const *names;
    int step;
    enum status status; /* why it was stopped */
};

struct kernel_progress_table {
    int count;
    int step;                        /* the step of the plan that is being queued */
    struct kernel_progress *entries; /* pinned and mapped, KERNEL_PROGRESS_MAX elements */
    struct kernel_progress *device_entries;
    struct progress_entry calls[KERNEL_PROGRESS_MAX];
};

static inline enum status kernel_progress_init(struct kernel_progress_table *table,
                                               struct failure *failure) {
    const size_t bytes = KERNEL_PROGRESS_MAX * sizeof(struct kernel_progress);
    CUDA_TRY(failure, cudaHostAlloc((void **)&table->entries, bytes, cudaHostAllocMapped));
    CUDA_TRY(failure, cudaHostGetDevicePointer((void **)&table->device_entries, table->entries, 0));
    return STATUS_OK;
}

static inline void kernel_progress_clear(struct kernel_progress_table *table) {
    table->count = 0;
    table->step = 0;
}

/* Passes progress on, and stops images that are no longer wanted. This call is no sign of the
 * device's life: only a new `done` is. */
static inline void kernel_progress_poll(struct kernel_progress_table *table) {
    for (int i = 0; i < table->count; i++) {
        volatile struct kernel_progress *word = &table->entries[i];
        struct progress_entry *call = &table->calls[i];
        const uint32_t done = word->done, total = word->total; /* may be a guess */
        if (total) progress_report(call->progress, done, done < total ? total : done);
        if (!call->status) call->status = progress_state(call->progress);
        if (call->status) word->stop = 1;
    }
}

/* Images that were stopped fail, each with its own status. */
static inline void kernel_progress_judge(struct kernel_progress_table *table) {
    for (int i = 0; i < table->count; i++) {
        const struct progress_entry *call = &table->calls[i];
        if (call->status && !call->failure->status)
            fail(call->failure, call->status,
                 call->status == STATUS_CANCELLED ? "the client has left"
                                                  : "not done within the time allowed");
    }
}

/* Adds the longest time of every span among a step's images. */
static inline void kernel_progress_spans(const struct kernel_progress_table *table, int step,
                                         struct timing *spans) {
    uint32_t longest[CUDA_SPANS_MAX] = {};
    const char *const *names = NULL;
    for (int i = 0; i < table->count; i++) {
        if (table->calls[i].step != step || !table->calls[i].names) continue;
        names = table->calls[i].names;
        for (int k = 0; k < CUDA_SPANS_MAX; k++)
            if (table->entries[i].span_us[k] > longest[k])
                longest[k] = table->entries[i].span_us[k];
    }
    for (int k = 0; names && k < CUDA_SPANS_MAX && names[k]; k++)
        timing_span(spans, names[k], 1, longest[k] / 1e3);
}

#endif
