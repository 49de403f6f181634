// SPDX-License-Identifier: Apache-2.0
/* equalize16.cuh - histogram equalization of 16-bit samples: count, table and apply, a launch each.
 *
 * Used by:  cuda/ops/histeq.cu.
 * Fails:    as batch.cuh and check.cuh say.
 * Limits:   histeq16_scratch() bytes of scratch. No block waits for another.
 *
 * How it works.
 * Count:  a window of bins is in shared memory, as wide as the GPU allows (65536 bins are two
 *         windows where a block may have 128 KB), and the image is read once for every window. With
 *         few bins there is a copy for each bank, so that lanes never conflict.
 * Table:  1024 bins a block; each sums all bins before its own, which costs less than waiting for
 *         another block to do it. With alpha it sums all bins: their sum is the number of pixels.
 * Apply:  a block copies the levels into its shared memory where they fit: random look-ups are
 *         several times faster there than in the L1 cache.
 */
#ifndef BURIN_HISTEQ_EQUALIZE16_CUH
#define BURIN_HISTEQ_EQUALIZE16_CUH

#include "cuda/ops/histeq/histogram16.cuh"
#include "cuda/ops/histeq/layout16.cuh"

/* ---- table: counts to new levels */

/* The block's sum of SUM and minimum of LEAST, in every thread. */
static __device__ __forceinline__ uint2 block_sum_min(uint32_t sum, uint32_t least) {
    __shared__ uint32_t sums[32], leasts[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int step = 16; step; step /= 2) {
        sum += __shfl_xor_sync(~0u, sum, step);
        least = min(least, __shfl_xor_sync(~0u, least, step));
    }
    if (lane == 0) sums[warp] = sum, leasts[warp] = least;
    __syncthreads();
    sum = sums[lane], least = leasts[lane];
    for (int step = 16; step; step /= 2) {
        sum += __shfl_xor_sync(~0u, sum, step);
        least = min(least, __shfl_xor_sync(~0u, least, step));
    }
    return make_uint2(sum, least);
}

/* Inclusive sum over the block's threads. */
static __device__ __forceinline__ uint32_t block_scan(uint32_t own) {
    __shared__ uint32_t totals[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t left = __shfl_up_sync(~0u, own, step);
        if (lane >= step) own += left;
    }
    if (lane == 31) totals[warp] = own;
    __syncthreads();
    uint32_t before = lane < warp ? totals[lane] : 0;
    for (int step = 16; step; step /= 2) before += __shfl_xor_sync(~0u, before, step);
    return own + before;
}

/* The pixels that are counted, in every thread. */
static __device__ __forceinline__ uint32_t counted16(const struct histeq16_args &args,
                                                     const uint32_t *counts, uint32_t pixels) {
    uint32_t sum = 0;
    if (!args.alpha) return pixels;
    for (uint32_t i = threadIdx.x; i < args.bins; i += THREADS16) sum += counts[i];
    sum = block_sum_min(sum, 0).x;
    __syncthreads(); /* before the next sum */
    return sum;
}

static __global__ void __launch_bounds__(THREADS16)
    table16_kernel(const __grid_constant__ struct batch batch,
                   const __grid_constant__ struct histeq16_args args) {
    const uint32_t base = blockIdx.x * THREADS16, bin = base + threadIdx.x;
    const uint32_t *counts = args.counts + blockIdx.y * args.pitch;
    const uint32_t pixels = counted16(args, counts, batch.images[blockIdx.y / args.tables].pixels);
    uint32_t sum = 0, least = UINT32_MAX;
#pragma unroll 8
    for (uint32_t i = 4 * threadIdx.x; i < base; i += 4 * THREADS16) {
        const uint4 four = *(const uint4 *)(counts + i);
        sum += four.x + four.y + four.z + four.w;
        const uint32_t place = four.x ? 0 : four.y ? 1 : four.z ? 2 : four.w ? 3 : UINT32_MAX - i;
        least = min(least, i + place);
    }
    const uint32_t own = bin < args.bins ? counts[bin] : 0;
    if (own) least = min(least, bin);
    const uint2 before = block_sum_min(sum, least);
    const uint32_t upto = before.x + block_scan(own);
    if (!pixels && bin == 0) args.identity[blockIdx.y] = 1;
    if (before.y == UINT32_MAX) {
        /* Bins before the first: pixels with alpha 0 ask for them too. */
        if (args.alpha && bin < args.bins) args.levels[blockIdx.y * args.pitch + bin] = 0;
        return;
    }
    const uint32_t first = counts[before.y];
    const bool identity = args.scale == HISTEQ_MINMAX && first == pixels;
    if (bin == before.y) args.identity[blockIdx.y] = identity;
    if (bin < args.bins && !identity)
        args.levels[blockIdx.y * args.pitch + bin] =
            (uint16_t)histeq_quantile_fixed(upto, first, pixels, 65535, args.scale);
}

/* ---- apply: look-ups, and the result */

/* One image's tables, in shared or in global memory. */
struct tables16 {
    const uint16_t *levels;   /* [table][pitch] */
    const uint32_t *identity; /* [table] */
    uint32_t pitch, bins;
};

static __device__ __forceinline__ uint32_t level16(const struct tables16 &tables, int t,
                                                   uint32_t value) {
    return __ldg(tables.identity + t) ? value
                                      : tables.levels[t * tables.pitch + bin16(value, tables.bins)];
}

