// SPDX-License-Identifier: Apache-2.0
/* histeq16.cuh - histogram equalization of 16-bit samples: count, table and apply, a launch each.
 *
 * Count:  a window of bins stands in shared memory, as wide as the GPU allows (65536 bins are two
 * windows where a block may have 128 KB), and the image is read once for every window. Few bins
 * stand there once for each bank, so that lanes never meet. Table:  1024 bins a block; each sums
 * all bins before its own, which costs less than waiting for it. Apply:  a block takes the levels
 * into its shared memory where they fit: random look-ups are several times faster there than in the
 * L1 cache.
 */
#ifndef BURIN_HISTEQ16_CUH
#define BURIN_HISTEQ16_CUH

#include "cuda/launch.cuh"
#include "cuda/ops/histeq_fixed.h"

enum { THREADS16 = 1024 };

/* How pixels of one kind are held. */
template <int CHANNELS, int MODE> struct layout16 {
    static constexpr int TABLES = CHANNELS > 2 && MODE == HISTEQ_EACH ? 3 : 1;
    static constexpr int WORDS = CHANNELS == 3 ? 12 : 4;
    static constexpr int PIXELS = 2 * WORDS / CHANNELS;
    static constexpr int BYTES = 2 * CHANNELS; /* a pixel */
};

/* Scratch and parameters of a batch. */
struct work16 {
    uint32_t *counts;   /* [image][table][pitch] */
    uint32_t *identity; /* [image][table]: the image has one bin in use and stays as it is */
    uint16_t *levels;   /* [image][table][pitch] */
    uint32_t bins, pitch;
    uint32_t window, copies_log2; /* bins that stand in shared memory, and how often: 0 or 5 */
    int tables, scale;
    bool levels_fit; /* into shared memory, all tables */
};

static __device__ __forceinline__ uint32_t bin16(uint32_t value, uint32_t bins) {
    return value * bins >> 16;
}

/* What is looked up for pixel P: sample T for `each`, else V. */
template <int CHANNELS, int MODE, int WORDS>
static __device__ __forceinline__ uint32_t value16(const uint32_t (&words)[WORDS], int p, int t) {
    const int i = p * CHANNELS;
    if (CHANNELS < 3) return chunk_get<16>(words, i);
    const uint32_t red = chunk_get<16>(words, i), green = chunk_get<16>(words, i + 1);
    const uint32_t blue = chunk_get<16>(words, i + 2);
    if (MODE == HISTEQ_EACH) return t == 0 ? red : t == 1 ? green : blue;
    return MODE == HISTEQ_LUMA ? luma(red, green, blue) : max(max(red, green), blue);
}

/* ---- count */

/* Counts table T's bins LOW.. of the window over this block's part of a picture. */
template <int CHANNELS, int MODE>
static __device__ __forceinline__ void count16_part(const struct picture &picture,
                                                    struct chunks part, const struct work16 &work,
                                                    int t, uint32_t low, uint32_t *window) {
    typedef layout16<CHANNELS, MODE> L;
    const uint32_t copy = threadIdx.x & ((1u << work.copies_log2) - 1);
    const uint32_t column = shared_address(window + copy);
#pragma unroll 4
    for (uint32_t index = part.first + threadIdx.x; index < part.end; index += THREADS16) {
        const struct spot spot = spot_of<L::PIXELS, L::BYTES, L::BYTES>(picture, index);
        uint32_t words[L::WORDS];
        load_chunk(words, spot.in, spot.pixels * L::BYTES, picture.aligned);
#pragma unroll
        for (int p = 0; p < L::PIXELS; p++) {
            const uint32_t bin = bin16(value16<CHANNELS, MODE>(words, p, t), work.bins) - low;
            shared_increment_below(column + (bin << (work.copies_log2 + 2)),
                                   p < spot.pixels ? bin : UINT32_MAX, work.window);
        }
    }
}

/* The window's sums into COUNTS; leaves the window zero. Eight bins a thread, so that reads
 * overlap. */
static __device__ __forceinline__ void flush16(uint32_t *window, uint32_t *counts, uint32_t bins) {
    for (uint32_t start = threadIdx.x; start < bins; start += 8 * THREADS16) {
        uint32_t c[8];
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const uint32_t bin = start + i * THREADS16;
            c[i] = bin < bins ? window[bin] : 0;
            if (bin < bins) window[bin] = 0;
        }
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (c[i]) atomicAdd(counts + start + i * THREADS16, c[i]);
    }
}

/* The same where each bin stands 32 times; a lane starts at its own bank. */
static __device__ __forceinline__ void flush16_copies(uint32_t *window, uint32_t *counts,
                                                      uint32_t bins) {
    for (uint32_t bin = threadIdx.x; bin < bins; bin += THREADS16) {
        uint32_t sum = 0;
#pragma unroll
        for (int i = 0; i < 32; i++) {
            uint32_t *place = window + 32 * bin + (i + bin) % 32;
            sum += *place;
            *place = 0;
        }
        if (sum) atomicAdd(counts + bin, sum);
    }
}

