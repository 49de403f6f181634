// SPDX-License-Identifier: Apache-2.0
/* blend.cuh - the kernel that looks samples up in the tables around them.
 *
 * Used by:  cuda/ops/clahe.cu, fused8.cuh.
 *
 * How it works. A block has up to CLAHE_STRIP_ROWS rows of a cell, with the same four tables for
 * all samples. With 8 bits the four levels of a value are joined in one word of shared memory, so
 * that a sample is one look-up; tables of 16 bits stay in global memory. A thread takes four pixels
 * that begin at a multiple of four, skips those of other cells, and goes down: their weights stay
 * in registers. One warp finds the block's part for all, since that takes as long as several
 * pixels.
 */
#ifndef BURIN_CLAHE_BLEND_CUH
#define BURIN_CLAHE_BLEND_CUH

#include "cuda/ops/clahe/pixels.cuh"

#include <stdint.h>

enum { BLEND_THREADS = 256 };
/* Blocks on a multiprocessor. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
enum { BLEND_BLOCKS = 4 };
#else
enum { BLEND_BLOCKS = 5 };
#endif

/* ---- a block's threads as columns and rows, so that each goes straight down. There are at least
 * four rows of threads, so that at most a fifth of the threads are in none. Wider parts take
 * several turns. In the last turn, and where the part's rows are no multiple of the threads', other
 * threads are idle too. */

struct column_walk {
    uint32_t columns, rows; /* of threads */
    uint32_t first, end;    /* this thread's first column; `end` where it has none */
    uint32_t row;
};

template <int THREADS>
static __device__ __forceinline__ struct column_walk column_walk_of(uint32_t count) {
    constexpr uint32_t MOST = THREADS / 4;
    const uint32_t turns = (count + MOST - 1) / MOST;
    struct column_walk walk;
    walk.columns = turns > 1 ? (count + turns - 1) / turns : count;
    walk.rows = THREADS / walk.columns;
    walk.row = threadIdx.x / walk.columns;
    walk.end = count;
    walk.first = walk.row < walk.rows ? threadIdx.x - walk.row * walk.columns : count;
    return walk;
}

/* ---- cells */

/* The tables of a cell: left and right above, left and right below. */
struct cell_tables {
    const uint8_t *table[4];
};

/* A block's part of a cell. */
struct cell_strip {
    struct cell_tables tables;
    uint32_t left, right, top, bottom; /* ends exclusive */
    float across, down;                /* 1 / side of a tile */
    float row;                         /* of cells, less one */
};

/* Shared by the threads of a block. */
template <class K> struct blend_shared {
    struct cell_strip strip;
    uint32_t joined[K::DEPTH == 8 ? 256 : 1];
    float reciprocals[K::RATIO8 ? 256 : 1]; /* of values */
};

template <int DEPTH>
static __device__ __forceinline__ struct cell_tables
cell_tables_of(const struct clahe_batch &batch, const struct clahe_picture &picture,
               const struct clahe_grid &grid, uint32_t column, uint32_t row) {
    const uint32_t x[2] = { clahe_first_tile(column), clahe_second_tile(column, grid.x.of) },
                   y[2] = { clahe_first_tile(row), clahe_second_tile(row, grid.y.of) };
    struct cell_tables tables;
#pragma unroll
    for (int i = 0; i < 4; i++)
        tables.table[i] = clahe_table<DEPTH>(batch, picture, grid, x[i % 2], y[i / 2]);
    return tables;
}

/* Strip NUMBER of the launch. */
template <int DEPTH>
static __device__ __forceinline__ struct cell_strip
cell_strip_of(const struct clahe_batch &batch, const struct clahe_picture &picture,
              const struct clahe_grid &grid, uint32_t number) {
    const uint32_t place = number - picture.first_strip, strips = clahe_cell_strips(&grid);
    const uint32_t column = place / strips % grid.x.cells,
                   row = batch.first_row + place / strips / grid.x.cells;
    struct cell_strip strip;
    strip.tables = cell_tables_of<DEPTH>(batch, picture, grid, column, row);
    strip.left = clahe_cell_start(&grid.x, column);
    strip.right = clahe_cell_start(&grid.x, column + 1);
    strip.top = clahe_cell_start(&grid.y, row) + place % strips * CLAHE_STRIP_ROWS;
    strip.bottom = min(clahe_cell_start(&grid.y, row + 1), strip.top + CLAHE_STRIP_ROWS);
    strip.across = grid.x.inverse;
    strip.down = grid.y.inverse;
    strip.row = (float)row - 1;
    return strip;
}

/* The four levels of VALUE, each as mix_levels() takes it. */
template <class K>
static __device__ __forceinline__ void
look_up(uint32_t (&levels)[4], const struct blend_shared<K> &shared, uint32_t value) {
    const uint32_t word = K::DEPTH == 8 ? shared.joined[value] : 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
        levels[i] = K::DEPTH == 8
                        ? mix_byte(word, i)
                        : mix_short(__ldg((const uint16_t *)shared.strip.tables.table[i] + value));
}

template <class K>
static __device__ __forceinline__ void
blend_words(uint32_t (&words)[K::PIXEL], const struct blend_shared<K> &shared,
            const struct mix_weights (&across)[4], float lower, uint32_t channel) {
    const float upper = 1.0f - lower;
#pragma unroll
    for (int p = 0; p < 4; p++) {
        const uint32_t value = clahe_value<K>(words, p, channel);
        uint32_t levels[4];
        look_up<K>(levels, shared, value);
        const float reciprocal = K::RATIO8 ? shared.reciprocals[value] : 0;
        clahe_set<K>(words, p, value, mix_levels(levels, across[p], upper, lower), reciprocal,
                     channel);
    }
}

