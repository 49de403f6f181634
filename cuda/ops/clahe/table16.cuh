// SPDX-License-Identifier: Apache-2.0
/* table16.cuh - the kernel that makes tables of 16-bit samples.
 *
 * Used by:  cuda/ops/clahe.cu.
 *
 * How it works. 65536 counters are more than shared memory holds, so they are in global memory,
 * which is the L2 cache; they are zero before, and again when the table is made. With few tiles
 * each has counters, and several blocks share a tile; the last one makes the table. With many tiles
 * there are only as many blocks as the GPU has room for, each with counters of its own.
 */
#ifndef BURIN_CLAHE_TABLE16_CUH
#define BURIN_CLAHE_TABLE16_CUH

#include "cuda/ops/clahe/count.cuh"

enum { TABLE16_THREADS = 1024, BINS16 = 65536 };

static __device__ __forceinline__ uint32_t over_limit(uint32_t count, uint32_t limit) {
    return count > limit ? count - limit : 0;
}

static __device__ __forceinline__ uint32_t sum_excess(const uint32_t *counts, uint32_t limit,
                                                      uint32_t *totals) {
    uint32_t excess = 0;
#pragma unroll 4
    for (uint32_t bin = 4 * threadIdx.x; bin < BINS16; bin += 4 * TABLE16_THREADS) {
        const uint4 four = __ldcg((const uint4 *)(counts + bin));
        excess += over_limit(four.x, limit) + over_limit(four.y, limit) +
                  over_limit(four.z, limit) + over_limit(four.w, limit);
    }
    return block_scan<TABLE16_THREADS>(excess, totals).all;
}

/* Sets GRID for the pixels that were counted; where there are none, counts the background. */
template <class K>
static __device__ __forceinline__ void see16(const struct clahe_batch &batch,
                                             const struct clahe_picture &picture, uint32_t *counts,
                                             uint32_t *totals, struct clahe_grid &grid) {
    const uint32_t pixels = sum_excess(counts, 0, totals);
    const uint32_t none = clahe_see<K>(batch, picture, pixels, grid);
    if (!pixels && threadIdx.x == none / 4 % TABLE16_THREADS)
        __stcg(counts + none, grid.x.tile * grid.y.tile);
    __syncthreads();
}

/* Four bins a thread at a time; SUM is that of all bins before. Leaves zeros. */
static __device__ __forceinline__ void
write_table16(const struct clahe_grid &grid, uint32_t *counts, uint16_t *table, uint32_t *totals) {
    const uint32_t limit = grid.limit ? grid.limit : UINT32_MAX;
    const uint32_t excess = grid.limit ? sum_excess(counts, limit, totals) : 0;
    const struct clahe_share share = clahe_share_of(excess, BINS16);
    uint32_t sum = 0;
    for (uint32_t bin = 4 * threadIdx.x; bin < BINS16; bin += 4 * TABLE16_THREADS) {
        uint32_t kept[4], levels[4];
        unpack_vector(kept, __ldcg((const uint4 *)(counts + bin)));
        __stcg((uint4 *)(counts + bin), make_uint4(0, 0, 0, 0));
#pragma unroll
        for (int i = 0; i < 4; i++) kept[i] = min(kept[i], limit) + (i ? kept[i - 1] : 0);
        const struct block_sums sums = block_scan<TABLE16_THREADS>(kept[3], totals);
        const uint32_t before = sum + sums.upto - kept[3];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t given = grid.limit ? clahe_shared_upto(share, bin + i) : 0;
            levels[i] = (uint32_t)clahe_level(before + kept[i] + given, grid.scale, 65535);
        }
        *(uint2 *)(table + bin) =
            make_uint2(levels[0] | levels[1] << 16, levels[2] | levels[3] << 16);
        sum += sums.all;
    }
}

template <class K>
static __global__ void __launch_bounds__(TABLE16_THREADS)
    clahe_table16_kernel(const __grid_constant__ struct clahe_batch batch) {
    __shared__ uint32_t totals[TABLE16_THREADS / 32];
    const uint32_t end = batch.tables_made * batch.parts;
    for (uint32_t number = blockIdx.x; number < end; number += gridDim.x) {
        const struct clahe_picture &picture = clahe_find(batch, &clahe_picture::first_part, number);
        struct clahe_grid grid = clahe_picture_grid(batch, picture, 65535);
        const struct clahe_tile tile = clahe_tile_of(batch, picture, grid, number);
        const uint32_t place = batch.parts > 1 ? tile.table : blockIdx.x;
        uint32_t *counts = batch.counts + (uint64_t)place * BINS16;
        count_area<K, TABLE16_THREADS>(picture, tile.area,
                                       [=](uint32_t value) { atomicAdd(counts + value, 1u); });
        __syncthreads();
        if (batch.parts > 1 && !clahe_is_last(batch.tickets + tile.table, batch.parts)) continue;
        if constexpr (K::ALPHA) see16<K>(batch, picture, counts, totals, grid);
        write_table16(grid, counts,
                      (uint16_t *)clahe_table<16>(batch, picture, grid, tile.column, tile.row),
                      totals);
        __syncthreads();
    }
}

#endif
