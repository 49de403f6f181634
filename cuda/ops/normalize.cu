// SPDX-License-Identifier: Apache-2.0
/* How it works. histeq's code counts the samples, and a second kernel stretches them.
 * 8 bits:  the block that draws an image's last ticket finds its ranges and clears the counters.
 * 16 bits: levels are counted into scratch, and a kernel between finds the ranges, a block each.
 * low and high are numbers of levels, which all threads of a block count. */
#include "pipeline/ops/normalize.h"

#include "cuda/ops/histeq/histogram16.cuh"
#include "cuda/ops/histeq/histogram8.cuh"

enum { RANGES = 3, RANGES_BYTES = CUDA_BATCH_MAX * RANGES * sizeof(struct normalize_range) };
enum { LEVELS16 = 65536, APPLY_THREADS = 256 };
static_assert(RANGES_BYTES % 256 == 0, "counts behind it are aligned");

/* ---- ranges */

/* The block's inclusive sum of OWN, of BLOCK threads; TOTAL: of all. */
template <int BLOCK>
static __device__ __forceinline__ uint32_t sum_up_to(uint32_t own, uint32_t *total) {
    __shared__ uint32_t totals[BLOCK / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t sum = own, all = 0, before = 0;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t left = __shfl_up_sync(~0u, sum, step);
        if (lane >= step) sum += left;
    }
    if (lane == 31) totals[warp] = sum;
    __syncthreads();
    for (int i = 0; i < BLOCK / 32; i++) {
        before += i < warp ? totals[i] : 0;
        all += totals[i];
    }
    __syncthreads(); /* before the next sum */
    *total = all;
    return before + sum;
}

/* Called by all threads of a block: RANGE of the COUNT levels that COUNTS has. */
template <int COUNT, int BLOCK>
static __device__ __forceinline__ void
find_range(const uint32_t *counts, struct normalize_rule rule, struct normalize_range *range) {
    constexpr int OWN = (COUNT + BLOCK - 1) / BLOCK;
    __shared__ struct normalize_range found;
    const uint32_t first = threadIdx.x * OWN;
    struct normalize_range own = { 0, 0 };
    uint32_t sum = 0, pixels;
    if (threadIdx.x == 0) found = own;
    for (uint32_t v = first; v < first + OWN && v < COUNT; v++) sum += counts[v];
    uint32_t upto = sum_up_to<BLOCK>(sum, &pixels) - sum;
    for (uint32_t v = first; v < first + OWN && v < COUNT; v++)
        normalize_count(&own, rule, upto += counts[v], pixels);
    atomicAdd(&found.low, own.low);
    atomicAdd(&found.high, own.high);
    __syncthreads();
    if (threadIdx.x == 0) *range = found;
    __syncthreads();
}

template <int CHANNELS, int MODE>
static __global__ void __launch_bounds__(THREADS, 1)
    ranges8_kernel(const __grid_constant__ struct batch batch, struct normalize_rule rule,
                   uint32_t *counts, uint32_t *chunks_done, struct normalize_range *ranges) {
    count_levels<CHANNELS, MODE>(batch, counts, chunks_done, [&](int i, const uint32_t *levels) {
        for (int t = 0; t < layout8<CHANNELS, MODE>::TABLES; t++)
            find_range<LEVELS, THREADS>(levels + t * LEVELS, rule, ranges + i * RANGES + t);
    });
}

static __global__ void __launch_bounds__(THREADS16)
    ranges16_kernel(const __grid_constant__ struct histeq16_args args, struct normalize_rule rule,
                    struct normalize_range *ranges) {
    const int image = blockIdx.x / args.tables, t = blockIdx.x % args.tables;
    find_range<LEVELS16, THREADS16>(args.counts + blockIdx.x * args.pitch, rule,
                                    ranges + image * RANGES + t);
}

/* ---- stretch */

/* A row is a sequence of samples. The chunk's first sample is of channel FIRST, so RANGE[k] is that
 * of sample k and every CHANNELS-th behind it. */
template <int CHANNELS, int DEPTH>
static __global__ void __launch_bounds__(APPLY_THREADS)
    stretch_kernel(const __grid_constant__ struct batch batch, int tables,
                   const struct normalize_range *ranges) {
    constexpr int SAMPLES = 128 / DEPTH, BYTES = DEPTH / 8, COLOURS = CHANNELS < 3 ? 1 : 3;
    const uint32_t chunk = blockIdx.x * APPLY_THREADS + threadIdx.x;
    if (chunk >= batch.chunks) return;
    const int number = batch_find(batch, chunk);
    const struct batch_image &image = batch.images[number];
    const struct chunk_memory memory =
        chunk_memory_of<SAMPLES, BYTES, BYTES>(image, chunk - image.first_chunk);
    const uint32_t column = chunk_position_of(image, chunk - image.first_chunk).x * SAMPLES;
    const uint32_t first = column % CHANNELS;
    struct normalize_range range[COLOURS];
#pragma unroll
    for (int k = 0; k < COLOURS; k++) {
        const int table = tables == 1 ? 0 : (first + k) % 3;
        const uint2 pair = __ldg((const uint2 *)(ranges + number * RANGES + table));
        range[k] = { pair.x, pair.y };
    }
    uint32_t in[4], out[4] = {};
    load_chunk(in, memory.in, memory.pixels * BYTES, image.aligned);
#pragma unroll
    for (int i = 0; i < SAMPLES; i++) {
        const uint32_t sample = chunk_sample<DEPTH>(in, i);
        const bool alpha = CHANNELS % 2 == 0 && i % CHANNELS == CHANNELS - 1;
        chunk_set_sample<DEPTH>(
            out, i,
            alpha ? sample
                  : normalize_of(sample, range[i % CHANNELS % COLOURS], DEPTH == 8 ? 255 : 65535));
    }
    store_chunk(out, memory.out, memory.pixels * BYTES, image.aligned);
}

