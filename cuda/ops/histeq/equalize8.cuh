// SPDX-License-Identifier: Apache-2.0
/* equalize8.cuh - histogram equalization of 8-bit samples in one cooperative launch, one block a
 * multiprocessor: count, table, apply.
 *
 * Used by:  cuda/ops/histeq.cu, tests/bench/kernels/histeq.cu.
 * Fails:    as batch.cuh and check.cuh say; with spin_limit.cuh's trap, see counters8.cuh.
 * Limits:   correct with any number of blocks that run at once, even one; where blocks may not wait
 *           for one another, count and apply are a launch each.
 *
 * How it works.
 * Count:  256 counters are in shared memory once for each bank, and a lane counts in its own bank:
 *         the 32 atomic additions of a warp never conflict, for noise or for a constant image.
 * Table:  blocks add their counts to global counters and read these until they are complete
 *         (counters8.cuh); then each block makes the table for itself.
 * Apply:  the table, too, is there once for each bank. A block goes back over its own share in
 *         reverse: the last pixels are still in registers, those before them in the L2 cache.
 */
#ifndef BURIN_HISTEQ_EQUALIZE8_CUH
#define BURIN_HISTEQ_EQUALIZE8_CUH

#include "cuda/cooperative.cuh"
#include "cuda/ops/histeq/counters8.cuh"
#include "cuda/ops/histeq/histogram8.cuh"
#include "cuda/ops/histeq/layout8.cuh"

/* ---- table: new levels, or the ratios that colours are multiplied by */

/* The new level of LEVEL, or the ratio for a colour. */
template <int CHANNELS, int MODE>
static __device__ __forceinline__ uint32_t table_entry(const uint32_t *cdf, uint32_t cdf_min,
                                                       uint32_t pixels, uint32_t level,
                                                       struct histeq_rule rule) {
    const bool identity = pixels == 0 || (rule.scale == HISTEQ_MINMAX && cdf_min == pixels);
    const uint32_t next = identity ? level
                                   : histeq_quantile_fixed(cdf[bin_last(level, rule.bins)], cdf_min,
                                                           pixels, LEVELS - 1, rule.scale);
    if (CHANNELS < 3 || MODE == HISTEQ_EACH) return next;
    return histeq_ratio(level, next, MODE == HISTEQ_VALUE ? HISTEQ_VALUE_BITS : HISTEQ_LUMA_BITS);
}

/* Each warp computes its share of each table and writes it to all copies. */
template <int CHANNELS, int MODE, class L>
static __device__ __forceinline__ void fill_tables(uint32_t pixels, struct histeq_rule rule,
                                                   const struct shared_memory8 &shared) {
    constexpr int SHARE = LEVELS * 32 / THREADS;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int t = 0; t < L::TABLES; t++) {
        const uint32_t entry = table_entry<CHANNELS, MODE>(
            shared.cdf + t * LEVELS, shared.cdf_min[t], pixels, SHARE * warp + lane % SHARE, rule);
        uint4 *rows = (uint4 *)shared.table + (t * LEVELS + SHARE * warp) * L::COPIES / 4;
#pragma unroll
        for (int i = lane; i < SHARE * L::COPIES / 4; i += 32) {
            const uint32_t copy = __shfl_sync(~0u, entry, i / (L::COPIES / 4));
            rows[i] = make_uint4(copy, copy, copy, copy);
        }
    }
}

/* The new level of V = 0, where the table holds ratios. */
template <int CHANNELS, int MODE>
static __device__ __forceinline__ uint32_t black_level(const struct shared_memory8 &shared,
                                                       uint32_t pixels, struct histeq_rule rule) {
    if (CHANNELS < 3 || MODE == HISTEQ_EACH || rule.scale == HISTEQ_MINMAX || !pixels) return 0;
    return histeq_quantile_fixed(shared.cdf[bin_last(0, rule.bins)], 0, pixels, LEVELS - 1,
                                 rule.scale);
}

/* ---- apply: a block looks up its share of an image */

