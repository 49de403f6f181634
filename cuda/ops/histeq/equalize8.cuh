// SPDX-License-Identifier: Apache-2.0
/* histeq8.cuh - histogram equalization of 8-bit samples: count, table and apply in one cooperative
 * launch, one block a multiprocessor.
 *
 * Count:  256 counters stand in shared memory once for each bank, and a lane counts in its own
 * bank: 32 atomic additions of a warp never meet, whether the image is noise or constant. Table:
 * blocks add their counters to global ones. When those sum to the number of pixels nothing is
 *         missing, so the counts are their own barrier: each block reads them until they do, and
 * makes the table for itself. All blocks run at once (cooperative launch), so none waits for ever.
 * Apply:  the table too stands once for each bank. A block goes back over its own part in reverse:
 * what it read last is still in registers, what it read before that in the L2 cache.
 */
#ifndef BURIN_HISTEQ_EQUALIZE8_CUH
#define BURIN_HISTEQ_EQUALIZE8_CUH

#include "cuda/ops/histeq/apply8.cuh"
#include "cuda/ops/histeq/histogram8.cuh"
#include "cuda/ops/histeq/table8.cuh"

/* Parameters in the order of use: the batch's beginning shares a line of constants with them. MOST:
 * images that there is room for. One has a kernel of its own, since parameters cost time: a
 * launch with those of a whole batch, 3.7 KB, takes 0.2 us more. */
template <int CHANNELS, int MODE, int MOST>
static __global__ void __launch_bounds__(THREADS, 1)
    equalize_kernel(struct histeq_rule rule, uint32_t *counts, uint32_t *blocks_done,
                    const __grid_constant__ struct batch_of<MOST> batch) {
    typedef layout8<CHANNELS, MODE> L;
    const struct shared_memory8 shared = shared_memory8_of<L>();
    const struct chunk_range block = block_chunks(batch);
    const int begin = batch_find(batch, block.first), end = batch_find(batch, block.end - 1) + 1;
    const int warp = threadIdx.x / 32;
    uint32_t chunks[L::CHUNKS][L::WORDS], ticket = 0;
    for (int i = begin; i < end; i++) {
        const struct batch_image image = batch.images[i];
        const struct chunk_range range = image_chunks(image, block);
        if (image.contiguous)
            count_range<CHANNELS, MODE, L, true>(image, range, shared, chunks);
        else
            count_range<CHANNELS, MODE, L, false>(image, range, shared, chunks);
        __syncthreads();
        publish_counts<L>(shared.table, counts + i * L::TABLES * COUNTS_WORDS);
        if (i + 1 < end) __syncthreads();
    }
    for (int i = end; i-- > begin;) {
        const struct batch_image image = batch.images[i];
        const struct chunk_range range = image_chunks(image, block);
        if (warp < L::TABLES)
            wait_for_counts(counts + (i * L::TABLES + warp) * COUNTS_WORDS, image.pixels, rule.bins,
                            shared.cdf + warp * LEVELS, shared.cdf_min + warp);
        __syncthreads();
        /* Wraps to 0. Of atomicAdd the compiler makes one for the warp, whose number all await. */
        if (i == begin && threadIdx.x == LAST_WARP) ticket = atomicInc(blocks_done, gridDim.x - 1);
        fill_tables<CHANNELS, MODE, L>(image.pixels, rule, shared);
        __syncthreads();
        const uint32_t black = black_level<CHANNELS, MODE>(shared, image.pixels, rule);
        const bool loaded = i == end - 1;
        if (image.contiguous)
            apply_range<CHANNELS, MODE, L, true>(image, range, shared, black, loaded, chunks);
        else
            apply_range<CHANNELS, MODE, L, false>(image, range, shared, black, loaded, chunks);
        if (i > begin) __syncthreads();
    }
    reset_counters(counts, batch.count * L::TABLES, ticket);
}

#endif
