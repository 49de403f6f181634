// SPDX-License-Identifier: Apache-2.0
/* HOW. A lane is one stream; memory is made at open, and only a batch that is too large for it gets
 * more, which is kept for as long as the batches after it want that much. Nothing waits before
 * finish. Times come from events: one at the start, one after the upload, one after each kernel
 * that a twin marks, one at the end. */
#include "pipeline/device.h"

#include "cuda/check.cuh"
#include "cuda/cuda_op.h"
#include "cuda/facts.cuh"
#include "cuda/kernel_progress.cuh"
#include "pipeline/run.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static_assert((int)CUDA_BATCH_MAX == (int)RUN_BATCH_MAX, "cuda_op.h and run.h agree");

/* ---- the twins */

#define CUDA_OP(name) extern "C" const struct cuda_op cuda_op_##name;
#include "cuda_ops.inc"
#undef CUDA_OP

static const struct twin {
    const char *name;
    const struct cuda_op *op;
} twins[] = {
#define CUDA_OP(name) { #name, &cuda_op_##name },
#include "cuda_ops.inc"
#undef CUDA_OP
    { NULL, NULL },
};

const struct cuda_op *cuda_twin(const struct op *op) {
    const struct twin *twin = twins;
    while (twin->name && strcmp(twin->name, op->name) != 0) twin++;
    return twin->op;
}

/* ---- a lane */

enum {
    MARKS_MAX = TIMING_SPANS_MAX,
    ALIGN = 256,
    SPIN_NS = 100 * 1000,
    NAP_NS = 10 * 1000,
    NAPS_NS = 5000 * 1000,
    LONG_NAP_NS = 500 * 1000
};

/* What ends at an event: a kernel, an operator, or both. */
struct mark {
    cudaEvent_t event;
    const char *kernel, *op; /* NULL: none ends here */
};

/* The account of a batch. marks[0] is where computing starts. */
struct cuda_marks {
    int count;
    struct mark marks[MARKS_MAX];
};

/* Memory made at open, and what a larger batch wants in its place. */
struct store {
    uint8_t *own, *extra;
    size_t own_bytes, extra_bytes;
};

struct cuda_lane {
    struct lane lane; /* first: a struct lane * is a struct cuda_lane * */
    int index;
    cudaStream_t stream;
    struct cuda_context context;
    struct cuda_marks marks;
    struct kernel_progress_table kernel_progress;
    cudaEvent_t start, end;
    bool started;
    struct store host_in, host_out, arena;
};

static struct cuda_lane *cuda_lane_of(struct lane *lane) {
    return (struct cuda_lane *)lane;
}