/* R, G and B times V' / V. */
template <int CHANNELS, int MODE, class L>
static __device__ __forceinline__ void apply_colour(const uint32_t (&in)[L::WORDS],
                                                    uint32_t (&out)[L::WORDS], int p,
                                                    uint32_t column, uint32_t black) {
    constexpr int BITS = MODE == HISTEQ_VALUE ? HISTEQ_VALUE_BITS : HISTEQ_LUMA_BITS;
    const uint32_t value = lookup_value<CHANNELS, MODE>(in, p, 0);
    const uint32_t ratio = shared_load(column + 4 * L::COPIES * value);
    const uint32_t addend = histeq_addend(value, black, BITS);
#pragma unroll
    for (int i = p * CHANNELS; i < p * CHANNELS + 3; i++) {
        const uint32_t product = histeq_product(chunk_sample<8>(in, i), ratio, addend);
        if (MODE == HISTEQ_VALUE)
            chunk_set_byte<3>(out, i, product);
        else
            chunk_set_byte<0>(out, i, min(product >> BITS, LEVELS - 1));
    }
}

/* OUT begins as a copy of IN, so that alpha stays. */
template <int CHANNELS, int MODE, class L>
static __device__ __forceinline__ void apply_chunk(const uint32_t (&in)[L::WORDS],
                                                   uint32_t (&out)[L::WORDS], uint32_t column,
                                                   uint32_t black) {
#pragma unroll
    for (int i = 0; i < L::WORDS; i++) out[i] = in[i];
#pragma unroll
    for (int p = 0; p < L::PIXELS; p++) {
        if (CHANNELS > 2 && MODE != HISTEQ_EACH) {
            apply_colour<CHANNELS, MODE, L>(in, out, p, column, black);
        } else {
#pragma unroll
            for (int t = 0; t < L::TABLES; t++) {
                const uint32_t sample = chunk_sample<8>(in, p * CHANNELS + t);
                chunk_set_byte<0>(out, p * CHANNELS + t,
                                  shared_load(column + 4 * L::COPIES * (t * LEVELS + sample)));
            }
        }
    }
}

/* Goes backwards over the steps of count_range. LOADED: CHUNKS still hold the last step's
 * pixels. */
template <int CHANNELS, int MODE, class L, bool CONTIGUOUS>
static __device__ __forceinline__ void
apply_range(const struct batch_image &image, struct chunk_range range,
            const struct shared_memory8 &shared, uint32_t black, bool loaded,
            uint32_t (&chunks)[L::CHUNKS][L::WORDS]) {
    const uint32_t column = lane_column<L>(shared.table);
    uint32_t start = range.first + (range.end - range.first - 1) / L::STEP * L::STEP;
    if (!loaded)
        load_thread_chunks<CHANNELS, L, CONTIGUOUS>(chunks, image, start, range.end, shared.stage);
    for (;;) {
#pragma unroll
        for (int h = 0; h < L::CHUNKS; h++) {
            const uint32_t first = start + h * THREADS;
            if (first >= range.end) break;
            uint32_t out[L::WORDS];
            apply_chunk<CHANNELS, MODE, L>(chunks[h], out, column, black);
            store_thread_chunk<CHANNELS, L, CONTIGUOUS>(out, image, first, range.end, shared.stage);
        }
        if (start == range.first) return;
        start -= L::STEP;
        load_thread_chunks<CHANNELS, L, CONTIGUOUS>(chunks, image, start, range.end, shared.stage);
    }
}

enum { PART_COUNT = 1, PART_APPLY = 2, PART_BOTH = 3 };

/* ---- the kernels */

/* The block's share of BATCH: counts, then the table and its application. Kernels of one part have
 * no code for contiguous images, which the other code serves too, more slowly. */