template <int CHANNELS, int MODE>
static __global__ void __launch_bounds__(THREADS16, 1)
    count16_kernel(const __grid_constant__ struct batch batch,
                   const __grid_constant__ struct work16 work) {
    extern __shared__ uint4 shared[];
    uint32_t *window = (uint32_t *)shared;
    const struct chunks share = block_share(batch);
    for (uint32_t i = threadIdx.x; i < work.window << work.copies_log2; i += 4 * THREADS16)
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (i + k * THREADS16 < work.window << work.copies_log2) window[i + k * THREADS16] = 0;
    __syncthreads();
    for (int i = picture_at(batch, share.first); i <= picture_at(batch, share.end - 1); i++) {
        const struct picture &picture = batch.pictures[i];
        const struct chunks part = picture_part(picture, share);
        for (int t = 0; t < work.tables; t++) {
            for (uint32_t low = 0; low < work.bins; low += work.window) {
                count16_part<CHANNELS, MODE>(picture, part, work, t, low, window);
                __syncthreads();
                uint32_t *counts = work.counts + (i * work.tables + t) * work.pitch + low;
                const uint32_t bins = min(work.window, work.bins - low);
                if (work.copies_log2)
                    flush16_copies(window, counts, bins);
                else
                    flush16(window, counts, bins);
                __syncthreads();
            }
        }
    }
}

/* ---- table */

/* Sum over the block, and the least VALUE of it; every thread gets both. */
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

static __global__ void __launch_bounds__(THREADS16)
    table16_kernel(const __grid_constant__ struct batch batch,
                   const __grid_constant__ struct work16 work) {
    const uint32_t base = blockIdx.x * THREADS16, bin = base + threadIdx.x;
    const uint32_t *counts = work.counts + blockIdx.y * work.pitch;
    const uint32_t pixels = batch.pictures[blockIdx.y / work.tables].pixels;
    uint32_t sum = 0, least = UINT32_MAX;
#pragma unroll 8
    for (uint32_t i = 4 * threadIdx.x; i < base; i += 4 * THREADS16) {
        const uint4 four = *(const uint4 *)(counts + i);
        sum += four.x + four.y + four.z + four.w;
        const uint32_t place = four.x ? 0 : four.y ? 1 : four.z ? 2 : four.w ? 3 : UINT32_MAX - i;
        least = min(least, i + place);
    }
    const uint32_t own = bin < work.bins ? counts[bin] : 0;
    if (own) least = min(least, bin);
    const uint2 before = block_sum_min(sum, least);
    const uint32_t upto = before.x + block_scan(own);
    if (before.y == UINT32_MAX) return;
    const uint32_t first = counts[before.y];
    const bool identity = work.scale == HISTEQ_MINMAX && first == pixels;
    if (bin == before.y) work.identity[blockIdx.y] = identity;
    if (bin < work.bins && !identity)
        work.levels[blockIdx.y * work.pitch + bin] =
            (uint16_t)histeq_quantile_fixed(upto, first, pixels, 65535, work.scale);
}

/* ---- apply */

/* One picture's tables, in shared or in global memory. */
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
static __device__ __forceinline__ void map16_pixel(uint32_t (&words)[WORDS], int p,
                                                   const struct tables16 &tables) {
    constexpr int COLOURS = CHANNELS < 3 ? 1 : 3;
    const uint32_t value = value16<CHANNELS, MODE>(words, p, 0);
    const uint32_t level = MODE == HISTEQ_EACH ? 0 : level16(tables, 0, value);
#pragma unroll
    for (int c = 0; c < COLOURS; c++) {
        const int i = p * CHANNELS + c;
        const uint32_t sample = chunk_get<16>(words, i);
        chunk_put<16>(words, i,
                      MODE == HISTEQ_EACH ? level16(tables, c, sample)
                      : CHANNELS < 3      ? level
                                          : histeq_scaled16(sample, value, level));
    }
}

template <int CHANNELS, int MODE>
static __device__ __forceinline__ void map16_part(const struct picture &picture, struct chunks part,
                                                  const struct tables16 &tables) {
    typedef layout16<CHANNELS, MODE> L;
#pragma unroll 2
    for (uint32_t index = part.first + threadIdx.x; index < part.end; index += THREADS16) {
        const struct spot spot = spot_of<L::PIXELS, L::BYTES, L::BYTES>(picture, index);
        uint32_t words[L::WORDS];
        load_chunk(words, spot.in, spot.pixels * L::BYTES, picture.aligned);
#pragma unroll
        for (int p = 0; p < L::PIXELS; p++) map16_pixel<CHANNELS, MODE>(words, p, tables);
        store_chunk(words, spot.out, spot.pixels * L::BYTES, picture.aligned);
    }
}

