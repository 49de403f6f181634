// SPDX-License-Identifier: Apache-2.0
/* How it works. histeq's code counts the samples: noise of 64 million takes 25 us that way, and 27
 * by cuda/skeletons/vector.cuh (H200).
 * 8 bits:  every block counts its share in shared memory and adds that to the image's counters
 *          among the zeroed words. A ticket counts the finished chunks; the block that draws the
 *          last one folds levels to bins, writes them, and clears counters and ticket.
 * 16 bits: histeq's kernel counts bins into scratch, where all images have the same room; a second
 *          kernel copies them to each image's values. */
#include "pipeline/ops/histogram.h"

#include "cuda/ops/histeq/histogram16.cuh"
#include "cuda/ops/histeq/histogram8.cuh"
#include "pipeline/background.h"

/* ---- 8 bits */

/* Counts every pixel as the background if none is visible. */
template <class L>
static __device__ __forceinline__ void fall_back(uint32_t *levels, uint32_t pixels,
                                                 const struct background &background) {
    if (__syncthreads_or(threadIdx.x < LEVELS && levels[threadIdx.x % LEVELS])) return;
    if (threadIdx.x < L::TABLES)
        levels[threadIdx.x * LEVELS + background.sample[threadIdx.x]] = pixels;
    __syncthreads();
}

/* With at most as many bins as levels each bin sums its levels. With more, each level has a bin of
 * its own. */
template <class L>
static __device__ __forceinline__ void write_bins(const uint32_t *levels, uint32_t bins,
                                                  uint32_t *values) {
    const bool fold = bins <= LEVELS;
    for (uint32_t i = threadIdx.x; i < L::TABLES * bins; i += THREADS) {
        uint32_t sum = 0;
        if (fold) {
            const uint32_t table = i / bins, bin = i - table * bins;
            const uint32_t end = histogram_first_level(bin + 1, bins);
            for (uint32_t v = histogram_first_level(bin, bins); v < end; v++)
                sum += levels[table * LEVELS + v];
        }
        values[i] = sum;
    }
    if (fold) return;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < L::TABLES * LEVELS; i += THREADS)
        values[i / LEVELS * bins + level_bin(i % LEVELS, bins, LEVELS - 1)] = levels[i];
}

template <int CHANNELS>
static __global__ void __launch_bounds__(THREADS, 1)
    histogram8_kernel(const __grid_constant__ struct batch batch, uint32_t bins, uint32_t *counts,
                      uint32_t *chunks_done, const __grid_constant__ struct background background) {
    typedef layout8<CHANNELS, HISTEQ_EACH> L;
    count_levels<CHANNELS, HISTEQ_EACH>(batch, counts, chunks_done, [&](int i, uint32_t *levels) {
        const struct batch_image &image = batch.images[i];
        if (CHANNELS % 2 == 0) fall_back<L>(levels, image.pixels, background);
        write_bins<L>(levels, bins, (uint32_t *)image.out);
    });
}

static struct background background_of_calls(const struct op_call *calls) {
    return background_of(calls[0].params->number[HISTOGRAM_BACKGROUND], calls[0].in.channels,
                         calls[0].in.depth);
}

static uint32_t bins_of(const struct op_call *calls) {
    return (uint32_t)calls[0].params->number[HISTOGRAM_BINS];
}

template <int CHANNELS>
static enum status run8(const struct cuda_context *context, struct op_call *calls, int count) {
    typedef layout8<CHANNELS, HISTEQ_EACH> L;
    struct failure *failure = calls[0].failure;
    struct batch batch;
    const enum status status = batch_init_values(&batch, calls, count, L::PIXELS);
    if (status) return status;
    const unsigned blocks = batch_divide(&batch, THREADS, context->multiprocessors);
    uint32_t *chunks_done = context->zeroed, *counts = chunks_done + SECTOR_WORDS;
    if (L::SHARED_BYTES > 48 << 10)
        CUDA_TRY(failure, cudaFuncSetAttribute(histogram8_kernel<CHANNELS>,
                                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               L::SHARED_BYTES));
    histogram8_kernel<CHANNELS><<<blocks, THREADS, L::SHARED_BYTES, context->stream>>>(
        batch, bins_of(calls), counts, chunks_done, background_of_calls(calls));
    CUDA_LAUNCHED(failure);
    cuda_record_kernel(context, "histogram");
    return STATUS_OK;
}