/* ---- host */

template <int CHANNELS, int MODE>
static enum status find_ranges8(const struct cuda_context *context, struct op_call *calls,
                                int count) {
    typedef layout8<CHANNELS, MODE> L;
    struct failure *failure = calls[0].failure;
    struct batch batch;
    const enum status status = batch_init(&batch, calls, count, L::PIXELS);
    if (status) return status;
    const unsigned blocks = batch_divide(&batch, THREADS, context->multiprocessors);
    uint32_t *chunks_done = context->zeroed, *counts = chunks_done + SECTOR_WORDS;
    if (L::SHARED_BYTES > 48 << 10)
        CUDA_TRY(failure, cudaFuncSetAttribute(ranges8_kernel<CHANNELS, MODE>,
                                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               L::SHARED_BYTES));
    ranges8_kernel<CHANNELS, MODE><<<blocks, THREADS, L::SHARED_BYTES, context->stream>>>(
        batch, normalize_rule_of(calls[0].params), counts, chunks_done,
        (struct normalize_range *)calls[0].scratch);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

static int table_count(const struct op_call *calls) {
    return calls[0].params->number[NORMALIZE_CHANNEL] == NORMALIZE_EACH
               ? (int)image_colours(&calls[0].in)
               : 1;
}

template <int CHANNELS, int MODE>
static enum status find_ranges16(const struct cuda_context *context, struct op_call *calls,
                                 int count) {
    struct batch batch;
    struct histeq16_args args = {};
    args.tables = table_count(calls);
    args.bins = args.pitch = LEVELS16;
    args.counts = (uint32_t *)((uint8_t *)calls[0].scratch + RANGES_BYTES);
    args.alpha = image_has_alpha(&calls[0].in);
    set_window(&args, context->shared_bytes);
    enum status status = batch_init(&batch, calls, count, layout16<CHANNELS, MODE>::PIXELS);
    if (!status) status = launch_count16<CHANNELS, MODE>(context, &batch, args, calls[0].failure);
    if (status) return status;
    ranges16_kernel<<<count * args.tables, THREADS16, 0, context->stream>>>(
        args, normalize_rule_of(calls[0].params), (struct normalize_range *)calls[0].scratch);
    CUDA_LAUNCHED(calls[0].failure);
    return STATUS_OK;
}

template <int CHANNELS, int DEPTH>
static enum status stretch_batch(const struct cuda_context *context, struct op_call *calls,
                                 int count) {
    struct op_call samples[CUDA_BATCH_MAX];
    struct batch batch;
    batch_sample_calls(samples, calls, count);
    const enum status status = batch_init(&batch, samples, count, 128 / DEPTH);
    if (status) return status;
    const unsigned blocks = (batch.chunks + APPLY_THREADS - 1) / APPLY_THREADS;
    stretch_kernel<CHANNELS, DEPTH><<<blocks, APPLY_THREADS, 0, context->stream>>>(
        batch, table_count(calls), (const struct normalize_range *)calls[0].scratch);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, "stretch");
    return STATUS_OK;
}

template <int CHANNELS, int MODE>
static enum status run_mode(const struct cuda_context *context, struct op_call *calls, int count) {
    const bool narrow = calls[0].in.depth == 8;
    const enum status status = narrow ? find_ranges8<CHANNELS, MODE>(context, calls, count)
                                      : find_ranges16<CHANNELS, MODE>(context, calls, count);
    if (status) return status;
    cuda_record_kernel(context, "count");
    return narrow ? stretch_batch<CHANNELS, 8>(context, calls, count)
                  : stretch_batch<CHANNELS, 16>(context, calls, count);
}

static size_t scratch(const struct cuda_context *context, const struct op_call *calls, int count) {
    (void)context;
    const size_t tables = (size_t)count * table_count(calls);
    return RANGES_BYTES + (calls[0].in.depth == 16 ? tables * LEVELS16 * sizeof(uint32_t) : 0);
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    const bool each = calls[0].params->number[NORMALIZE_CHANNEL] == NORMALIZE_EACH;
    switch (calls[0].in.channels) {
    case 1: return run_mode<1, HISTEQ_VALUE>(context, calls, count);
    case 2: return run_mode<2, HISTEQ_VALUE>(context, calls, count);
    case 3:
        return each ? run_mode<3, HISTEQ_EACH>(context, calls, count)
                    : run_mode<3, HISTEQ_LUMA>(context, calls, count);
    default:
        return each ? run_mode<4, HISTEQ_EACH>(context, calls, count)
                    : run_mode<4, HISTEQ_LUMA>(context, calls, count);
    }
}

extern "C" const struct cuda_op cuda_op_normalize = { scratch, run };
