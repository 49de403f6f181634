// SPDX-License-Identifier: Apache-2.0
/* How it works. A lane is one stream with its memory (lane_buffer.cuh) and its events
 * (timeline.cuh). Calls come in this order: reserve, upload, decode, run for each operator, encode,
 * download, finish. All but the last only queue work on the stream; finish waits for it, passes on
 * the progress of long kernels meanwhile (kernel_progress.cuh), and reads verdicts and times. Files
 * are decoded and encoded by lane_codec.cuh. A lane's memory is made when it opens. Only a batch
 * that is too large for it borrows more from the pool that the lanes share (memory_pool.cuh), until
 * the next trim or reserve. Such a batch, and one with an image of over SHORT_IMAGE_BYTES, is long:
 * it uses another stream, whose kernels get a multiprocessor only when those of short batches leave
 * one. Kernels whose blocks must all run at once take turns (cooperative.cuh). */
#include "pipeline/device.h"

#include "cuda/check.cuh"
#include "cuda/cooperative_lane.cuh"
#include "cuda/cuda_op.h"
#include "cuda/device_tables.cuh"
#include "cuda/event_wait.cuh"
#include "cuda/kernel_progress.cuh"
#include "cuda/lane_buffer.cuh"
#include "cuda/lane_codec.cuh"
#include "cuda/memory_pool.cuh"
#include "cuda/pinned_ranges.cuh"
#include "cuda/skeletons/kernel_chain.h"
#include "cuda/skeletons/user_twin.h"
#include "cuda/timeline.cuh"
#include "cuda/video_engine.h"
#include "pipeline/registry.h"
#include "pipeline/run.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the GPUs of this machine */

static int device_count(void) {
    int gpus = 0;
    /* CUDA reads the variable when it makes a context. By default a device's streams share 8
     * queues, and a stream that waits for an event blocks all of its queue; lanes have two. */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    if (cudaGetDeviceCount(&gpus) == cudaSuccess) return gpus;
    cudaGetLastError(); /* no driver, or no GPU that the driver may use */
    return 0;
}

/* 0 for an attribute that the device does not know. */
static int device_attribute(int index, enum cudaDeviceAttr which) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, index) != cudaSuccess) cudaGetLastError();
    return value;
}

/* Reads the first line of a file of sysfs, without its end; "" where there is none. */
static void read_line(const char *path, char *line, size_t size) {
    line[0] = 0;
    FILE *file = fopen(path, "r");
    if (!file) return;
    if (!fgets(line, (int)size, file)) line[0] = 0;
    line[strcspn(line, "\n")] = 0;
    fclose(file);
}

static void describe_pcie(int index, struct device_info *info) {
    static const double per_lane[] = { 2.5, 5, 8, 16, 32, 64 };
    char *const bus = info->bus, path[96], speed[32], width[16];
    if (cudaDeviceGetPCIBusId(bus, sizeof info->bus, index) != cudaSuccess) cudaGetLastError();
    for (char *c = bus; *c; c++) *c = *c >= 'A' && *c <= 'F' ? *c - 'A' + 'a' : *c;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/max_link_speed", bus);
    read_line(path, speed, sizeof speed);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/max_link_width", bus);
    read_line(path, width, sizeof width);
    int generation = 0;
    for (int g = 0; g < 6; g++)
        if (atof(speed) == per_lane[g]) generation = g + 1;
    if (generation && atoi(width) > 0)
        snprintf(info->pcie, sizeof info->pcie, "%s, Gen%d x%d", bus, generation, atoi(width));
    else
        snprintf(info->pcie, sizeof info->pcie, "%s", bus);
}

