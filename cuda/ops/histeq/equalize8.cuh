// SPDX-License-Identifier: Apache-2.0
/* equalize8.cuh - histogram equalization of 8-bit samples in one cooperative launch, one block a
 * multiprocessor: count, table, apply.
 *
 * Used by:  cuda/ops/histeq.cu, tests/bench/kernels/histeq.cu.
 * Fails:    with spin_limit.cuh's trap; see counters8.cuh.
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

#include "cuda/ops/histeq/apply8.cuh"
#include "cuda/ops/histeq/histogram8.cuh"
#include "cuda/ops/histeq/table8.cuh"

enum { PART_COUNT = 1, PART_APPLY = 2, PART_BOTH = 3 };

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
    constexpr bool WHOLE = PARTS == PART_BOTH;
    const int warp = threadIdx.x / 32;
    uint32_t chunks[L::CHUNKS][L::WORDS], ticket = 0;
    for (int i = begin; PARTS & PART_COUNT && i < end; i++) {
        const struct batch_image image = batch.images[i];
        const struct chunk_range range = image_chunks(image, block);
        if (WHOLE && image.contiguous)
            count_range<CHANNELS, MODE, L, true>(image, range, shared, chunks);
        else
            count_range<CHANNELS, MODE, L, false>(image, range, shared, chunks);
        __syncthreads();
        publish_counts<L>(shared.table, counts + i * L::TABLES * COUNTS_WORDS);
        if (i + 1 < end) __syncthreads();
    }
    for (int i = end; PARTS & PART_APPLY && i-- > begin;) {
        const struct batch_image image = batch.images[i];
        const struct chunk_range range = image_chunks(image, block);
        if (warp < L::TABLES)
            read_cdf(counts + (i * L::TABLES + warp) * COUNTS_WORDS, image.pixels, rule.bins,
                     shared.cdf + warp * LEVELS, shared.cdf_min + warp);
        __syncthreads();
        if (threadIdx.x == LAST_WARP)
            ticket = draw_ticket(chunks_done + i, range.end - range.first);
        fill_tables<CHANNELS, MODE, L>(image.pixels, rule, shared);
        __syncthreads();
        const uint32_t black = black_level<CHANNELS, MODE>(shared, image.pixels, rule);
        const bool loaded = PARTS & PART_COUNT && i == end - 1;
        if (WHOLE && image.contiguous)
            apply_range<CHANNELS, MODE, L, true>(image, range, shared, black, loaded, chunks);
        else
            apply_range<CHANNELS, MODE, L, false>(image, range, shared, black, loaded, chunks);
        reset_counters<L>(counts + i * L::TABLES * COUNTS_WORDS, chunks_done + i, ticket,
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

#endif
