// SPDX-License-Identifier: Apache-2.0
/* down.cuh - the image that across.cuh has left between to the wanted height, and into the result.
 *
 * Used by:  resize.cu.
 * Threads:  a block makes 32 columns of DOWN_WARPS rows of a result, a warp one row of them. No
 *           block waits for another.
 * Limits:   those of table.cuh.
 *
 * How it works. All lanes of a warp use the same weights, and their words lie side by side. Rows of
 * a block need mostly the same words: the first-level cache has them.
 */
#ifndef BURIN_RESIZE_DOWN_CUH
#define BURIN_RESIZE_DOWN_CUH

#include "cuda/ops/resize/across.cuh"

enum { DOWN_WARPS = 8, DOWN_THREADS = 32 * DOWN_WARPS };

struct down_image {
    const uint32_t *between;
    const uint4 *table;
    uint8_t *out;
    uint32_t out_stride, first_tile;
    uint16_t columns, rows; /* wanted */
    uint16_t words;         /* entries of a target, in the table */
    uint16_t first_row;     /* as of struct across_image */
    uint16_t tiles_across;
};

struct down_batch {
    int count;
    unsigned channels; /* of the results */
    struct work_rule rule;
    struct down_image images[CUDA_BATCH_MAX];
};

/* Row ROW of the picture that is kept, column COLUMN. */
template <class K>
static __device__ __forceinline__ void down_samples(uint32_t (&samples)[K::CHANNELS],
                                                    const struct down_image &image, uint32_t column,
                                                    uint32_t row) {
    const uint4 *const weights = image.table + (size_t)row * image.words;
    const uint32_t pitch = between_pitch(image.columns);
    const uint32_t w = __ldg(&weights->w), words = table_words(w);
    const uint32_t first = table_first(w) - image.first_row;
    const uint32_t *from = image.between + (size_t)first * K::PLANES * pitch + column;
    struct axis_sums<K> sums = {};
#pragma unroll 4
    for (uint32_t k = 0; k < words; k++) {
        uint32_t planes[K::PLANES];
#pragma unroll
        for (int p = 0; p < K::PLANES; p++, from += pitch) planes[p] = __ldg(from);
        axis_add<K>(sums, planes, __ldg(weights + k));
    }
#pragma unroll
    for (int c = 0; c < K::CHANNELS; c++) samples[c] = axis_sample<K>(sums, c);
}

template <class K>
static __global__ void __launch_bounds__(DOWN_THREADS)
    down_kernel(const __grid_constant__ struct down_batch batch) {
    const struct down_image &image = batch.images[tiles_find(batch, blockIdx.x)];
    const uint32_t tile = blockIdx.x - image.first_tile, down = tile / image.tiles_across;
    const uint32_t x = (tile - down * image.tiles_across) * 32 + threadIdx.x % 32;
    const uint32_t y = down * DOWN_WARPS + threadIdx.x / 32;
    uint32_t samples[K::CHANNELS];
    if (x >= image.columns || y >= image.rows) return;
    down_samples<K>(samples, image, x, y);
    work_finish<K>(samples, batch.rule);
    work_store<K>(image.out + (size_t)y * image.out_stride +
                      (size_t)x * batch.channels * (K::DEPTH / 8),
                  batch.channels, samples);
}

#endif
