// SPDX-License-Identifier: Apache-2.0
/* move.cuh - pixels that only change their place: `nearest`, the kept part of a picture, and the
 * background around one.
 *
 * Used by:  resize.cu.
 * Threads:  a block makes 32 columns of 32 rows of a result. No block waits for another.
 */
#ifndef BURIN_RESIZE_MOVE_CUH
#define BURIN_RESIZE_MOVE_CUH

#include "cuda/ops/resize/tiles.cuh"
#include "cuda/ops/resize/work_pixels.cuh"

enum { MOVE_THREADS = 256, MOVE_SIDE = 32 };

struct move_image {
    const uint8_t *in;
    uint8_t *out;
    /* The source of each, or with `found` of the first one; NULL: from the first ones on. */
    const uint32_t *columns, *rows;
    uint32_t in_stride, out_stride, first_tile;
    uint16_t first_column, first_row;
    uint16_t width, height; /* of the result */
    uint16_t tiles_across;
    bool found;
};

struct move_batch {
    int count;
    int channels; /* of the results, at least as many as of the inputs */
    struct move_image images[CUDA_BATCH_MAX];
};

static __device__ __forceinline__ uint32_t move_source(const uint32_t *places, bool found,
                                                       uint32_t first, uint32_t i) {
    if (!places) return first + i;
    return found ? __ldg(places) + i : __ldg(places + i);
}

template <int CHANNELS, int DEPTH>
static __global__ void __launch_bounds__(MOVE_THREADS)
    move_kernel(const __grid_constant__ struct move_batch batch) {
    typedef work_kind<CHANNELS, DEPTH, DEPTH == 16> K;
    const struct move_image &image = batch.images[tiles_find(batch, blockIdx.x)];
    const uint32_t tile = blockIdx.x - image.first_tile, down = tile / image.tiles_across;
    const uint32_t x = (tile - down * image.tiles_across) * MOVE_SIDE + threadIdx.x % MOVE_SIDE;
    const uint32_t top = down * MOVE_SIDE, end = min(top + MOVE_SIDE, (uint32_t)image.height);
    if (x >= image.width) return;
    const uint32_t column = move_source(image.columns, image.found, image.first_column, x);
    for (uint32_t y = top + threadIdx.x / MOVE_SIDE; y < end; y += MOVE_THREADS / MOVE_SIDE) {
        const uint32_t row = move_source(image.rows, image.found, image.first_row, y);
        const uint8_t *const from = image.in + (size_t)row * image.in_stride;
        uint8_t *const to = image.out + (size_t)y * image.out_stride;
        uint32_t samples[CHANNELS];
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            samples[c] = load_sample<DEPTH>(from, column * CHANNELS + c);
        work_store<K>(to + (size_t)x * batch.channels * (DEPTH / 8), batch.channels, samples);
    }
}

/* ---- around a picture */

struct canvas_image {
    uint8_t *out;
    uint32_t stride, first_tile;
    uint16_t width, height;            /* of the result */
    uint16_t left, top, columns, rows; /* the picture's place */
    uint16_t tiles_across;
};

struct canvas_batch {
    int count;
    int channels, depth;
    uint16_t pixel[4];
    struct canvas_image images[CUDA_BATCH_MAX];
};

static __global__ void __launch_bounds__(MOVE_THREADS)
    canvas_kernel(const __grid_constant__ struct canvas_batch batch) {
    const struct canvas_image &image = batch.images[tiles_find(batch, blockIdx.x)];
    const uint32_t tile = blockIdx.x - image.first_tile, down = tile / image.tiles_across;
    const uint32_t x = (tile - down * image.tiles_across) * MOVE_SIDE + threadIdx.x % MOVE_SIDE;
    const uint32_t top = down * MOVE_SIDE, end = min(top + MOVE_SIDE, (uint32_t)image.height);
    const bool beside = x - image.left >= image.columns;
    if (x >= image.width) return;
    for (uint32_t y = top + threadIdx.x / MOVE_SIDE; y < end; y += MOVE_THREADS / MOVE_SIDE) {
        if (!beside && y - image.top < image.rows) continue;
        uint8_t *const to = image.out + (size_t)y * image.stride;
        for (int c = 0; c < batch.channels; c++) {
            const uint32_t index = x * batch.channels + c;
            if (batch.depth == 8)
                store_sample<8>(to, index, batch.pixel[c]);
            else
                store_sample<16>(to, index, batch.pixel[c]);
        }
    }
}

#endif
