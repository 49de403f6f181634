// SPDX-License-Identifier: Apache-2.0
/* count.cuh - a block goes through its part of a tile; and the block that comes last.
 *
 * Used by:  table8.cuh, table16.cuh.
 *
 * How it works. PARTS blocks share a tile, each some of its rows; a thread takes four neighbouring
 * pixels at a time. What lies beyond the image is reflected: rows as a whole, columns one by one,
 * for there are never more than 64 of them.
 */
#ifndef BURIN_CLAHE_COUNT_CUH
#define BURIN_CLAHE_COUNT_CUH

#include "cuda/ops/clahe/pixels.cuh"

/* A tile of a picture, and the part of it that a block has. */
struct clahe_tile {
    const struct clahe_picture *picture;
    uint32_t column, row; /* of tiles */
    uint32_t table;       /* its number in this launch */
    uint32_t first, end;  /* rows of samples, counted from the tile's first one */
};

/* Part NUMBER of the launch. */
static __device__ __forceinline__ struct clahe_tile
clahe_tile_of(const struct clahe_batch &batch, const struct clahe_picture &picture,
              const struct clahe_grid &grid, uint32_t number) {
    struct clahe_tile tile;
    const uint32_t place = number - picture.first_part, part = place % batch.parts;
    tile.picture = &picture;
    tile.table = number / batch.parts;
    tile.column = place / batch.parts % grid.x.tiles;
    tile.row = batch.first_row + place / batch.parts / grid.x.tiles;
    tile.first = (uint32_t)((uint64_t)grid.y.tile * part / batch.parts);
    tile.end = (uint32_t)((uint64_t)grid.y.tile * (part + 1) / batch.parts);
    return tile;
}

/* Four pixels from X on of a tile that goes on to END. */
template <class K, class COUNT>
static __device__ __forceinline__ void count_four(const struct clahe_picture &picture,
                                                  const uint8_t *row, uint32_t x, uint32_t end,
                                                  COUNT count) {
    uint32_t words[K::PIXEL];
    const uint32_t pixels = min(4u, end - x);
    if (x + pixels <= picture.width) {
        clahe_load<K>(words, row, x, pixels, false);
#pragma unroll
        for (int p = 0; p < 4; p++)
            if (p < pixels) count(clahe_value<K>(words, p, picture.channel));
        return;
    }
    for (uint32_t p = 0; p < pixels; p++) {
        clahe_load_reflected<K>(words, row, x + p, picture.width);
        count(clahe_value<K>(words, 0, picture.channel));
    }
}

/* Calls COUNT with each value of the block's part. */
template <class K, int THREADS, class COUNT>
static __device__ __forceinline__ void count_part(const struct clahe_tile &tile,
                                                  const struct clahe_grid &grid, COUNT count) {
    const struct clahe_picture &picture = *tile.picture;
    const uint32_t fours = (grid.x.tile + 3) / 4, left = tile.column * grid.x.tile;
    const uint32_t rows = THREADS / fours, rest = THREADS % fours;
    uint32_t y = tile.first + threadIdx.x / fours, four = threadIdx.x % fours;
    while (y < tile.end) {
        const uint32_t line = reflect((int32_t)(tile.row * grid.y.tile + y), picture.height);
        count_four<K>(picture, picture.in + (uint64_t)line * picture.in_stride, left + 4 * four,
                      left + grid.x.tile, count);
        y += rows, four += rest;
        if (four >= fours) y++, four -= fours;
    }
}

/* All threads: whether this block is the last of those that share a table. The fences order its
 * additions before its ticket, and the last ticket before what reads them. */
static __device__ __forceinline__ bool clahe_is_last(uint32_t *ticket, uint32_t parts) {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(ticket, 1u) + 1 == parts;
        __threadfence();
        if (last) *ticket = 0;
    }
    __syncthreads();
    return last;
}

#endif
