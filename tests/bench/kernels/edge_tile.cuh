// SPDX-License-Identifier: Apache-2.0
/* edge_tile.cuh - the operator's way for kinds of image that had no strips yet: levels of a tile in
 * shared memory, windows read from there.
 *
 * Used by:  edge.cu, as a rung.
 */
#ifndef BURIN_EDGE_TILE_CUH
#define BURIN_EDGE_TILE_CUH

#include "cuda/tile.cuh"
#include "pipeline/ops/edge.h"

template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ uint32_t level_at(const uint8_t *row, int x,
                                                    const struct edge_rule &rule) {
    const uint32_t i = (uint32_t)x * CHANNELS, first = sample_at<DEPTH>(row, i);
    const uint32_t gray =
        CHANNELS < 3 ? first
                     : luma(first, sample_at<DEPTH>(row, i + 1), sample_at<DEPTH>(row, i + 2));
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
    constexpr int DOWN = TILE_THREADS / TILE_ACROSS;
    typedef tile<REACH, REACH> level_tile;
    __shared__ level_tile levels;
    const struct picture &picture = batch.pictures[picture_at(batch, blockIdx.x)];
    const struct place place = place_of(picture, blockIdx.x - picture.first);
    const int width = (int)picture.width, height = (int)picture.height;
    const int left = (int)place.x * TILE_ACROSS, top = (int)place.y * TILE_DOWN;
    levels.fill(left, top, height, [&](int x, int y) {
        return level_at<CHANNELS, DEPTH>(picture.in + (uint64_t)y * picture.in_stride,
                                         min(max(x, 0), width - 1), rule);
    });
    const int column = threadIdx.x % TILE_ACROSS, x = left + column, margin = (int)rule.margin;
    for (int row = threadIdx.x / TILE_ACROSS; row < TILE_DOWN; row += DOWN) {
        const int y = top + row;
        if (x >= width || y >= height) return;
        const bool inside = x >= margin && x < width - margin && y >= margin && y < height - margin;
        const uint32_t edge = edge_at<REACH, level_tile::PITCH>(&levels.samples[row][column], rule);
        uint8_t *out = picture.out + (uint64_t)y * picture.out_stride;
        const uint8_t *in = picture.in + (uint64_t)y * picture.in_stride;
        sample_to<DEPTH>(out, CHANNELS % 2 ? x : 2 * x, inside ? edge : 0);
        if (CHANNELS % 2 == 0)
            sample_to<DEPTH>(out, 2 * x + 1, sample_at<DEPTH>(in, x * CHANNELS + CHANNELS - 1));
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
