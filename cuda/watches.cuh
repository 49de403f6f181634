// SPDX-License-Identifier: Apache-2.0
/* watches.cuh - the lane's side of the watches of cuda_op.h: what long kernels tell and are told.
 *
 * Threads: the lane's alone, and the kernels of its stream.
 */
#ifndef BURIN_WATCHES_CUH
#define BURIN_WATCHES_CUH

#include "cuda/check.cuh"
#include "cuda/cuda_op.h"
#include "pipeline/plan.h"

enum { WATCHES_MAX = PLAN_STEPS_MAX * CUDA_BATCH_MAX };

struct watched_call {
    struct progress *progress;
    struct failure *failure;
    const char *const *names;
    int step;
    enum status status; /* why it was stopped */
};

struct cuda_watches {
    int count;
    int step;                 /* of the plan, that is being queued */
    struct cuda_watch *words; /* pinned, WATCHES_MAX of them, mapped on the device */
    struct cuda_watch *device_words;
    struct watched_call calls[WATCHES_MAX];
};

static inline enum status watches_make(struct cuda_watches *watches, struct failure *failure) {
    const size_t bytes = WATCHES_MAX * sizeof(struct cuda_watch);
    CUDA_TRY(failure, cudaHostAlloc((void **)&watches->words, bytes, cudaHostAllocMapped));
    CUDA_TRY(failure, cudaHostGetDevicePointer((void **)&watches->device_words, watches->words, 0));
    return STATUS_OK;
}

static inline void watches_clear(struct cuda_watches *watches) {
    watches->count = 0;
    watches->step = 0;
}

/* Passes progress on, and stops what nobody wants any more. That the lane looks is no sign that the
 * device goes on: only a new `done` is. */
static inline void watches_look(struct cuda_watches *watches) {
    for (int i = 0; i < watches->count; i++) {
        volatile struct cuda_watch *word = &watches->words[i];
        struct watched_call *call = &watches->calls[i];
        if (word->total) progress_report(call->progress, word->done, word->total);
        if (!call->status) call->status = progress_state(call->progress);
        if (call->status) word->stop = 1;
    }
}

/* Those that were stopped fail, each on its own. */
static inline void watches_judge(struct cuda_watches *watches) {
    for (int i = 0; i < watches->count; i++) {
        const struct watched_call *call = &watches->calls[i];
        if (call->status && !call->failure->status)
            fail(call->failure, call->status,
                 call->status == STATUS_CANCELLED ? "the client has left"
                                                  : "not done within the time allowed");
    }
}

/* Of a step's images, the longest time of every span. */
static inline void watches_tell(const struct cuda_watches *watches, int step,
                                struct timing *spans) {
    uint32_t longest[CUDA_SPANS_MAX] = {};
    const char *const *names = NULL;
    for (int i = 0; i < watches->count; i++) {
        if (watches->calls[i].step != step || !watches->calls[i].names) continue;
        names = watches->calls[i].names;
        for (int k = 0; k < CUDA_SPANS_MAX; k++)
            if (watches->words[i].span_us[k] > longest[k])
                longest[k] = watches->words[i].span_us[k];
    }
    for (int k = 0; names && k < CUDA_SPANS_MAX && names[k]; k++)
        timing_span(spans, names[k], 1, longest[k] / 1e3);
}

#endif
