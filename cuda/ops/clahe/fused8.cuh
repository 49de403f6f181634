// SPDX-License-Identifier: Apache-2.0
/* fused8.cuh - the kernel that makes tables of 8-bit samples and looks them up, of one picture.
 *
 * Used by:  cuda/ops/clahe.cu, where all of its blocks run at once.
 * Fails:    spin_limit.cuh's trap, if a tile's counts never become complete.
 * Limits:   FUSED_TILES_LEAST to FUSED_TILES a side; every tile and every cell has samples of the
 *           image (fused8_fits).
 *
 * How it works. Tiles and cells cut a side into halves of tiles: a region, a half across and a half
 * down, belongs to one tile and to one cell. So a block counts a region, or some of its rows, adds
 * its counts to those of the tile in global memory and waits for those of its cell's four tiles. It
 * makes their tables in shared memory, a warp each, and goes over its samples again.
 * A tile's counts are their own barrier: nothing is missing when they sum to its pixels. The last
 * warp that has looked at them leaves zeros behind; a ticket tells which. Every access to them and
 * to the tickets is relaxed and of one size: why that is well defined, histeq/counters8.cuh says.
 * No fence is needed, and so the first cache still has the samples when they are read again.
 */
#ifndef BURIN_CLAHE_FUSED8_CUH
#define BURIN_CLAHE_FUSED8_CUH

#include "cuda/ops/clahe/blend.cuh"
#include "cuda/ops/clahe/table8.cuh"
#include "cuda/spin_limit.cuh"

enum {
    FUSED_THREADS = 512,
    FUSED_BLOCKS = 2, /* on a multiprocessor */
    FUSED_TILES = 8,  /* a side: 256 regions, which an H200's 132 multiprocessors have at once */
    /* Of fewer tiles so many blocks share one that they stand in one another's way: on an H200 4K
     * of one tile took 42 us, in two launches 39. */
    FUSED_TILES_LEAST = 4,
    FUSED_HALVES = 2 * FUSED_TILES,
    FUSED_REGIONS = 4, /* of a tile */
    /* Warps that look at a tile's counts, if regions are not shared: each of four halves across
     * does, those at a border twice, and as many down. */
    FUSED_LOOKS = 16,
};

struct clahe_fused {
    struct clahe_picture picture;
    struct clahe_grid grid;
    uint32_t parts;                                             /* blocks of a region */
    uint32_t *counts;                                           /* BINS8 a tile */
    uint32_t *looks;                                            /* tickets, one a tile */
    uint32_t columns[FUSED_HALVES + 1], rows[FUSED_HALVES + 1]; /* where halves begin */
};

/* What a block has to do. */
struct fused_region {
    struct clahe_area area; /* to be counted; what is beyond the image is not looked up */
    uint32_t tile;
    uint32_t column, row; /* of cells */
};

template <class K> struct fused_shared {
    uint4 counters[BINS8 * COPIES8 / 4];
    struct blend_shared<K> blend;
};

static __device__ __forceinline__ struct fused_region
fused_region_of(const struct clahe_fused &fused) {
    const uint32_t number = blockIdx.x / fused.parts, part = blockIdx.x % fused.parts;
    const uint32_t across = number % (2 * fused.grid.x.of), down = number / (2 * fused.grid.x.of);
    const uint32_t top = fused.rows[down], rows = fused.rows[down + 1] - top;
    struct fused_region region;
    region.area.left = fused.columns[across];
    region.area.right = fused.columns[across + 1];
    region.area.top = top + rows * part / fused.parts;
    region.area.bottom = top + rows * (part + 1) / fused.parts;
    region.tile = down / 2 * fused.grid.x.of + across / 2;
    region.column = (across + 1) / 2;
    region.row = (down + 1) / 2;
    return region;
}

static __device__ __forceinline__ void fused_strip(struct cell_strip &strip,
                                                   const struct clahe_fused &fused,
                                                   const struct fused_region &region) {
    strip.left = region.area.left;
    strip.right = min(region.area.right, fused.grid.x.length);
    strip.top = region.area.top;
    strip.bottom = min(region.area.bottom, fused.grid.y.length);
    strip.across = fused.grid.x.inverse;
    strip.down = fused.grid.y.inverse;
    strip.row = (float)region.row - 1;
}

/* Of the cell: left and right above, left and right below. */
static __device__ __forceinline__ uint32_t fused_tile(const struct clahe_fused &fused,
                                                      const struct fused_region &region,
                                                      uint32_t which) {
    const uint32_t x = which & 1 ? clahe_second_tile(region.column, fused.grid.x.of)
                                 : clahe_first_tile(region.column);
    const uint32_t y =
        which & 2 ? clahe_second_tile(region.row, fused.grid.y.of) : clahe_first_tile(region.row);
    return y * fused.grid.x.of + x;
}

/* ---- tables */

/* Four counts, 16-byte aligned. */
static __device__ __forceinline__ void load_counts(const uint32_t *from, uint32_t *count) {
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(count[0]), "=r"(count[1]), "=r"(count[2]), "=r"(count[3])
                 : "l"(from));
}