template <int CHANNELS, int MODE, int WORDS>
static __device__ __forceinline__ void apply16_pixel(uint32_t (&words)[WORDS], int p,
                                                     const struct tables16 &tables) {
    constexpr int COLOURS = CHANNELS < 3 ? 1 : 3;
    const uint32_t value = lookup_value16<CHANNELS, MODE>(words, p, 0);
    const uint32_t level = MODE == HISTEQ_EACH ? 0 : level16(tables, 0, value);
#pragma unroll
    for (int c = 0; c < COLOURS; c++) {
        const int i = p * CHANNELS + c;
        const uint32_t sample = chunk_sample<16>(words, i);
        chunk_set_sample<16>(words, i,
                             MODE == HISTEQ_EACH ? level16(tables, c, sample)
                             : CHANNELS < 3      ? level
                                                 : histeq_scaled16(sample, value, level));
    }
}

template <int CHANNELS, int MODE>
static __device__ __forceinline__ void apply16_range(const struct batch_image &image,
                                                     struct chunk_range range,
                                                     const struct tables16 &tables) {
    typedef layout16<CHANNELS, MODE> L;
#pragma unroll 2
    for (uint32_t index = range.first + threadIdx.x; index < range.end; index += THREADS16) {
        const struct chunk_memory memory =
            chunk_memory_of<L::PIXELS, L::BYTES, L::BYTES>(image, index);
        uint32_t words[L::WORDS];
        load_chunk(words, memory.in, memory.pixels * L::BYTES, image.aligned);
#pragma unroll
        for (int p = 0; p < L::PIXELS; p++) apply16_pixel<CHANNELS, MODE>(words, p, tables);
        store_chunk(words, memory.out, memory.pixels * L::BYTES, image.aligned);
    }
}

template <int CHANNELS, int MODE>
static __global__ void __launch_bounds__(THREADS16, 1)
    apply16_kernel(const __grid_constant__ struct batch batch,
                   const __grid_constant__ struct histeq16_args args) {
    extern __shared__ uint4 dynamic_shared[];
    const struct chunk_range block = block_chunks(batch);
    for (int i = batch_find(batch, block.first); i <= batch_find(batch, block.end - 1); i++) {
        const struct batch_image &image = batch.images[i];
        const struct chunk_range range = image_chunks(image, block);
        const uint16_t *levels = args.levels + i * args.tables * args.pitch;
        const uint32_t vectors = args.levels_fit ? args.tables * args.pitch / 8 : 0;
        __syncthreads(); /* all have used the levels of the image before */
        for (uint32_t v = threadIdx.x; v < vectors; v += THREADS16)
            dynamic_shared[v] = ((const uint4 *)levels)[v];
        __syncthreads();
        const struct tables16 tables = { args.levels_fit ? (const uint16_t *)dynamic_shared
                                                         : levels,
                                         args.identity + i * args.tables, args.pitch, args.bins };
        apply16_range<CHANNELS, MODE>(image, range, tables);
    }
}

/* ---- launches */

static inline int table_count16(const struct op_call *calls) {
    return calls[0].params->number[HISTEQ_CHANNEL] == HISTEQ_EACH ? (int)image_colours(&calls[0].in)
                                                                  : 1;
}

static inline uint32_t pitch16(const struct op_call *calls) {
    return ((uint32_t)calls[0].params->number[HISTEQ_BINS] + 63) / 64 * 64;
}

static inline size_t histeq16_scratch(const struct op_call *calls, int count) {
    const size_t tables = (size_t)count * table_count16(calls);
    return tables * pitch16(calls) * 6 + (tables + 63) / 64 * 256;
}

static inline struct histeq16_args histeq16_args_of(const struct cuda_context *context,
                                                    const struct op_call *calls, int count) {
    struct histeq16_args args = {};
    args.tables = table_count16(calls);
    args.bins = (uint32_t)calls[0].params->number[HISTEQ_BINS];
    args.scale = (int)calls[0].params->number[HISTEQ_SCALE];
    args.pitch = pitch16(calls);
    const size_t tables = (size_t)count * args.tables;
    args.counts = (uint32_t *)calls[0].scratch;
    args.identity = args.counts + tables * args.pitch;
    args.levels = (uint16_t *)(args.identity + (tables + 63) / 64 * 64);
    args.alpha = image_has_alpha(&calls[0].in);
    set_window(&args, context->shared_bytes);
    args.levels_fit = (int)(2 * args.tables * args.pitch) <= context->shared_bytes;
    return args;
}

template <int CHANNELS, int MODE>
static enum status launch16(const struct cuda_context *context, struct op_call *calls, int count) {
    typedef layout16<CHANNELS, MODE> L;
    struct failure *failure = calls[0].failure;
    struct batch batch;
    const enum status status = batch_init(&batch, calls, count, L::PIXELS);
    if (status) return status;
    const struct histeq16_args args = histeq16_args_of(context, calls, count);
    const unsigned tables = (unsigned)(count * args.tables);
    const int level_bytes = args.levels_fit ? (int)(2 * args.tables * args.pitch) : 0;
    const dim3 table_blocks((args.bins + THREADS16 - 1) / THREADS16, tables);
    const cudaFuncAttribute most_shared = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUDA_TRY(failure, cudaFuncSetAttribute(apply16_kernel<CHANNELS, MODE>, most_shared,
                                           context->shared_bytes));
    enum status counted = launch_count16<CHANNELS, MODE>(context, &batch, args, failure);
    if (counted) return counted;
    cuda_record_kernel(context, "count");
    table16_kernel<<<table_blocks, THREADS16, 0, context->stream>>>(batch, args);
    CUDA_LAUNCHED(failure);
    cuda_record_kernel(context, "table");
    const unsigned blocks = batch_divide(&batch, THREADS16, context->multiprocessors);
    apply16_kernel<CHANNELS, MODE>
        <<<blocks, THREADS16, level_bytes, context->stream>>>(batch, args);
    CUDA_LAUNCHED(failure);
    cuda_record_kernel(context, "apply");
    return STATUS_OK;
}

#endif