/* Makes the GPU the thread's current one. STATUS_DEVICE where there is no such GPU. */
static enum status describe_device(int index, struct device_info *info, struct failure *failure) {
    int driver = 0, runtime = 0;
    size_t free_bytes = 0, total_bytes = 0;
    cudaDeviceProp properties;
    memset(info, 0, sizeof *info);
    CUDA_TRY(failure, cudaGetDeviceProperties(&properties, index));
    CUDA_TRY(failure, cudaDriverGetVersion(&driver));
    CUDA_TRY(failure, cudaRuntimeGetVersion(&runtime));
    CUDA_TRY(failure, cudaSetDevice(index));
    CUDA_TRY(failure, cudaMemGetInfo(&free_bytes, &total_bytes));
    snprintf(info->name, sizeof info->name, "%.95s", properties.name);
    snprintf(info->capability, sizeof info->capability, "%d.%d", properties.major,
             properties.minor);
    snprintf(info->driver, sizeof info->driver, "CUDA %d.%d driver, %d.%d runtime", driver / 1000,
             driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    describe_pcie(index, info);
    info->multiprocessors = properties.multiProcessorCount;
    info->memory_bytes = (double)total_bytes;
    info->memory_free_bytes = (double)free_bytes;
    info->l2_bytes = properties.l2CacheSize;
    info->clock_mhz = device_attribute(index, cudaDevAttrClockRate) / 1e3;
    info->memory_clock_mhz = device_attribute(index, cudaDevAttrMemoryClockRate) / 1e3;
    info->ecc = properties.ECCEnabled;
    info->clusters = properties.major >= 9;
    info->engines = video_engine_count(index);
    return STATUS_OK;
}

/* ---- a lane */

static_assert((int)CUDA_BATCH_MAX == (int)RUN_BATCH_MAX, "cuda_op.h and run.h agree");

/* More than twice 1080p of RGB. Codecs of larger images fill the GPU for so long that small images
 * notice. */
enum { SHORT_IMAGE_BYTES = 16 << 20 };

enum { ALIGN = 256, ZEROED_BYTES = CUDA_ZEROED_WORDS * sizeof(uint32_t) };

struct cuda_lane {
    struct lane lane; /* first: a struct lane * is a struct cuda_lane * */
    int index;
    cudaStream_t stream; /* the present batch's: one of the next two */
    cudaStream_t short_stream, long_stream;
    struct cuda_context context;
    struct cooperative_lane cooperative;
    struct timeline timeline;
    struct kernel_progress_table kernel_progress;
    struct lane_buffer host_in, host_out, arena;
    struct lane_codec codec;
    struct device_tables tables;
    struct memory_loan loan; /* memory of `larger` in the buffers */
    bool engines;            /* video_engine_open was called */
};

static struct cuda_lane *cuda_lane_of(struct lane *lane) {
    return (struct cuda_lane *)lane;
}

static size_t aligned(size_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- open and close */

static void count_pinned(struct cuda_lane *lane) {
    const size_t bytes = lane->host_in.base_bytes + lane->host_out.base_bytes +
                         lane->loan.need.pinned_in + lane->loan.need.pinned_out;
    __atomic_store_n(&lane->lane.pinned_bytes, bytes, __ATOMIC_RELAXED);
}

static enum status make_memory(struct cuda_lane *lane, const struct lane_options *options,
                               struct failure *failure) {
    const size_t staging_bytes = aligned(options->staging_bytes + 1);
    const size_t arena_bytes = aligned(options->arena_bytes + 1);
    enum status status = lane_buffer_init(&lane->host_in, true, staging_bytes, failure);
    if (!status) status = lane_buffer_init(&lane->host_out, true, staging_bytes, failure);
    if (!status) status = lane_buffer_init(&lane->arena, false, arena_bytes, failure);
    if (!status) status = lane_codec_init(&lane->codec, failure);
    if (!status) status = device_tables_init(&lane->tables, failure);
    if (status) return status;
    lane->context.tables = &lane->tables;
    CUDA_TRY(failure, cudaMalloc((void **)&lane->context.zeroed, ZEROED_BYTES));
    CUDA_TRY(failure, cudaMemsetAsync(lane->context.zeroed, 0, ZEROED_BYTES, lane->stream));
    return STATUS_OK;
}

static void use_stream(struct cuda_lane *lane, cudaStream_t stream) {
    lane->stream = lane->context.stream = stream;
}

static enum status make_streams(struct cuda_lane *lane, struct failure *failure) {
    int least, most;
    CUDA_TRY(failure, cudaDeviceGetStreamPriorityRange(&least, &most));
    CUDA_TRY(failure,
             cudaStreamCreateWithPriority(&lane->short_stream, cudaStreamNonBlocking, most));
    CUDA_TRY(failure,
             cudaStreamCreateWithPriority(&lane->long_stream, cudaStreamNonBlocking, least));
    use_stream(lane, lane->short_stream);
    lane->context.cooperative = &lane->cooperative;
    return cooperative_lane_open(&lane->cooperative, lane->index, lane->short_stream,
                                 lane->long_stream, failure);
}

static enum status make_lane(struct cuda_lane *lane, const struct lane_options *options,
                             struct failure *failure) {
    const int index = lane->index;
    struct cuda_context *context = &lane->context;
    CUDA_TRY(failure, cudaSetDevice(index));
    enum status status = make_streams(lane, failure);
    if (status) return status;
    video_engine_open(index);
    lane->engines = true;
    context->multiprocessors = device_attribute(index, cudaDevAttrMultiProcessorCount);
    context->capability = 10 * device_attribute(index, cudaDevAttrComputeCapabilityMajor) +
                          device_attribute(index, cudaDevAttrComputeCapabilityMinor);
    context->shared_bytes = device_attribute(index, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    context->timeline = &lane->timeline;
    context->kernel_progress = &lane->kernel_progress;
    status = timeline_init(&lane->timeline, failure);
    if (!status) status = kernel_progress_init(&lane->kernel_progress, failure);
    return status ? status : make_memory(lane, options, failure);
}

static void close_lane(struct lane *opened) {
    if (!opened) return;
    struct cuda_lane *lane = cuda_lane_of(opened);
    kernel_chain_wait();
    cudaSetDevice(lane->index);
    if (lane->short_stream) cudaStreamSynchronize(lane->short_stream);
    if (lane->long_stream) cudaStreamSynchronize(lane->long_stream);
    cooperative_lane_close(&lane->cooperative);
    memory_pool_give_back(lane->index, &lane->loan, lane->long_stream);
    if (lane->engines) video_engine_close();
    timeline_release(&lane->timeline);
    lane_buffer_release(&lane->host_in);
    lane_buffer_release(&lane->host_out);
    lane_buffer_release(&lane->arena);
    lane_codec_release(&lane->codec);
    device_tables_release(&lane->tables);
    cudaFree(lane->context.zeroed);
    cudaFreeHost(lane->kernel_progress.entries);
    if (lane->short_stream) cudaStreamDestroy(lane->short_stream);
    if (lane->long_stream) cudaStreamDestroy(lane->long_stream);
    cudaGetLastError();
    memory_pool_close();
    free(lane);
}

static enum status open_lane(int index, const struct lane_options *options, struct lane **opened,
                             struct failure *failure) {
    *opened = NULL;
    struct cuda_lane *lane = (struct cuda_lane *)calloc(1, sizeof *lane);
    if (!lane) return fail(failure, STATUS_NO_MEMORY, "no memory for a lane");
    lane->lane.driver = &device_cuda;
    lane->index = index;
    memory_pool_open(options->pinned_pool_bytes, options->device_pool_bytes);
    const enum status status = make_lane(lane, options, failure);
    if (status) {
        close_lane(&lane->lane);
        return status;
    }
    count_pinned(lane);
    *opened = &lane->lane;
    return STATUS_OK;
}

/* ---- memory of a batch */

/* A batch may run again without a new layout. */
static void begin_batch(struct cuda_lane *lane) {
    timeline_clear(&lane->timeline);
    kernel_progress_clear(&lane->kernel_progress);
    lane_codec_clear(&lane->codec);
    device_tables_next_batch(&lane->tables);
}

static void give_back(struct cuda_lane *lane) {
    struct lane_buffer *const buffers[] = { &lane->host_in, &lane->host_out, &lane->arena };
    for (struct lane_buffer *buffer : buffers) lane_buffer_set_larger(buffer, NULL);
    memory_pool_give_back(lane->index, &lane->loan, lane->long_stream);
}

/* If the present loan is too small, replaces it by a new one for the whole need. NEED: beyond the
 * lane's own memory, of ALL. */
static enum status borrow(struct cuda_lane *lane, const struct memory_need *need,
                          const struct lane_need *all, struct failure *failure) {
    const bool none = memory_need_is_none(need);
    if (all->keep)
        return memory_loan_covers(&lane->loan, need)
                   ? STATUS_OK
                   : fail(failure, STATUS_NO_MEMORY, "the lane has too little memory to go on");
    use_stream(lane,
               none && all->image <= SHORT_IMAGE_BYTES ? lane->short_stream : lane->long_stream);
    if (!none && memory_loan_covers(&lane->loan, need)) return STATUS_OK;
    give_back(lane);
    if (none) return STATUS_OK;
    const enum status status =
        memory_pool_lend(lane->index, need, &all->wait, lane->stream, &lane->loan, failure);
    lane_buffer_set_larger(&lane->host_in, lane->loan.pinned_in.memory);
    lane_buffer_set_larger(&lane->host_out, lane->loan.pinned_out.memory);
    lane_buffer_set_larger(&lane->arena, lane->loan.device);
    return status;
}

static enum status reserve(struct lane *opened, const struct lane_need *need,
                           struct failure *failure) {
    struct cuda_lane *lane = cuda_lane_of(opened);
    const size_t in = aligned(need->in), work = aligned(need->work), out = aligned(need->out);
    const size_t host_in = need->in - need->device_in, host_out = need->out - need->device_out;
    CUDA_TRY(failure, cudaSetDevice(lane->index));
    const struct memory_need beyond = { lane_buffer_beyond(&lane->host_in, host_in),
                                        lane_buffer_beyond(&lane->host_out, host_out),
                                        lane_buffer_beyond(&lane->arena, in + work + out) };
    const enum status status = borrow(lane, &beyond, need, failure);
    count_pinned(lane);
    if (!status) {
        lane_buffer_use(&lane->host_in, host_in);
        lane_buffer_use(&lane->host_out, host_out);
        lane_buffer_use(&lane->arena, in + work + out);
    }
    opened->host_in = lane_buffer_memory(&lane->host_in);
    opened->host_out = lane_buffer_memory(&lane->host_out);
    opened->in = lane_buffer_memory(&lane->arena);
    opened->work = opened->in + in;
    opened->out = opened->work + work;
    begin_batch(lane);
    return status;
}

/* Gives back what a large batch borrowed, for the next lane. */
static bool trim(struct lane *opened) {
    struct cuda_lane *lane = cuda_lane_of(opened);
    if (memory_need_is_none(&lane->loan.need)) return false;
    cudaSetDevice(lane->index);
    give_back(lane);
    count_pinned(lane);
    return true;
}

/* Zeros follow what is queued, which may still write. The counters and tables are reset too, since
 * a user's kernel can write anywhere. */
static enum status empty(struct lane *opened, struct failure *failure) {
    struct cuda_lane *lane = cuda_lane_of(opened);
    CUDA_TRY(failure, cudaSetDevice(lane->index));
    CUDA_TRY(failure, cudaMemsetAsync(lane->context.zeroed, 0, ZEROED_BYTES, lane->stream));
    device_tables_empty(&lane->tables);
    enum status status = lane_codec_empty(&lane->codec, lane->stream, failure);
    struct lane_buffer *const buffers[] = { &lane->host_in, &lane->host_out, &lane->arena };
    for (int i = 0; i < 3 && !status; i++)
        status = lane_buffer_empty(buffers[i], lane->stream, failure);
    if (status) return status;
    /* The host's threads write the next input into the same memory, and its batch may use the other
     * stream. */
    CUDA_TRY(failure, cudaStreamSynchronize(lane->stream));
    return STATUS_OK;
}

/* ---- a batch */

static enum status prepare(struct lane *opened, const struct op *op, int depth, int channels,
                           struct failure *failure) {
    struct cuda_lane *lane = cuda_lane_of(opened);
    if (!registry_is_added(op)) return STATUS_OK;
    CUDA_TRY(failure, cudaSetDevice(lane->index));
    return user_twin_prepare(&lane->context, op, depth, channels, failure);
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

static enum status upload(struct lane *opened, size_t bytes, struct failure *failure) {
    struct cuda_lane *lane = cuda_lane_of(opened);
    begin_batch(lane);
    CUDA_TRY(failure, cudaSetDevice(lane->index));
    const enum status status = timeline_start(&lane->timeline, lane->stream, failure);
    if (status) return status;
    if (bytes)
        CUDA_TRY(failure, pinned_pool_copy(opened->in, opened->host_in, bytes,
                                           cudaMemcpyHostToDevice, lane->stream));
    return STATUS_OK;
}

/* Queues the files' transfer and decoding; the timed upload ends with the transfer. */
static enum status decode(struct lane *opened, struct lane_decoding *decodings, int count,
                          struct failure *failure) {
    struct cuda_lane *lane = cuda_lane_of(opened);
    return lane_codec_decode(&lane->codec, &lane->context, opened->work, opened->work_bytes,
                             decodings, count, failure);
}

/* Does nothing where the decoder, or an operator before, has done so. */
static enum status start_computing(struct cuda_lane *lane, struct failure *failure) {
    if (!lane->timeline.started) CUDA_TRY(failure, cudaSetDevice(lane->index));
    return timeline_start_computing(&lane->timeline, lane->stream, failure);
}

static size_t scratch(struct lane *opened, const struct op *op, const struct op_call *calls,
                      int count) {
    const struct cuda_op *twin = cuda_twin(op);
    cudaSetDevice(cuda_lane_of(opened)->index); /* a twin may ask what fits there */
    return twin && twin->scratch ? twin->scratch(&cuda_lane_of(opened)->context, calls, count) : 0;
}

static int chain(struct lane *opened, const struct op *const *ops, int count,
                 const struct image *in, bool *ready) {
    const struct cuda_op *twin = cuda_twin(ops[0]);
    if (!twin || !twin->chain) return 1;
    cudaSetDevice(cuda_lane_of(opened)->index); /* its kernels are made there */
    return twin->chain(&cuda_lane_of(opened)->context, ops, count, in, ready);
}

/* Steps that ran as one kernel are reported under its name, which has been recorded since MARKS. */
static const char *reported_name(const struct timeline *timeline, int marks,
                                 const struct op_call *call, const char *name) {
    const bool recorded = call->before && timeline->count > marks;
    return recorded ? timeline->marks[timeline->count - 1].kernel : name;
}

static enum status run(struct lane *opened, const struct op *op, struct op_call *calls, int count) {
    struct cuda_lane *lane = cuda_lane_of(opened);
    struct failure *failure = calls[0].failure;
    assert(count > 0 && count <= CUDA_BATCH_MAX);
    const struct cuda_op *twin = cuda_twin(op);
    if (!twin)
        return fail(failure, STATUS_BAD_PARAM, "%s does not run on a GPU here: use device=cpu",
                    op->name);
    enum status status = start_computing(lane, failure);
    if (status) return status;
    const int marks = lane->timeline.count;
    status = twin->run(&lane->context, calls, count);
    if (!status)
        status =
            timeline_end_op(&lane->timeline, lane->stream, marks,
                            reported_name(&lane->timeline, marks, &calls[0], op->name), failure);
    if (!status) lane->kernel_progress.step++;
    return status;
}

/* The files leave by what download queues behind the encoder. */
static enum status encode(struct lane *opened, struct lane_encoding *encodings, int count,
                          struct failure *failure) {
    struct cuda_lane *lane = cuda_lane_of(opened);
    const enum status status = start_computing(lane, failure);
    if (status) return status;
    return lane_codec_encode(&lane->codec, &lane->context, opened->work, opened->work_bytes,
                             encodings, count, failure);
}

static enum status download(struct lane *opened, size_t bytes, struct failure *failure) {
    struct cuda_lane *lane = cuda_lane_of(opened);
    const enum status status = start_computing(lane, failure);
    if (status) return status;
    if (bytes)
        CUDA_TRY(failure, pinned_pool_copy(opened->host_out, opened->out, bytes,
                                           cudaMemcpyDeviceToHost, lane->stream));
    return STATUS_OK;
}

/* ---- the end of a batch */

static enum status finish(struct lane *opened, struct lane_times *times, struct timing *spans,
                          struct failure *failure) {
    struct cuda_lane *lane = cuda_lane_of(opened);
    *times = {};
    if (!lane->timeline.started) return STATUS_OK;
    double copy_ms = 0;
    enum status status = timeline_end(&lane->timeline, lane->stream, failure);
    if (status) return status;
    CUDA_TRY(failure, event_wait(lane->timeline.end, &lane->kernel_progress));
    kernel_progress_judge(&lane->kernel_progress);
    status = lane_codec_finish(&lane->codec, lane->stream, &copy_ms, failure);
    if (status) return status;
    timeline_times(&lane->timeline, times);
    times->download_ms += copy_ms;
    if (spans) timeline_spans(&lane->timeline, &lane->kernel_progress, spans);
    timeline_clear(&lane->timeline);
    return STATUS_OK;
}

static const struct device_codec cuda_codec = {
    lane_codec_decode_bytes, hevc_decode_bytes,    lane_codec_encode_bytes, decode, encode,
    pinned_ranges_add,       pinned_ranges_remove,
};

const struct device_driver device_cuda = {
    "cuda", &cuda_codec, device_count, describe_device, open_lane, close_lane, reserve,  trim,
    empty,  prepare,     upload,       scratch,         chain,     run,        download, finish,
};
