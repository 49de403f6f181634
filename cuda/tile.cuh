// SPDX-License-Identifier: Apache-2.0
/* tile.cuh - a tile of samples in shared memory with the border that a window needs around it.
 *
 * A block makes each sample of its tile once, threads then read their windows from there. The plain
 * way, for any depth, channel count and stride; 16-bit rows start at even addresses.
 */
#ifndef BURIN_TILE_CUH
#define BURIN_TILE_CUH

#include "cuda/launch.cuh"

enum { TILE_ACROSS = 64, TILE_DOWN = 16, TILE_THREADS = 256 };

template <int DEPTH>
static __device__ __forceinline__ void sample_to(uint8_t *row, uint32_t index, uint32_t value) {
    if (DEPTH == 8)
        row[index] = (uint8_t)value;
    else
        ((uint16_t *)row)[index] = (uint16_t)value;
}

/* ASIDE samples at each side, REACH rows above and below; an odd number of words a row. */
template <int ASIDE, int REACH> struct tile {
    static constexpr int WIDTH = TILE_ACROSS + 2 * ASIDE, HEIGHT = TILE_DOWN + 2 * REACH;
    static constexpr int PITCH = (WIDTH + 1) / 4 * 4 + 2;
    uint16_t samples[HEIGHT][PITCH];

    /* X and Y of the tile's first own sample; MAKE tells the sample at any x and any row that
     * exists. */
    template <class MAKE>
    __device__ __forceinline__ void fill(int x, int y, int height, const MAKE &make) {
        for (int i = threadIdx.x; i < WIDTH * HEIGHT; i += TILE_THREADS) {
            const int row = i / WIDTH, column = i - row * WIDTH;
            const int there = min(max(y + row - REACH, 0), height - 1);
            samples[row][column] = (uint16_t)make(x + column - ASIDE, there);
        }
        __syncthreads();
    }
};

#endif
