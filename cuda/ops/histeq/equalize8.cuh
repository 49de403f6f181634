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
 * pictures that there is room for. One has a kernel of its own, since parameters cost time: a
 * launch with those of a whole batch, 3.7 KB, takes 0.2 us more. */
template <int CHANNELS, int MODE, int MOST>
static __global__ void __launch_bounds__(THREADS, 1)
    equalize_kernel(struct rule rule, uint32_t *counts, uint32_t *left,
                    const __grid_constant__ struct batch_of<MOST> batch) {
    typedef layout<CHANNELS, MODE> L;
    const struct desk desk = desk_make<L>();
    const struct chunks share = block_share(batch);
    const int begin = picture_at(batch, share.first), end = picture_at(batch, share.end - 1) + 1;
    const int warp = threadIdx.x / 32;
    uint32_t held[L::HELD][L::WORDS], ticket = 0;
    for (int i = begin; i < end; i++) {
        const struct picture picture = batch.pictures[i];
        const struct chunks part = picture_part(picture, share);
        if (picture.flat)
            count_part<CHANNELS, MODE, L, true>(picture, part, desk, held);
        else
            count_part<CHANNELS, MODE, L, false>(picture, part, desk, held);
        __syncthreads();
        merge<L>(desk.table, counts + i * L::TABLES * COUNTS_WORDS);
        if (i + 1 < end) __syncthreads();
    }
    for (int i = end; i-- > begin;) {
        const struct picture picture = batch.pictures[i];
        const struct chunks part = picture_part(picture, share);
        if (warp < L::TABLES)
            scan_counts(counts + (i * L::TABLES + warp) * COUNTS_WORDS, picture.pixels, rule.bins,
                        desk.sums + warp * LEVELS, desk.first + warp);
        __syncthreads();
        /* Wraps to 0. Of atomicAdd the compiler makes one for the warp, whose number all await. */
        if (i == begin && threadIdx.x == LAST_WARP) ticket = atomicInc(left, gridDim.x - 1);
        make_tables<CHANNELS, MODE, L>(picture.pixels, rule, desk);
        __syncthreads();
        const uint32_t black = black_level<CHANNELS, MODE>(desk, picture.pixels, rule);
        const bool in_hand = i == end - 1;
        if (picture.flat)
            map_part<CHANNELS, MODE, L, true>(picture, part, desk, black, in_hand, held);
        else
            map_part<CHANNELS, MODE, L, false>(picture, part, desk, black, in_hand, held);
        if (i > begin) __syncthreads();
    }
    leave_zeros(counts, batch.count * L::TABLES, ticket);
}

#endif