/* ---- 16 bits */

/* Whether any of the first table's COUNTS is not 0. */
static __device__ __forceinline__ bool is_any_seen(const struct histeq16_args &args,
                                                   const uint32_t *counts) {
    bool any = false;
    for (uint32_t start = 0; start < args.bins && !any; start += THREADS16) {
        const uint32_t bin = start + threadIdx.x;
        any = __syncthreads_or(bin < args.bins && counts[bin]);
    }
    return any;
}

/* Bins of image blockIdx.y; if no pixel is visible, each counts as the background. */
static __global__ void __launch_bounds__(THREADS16)
    copy_counts_kernel(const __grid_constant__ struct batch batch,
                       const __grid_constant__ struct histeq16_args args,
                       const __grid_constant__ struct background background) {
    const uint32_t count = args.tables * args.pitch;
    const uint32_t *from = args.counts + blockIdx.y * count;
    uint32_t *to = (uint32_t *)batch.images[blockIdx.y].out;
    const uint32_t i = blockIdx.x * THREADS16 + threadIdx.x;
    const bool none = args.alpha && !is_any_seen(args, from);
    if (i >= count) return;
    to[i] = none && i % args.pitch == bin16(background.sample[i / args.pitch], args.bins)
                ? batch.images[blockIdx.y].pixels
                : from[i];
}

static struct histeq16_args args_of(const struct cuda_context *context,
                                    const struct op_call *calls) {
    struct histeq16_args args = {};
    args.tables = (int)image_colours(&calls[0].in);
    args.bins = args.pitch = bins_of(calls);
    args.counts = (uint32_t *)calls[0].scratch;
    args.alpha = image_has_alpha(&calls[0].in);
    set_window(&args, context->shared_bytes);
    return args;
}

template <int CHANNELS>
static enum status run16(const struct cuda_context *context, struct op_call *calls, int count) {
    struct failure *failure = calls[0].failure;
    struct batch batch;
    const struct histeq16_args args = args_of(context, calls);
    enum status status =
        batch_init_values(&batch, calls, count, layout16<CHANNELS, HISTEQ_EACH>::PIXELS);
    if (!status) status = launch_count16<CHANNELS, HISTEQ_EACH>(context, &batch, args, failure);
    if (status) return status;
    cuda_record_kernel(context, "count");
    const unsigned bins = args.tables * args.pitch;
    const dim3 blocks((bins + THREADS16 - 1) / THREADS16, (unsigned)count);
    copy_counts_kernel<<<blocks, THREADS16, 0, context->stream>>>(batch, args,
                                                                  background_of_calls(calls));
    CUDA_LAUNCHED(failure);
    cuda_record_kernel(context, "copy");
    return STATUS_OK;
}

/* ---- run */

static size_t scratch(const struct cuda_context *context, const struct op_call *calls, int count) {
    (void)context;
    if (calls[0].in.depth == 8) return 0;
    return (size_t)count * image_colours(&calls[0].in) * bins_of(calls) * sizeof(uint32_t);
}

template <int CHANNELS>
static enum status run_depth(const struct cuda_context *context, struct op_call *calls, int count) {
    return calls[0].in.depth == 8 ? run8<CHANNELS>(context, calls, count)
                                  : run16<CHANNELS>(context, calls, count);
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    switch (calls[0].in.channels) {
    case 1: return run_depth<1>(context, calls, count);
    case 2: return run_depth<2>(context, calls, count);
    case 3: return run_depth<3>(context, calls, count);
    default: return run_depth<4>(context, calls, count);
    }
}

extern "C" const struct cuda_op cuda_op_histogram = { scratch, run };