static __device__ __forceinline__ void clear_counts(uint32_t *to) {
    asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(to), "r"(0)
                 : "memory");
}

/* Sum over the warp's lanes up to this one. */
static __device__ __forceinline__ uint32_t warp_scan(uint32_t own) {
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
        const uint32_t left = __shfl_up_sync(~0u, own, step);
        if (threadIdx.x % 32 >= step) own += left;
    }
    return own;
}

static __device__ __forceinline__ uint32_t warp_sum(uint32_t own) {
#pragma unroll
    for (unsigned step = 16; step; step /= 2) own += __shfl_xor_sync(~0u, own, step);
    return own;
}

/* A warp waits until COUNTS have all of a tile's PIXELS; then a lane has those of eight bins. */
static __device__ __forceinline__ void fused_look(uint32_t (&count)[8], const uint32_t *counts,
                                                  uint32_t pixels) {
    const uint32_t *const from = counts + threadIdx.x % 32 * 8;
    spin_until(0, [&] {
        uint32_t sum = 0;
        load_counts(from, count);
        load_counts(from + 4, count + 4);
#pragma unroll
        for (int i = 0; i < 8; i++) sum += count[i];
        return warp_sum(sum) == pixels;
    });
}

/* A warp's COUNTs of a tile become byte WHICH of the cell's words. */
static __device__ __forceinline__ void fused_table(const struct clahe_grid &grid,
                                                   const uint32_t (&count)[8], uint8_t *joined,
                                                   uint32_t which) {
    const uint32_t limit = grid.limit ? grid.limit : UINT32_MAX, first = threadIdx.x % 32 * 8;
    uint32_t upto[8], excess = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        upto[i] = min(count[i], limit) + (i ? upto[i - 1] : 0);
        excess += count[i] - min(count[i], limit);
    }
    const uint32_t before = warp_scan(upto[7]) - upto[7];
    const struct clahe_share share = clahe_share_of(warp_sum(excess), BINS8);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const uint32_t given = grid.limit ? clahe_shared_upto(share, first + i) : 0;
        joined[4 * (first + i) + which] =
            (uint8_t)clahe_level(before + upto[i] + given, grid.scale, 255);
    }
}

/* ---- the kernel */

template <class K>
static __global__ void __launch_bounds__(FUSED_THREADS, FUSED_BLOCKS)
    clahe_fused8_kernel(const __grid_constant__ struct clahe_fused fused) {
    __shared__ struct fused_shared<K> shared;
    const struct fused_region region = fused_region_of(fused);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t tile = fused_tile(fused, region, warp);
    uint32_t *const looked = fused.counts + tile * BINS8;
    uint32_t looks = 0;
    for (unsigned i = threadIdx.x; i < BINS8 * COPIES8 / 4; i += FUSED_THREADS)
        shared.counters[i] = make_uint4(0, 0, 0, 0);
    if (threadIdx.x == 0) fused_strip(shared.blend.strip, fused, region);
    blend_reciprocals<K>(shared.blend);
    __syncthreads();
    const uint32_t column = shared_address(shared.counters) + lane % COPIES8 * 4;
    count_area<K, FUSED_THREADS>(fused.picture, region.area, [=](uint32_t value) {
        shared_increment(column + 4 * COPIES8 * value);
    });
    __syncthreads();
    const uint32_t own = sum_copies((const uint32_t *)shared.counters);
    if (own) atomicAdd(fused.counts + region.tile * BINS8 + threadIdx.x, own);
    if (warp < 4) {
        uint32_t count[8];
        fused_look(count, looked, fused.grid.x.tile * fused.grid.y.tile);
        if (lane == 0) looks = atomicAdd(fused.looks + tile, 1u) + 1;
        fused_table(fused.grid, count, (uint8_t *)shared.blend.joined, warp);
    }
    __syncthreads();
    blend_strip<K, FUSED_THREADS>(fused.picture, shared.blend);
    if (warp < 4 && __shfl_sync(~0u, looks, 0) == FUSED_LOOKS * fused.parts) {
        clear_counts(looked + lane * 8);
        clear_counts(looked + lane * 8 + 4);
        if (lane == 0) fused.looks[tile] = 0;
    }
}

/* ---- on the host */

/* Whether it does GRID with so many blocks at once. */
static inline bool fused8_fits(const struct clahe_grid *grid, uint32_t blocks) {
    const struct clahe_side *x = &grid->x, *y = &grid->y;
    return x->of >= FUSED_TILES_LEAST && x->of <= FUSED_TILES && x->cells == x->of + 1 &&
           y->cells == y->of + 1 && FUSED_REGIONS * x->of * y->of <= blocks;
}

/* Behind the last half the padding ends. */
static inline void fused8_halves(uint32_t *starts, const struct clahe_side *side) {
    for (uint32_t half = 0; half <= 2 * side->of; half++)
        starts[half] = half % 2 ? clahe_cell_start(side, half / 2 + 1) : half / 2 * side->tile;
}

#endif