template <int CHANNELS, int MODE, int CAPACITY, int PARTS>
static __device__ __forceinline__ void equalize_share(struct histeq_rule rule, uint32_t *counts,
                                                      uint32_t *chunks_done,
                                                      const struct batch_of<CAPACITY> &batch) {
    typedef layout8<CHANNELS, MODE> L;
    const struct shared_memory8 shared = shared_memory8_of<L>();
    const struct chunk_range block = block_chunks(batch);
    const int begin = batch_find(batch, block.first), end = batch_find(batch, block.end - 1) + 1;
    constexpr bool WHOLE = PARTS == PART_BOTH, ALPHA = CHANNELS % 2 == 0;
    const int warp = threadIdx.x / 32;
    uint32_t chunks[L::CHUNKS][L::WORDS], ticket = 0;
    for (int i = begin; PARTS & PART_COUNT && i < end; i++) {
        const struct batch_image image = batch.images[i];
        const struct chunk_range range = image_chunks(image, block);
        uint32_t hidden;
        if (WHOLE && image.contiguous)
            hidden = count_range<CHANNELS, MODE, L, true>(image, range, shared, chunks);
        else
            hidden = count_range<CHANNELS, MODE, L, false>(image, range, shared, chunks);
        __syncthreads();
        publish_counts<L>(shared.table, counts + i * L::TABLES * COUNTS_WORDS);
        if (ALPHA) publish_hidden<L>(hidden, counts + i * L::TABLES * COUNTS_WORDS);
        if (i + 1 < end) __syncthreads();
    }
    for (int i = end; PARTS & PART_APPLY && i-- > begin;) {
        const struct batch_image image = batch.images[i];
        const struct chunk_range range = image_chunks(image, block);
        if (warp < L::TABLES)
            read_cdf<ALPHA>(counts + (i * L::TABLES + warp) * COUNTS_WORDS, image.pixels, rule.bins,
                            shared.cdf + warp * LEVELS, shared.cdf_min + warp);
        __syncthreads();
        if (threadIdx.x == LAST_WARP)
            ticket = draw_ticket(chunks_done + i, range.end - range.first);
        const uint32_t pixels = ALPHA ? shared.cdf[LEVELS - 1] : image.pixels;
        fill_tables<CHANNELS, MODE, L>(pixels, rule, shared);
        __syncthreads();
        const uint32_t black = black_level<CHANNELS, MODE>(shared, pixels, rule);
        const bool loaded = PARTS & PART_COUNT && i == end - 1;
        if (WHOLE && image.contiguous)
            apply_range<CHANNELS, MODE, L, true>(image, range, shared, black, loaded, chunks);
        else
            apply_range<CHANNELS, MODE, L, false>(image, range, shared, black, loaded, chunks);
        reset_counters<L, ALPHA>(counts + i * L::TABLES * COUNTS_WORDS, chunks_done + i, ticket,
                                 image.chunks - (range.end - range.first));
        if (i > begin) __syncthreads();
    }
}

/* Parameters are in the order of use: the batch's beginning shares a line of constants with them.
 * CAPACITY is in images. */
template <int CHANNELS, int MODE, int CAPACITY>
static __global__ void __launch_bounds__(THREADS, 1)
    equalize_kernel(struct histeq_rule rule, uint32_t *counts, uint32_t *chunks_done,
                    const __grid_constant__ struct batch_of<CAPACITY> batch) {
    equalize_share<CHANNELS, MODE, CAPACITY, PART_BOTH>(rule, counts, chunks_done, batch);
}

/* The same in two launches, whose blocks do not wait for one another: for any number of
 * multiprocessors. */
template <int CHANNELS, int MODE>
static __global__ void __launch_bounds__(THREADS, 1)
    count_kernel(struct histeq_rule rule, uint32_t *counts, uint32_t *chunks_done,
                 const __grid_constant__ struct batch batch) {
    equalize_share<CHANNELS, MODE, CUDA_BATCH_MAX, PART_COUNT>(rule, counts, chunks_done, batch);
}

template <int CHANNELS, int MODE>
static __global__ void __launch_bounds__(THREADS, 1)
    apply_kernel(struct histeq_rule rule, uint32_t *counts, uint32_t *chunks_done,
                 const __grid_constant__ struct batch batch) {
    equalize_share<CHANNELS, MODE, CUDA_BATCH_MAX, PART_APPLY>(rule, counts, chunks_done, batch);
}

/* ---- launches */

enum { BATCH_ARGUMENT = 3 }; /* of every kernel */

/* The multiprocessors that a long kernel leaves: fewer blocks with more work each are quicker there
 * than more blocks, of which some wait for others to end. */
