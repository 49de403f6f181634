// SPDX-License-Identifier: Apache-2.0
/* How it works. Events that are made once are recorded between the pieces of a batch, each with the
 * name of the piece that ended there. Once the last one has arrived, the time between two
 * neighbours is that piece's, and a stage's time is from the last event of the stage before to its
 * own last one. */
#include "cuda/timeline.cuh"

#include "cuda/check.cuh"
#include "cuda/kernel_progress.cuh"

/* ---- make and release */

enum status timeline_init(struct timeline *timeline, struct failure *failure) {
    CUDA_TRY(failure, cudaEventCreate(&timeline->start));
    CUDA_TRY(failure, cudaEventCreateWithFlags(&timeline->end, cudaEventBlockingSync));
    for (int i = 0; i < TIMELINE_MARKS_MAX; i++)
        CUDA_TRY(failure, cudaEventCreate(&timeline->marks[i].event));
    return STATUS_OK;
}

void timeline_release(struct timeline *timeline) {
    for (int i = 0; i < TIMELINE_MARKS_MAX; i++)
        if (timeline->marks[i].event) cudaEventDestroy(timeline->marks[i].event);
    if (timeline->start) cudaEventDestroy(timeline->start);
    if (timeline->end) cudaEventDestroy(timeline->end);
}

void timeline_clear(struct timeline *timeline) {
    timeline->count = 0;
    timeline->started = false;
}

/* ---- record */

/* Records that KERNEL, or for NULL something else, ends here. LEAVE: marks to keep for later. */
static cudaError_t record(struct timeline *timeline, cudaStream_t stream, const char *kernel,
                          int leave) {
    if (timeline->count + leave >= TIMELINE_MARKS_MAX) return cudaSuccess;
    struct timeline_mark *next = &timeline->marks[timeline->count++];
    next->kernel = kernel;
    next->op = NULL;
    next->level = SPAN_KERNEL;
    return cudaEventRecord(next->event, stream);
}

void cuda_record_kernel(const struct cuda_context *context, const char *name) {
    if (context->timeline) record(context->timeline, context->stream, name, PLAN_STEPS_MAX);
}

enum status timeline_start(struct timeline *timeline, cudaStream_t stream,
                           struct failure *failure) {
    if (timeline->started) return STATUS_OK;
    CUDA_TRY(failure, cudaEventRecord(timeline->start, stream));
    timeline->started = true;
    return STATUS_OK;
}

enum status timeline_start_computing(struct timeline *timeline, cudaStream_t stream,
                                     struct failure *failure) {
    const enum status status = timeline_start(timeline, stream, failure);
    if (status || timeline->count) return status;
    CUDA_TRY(failure, record(timeline, stream, NULL, 0));
    return STATUS_OK;
}

/* If a long batch has no marks left, an operator's end gets one of those kept for it. */
enum status timeline_end_op(struct timeline *timeline, cudaStream_t stream, int kernels,
                            const char *name, struct failure *failure) {
    if (timeline->count == kernels || timeline->count + PLAN_STEPS_MAX >= TIMELINE_MARKS_MAX)
        CUDA_TRY(failure, record(timeline, stream, NULL, 0));
    timeline->marks[timeline->count - 1].op = name;
    return STATUS_OK;
}

bool timeline_lend(struct timeline *timeline, enum span_level level, const char *const *names,
                   int count, cudaEvent_t *events) {
    if (!timeline || timeline->count + count + PLAN_STEPS_MAX >= TIMELINE_MARKS_MAX) return false;
    for (int i = 0; i <= count; i++) {
        if (i == 0 && timeline->count) {
            events[0] = timeline->marks[timeline->count - 1].event;
            continue;
        }
        struct timeline_mark *next = &timeline->marks[timeline->count++];
        *next = { next->event, i ? names[i - 1] : NULL, NULL, level };
        events[i] = next->event;
    }
    return true;
}

void timeline_end_kernel(struct timeline *timeline, cudaStream_t stream, enum span_level level,
                         const char *name) {
    const int count = timeline ? timeline->count : 0;
    if (!timeline || record(timeline, stream, name, 0) != cudaSuccess) return;
    if (timeline->count > count) timeline->marks[count].level = level; /* there may be none left */
}

enum status timeline_end(struct timeline *timeline, cudaStream_t stream, struct failure *failure) {
    CUDA_TRY(failure, cudaEventRecord(timeline->end, stream));
    return STATUS_OK;
}

/* ---- read */

static double elapsed_ms(cudaEvent_t from, cudaEvent_t to) {
    float ms = 0;
    if (cudaEventElapsedTime(&ms, from, to) != cudaSuccess) cudaGetLastError();
    return ms;
}

/* The last mark of a stage with such kernels; BEFORE if there is none. */
static int last_mark(const struct timeline *timeline, enum span_level level, int before) {
    for (int i = timeline->count - 1; i > before; i--)
        if (timeline->marks[i].level == level) return i;
    return before;
}

void timeline_times(const struct timeline *timeline, struct lane_times *times) {
    const struct timeline_mark *marks = timeline->marks;
    if (timeline->count == 0) return;
    const int decoded = last_mark(timeline, SPAN_DECODE, 0);
    const int computed = last_mark(timeline, SPAN_KERNEL, decoded);
    const int encoded = last_mark(timeline, SPAN_ENCODE, computed);
    times->upload_ms = elapsed_ms(timeline->start, marks[0].event);
    if (decoded) times->decode_ms = elapsed_ms(marks[0].event, marks[decoded].event);
    if (computed > decoded)
        times->compute_ms = elapsed_ms(marks[decoded].event, marks[computed].event);
    if (encoded > computed)
        times->encode_ms = elapsed_ms(marks[computed].event, marks[encoded].event);
    times->download_ms = elapsed_ms(marks[encoded].event, timeline->end);
}

void timeline_spans(const struct timeline *timeline, const struct kernel_progress_table *progress,
                    struct timing *spans) {
    const struct timeline_mark *marks = timeline->marks;
    for (int from = 0, to = 1, step = 0; to < timeline->count; to++) {
        if (marks[to].level >= SPAN_DECODE) {
            timing_span(spans, marks[to].kernel, marks[to].level,
                        elapsed_ms(marks[to - 1].event, marks[to].event));
            from = to;
        }
        if (!marks[to].op) continue;
        timing_span(spans, marks[to].op, 0, elapsed_ms(marks[from].event, marks[to].event));
        for (int i = from + 1; i <= to; i++)
            if (marks[i].kernel)
                timing_span(spans, marks[i].kernel, 1,
                            elapsed_ms(marks[i - 1].event, marks[i].event));
        kernel_progress_spans(progress, step++, spans);
        from = to;
    }
}
