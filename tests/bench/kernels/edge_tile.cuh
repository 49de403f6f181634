// SPDX-License-Identifier: Apache-2.0
/* edge_tile.cuh - the operator's way for kinds of image that had no strips yet: levels of a tile in
 * shared memory, windows read from there.
 *
 * Used by:  edge.cu, as a rung.
 */
#ifndef BURIN_EDGE_TILE_CUH
#define BURIN_EDGE_TILE_CUH

#include "pipeline/luma.h"
#include "pipeline/ops/edge.h"
#include "tests/bench/kernels/tile.cuh"

template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ uint32_t level_at(const uint8_t *row, int x,
                                                    const struct edge_rule &rule) {
    const uint32_t i = (uint32_t)x * CHANNELS, first = load_sample<DEPTH>(row, i);
    const uint32_t gray =
        CHANNELS < 3 ? first
                     : luma(first, load_sample<DEPTH>(row, i + 1), load_sample<DEPTH>(row, i + 2));
    return brightness_of(gray, rule.shift, DEPTH == 8 ? 255 : 65535);
}

/* Down the columns, then along the row. LEVELS leads to the window's first level. */
template <int REACH, int PITCH>
static __device__ __forceinline__ uint32_t edge_at(const uint16_t *levels,
                                                   const struct edge_rule &rule) {
    constexpr int SIDE = 2 * REACH + 1;
    constexpr int along[2][5] = { { -1, 0, 1 }, { -1, -2, 0, 2, 1 } };
    constexpr int across[2][5] = { { 1, 2, 1 }, { 1, 4, 6, 4, 1 } };
    int32_t gx = 0, gy = 0;
#pragma unroll
    for (int column = 0; column < SIDE; column++) {
        int32_t smooth = 0, slope = 0;
#pragma unroll
        for (int row = 0; row < SIDE; row++) {
            const int32_t level = levels[row * PITCH + column];
            smooth += across[REACH - 1][row] * level;
            slope += along[REACH - 1][row] * level;
        }
        gx += along[REACH - 1][column] * smooth;
        gy += across[REACH - 1][column] * slope;
    }
    return edge_result(gx, gy, &rule);
}

template <int CHANNELS, int DEPTH, int REACH>
static __global__ void __launch_bounds__(TILE_THREADS)
    edge_tile_kernel(const __grid_constant__ struct batch batch,
                     const __grid_constant__ struct edge_rule rule) {
    constexpr int DOWN = TILE_THREADS / TILE_WIDTH;
    typedef tile<REACH, REACH> level_tile;
    __shared__ level_tile levels;
    const struct batch_image &image = batch.images[batch_find(batch, blockIdx.x)];
    const struct chunk_position position = chunk_position_of(image, blockIdx.x - image.first_chunk);
    const int width = (int)image.width, height = (int)image.height;
    const int left = (int)position.x * TILE_WIDTH, top = (int)position.y * TILE_HEIGHT;
    levels.fill(left, top, height, [&](int x, int y) {
        return level_at<CHANNELS, DEPTH>(image.in + (uint64_t)y * image.in_stride,
                                         min(max(x, 0), width - 1), rule);
    });
    const int column = threadIdx.x % TILE_WIDTH, x = left + column, margin = (int)rule.margin;
    for (int row = threadIdx.x / TILE_WIDTH; row < TILE_HEIGHT; row += DOWN) {
        const int y = top + row;
        if (x >= width || y >= height) return;
        const bool inside = x >= margin && x < width - margin && y >= margin && y < height - margin;
        const uint32_t edge = edge_at<REACH, level_tile::PITCH>(&levels.samples[row][column], rule);
        uint8_t *out = image.out + (uint64_t)y * image.out_stride;
        const uint8_t *in = image.in + (uint64_t)y * image.in_stride;
        store_sample<DEPTH>(out, CHANNELS % 2 ? x : 2 * x, inside ? edge : 0);
        if (CHANNELS % 2 == 0)
            store_sample<DEPTH>(out, 2 * x + 1,
                                load_sample<DEPTH>(in, x * CHANNELS + CHANNELS - 1));
    }
}

template <int CHANNELS, int DEPTH>
static void launch_tiles(cudaStream_t stream, const struct batch &batch,
                         const struct edge_rule &rule) {
    if (rule.reach == 1)
        edge_tile_kernel<CHANNELS, DEPTH, 1>
            <<<batch.chunks, TILE_THREADS, 0, stream>>>(batch, rule);
    else
        edge_tile_kernel<CHANNELS, DEPTH, 2>
            <<<batch.chunks, TILE_THREADS, 0, stream>>>(batch, rule);
}

template <int DEPTH>
static void launch_tiles(cudaStream_t stream, unsigned channels, const struct batch &batch,
                         const struct edge_rule &rule) {
    switch (channels) {
    case 1: launch_tiles<1, DEPTH>(stream, batch, rule); break;
    case 2: launch_tiles<2, DEPTH>(stream, batch, rule); break;
    case 3: launch_tiles<3, DEPTH>(stream, batch, rule); break;
    default: launch_tiles<4, DEPTH>(stream, batch, rule); break;
    }
}

#endif
