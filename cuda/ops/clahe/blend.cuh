// SPDX-License-Identifier: Apache-2.0
/* blend.cuh - the kernel that looks samples up in the tables around them.
 *
 * Used by:  cuda/ops/clahe.cu.
 *
 * How it works. A block has up to CLAHE_STRIP_ROWS rows of a cell, whose four tables are the same
 * for all of its samples. Of 8 bits the four levels of a value are put into one word of shared
 * memory, so that a sample is one look-up; tables of 16 bits stay where they are. A thread takes
 * four pixels that begin at a multiple of four: those of other cells are left alone.
 */
#ifndef BURIN_CLAHE_BLEND_CUH
#define BURIN_CLAHE_BLEND_CUH

#include "cuda/ops/clahe/pixels.cuh"

enum { BLEND_THREADS = 256 };

/* The tables of a cell: left and right above, left and right below. */
struct cell_tables {
    const uint8_t *table[4];
};

struct cell_levels {
    int32_t level[4];
};

/* The rows of a cell that a block has. */
struct cell_strip {
    struct cell_tables tables;
    uint32_t left, right, top, bottom; /* ends exclusive */
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
    return strip;
}

template <int DEPTH>
static __device__ __forceinline__ struct cell_levels
look_up(const struct cell_tables &tables, const uint32_t *joined, uint32_t value) {
    struct cell_levels levels;
    const uint32_t word = DEPTH == 8 ? joined[value] : 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
        levels.level[i] = (int32_t)(DEPTH == 8 ? __byte_perm(word, 0, 0x4440 + i)
                                               : __ldg((const uint16_t *)tables.table[i] + value));
    return levels;
}

/* Four pixels from X on, of which those of the strip are written. */
template <class K>
static __device__ __forceinline__ void
blend_four(const struct clahe_picture &picture, const struct clahe_grid &grid,
           const struct cell_strip &strip, const uint32_t *joined, uint32_t x, uint32_t y,
           bool aligned) {
    const float lower = clahe_place_of(y, grid.y.inverse).second;
    uint32_t words[K::PIXEL];
    clahe_load<K>(words, picture.in + (uint64_t)y * picture.in_stride, x,
                  min(4u, picture.width - x), aligned);
#pragma unroll
    for (int p = 0; p < 4; p++) {
        const uint32_t value = clahe_value<K>(words, p, picture.channel);
        const struct cell_levels at = look_up<K::DEPTH>(strip.tables, joined, value);
        const float right = clahe_place_of(x + p, grid.x.inverse).second;
        const int32_t level =
            clahe_mix(at.level[0], at.level[1], at.level[2], at.level[3], right, lower, K::MAX);
        clahe_set<K>(words, p, value, (uint32_t)level, picture.channel);
    }
    clahe_store<K>(words, picture.out + (uint64_t)y * picture.out_stride + x * K::PIXEL,
                   x < strip.left ? strip.left - x : 0, min(4u, strip.right - x), aligned,
                   picture.channel);
}

template <class K>
static __global__ void __launch_bounds__(BLEND_THREADS)
    clahe_blend_kernel(const __grid_constant__ struct clahe_batch batch) {
    __shared__ uint32_t joined[K::DEPTH == 8 ? 256 : 1];
    const struct clahe_picture &picture =
        clahe_find(batch, &clahe_picture::first_strip, blockIdx.x);
    const struct clahe_grid grid = clahe_picture_grid(batch, picture, K::MAX);
    const struct cell_strip strip = cell_strip_of<K::DEPTH>(batch, picture, grid, blockIdx.x);
    if (strip.top >= strip.bottom || strip.left >= strip.right) return;
    if (K::DEPTH == 8) {
        uint32_t word = 0;
#pragma unroll
        for (int i = 0; i < 4; i++) word |= (uint32_t)strip.tables.table[i][threadIdx.x] << 8 * i;
        joined[threadIdx.x] = word;
        __syncthreads();
    }
    const bool aligned =
        (((uintptr_t)picture.in | (uintptr_t)picture.out | picture.in_stride | picture.out_stride) &
         3) == 0;
    const uint32_t start = strip.left & ~3u, fours = (strip.right - start + 3) / 4;
    const uint32_t rows = BLEND_THREADS / fours, rest = BLEND_THREADS % fours;
    uint32_t y = strip.top + threadIdx.x / fours, four = threadIdx.x % fours;
    while (y < strip.bottom) {
        blend_four<K>(picture, grid, strip, joined, start + 4 * four, y, aligned);
        y += rows, four += rest;
        if (four >= fours) y++, four -= fours;
    }
}

#endif
