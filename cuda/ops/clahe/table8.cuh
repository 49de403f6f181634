// SPDX-License-Identifier: Apache-2.0
/* table8.cuh - the kernel that makes tables of 8-bit samples: a block a tile, or several.
 *
 * Used by:  cuda/ops/clahe.cu, fused8.cuh.
 *
 * How it works. Each lane has a copy of each counter in its own bank, so that lanes never conflict.
 * Where a launch has fewer tiles than the GPU has room for, several blocks share one: they add
 * their counts in global memory, and the last makes the table and clears them.
 */
#ifndef BURIN_CLAHE_TABLE8_CUH
#define BURIN_CLAHE_TABLE8_CUH

#include "cuda/ops/clahe/count.cuh"

enum { TABLE8_THREADS = 512, BINS8 = 256, COPIES8 = 32 };

/* The first BINS8 threads sum all copies of a bin each, from different banks. */
static __device__ __forceinline__ uint32_t sum_copies(const uint32_t *counters) {
    if (threadIdx.x >= BINS8) return 0;
    uint32_t sum = 0;
#pragma unroll
    for (unsigned k = 0; k < COPIES8; k++)
        sum += counters[threadIdx.x * COPIES8 + (k + threadIdx.x) % COPIES8];
    return sum;
}

/* Adds the block's COUNTs of a table's bins to the others'. True for the last block, whose COUNTs
 * are then the totals. */
static __device__ __forceinline__ bool share_counts(const struct clahe_batch &batch, uint32_t table,
                                                    uint32_t *count) {
    uint32_t *shared = batch.counts + table * BINS8 + threadIdx.x;
    if (*count) atomicAdd(shared, *count);
    if (!clahe_is_last(batch.tickets + table, batch.parts)) return false;
    if (threadIdx.x >= BINS8) return true;
    *count = __ldcg(shared);
    __stcg(shared, 0u);
    return true;
}

/* COUNT, clipped. */
static __device__ __forceinline__ uint32_t clip8(const struct clahe_grid &grid, uint32_t count) {
    return grid.limit ? min(count, grid.limit) : count;
}

/* The level of BIN; SUM: of the clipped bins up to it. */
static __device__ __forceinline__ uint8_t level8(const struct clahe_grid &grid,
                                                 struct clahe_share share, uint32_t bin,
                                                 uint32_t sum) {
    const uint32_t given = grid.limit ? clahe_shared_upto(share, bin) : 0;
    return (uint8_t)clahe_level(sum + given, grid.scale, 255);
}

static __device__ __forceinline__ void write_table8(const struct clahe_grid &grid, uint32_t count,
                                                    uint8_t *table, uint32_t *totals) {
    const uint32_t kept = clip8(grid, count);
    const uint32_t excess = grid.limit ? block_scan<TABLE8_THREADS>(count - kept, totals).all : 0;
    const uint32_t sum = block_scan<TABLE8_THREADS>(kept, totals).upto;
    const struct clahe_share share = clahe_share_of(excess, BINS8);
    if (threadIdx.x < BINS8) table[threadIdx.x] = level8(grid, share, threadIdx.x, sum);
}

template <class K>
static __global__ void __launch_bounds__(TABLE8_THREADS)
    clahe_table8_kernel(const __grid_constant__ struct clahe_batch batch) {
    __shared__ uint4 cleared[BINS8 * COPIES8 / 4];
    __shared__ uint32_t totals[TABLE8_THREADS / 32];
    __shared__ struct clahe_grid grid;
    __shared__ struct clahe_tile tile;
    uint32_t *counters = (uint32_t *)cleared;
    const struct clahe_picture &picture = clahe_find(batch, &clahe_picture::first_part, blockIdx.x);
    if (threadIdx.x < 32) {
        const struct clahe_grid own = clahe_picture_grid(batch, picture, 255);
        const struct clahe_tile part = clahe_tile_of(batch, picture, own, blockIdx.x);
        if (threadIdx.x == 0) grid = own, tile = part;
    }
    for (unsigned i = threadIdx.x; i < BINS8 * COPIES8 / 4; i += TABLE8_THREADS)
        cleared[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    const uint32_t column = shared_address(counters + threadIdx.x % COPIES8);
    count_area<K, TABLE8_THREADS>(picture, tile.area, [=](uint32_t value) {
        shared_increment(column + 4 * COPIES8 * value);
    });
    __syncthreads();
    uint32_t count = sum_copies(counters);
    if (batch.parts > 1 && !share_counts(batch, tile.table, &count)) return;
    struct clahe_grid seen = grid;
    if constexpr (K::ALPHA) {
        const uint32_t pixels = block_scan<TABLE8_THREADS>(count, totals).all;
        const uint32_t none = clahe_see<K>(batch, picture, pixels, seen);
        if (!pixels && threadIdx.x == none) count = seen.x.tile * seen.y.tile;
    }
    write_table8(seen, count, clahe_table<8>(batch, picture, grid, tile.column, tile.row), totals);
}

#endif
