// SPDX-License-Identifier: Apache-2.0
/* count.cuh - counts a block's part of a tile, and finds the block that comes last.
 *
 * Used by:  table8.cuh, table16.cuh, fused8.cuh.
 *
 * How it works. A thread takes a chunk of a row at a time, with the next one's load under way. The
 * part beyond the image is reflected: rows as a whole, columns one by one, since there are never
 * more than 64 of them.
 */
#ifndef BURIN_CLAHE_COUNT_CUH
#define BURIN_CLAHE_COUNT_CUH

#include "cuda/ops/clahe/pixels.cuh"

#include <cuda_runtime.h>
#include <stdint.h>

/* ---- sums over the threads of a warp or of a block */

/* Sum over the lanes up to this one. */
static __device__ __forceinline__ uint32_t warp_scan(uint32_t own) {
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
        const uint32_t left = __shfl_up_sync(~0u, own, step);
        if (threadIdx.x % 32 >= step) own += left;
    }
    return own;
}

/* Sum over all lanes. */
static __device__ __forceinline__ uint32_t warp_sum(uint32_t own) {
#pragma unroll
    for (unsigned step = 16; step; step /= 2) own += __shfl_xor_sync(~0u, own, step);
    return own;
}

struct block_sums {
    uint32_t upto; /* over the threads up to this one */
    uint32_t all;
};

/* Called by every thread of the block; TOTALS has a word a warp. */
template <int THREADS>
static __device__ __forceinline__ struct block_sums block_scan(uint32_t own, uint32_t *totals) {
    constexpr unsigned WARPS = THREADS / 32;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t upto = warp_scan(own);
    __syncthreads(); /* all have read the totals of the scan before */
    if (lane == 31) totals[warp] = upto;
    __syncthreads();
    uint32_t before = 0, all = 0;
#pragma unroll
    for (unsigned w = 0; w < WARPS; w++) {
        const uint32_t total = totals[w];
        if (w < warp) before += total;
        all += total;
    }
    return { before + upto, all };
}

/* Samples of a tile; `right` and `bottom` may lie beyond the image. Ends are exclusive. */
struct clahe_area {
    uint32_t left, right, top, bottom;
};

/* A tile, and the block's part of it. */
struct clahe_tile {
    uint32_t column, row; /* of tiles */
    uint32_t table;       /* its number in this launch */
    struct clahe_area area;
};

/* Part NUMBER of the launch. */
static __device__ __forceinline__ struct clahe_tile
clahe_tile_of(const struct clahe_batch &batch, const struct clahe_picture &picture,
              const struct clahe_grid &grid, uint32_t number) {
    struct clahe_tile tile;
    const uint32_t place = number - picture.first_part, part = place % batch.parts;
    tile.table = number / batch.parts;
    tile.column = place / batch.parts % grid.x.tiles;
    tile.row = batch.first_row + place / batch.parts / grid.x.tiles;
    const uint32_t top = tile.row * grid.y.tile;
    tile.area.left = tile.column * grid.x.tile;
    tile.area.right = tile.area.left + grid.x.tile;
    tile.area.top = top + grid.y.tile * part / batch.parts;
    tile.area.bottom = top + grid.y.tile * (part + 1) / batch.parts;
    return tile;
}

static __device__ __forceinline__ const uint8_t *count_row(const struct clahe_picture &picture,
                                                           uint32_t y) {
    return picture.in + (uint64_t)reflect((int32_t)y, picture.height) * picture.in_stride;
}

/* Counts columns LEFT to RIGHT - 1 of a chunk that begins at X. */
template <class K, class COUNT>
static __device__ __forceinline__ void count_chunk(const uint32_t (&words)[K::CHUNK_WORDS],
                                                   uint32_t x, uint32_t left, uint32_t right,
                                                   uint32_t channel, COUNT count) {
    if (x >= left && x + K::CHUNK <= right) {
#pragma unroll
        for (int p = 0; p < K::CHUNK; p++)
            if (clahe_is_seen<K>(words, p)) count(clahe_chunk_value<K>(words, p, channel));
        return;
    }
#pragma unroll
    for (int p = 0; p < K::CHUNK; p++)
        if (x + p - left < right - left && clahe_is_seen<K>(words, p))
            count(clahe_chunk_value<K>(words, p, channel));
}

