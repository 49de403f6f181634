// SPDX-License-Identifier: Apache-2.0
/* down.cuh - the image that across.cuh has left between to the wanted height, and into the result.
 *
 * Used by:  weigh.cuh.
 * Threads:  a warp makes MATRIX_ROWS columns of a group of eight rows of a result, a block of
 *           DOWN_WARPS as many columns side by side. No block waits for another.
 * Limits:   those of table.cuh.
 *
 * How it works. What lies between has four rows a word, just as tensor cores want it: a warp's
 * words come from memory right into registers. Then a lane has four pixels of a row.
 */
#ifndef BURIN_RESIZE_DOWN_CUH
#define BURIN_RESIZE_DOWN_CUH

#include "cuda/ops/resize/across.cuh"

enum { DOWN_WARPS = 4, DOWN_THREADS = 32 * DOWN_WARPS, DOWN_COLUMNS = DOWN_WARPS * MATRIX_ROWS };

struct down_image {
    const uint32_t *between;
    const struct table_group *groups;
    uint8_t *out;
    uint32_t out_stride, first_tile;
    uint16_t columns, rows; /* wanted */
    uint16_t first_row;     /* as of struct across_image */
    uint16_t tiles_across;
    bool aligned; /* fours of pixels of the result start at whole words */
};

struct down_batch {
    int count;
    unsigned channels; /* of the results */
    struct work_rule rule;
    struct down_image images[CUDA_BATCH_MAX];
};

/* FROM: the lane's first word of a group, PITCH words between planes. Not through the read-only
 * cache: the kernel before may still have been writing when this one began. */
template <class K>
static __device__ __forceinline__ void down_add(struct axis_sums<K> &sums, const uint2 *pairs,
                                                uint32_t steps, const uint32_t *from,
                                                uint32_t pitch) {
    const size_t half = (size_t)(MATRIX_WORDS / 2 * K::PLANES) * pitch;
#pragma unroll 2
    for (uint32_t s = 0; s < steps; s++, pairs += TABLE_STEP_PAIRS, from += 2 * half) {
        const uint2 digits[3] = { __ldg(pairs), __ldg(pairs + 32), __ldg(pairs + 64) };
        uint32_t planes[K::PLANES][4];
#pragma unroll
        for (int p = 0; p < K::PLANES; p++) {
            const uint2 near = __ldcg((const uint2 *)(from + p * pitch));
            const uint2 far = __ldcg((const uint2 *)(from + p * pitch + half));
            planes[p][0] = near.x, planes[p][1] = near.y, planes[p][2] = far.x,
            planes[p][3] = far.y;
        }
        axis_add<K>(sums, planes, digits);
    }
}

/* Four pixels from column X on, or what there is of them. */
template <class K>
static __device__ __forceinline__ void
down_write(const struct down_batch &batch, const struct down_image &image,
           const uint32_t (&planes)[K::PLANES], uint32_t x, uint32_t y) {
    const uint32_t bytes = batch.channels * (K::DEPTH / 8);
    uint8_t *const to = image.out + (size_t)y * image.out_stride + (size_t)x * bytes;
    if (batch.channels == K::CHANNELS && image.aligned && x + 4 <= image.columns) {
        uint32_t words[K::WORDS];
        work_pack<K>(words, planes, batch.rule);
#pragma unroll
        for (int w = 0; w < K::WORDS; w++) ((uint32_t *)to)[w] = words[w];
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        uint32_t samples[K::CHANNELS];
        if (x + i >= image.columns) return;
        work_samples<K>(samples, planes, i);
        work_finish<K>(samples, batch.rule);
        work_store<K>(to + i * bytes, batch.channels, samples);
    }
}

template <class K>
static __global__ void __launch_bounds__(DOWN_THREADS)
    down_kernel(const __grid_constant__ struct down_batch batch) {
    const struct down_image &image = batch.images[tiles_find(batch, blockIdx.x)];
    const uint32_t tile = blockIdx.x - image.first_tile, down = tile / image.tiles_across;
    const uint32_t lane = threadIdx.x % 32, pitch = between_pitch(image.columns);
    const uint32_t column =
        (tile - down * image.tiles_across) * DOWN_COLUMNS + threadIdx.x / 32 * MATRIX_ROWS;
    if (column >= image.columns) return;
    const struct table_group *const group = image.groups + down;
    const struct table_group own = table_load(group);
    const uint32_t line = own.first - image.first_row + lane % 4;
    struct axis_sums<K> sums = {};
    uint32_t planes[K::PLANES];
    overlap_wait();
    down_add<K>(sums, table_pairs(group, own), table_steps(own.words),
                image.between + (size_t)line * K::PLANES * pitch + column + lane / 4 * 2, pitch);
    axis_words<K>(planes, sums);
    const uint32_t x = column + lane / 8 * 4, y = down * TABLE_GROUP + axis_target();
    if (x < image.columns && y < image.rows) down_write<K>(batch, image, planes, x, y);
}

#endif