template <int CHANNELS, int MODE>
static __global__ void __launch_bounds__(THREADS16, 1)
    map16_kernel(const __grid_constant__ struct batch batch,
                 const __grid_constant__ struct work16 work) {
    extern __shared__ uint4 shared[];
    const struct chunks share = block_share(batch);
    for (int i = picture_at(batch, share.first); i <= picture_at(batch, share.end - 1); i++) {
        const struct picture &picture = batch.pictures[i];
        const struct chunks part = picture_part(picture, share);
        const uint16_t *levels = work.levels + i * work.tables * work.pitch;
        const uint32_t vectors = work.levels_fit ? work.tables * work.pitch / 8 : 0;
        __syncthreads(); /* the picture before is done with its levels */
        for (uint32_t v = threadIdx.x; v < vectors; v += THREADS16)
            shared[v] = ((const uint4 *)levels)[v];
        __syncthreads();
        const struct tables16 tables = { work.levels_fit ? (const uint16_t *)shared : levels,
                                         work.identity + i * work.tables, work.pitch, work.bins };
        map16_part<CHANNELS, MODE>(picture, part, tables);
    }
}

/* ---- run */

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

/* The widest window of 2^n bins that a block's shared memory holds. */
static inline void set_window(struct work16 *work, int shared_bytes) {
    uint32_t words = 1;
    while (8 * (int)words <= shared_bytes) words *= 2;
    uint32_t bins = 1;
    while (bins < work->bins) bins *= 2;
    work->window = bins < words ? bins : words;
    work->copies_log2 = bins * 32 <= words ? 5 : 0;
    work->levels_fit = (int)(2 * work->tables * work->pitch) <= shared_bytes;
}

static inline struct work16 work16_make(const struct cuda_context *context,
                                        const struct op_call *calls, int count) {
    struct work16 work = {};
    work.tables = table_count16(calls);
    work.bins = (uint32_t)calls[0].params->number[HISTEQ_BINS];
    work.scale = (int)calls[0].params->number[HISTEQ_SCALE];
    work.pitch = pitch16(calls);
    const size_t tables = (size_t)count * work.tables;
    work.counts = (uint32_t *)calls[0].scratch;
    work.identity = work.counts + tables * work.pitch;
    work.levels = (uint16_t *)(work.identity + (tables + 63) / 64 * 64);
    set_window(&work, context->shared_bytes);
    return work;
}

template <int CHANNELS, int MODE>
static enum status launch16(const struct cuda_context *context, struct op_call *calls, int count) {
    typedef layout16<CHANNELS, MODE> L;
    struct failure *failure = calls[0].failure;
    struct batch batch;
    const enum status status = batch_make(&batch, calls, count, L::PIXELS);
    if (status) return status;
    const struct work16 work = work16_make(context, calls, count);
    const unsigned tables = (unsigned)(count * work.tables);
    const int window_bytes = (int)(work.window << work.copies_log2) * 4;
    const int level_bytes = work.levels_fit ? (int)(2 * work.tables * work.pitch) : 0;
    const dim3 table_blocks((work.bins + THREADS16 - 1) / THREADS16, tables);
    const cudaFuncAttribute most_shared = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUDA_TRY(failure, cudaFuncSetAttribute(count16_kernel<CHANNELS, MODE>, most_shared,
                                           context->shared_bytes));
    CUDA_TRY(failure, cudaFuncSetAttribute(map16_kernel<CHANNELS, MODE>, most_shared,
                                           context->shared_bytes));
    CUDA_TRY(failure,
             cudaMemsetAsync(work.counts, 0, (size_t)tables * work.pitch * 4, context->stream));
    /* A block adds up to `bins` counters to the global ones; it should have half as many pixels. */
    const uint32_t least = work.bins / L::PIXELS / 2;
    unsigned blocks = batch_share(&batch, least > (uint32_t)THREADS16 ? least : (uint32_t)THREADS16,
                                  context->multiprocessors);
    count16_kernel<CHANNELS, MODE>
        <<<blocks, THREADS16, window_bytes, context->stream>>>(batch, work);
    CUDA_LAUNCHED(failure);
    cuda_mark(context, "count");
    table16_kernel<<<table_blocks, THREADS16, 0, context->stream>>>(batch, work);
    CUDA_LAUNCHED(failure);
    cuda_mark(context, "table");
    blocks = batch_share(&batch, THREADS16, context->multiprocessors);
    map16_kernel<CHANNELS, MODE><<<blocks, THREADS16, level_bytes, context->stream>>>(batch, work);
    CUDA_LAUNCHED(failure);
    cuda_mark(context, "apply");
    return STATUS_OK;
}

template <int CHANNELS>
static enum status launch16_colour(const struct cuda_context *context, struct op_call *calls,
                                   int count) {
    switch (calls[0].params->number[HISTEQ_CHANNEL]) {
    case HISTEQ_VALUE: return launch16<CHANNELS, HISTEQ_VALUE>(context, calls, count);
    case HISTEQ_LUMA: return launch16<CHANNELS, HISTEQ_LUMA>(context, calls, count);
    default: return launch16<CHANNELS, HISTEQ_EACH>(context, calls, count);
    }
}

static inline enum status histeq16_run(const struct cuda_context *context, struct op_call *calls,
                                       int count) {
    switch (calls[0].in.channels) {
    case 1: return launch16<1, HISTEQ_VALUE>(context, calls, count);
    case 2: return launch16<2, HISTEQ_VALUE>(context, calls, count);
    case 3: return launch16_colour<3>(context, calls, count);
    default: return launch16_colour<4>(context, calls, count);
    }
}

#endif
