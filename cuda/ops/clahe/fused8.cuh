// SPDX-License-Identifier: Apache-2.0
/* fused8.cuh - the kernel that makes tables of 8-bit samples and looks them up, for one picture.
 *
 * Used by:  cuda/ops/clahe.cu.
 * Fails:    with spin_limit.cuh's trap, if a tile's counts never become complete.
 * Threads:  all blocks run at once (cooperative.cuh).
 * Limits:   FUSED_TILES tiles a side; every tile and every cell has samples of the image
 *           (fused8_fits). 8 tiles are 256 regions, for which a GPU needs 128 multiprocessors: an
 *           A100 (108) or an L4 (58) does them in two launches.
 * Source:   PTX ISA, chapter Memory Consistency Model: the names in quotes are its sections.
 *
 * How it works. Tiles and cells cut a side into halves of tiles: a region, a half across and a half
 * down, belongs to one tile and to one cell. So a block counts a region, or some of its rows, adds
 * its counts to those of the tile in global memory and waits for those of its cell's four tiles. It
 * makes their tables in shared memory, a warp each, and goes over its samples again.
 * A tile's counts are their own barrier: they are complete when they sum to its pixels. A warp that
 * has read them draws a ticket; the warp with the last ticket clears them.
 *
 * This is well defined, although every access to counts and tickets is relaxed:
 * - They are accessed only by 32-bit relaxed operations of gpu scope; a vector access is several
 *   scalar ones ("Vector Data-types"). So all are "Morally Strong", and there is no data race.
 * - Until it is cleared a count only grows, and no addition is lost ("Atomicity"). A read that sums
 *   to the tile's pixels has the final count of every bin, since any other value of a bin, 0 after
 *   the clearing included, is less. The counts publish only themselves: no order among them is
 *   needed, no acquire, no release.
 * - A warp draws its ticket only if its read found that sum, so the last ticket proves that all
 *   reads did. These are not ordered before the clearing in "Causality Order", since a relaxed
 *   ticket does not synchronize; but a read that found the sum depends on no such order, and no
 *   read is still to come.
 * - A lane clears the bins that it has read itself: it observed all additions to them, so by
 *   "Coherence" none is applied to a cleared count.
 * - The next kernel of the stream begins when this one has ended. No other kernel has these words.
 * No fence is needed, and so the first cache still has the samples when they are read again.
 */
#ifndef BURIN_CLAHE_FUSED8_CUH
#define BURIN_CLAHE_FUSED8_CUH

#include "cuda/ops/clahe/blend.cuh"
#include "cuda/ops/clahe/table8.cuh"
#include "cuda/spin_limit.cuh"

enum {
    FUSED_THREADS = 512,
    FUSED_TILES = 8, /* of a side */
    FUSED_HALVES = 2 * FUSED_TILES,
    FUSED_REGIONS = 4, /* of a tile */
    /* Warps that read a tile's counts, if regions are not shared: one for each of four halves
     * across, two at a border, and as many down. */
    FUSED_TICKETS = 16,
    FUSED_STUCK = 1, /* spin_limit.cuh's WHERE */
};

/* Blocks of a multiprocessor. That of 7.5 has 64 KB of shared memory, room for one. */
static constexpr int fused8_blocks(int capability) {
    return capability < 80 ? 1 : 2;
}

#ifdef __CUDA_ARCH__
enum { FUSED_BLOCKS = fused8_blocks(__CUDA_ARCH__ / 10) };
#else
enum { FUSED_BLOCKS = 1 }; /* not used on the host */
#endif

struct clahe_fused {
    struct clahe_picture picture;
    struct clahe_grid grid;
    uint32_t parts;                                             /* blocks of a region */
    uint32_t *counts;                                           /* BINS8 a tile */
    uint32_t *tickets;                                          /* drawn, a word a tile */
    uint32_t columns[FUSED_HALVES + 1], rows[FUSED_HALVES + 1]; /* first samples of the halves */
};

/* A block's work. */
struct fused_region {
    struct clahe_area area; /* to be counted; its part beyond the image is not looked up */
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

/* Tiles of the cell: left and right above, left and right below. */
static __device__ __forceinline__ uint32_t fused_tile(const struct clahe_fused &fused,
                                                      const struct fused_region &region,
                                                      uint32_t which) {
    const uint32_t x = which & 1 ? clahe_second_tile(region.column, fused.grid.x.of)
                                 : clahe_first_tile(region.column);
    const uint32_t y =
        which & 2 ? clahe_second_tile(region.row, fused.grid.y.of) : clahe_first_tile(region.row);
    return y * fused.grid.x.of + x;
}

/* ---- counts */

/* Adds all samples of the block's region to the tile's counts. */
template <class K>
static __device__ __forceinline__ void
fused_count(const struct clahe_fused &fused, const struct fused_region &region, uint4 *counters) {
    const uint32_t column = shared_address(counters) + threadIdx.x % COPIES8 * 4;
    count_area<K, FUSED_THREADS>(fused.picture, region.area, [=](uint32_t value) {
        shared_increment(column + 4 * COPIES8 * value);
    });
    __syncthreads();
    const uint32_t own = sum_copies((const uint32_t *)counters);
    if (own) atomicAdd(fused.counts + region.tile * BINS8 + threadIdx.x, own);
}

/* Loads four counts, 16-byte aligned. */
static __device__ __forceinline__ void load_counts(const uint32_t *from, uint32_t *count) {
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(count[0]), "=r"(count[1]), "=r"(count[2]), "=r"(count[3])
                 : "l"(from)
                 : "memory");
}