static inline unsigned blocks_beside(const struct cuda_context *context) {
    const unsigned all = (unsigned)context->multiprocessors;
    const unsigned left = all - cooperative_share(all);
    return left ? left : 1;
}

/* Two launches, where a long kernel has the GPU, or where other processes share it and a
 * cooperative launch is refused. One pair of kernels serves single images too: such launches are
 * rare, and every kernel takes seconds to compile. */
template <int CHANNELS, int MODE>
static enum status launch_parts8(const struct cuda_context *context, struct op_call *calls,
                                 int count, void **arguments) {
    typedef layout8<CHANNELS, MODE> L;
    struct failure *failure = calls[0].failure;
    const void *const kernels[] = { (const void *)count_kernel<CHANNELS, MODE>,
                                    (const void *)apply_kernel<CHANNELS, MODE> };
    static uint64_t prepared; /* a bit for each device */
    CUDA_TRY(failure, prepare_kernels(kernels, 2, L::SHARED_BYTES, &prepared));
    struct batch batch;
    const enum status status = batch_init(&batch, calls, count, L::PIXELS);
    if (status) return status;
    arguments[BATCH_ARGUMENT] = &batch;
    const unsigned blocks = batch_divide(&batch, THREADS, blocks_beside(context));
    CUDA_TRY(failure, cudaLaunchKernel(kernels[0], blocks, THREADS, arguments, L::SHARED_BYTES,
                                       context->stream));
    const cudaError_t error =
        cudaLaunchKernel(kernels[1], blocks, THREADS, arguments, L::SHARED_BYTES, context->stream);
    if (error) /* the next launch expects counters of 0 */
        cudaMemsetAsync(context->zeroed, 0, CUDA_ZEROED_WORDS * sizeof(uint32_t), context->stream);
    CUDA_TRY(failure, error);
    return STATUS_OK;
}

/* One launch of one block a multiprocessor. CAPACITY is in images. */
template <int CHANNELS, int MODE, int CAPACITY>
static enum status launch_batch8(const struct cuda_context *context, struct op_call *calls,
                                 int count) {
    typedef layout8<CHANNELS, MODE> L;
    struct failure *failure = calls[0].failure;
    const void *const kernel = (const void *)equalize_kernel<CHANNELS, MODE, CAPACITY>;
    static uint64_t prepared; /* a bit for each device */
    CUDA_TRY(failure, prepare_kernels(&kernel, 1, L::SHARED_BYTES, &prepared));
    struct batch_of<CAPACITY> batch;
    enum status status = batch_init(&batch, calls, count, L::PIXELS);
    if (status) return status;
    struct histeq_rule rule = { (uint32_t)calls[0].params->number[HISTEQ_BINS],
                                (int)calls[0].params->number[HISTEQ_SCALE] };
    uint32_t *chunks_done = context->zeroed, *counts = chunks_done + SECTOR_WORDS;
    void *arguments[] = { &rule, &counts, &chunks_done, &batch };
    const struct cooperative_launch launch = { kernel, THREADS, L::SHARED_BYTES, arguments };
    const cudaError_t error = cooperative_launch(
        context, &launch, batch_divide(&batch, THREADS, (unsigned)context->multiprocessors));
    if (error == cudaErrorCooperativeLaunchTooLarge)
        status = launch_parts8<CHANNELS, MODE>(context, calls, count, arguments);
    else
        CUDA_TRY(failure, error);
    if (!status) cuda_record_kernel(context, "equalize");
    return status;
}

/* A launch with the parameters of a whole batch, 3.7 KB, takes 0.2 us more: the most frequent
 * requests, gray, RGB and RGBA by value, have a kernel for one image. */
template <int CHANNELS, int MODE>
static enum status launch8(const struct cuda_context *context, struct op_call *calls, int count) {
    if constexpr (MODE == HISTEQ_VALUE && CHANNELS != 2)
        if (count == 1) return launch_batch8<CHANNELS, MODE, 1>(context, calls, count);
    return launch_batch8<CHANNELS, MODE, CUDA_BATCH_MAX>(context, calls, count);
}

#endif
