// SPDX-License-Identifier: Apache-2.0
/* tile.cuh - a tile of samples in shared memory, with the halo that a window needs around it.
 *
 * Used by:  edge_tile.cuh, convolve_tile.cuh.
 * Limits:   any depth, channel count and stride; rows of 16-bit samples start at even addresses.
 *
 * A block computes each sample of its tile once; its threads then read their windows from there.
 */
#ifndef BURIN_TILE_CUH
#define BURIN_TILE_CUH

#include "cuda/batch.cuh"

enum { TILE_WIDTH = 64, TILE_HEIGHT = 16, TILE_THREADS = 256 };

template <int DEPTH>
static __device__ __forceinline__ void store_sample(uint8_t *row, uint32_t index, uint32_t value) {
    if (DEPTH == 8)
        row[index] = (uint8_t)value;
    else
        ((uint16_t *)row)[index] = (uint16_t)value;
}

/* HALO_X samples at each side, HALO_Y rows above and below. A row is an odd number of words, so
 * that a column is spread over all banks. */
template <int HALO_X, int HALO_Y> struct tile {
    static constexpr int WIDTH = TILE_WIDTH + 2 * HALO_X, HEIGHT = TILE_HEIGHT + 2 * HALO_Y;
    static constexpr int PITCH = (WIDTH + 1) / 4 * 4 + 2;
    uint16_t samples[HEIGHT][PITCH];

    /* X and Y of the tile's first sample that is not halo. MAKE returns the sample at any x and at
     * any row that exists. */
    template <class MAKE>
    __device__ __forceinline__ void fill(int x, int y, int height, const MAKE &make) {
        for (int i = threadIdx.x; i < WIDTH * HEIGHT; i += TILE_THREADS) {
            const int row = i / WIDTH, column = i - row * WIDTH;
            const int there = min(max(y + row - HALO_Y, 0), height - 1);
            samples[row][column] = (uint16_t)make(x + column - HALO_X, there);
        }
        __syncthreads();
    }
};

#endif