static __device__ __forceinline__ void clear_counts(uint32_t *to) {
    asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(to), "r"(0)
                 : "memory");
}

/* Called by a warp: waits until a tile's COUNTS sum to its PIXELS; then each lane has eight
 * bins. */
static __device__ __forceinline__ void fused_look(uint32_t (&count)[8], const uint32_t *counts,
                                                  uint32_t pixels) {
    const uint32_t *const from = counts + threadIdx.x % 32 * 8;
    spin_until(
        FUSED_STUCK,
        [&] {
            uint32_t sum = 0;
            load_counts(from, count);
            load_counts(from + 4, count + 4);
#pragma unroll
            for (int i = 0; i < 8; i++) sum += count[i];
            return warp_sum(sum) == pixels;
        },
        LOOKS_MAX);
}

/* Called by a warp that has read TILE. Returns its ticket in lane 0, from 1 on. */
static __device__ __forceinline__ uint32_t fused_draw(const struct clahe_fused &fused,
                                                      uint32_t tile) {
    __syncwarp(); /* the other lanes' reads come first: shuffles order no memory */
    return threadIdx.x % 32 == 0 ? atomicAdd(fused.tickets + tile, 1u) + 1 : 0;
}

/* The last reader of TILE clears its counts. There was a barrier after the TICKET was drawn. */
static __device__ __forceinline__ void fused_clear(const struct clahe_fused &fused, uint32_t tile,
                                                   uint32_t ticket) {
    const uint32_t lane = threadIdx.x % 32;
    uint32_t *const counts = fused.counts + tile * BINS8 + lane * 8;
    if (__shfl_sync(~0u, ticket, 0) != FUSED_TICKETS * fused.parts) return;
    clear_counts(counts);
    clear_counts(counts + 4);
    if (lane == 0)
        asm volatile("st.relaxed.gpu.global.u32 [%0], 0;" ::"l"(fused.tickets + tile) : "memory");
}

/* A warp's COUNTs of a tile become byte WHICH of the cell's words. */
static __device__ __forceinline__ void fused_table(const struct clahe_grid &grid,
                                                   const uint32_t (&count)[8], uint8_t *joined,
                                                   uint32_t which) {
    const uint32_t first = threadIdx.x % 32 * 8;
    uint32_t upto[8], excess = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const uint32_t kept = clip8(grid, count[i]);
        upto[i] = kept + (i ? upto[i - 1] : 0);
        excess += count[i] - kept;
    }
    const uint32_t before = warp_scan(upto[7]) - upto[7];
    const struct clahe_share share = clahe_share_of(warp_sum(excess), BINS8);
#pragma unroll
    for (int i = 0; i < 8; i++)
        joined[4 * (first + i) + which] = level8(grid, share, first + i, before + upto[i]);
}

/* ---- the kernel */

template <class K>
static __global__ void __launch_bounds__(FUSED_THREADS, FUSED_BLOCKS)
    clahe_fused8_kernel(const __grid_constant__ struct clahe_fused fused) {
    __shared__ struct fused_shared<K> shared;
    const struct fused_region region = fused_region_of(fused);
    const uint32_t warp = threadIdx.x / 32;
    uint32_t tile = 0, ticket = 0; /* of the first four warps */
    for (unsigned i = threadIdx.x; i < BINS8 * COPIES8 / 4; i += FUSED_THREADS)
        shared.counters[i] = make_uint4(0, 0, 0, 0);
    if (threadIdx.x == 0) fused_strip(shared.blend.strip, fused, region);
    blend_reciprocals<K>(shared.blend);
    __syncthreads();
    fused_count<K>(fused, region, shared.counters);
    if (warp < 4) {
        uint32_t count[8];
        tile = fused_tile(fused, region, warp);
        fused_look(count, fused.counts + tile * BINS8, fused.grid.x.tile * fused.grid.y.tile);
        ticket = fused_draw(fused, tile);
        fused_table(fused.grid, count, (uint8_t *)shared.blend.joined, warp);
    }
    __syncthreads();
    blend_strip<K, FUSED_THREADS>(fused.picture, shared.blend);
    if (warp < 4) fused_clear(fused, tile, ticket);
}

/* ---- on the host */

/* Whether the kernel's regions fit GRID. Both sides have the same number of tiles, X->OF. */
static inline bool fused8_fits(const struct clahe_grid *grid) {
    const struct clahe_side *x = &grid->x, *y = &grid->y;
    return x->of <= FUSED_TILES && x->cells == x->of + 1 && y->cells == y->of + 1;
}

/* The padding ends with the last half. */
static inline void fused8_halves(uint32_t *starts, const struct clahe_side *side) {
    for (uint32_t half = 0; half <= 2 * side->of; half++)
        starts[half] = half % 2 ? clahe_cell_start(side, half / 2 + 1) : half / 2 * side->tile;
}

#endif