/* clahe_place_of() for a row of the strip, whose cell is known. */
static __device__ __forceinline__ float blend_lower(const struct cell_strip &strip, uint32_t y) {
    return (float)y * strip.down - 0.5f - strip.row;
}

/* Four adjacent pixels in all rows: the strip's pixels among them, and their weights. */
struct blend_four {
    uint32_t x, first, end; /* column of the first; pixels `first` to `end` - 1 are written */
    uint32_t pixels;        /* of the row from X on */
    bool aligned;
    struct mix_weights across[4];
};

/* Rows TOP, TOP + STEP and so on. WHOLE: all four are the strip's, and aligned. */
template <class K, bool WHOLE>
static __device__ __forceinline__ void
blend_rows(const struct clahe_picture &picture, const struct blend_shared<K> &shared,
           const struct blend_four &four, uint32_t top, uint32_t step) {
    constexpr int ROWS = K::PIXEL == 1 ? 4 : K::PIXEL < 4 ? 2 : 1; /* under way together */
    const struct cell_strip &strip = shared.strip;
    const uint32_t channel = picture.channel, bottom = strip.bottom;
    for (uint32_t y = top; y < bottom; y += ROWS * step) {
        uint32_t words[ROWS][K::PIXEL];
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            if (y + r * step < bottom)
                clahe_load<K>(words[r], picture.in + (uint64_t)(y + r * step) * picture.in_stride,
                              four.x, WHOLE ? 4 : four.pixels, WHOLE || four.aligned);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const uint32_t line = y + r * step;
            if (line >= bottom) break;
            blend_words<K>(words[r], shared, four.across, blend_lower(strip, line), channel);
            clahe_store<K>(
                words[r], picture.out + (uint64_t)line * picture.out_stride + four.x * K::PIXEL,
                WHOLE ? 0 : four.first, WHOLE ? 4 : four.end, WHOLE || four.aligned, channel);
        }
    }
}

template <class K>
static __device__ __forceinline__ void
blend_column(const struct clahe_picture &picture, const struct blend_shared<K> &shared, uint32_t x,
             uint32_t top, uint32_t step, bool aligned) {
    const struct cell_strip &strip = shared.strip;
    struct blend_four four = { x, x < strip.left ? strip.left - x : 0, min(4u, strip.right - x),
                               min(4u, picture.width - x), aligned };
#pragma unroll
    for (int p = 0; p < 4; p++)
        four.across[p] = mix_weights_of(clahe_place_of(x + p, strip.across).second);
    /* Two versions make the kernel longer, and pixels of four bytes slower: RGBA of 1080p took 11.1
     * instead of 9.8 us an image in batches of 32 on an H200. */
    if (K::PIXEL < 4 && aligned && four.first == 0 && four.end == 4)
        blend_rows<K, true>(picture, shared, four, top, step);
    else
        blend_rows<K, false>(picture, shared, four, top, step);
}

/* The strip's pixels, once its tables are in shared memory. */
template <class K, int THREADS>
static __device__ __forceinline__ void blend_strip(const struct clahe_picture &picture,
                                                   const struct blend_shared<K> &shared) {
    const struct cell_strip &strip = shared.strip;
    const bool aligned =
        (((uintptr_t)picture.in | (uintptr_t)picture.out | picture.in_stride | picture.out_stride) &
         3) == 0;
    const uint32_t start = strip.left & ~3u;
    const struct column_walk walk = column_walk_of<THREADS>((strip.right - start + 3) / 4);
    for (uint32_t four = walk.first; four < walk.end; four += walk.columns)
        blend_column<K>(picture, shared, start + 4 * four, strip.top + walk.row, walk.rows,
                        aligned);
}

/* Called by the first warp: finds the block's part. */
template <class K>
static __device__ __forceinline__ void blend_begin(struct blend_shared<K> &shared,
                                                   const struct clahe_batch &batch,
                                                   const struct clahe_picture &picture) {
    const struct clahe_grid grid = clahe_picture_grid(batch, picture, K::MAX);
    const struct cell_strip strip = cell_strip_of<K::DEPTH>(batch, picture, grid, blockIdx.x);
    if (threadIdx.x == 0) shared.strip = strip;
}

/* Reciprocals of the values that clahe_scaled8 divides by. */
template <class K>
static __device__ __forceinline__ void blend_reciprocals(struct blend_shared<K> &shared) {
    if (K::RATIO8 && threadIdx.x < 256) shared.reciprocals[threadIdx.x] = 1.0f / (float)threadIdx.x;
}

/* Joins the tables, a value a thread, once they are there. */
template <class K>
static __device__ __forceinline__ void join_tables(struct blend_shared<K> &shared) {
    if (K::DEPTH == 16) return;
    uint32_t word = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
        word |= (uint32_t)shared.strip.tables.table[i][threadIdx.x] << 8 * i;
    shared.joined[threadIdx.x] = word;
    __syncthreads();
}

template <class K>
static __global__ void __launch_bounds__(BLEND_THREADS, K::PIXEL == 1 ? BLEND_BLOCKS : 1)
    clahe_blend_kernel(const __grid_constant__ struct clahe_batch batch) {
    __shared__ struct blend_shared<K> shared;
    const struct clahe_picture &picture =
        clahe_find(batch, &clahe_picture::first_strip, blockIdx.x);
    if (threadIdx.x < 32) blend_begin<K>(shared, batch, picture);
    blend_reciprocals<K>(shared);
    __syncthreads();
    const struct cell_strip &strip = shared.strip;
    if (strip.top >= strip.bottom || strip.left >= strip.right) return;
    join_tables<K>(shared);
    blend_strip<K, BLEND_THREADS>(picture, shared);
}

#endif
