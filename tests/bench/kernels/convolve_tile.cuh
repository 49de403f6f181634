// SPDX-License-Identifier: Apache-2.0
/* convolve_tile.cuh - 3 x 3 taps over gray of 8 bits as convolve did that before it was made of the
 * N2P skeleton: from a tile in shared memory.
 *
 * Used by:  skeletons.cu, as a rung.
 */
#ifndef BURIN_CONVOLVE_TILE_CUH
#define BURIN_CONVOLVE_TILE_CUH

#include "pipeline/ops/convolve.h"
#include "tests/bench/kernels/tile.cuh"

static __global__ void __launch_bounds__(TILE_THREADS)
    convolve_tile_kernel(const __grid_constant__ struct batch batch,
                         const __grid_constant__ struct convolve_rule rule) {
    constexpr int DOWN = TILE_THREADS / TILE_WIDTH;
    __shared__ tile<1, 1> tile;
    const struct batch_image &image = batch.images[batch_find(batch, blockIdx.x)];
    const struct chunk_position position = chunk_position_of(image, blockIdx.x - image.first_chunk);
    const int width = (int)image.width, height = (int)image.height;
    const int left = (int)position.x * TILE_WIDTH, top = (int)position.y * TILE_HEIGHT;
    tile.fill(left, top, height, [&](int x, int y) {
        return load_sample<8>(image.in + (uint64_t)y * image.in_stride, min(max(x, 0), width - 1));
    });
    const int column = threadIdx.x % TILE_WIDTH, x = left + column;
    for (int row = threadIdx.x / TILE_WIDTH; row < TILE_HEIGHT; row += DOWN) {
        if (x >= width || top + row >= height) return;
        int32_t sum = 0;
#pragma unroll
        for (int i = 0; i < 9; i++) sum += rule.taps[i] * tile.samples[row + i / 3][column + i % 3];
        store_sample<8>(image.out + (uint64_t)(top + row) * image.out_stride, x,
                        (uint32_t)convolve_result(sum, &rule));
    }
}

#endif