static size_t aligned(size_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- open and close */

static void tell_pinned(struct cuda_lane *lane) {
    const size_t own_bytes = lane->host_in.own_bytes + lane->host_out.own_bytes;
    __atomic_store_n(&lane->lane.pinned_bytes,
                     own_bytes + lane->host_in.extra_bytes + lane->host_out.extra_bytes,
                     __ATOMIC_RELAXED);
}

static enum status make_events(struct cuda_lane *lane, struct failure *failure) {
    CUDA_TRY(failure, cudaEventCreate(&lane->start));
    CUDA_TRY(failure, cudaEventCreateWithFlags(&lane->end, cudaEventBlockingSync));
    for (int i = 0; i < MARKS_MAX; i++)
        CUDA_TRY(failure, cudaEventCreate(&lane->marks.marks[i].event));
    return STATUS_OK;
}

static enum status make_memory(struct cuda_lane *lane, const struct lane_options *options,
                               struct failure *failure) {
    const size_t zeroed_bytes = CUDA_ZEROED_WORDS * sizeof(uint32_t);
    lane->host_in.own_bytes = aligned(options->staging_bytes + 1);
    lane->host_out.own_bytes = lane->host_in.own_bytes;
    lane->arena.own_bytes = aligned(options->arena_bytes + 1);
    CUDA_TRY(failure, cudaHostAlloc((void **)&lane->host_in.own, lane->host_in.own_bytes, 0));
    CUDA_TRY(failure, cudaHostAlloc((void **)&lane->host_out.own, lane->host_out.own_bytes, 0));
    CUDA_TRY(failure, cudaMalloc((void **)&lane->arena.own, lane->arena.own_bytes));
    CUDA_TRY(failure, cudaMalloc((void **)&lane->context.zeroed, zeroed_bytes));
    CUDA_TRY(failure, cudaMemsetAsync(lane->context.zeroed, 0, zeroed_bytes, lane->stream));
    return STATUS_OK;
}

static enum status make_lane(struct cuda_lane *lane, const struct lane_options *options,
                             struct failure *failure) {
    const int index = lane->index;
    CUDA_TRY(failure, cudaSetDevice(index));
    CUDA_TRY(failure, cudaStreamCreateWithFlags(&lane->stream, cudaStreamNonBlocking));
    lane->context.stream = lane->stream;
    lane->context.multiprocessors = cuda_attribute(index, cudaDevAttrMultiProcessorCount);
    lane->context.capability = 10 * cuda_attribute(index, cudaDevAttrComputeCapabilityMajor) +
                               cuda_attribute(index, cudaDevAttrComputeCapabilityMinor);
    lane->context.shared_bytes = cuda_attribute(index, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    lane->context.marks = &lane->marks;
    lane->context.kernel_progress = &lane->kernel_progress;
    enum status status = make_events(lane, failure);
    if (!status) status = kernel_progress_init(&lane->kernel_progress, failure);
    return status ? status : make_memory(lane, options, failure);
}

static void close_lane(struct lane *opened) {
    if (!opened) return;
    struct cuda_lane *lane = cuda_lane_of(opened);
    cudaSetDevice(lane->index);
    if (lane->stream) cudaStreamSynchronize(lane->stream);
    for (int i = 0; i < MARKS_MAX; i++)
        if (lane->marks.marks[i].event) cudaEventDestroy(lane->marks.marks[i].event);
    if (lane->start) cudaEventDestroy(lane->start);
    if (lane->end) cudaEventDestroy(lane->end);
    cudaFreeHost(lane->host_in.own);
    cudaFreeHost(lane->host_in.extra);
    cudaFreeHost(lane->host_out.own);
    cudaFreeHost(lane->host_out.extra);
    cudaFree(lane->arena.own);
    cudaFree(lane->arena.extra);
    cudaFree(lane->context.zeroed);
    cudaFreeHost(lane->kernel_progress.entries);
    if (lane->stream) cudaStreamDestroy(lane->stream);
    cudaGetLastError();
    free(lane);
}

static enum status open_lane(int index, const struct lane_options *options, struct lane **opened,
                             struct failure *failure) {
    *opened = NULL;
    struct cuda_lane *lane = (struct cuda_lane *)calloc(1, sizeof *lane);
    if (!lane) return fail(failure, STATUS_NO_MEMORY, "no memory for a lane");
    lane->lane.driver = &device_cuda;
    lane->index = index;
    const enum status status = make_lane(lane, options, failure);
    if (status) {
        close_lane(&lane->lane);
        return status;
    }
    tell_pinned(lane);
    *opened = &lane->lane;
    return STATUS_OK;
}

/* ---- memory of a batch */

/* Memory for BYTES: what was made at open, or the extra, made larger or given back as it is needed.
 */
static enum status store_fit(struct store *store, size_t bytes, bool pinned,
                             struct failure *failure) {
    if (bytes > store->own_bytes && bytes <= store->extra_bytes) return STATUS_OK;
    uint8_t *extra = store->extra;
    store->extra = NULL;
    store->extra_bytes = 0;
    if (extra) CUDA_TRY(failure, pinned ? cudaFreeHost(extra) : cudaFree(extra));
    if (bytes <= store->own_bytes) return STATUS_OK;
    if (pinned)
        CUDA_TRY(failure, cudaHostAlloc((void **)&store->extra, bytes, 0));
    else
        CUDA_TRY(failure, cudaMalloc((void **)&store->extra, bytes));
    store->extra_bytes = bytes;
    return STATUS_OK;
}

/* The extra is no piece: freeing it waits for the device, so that stays with the next reserve. */
static bool trim(struct lane *lane) {
    (void)lane;
    return false;
}

static uint8_t *store_memory(const struct store *store) {
    return store->extra ? store->extra : store->own;
}

static enum status reserve(struct lane *opened, const struct lane_need *need,
                           struct failure *failure) {
    struct cuda_lane *lane = cuda_lane_of(opened);
    const size_t in = aligned(need->in), work = aligned(need->work), out = aligned(need->out);
    CUDA_TRY(failure, cudaSetDevice(lane->index));
    enum status status = store_fit(&lane->host_in, in, true, failure);
    if (!status) status = store_fit(&lane->host_out, out, true, failure);
    if (!status) status = store_fit(&lane->arena, in + work + out, false, failure);
    tell_pinned(lane);
    opened->host_in = store_memory(&lane->host_in);
    opened->host_out = store_memory(&lane->host_out);
    opened->in = store_memory(&lane->arena);
    opened->work = opened->in + in;
    opened->out = opened->work + work;
    lane->marks.count = 0;
    kernel_progress_clear(&lane->kernel_progress);
    lane->started = false;
    return status;
}

/* ---- a batch */

/* Ends a kernel, an operator or neither at a new event. LEAVE so many for later. */
static cudaError_t mark(struct cuda_marks *marks, cudaStream_t stream, const char *kernel,
                        int leave) {
    if (marks->count + leave >= MARKS_MAX) return cudaSuccess;
    struct mark *next = &marks->marks[marks->count++];
    next->kernel = kernel;
    next->op = NULL;
    return cudaEventRecord(next->event, stream);
}

void cuda_mark(const struct cuda_context *context, const char *name) {
    if (context->marks) mark(context->marks, context->stream, name, PLAN_STEPS_MAX);
}

struct kernel_progress *kernel_progress_add(const struct cuda_context *context,
                                            const struct op_call *call, const char *const *names) {
    struct kernel_progress_table *table = context->kernel_progress;
    if (!table || table->count == KERNEL_PROGRESS_MAX) return NULL;
    const int place = table->count++;
    table->calls[place] = { call->progress, call->failure, names, table->step, STATUS_OK };
    table->entries[place] = {};
    return table->device_entries + place;
}

/* Records where the batch starts, unless that was done. */
static enum status start(struct cuda_lane *lane, struct failure *failure) {
    if (lane->started) return STATUS_OK;
    CUDA_TRY(failure, cudaSetDevice(lane->index));
    CUDA_TRY(failure, cudaEventRecord(lane->start, lane->stream));
    lane->started = true;
    return STATUS_OK;
}

/* From here on it is computing. */
static enum status start_computing(struct cuda_lane *lane, struct failure *failure) {
    const enum status status = start(lane, failure);
    if (status || lane->marks.count) return status;
    CUDA_TRY(failure, mark(&lane->marks, lane->stream, NULL, 0));
    return STATUS_OK;
}

/* A batch may be run again without being laid out anew. */
static void begin_batch(struct cuda_lane *lane) {
    lane->marks.count = 0;
    kernel_progress_clear(&lane->kernel_progress);
    lane->started = false;
}

static enum status upload(struct lane *opened, size_t bytes, struct failure *failure) {
    struct cuda_lane *lane = cuda_lane_of(opened);
    begin_batch(lane);
    const enum status status = start(lane, failure);
    if (status) return status;
    CUDA_TRY(failure, cudaMemcpyAsync(opened->in, opened->host_in, bytes, cudaMemcpyHostToDevice,
                                      lane->stream));
    return start_computing(lane, failure);
}

static size_t scratch(struct lane *opened, const struct op *op, const struct op_call *calls,
                      int count) {
    const struct cuda_op *twin = cuda_twin(op);
    cudaSetDevice(cuda_lane_of(opened)->index); /* a twin may ask what fits there */
    return twin && twin->scratch ? twin->scratch(&cuda_lane_of(opened)->context, calls, count) : 0;
}

static enum status run(struct lane *opened, const struct op *op, struct op_call *calls, int count) {
    struct cuda_lane *lane = cuda_lane_of(opened);
    struct cuda_marks *marks = &lane->marks;
    struct failure *failure = calls[0].failure;
    assert(count > 0 && count <= CUDA_BATCH_MAX);
    const struct cuda_op *twin = cuda_twin(op);
    if (!twin)
        return fail(failure, STATUS_BAD_PARAM, "%s does not run on a GPU here: take device=cpu",
                    op->name);
    enum status status = start_computing(lane, failure);
    if (status) return status;
    const int before = marks->count;
    status = twin->run(&lane->context, calls, count);
    if (status) return status;
    /* Where a long batch had no marks left, its end gets one of those kept back. */
    if (marks->count == before || marks->count + PLAN_STEPS_MAX >= MARKS_MAX)
        CUDA_TRY(failure, mark(marks, lane->stream, NULL, 0));
    marks->marks[marks->count - 1].op = op->name;
    lane->kernel_progress.step++;
    return STATUS_OK;
}

static enum status download(struct lane *opened, size_t bytes, struct failure *failure) {
    struct cuda_lane *lane = cuda_lane_of(opened);
    const enum status status = start_computing(lane, failure);
    if (status) return status;
    CUDA_TRY(failure, cudaMemcpyAsync(opened->host_out, opened->out, bytes, cudaMemcpyDeviceToHost,
                                      lane->stream));
    return STATUS_OK;
}

/* ---- the end of a batch */

/* Most batches end within microseconds, where waking up would cost more than the work. Longer ones
 * are looked at now and then, which leaves the core to others; only then the driver wakes us, 50 to
 * 200 us late, unless a kernel reports progress. */
static cudaError_t wait_for(cudaEvent_t event, struct kernel_progress_table *table) {
    const int64_t start = clock_ns();
    for (int64_t waited = 0; waited < NAPS_NS || table->count; waited = clock_ns() - start) {
        const cudaError_t error = cudaEventQuery(event);
        if (error != cudaErrorNotReady) return error;
        kernel_progress_poll(table);
        const struct timespec nap = { 0, waited < NAPS_NS ? NAP_NS : LONG_NAP_NS };
        if (waited > SPIN_NS) nanosleep(&nap, NULL);
    }
    return cudaEventSynchronize(event);
}

static double elapsed_ms(cudaEvent_t from, cudaEvent_t to) {
    float ms = 0;
    if (cudaEventElapsedTime(&ms, from, to) != cudaSuccess) cudaGetLastError();
    return ms;
}

/* Each operator before its kernels. */
static void tell_spans(const struct mark *marks, int count,
                       const struct kernel_progress_table *table, struct timing *spans) {
    for (int from = 0, to = 1, step = 0; to < count; to++) {
        if (!marks[to].op) continue;
        timing_span(spans, marks[to].op, 0, elapsed_ms(marks[from].event, marks[to].event));
        for (int i = from + 1; i <= to; i++)
            if (marks[i].kernel)
                timing_span(spans, marks[i].kernel, 1,
                            elapsed_ms(marks[i - 1].event, marks[i].event));
        kernel_progress_spans(table, step++, spans);
        from = to;
    }
}

static enum status finish(struct lane *opened, struct lane_times *times, struct timing *spans,
                          struct failure *failure) {
    struct cuda_lane *lane = cuda_lane_of(opened);
    *times = {};
    if (!lane->started) return STATUS_OK;
    CUDA_TRY(failure, cudaEventRecord(lane->end, lane->stream));
    CUDA_TRY(failure, wait_for(lane->end, &lane->kernel_progress));
    kernel_progress_judge(&lane->kernel_progress);
    const int count = lane->marks.count;
    if (count > 0) {
        const struct mark *marks = lane->marks.marks, *last = &marks[count - 1];
        times->upload_ms = elapsed_ms(lane->start, marks[0].event);
        times->compute_ms = elapsed_ms(marks[0].event, last->event);
        times->download_ms = elapsed_ms(last->event, lane->end);
        if (spans) tell_spans(marks, count, &lane->kernel_progress, spans);
    }
    lane->started = false;
    lane->marks.count = 0;
    return STATUS_OK;
}

const struct device_driver device_cuda = {
    "cuda", cuda_count, cuda_describe, open_lane, close_lane, reserve,
    trim,   upload,     scratch,       run,       download,   finish,
};