/* Counts the area's columns within the image, up to RIGHT. There is at least one: a tile has one,
 * and fused8_fits() ensures it for a region. */
template <class K, int THREADS, class COUNT>
static __device__ __forceinline__ void count_columns(const struct clahe_picture &picture,
                                                     const struct clahe_area &area, uint32_t right,
                                                     bool aligned, COUNT count) {
    const uint32_t first = area.left / K::CHUNK, columns = (right - 1) / K::CHUNK - first + 1;
    const uint32_t rows = THREADS / columns, rest = THREADS % columns;
    uint32_t y = area.top + threadIdx.x / columns, at = threadIdx.x % columns;
    uint32_t next[K::CHUNK_WORDS] = {};
    if (y < area.bottom)
        clahe_load_chunk<K>(next, count_row(picture, y), (first + at) * K::CHUNK, picture.width,
                            aligned);
    while (y < area.bottom) {
        uint32_t words[K::CHUNK_WORDS];
        const uint32_t x = (first + at) * K::CHUNK;
#pragma unroll
        for (int i = 0; i < K::CHUNK_WORDS; i++) words[i] = next[i];
        y += rows, at += rest;
        if (at >= columns) y++, at -= columns;
        if (y < area.bottom)
            clahe_load_chunk<K>(next, count_row(picture, y), (first + at) * K::CHUNK, picture.width,
                                aligned);
        count_chunk<K>(words, x, area.left, right, picture.channel, count);
    }
}

/* Counts the columns beyond the image, from LEFT on. */
template <class K, int THREADS, class COUNT>
static __device__ __forceinline__ void count_reflected(const struct clahe_picture &picture,
                                                       const struct clahe_area &area, uint32_t left,
                                                       COUNT count) {
    const uint32_t columns = area.right - left, pixels = columns * (area.bottom - area.top);
    for (uint32_t i = threadIdx.x; i < pixels; i += THREADS) {
        uint32_t words[K::PIXEL];
        clahe_load_reflected<K>(words, count_row(picture, area.top + i / columns),
                                left + i % columns, picture.width);
        if (clahe_is_seen<K>(words, 0)) count(clahe_value<K>(words, 0, picture.channel));
    }
}

/* Calls COUNT with each value of AREA that can be seen. */
template <class K, int THREADS, class COUNT>
static __device__ __forceinline__ void count_area(const struct clahe_picture &picture,
                                                  const struct clahe_area &area, COUNT count) {
    const bool aligned = (((uintptr_t)picture.in | picture.in_stride) & 15) == 0;
    if (area.left < picture.width)
        count_columns<K, THREADS>(picture, area, min(area.right, picture.width), aligned, count);
    if (area.right > picture.width)
        count_reflected<K, THREADS>(picture, area, max(area.left, picture.width), count);
}

/* The grid for a tile of which PIXELS were counted, and the background's value, which has all of a
 * tile without any. */
template <class K>
static __device__ __forceinline__ uint32_t clahe_see(const struct clahe_batch &batch,
                                                     const struct clahe_picture &picture,
                                                     uint32_t pixels, struct clahe_grid &grid) {
    const uint32_t all = grid.x.tile * grid.y.tile;
    const int mode = K::CHANNELS < 3 ? CLAHE_EACH : K::MODE;
    grid = clahe_grid_visible(grid, pixels ? pixels : all, batch.clip, K::MAX);
    return clahe_background(&batch.background, mode, picture.channel);
}

/* Called by all threads: whether this block is the last of those that share a table. The fences
 * order its additions before its ticket, and the last ticket before the reads that follow. */
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
