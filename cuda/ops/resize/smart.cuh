// SPDX-License-Identifier: Apache-2.0
/* smart.cuh - finds the part of a scaled picture to keep, on the device, and leaves it there.
 *
 * Used by:  resize.cu.
 * Threads:  no block waits for another; one block for each image chooses its window.
 * Limits:   those of pipeline/ops/resize/smart.h, which defines the result.
 *
 * How it works. Blocks add the energies of their tiles by column, or by row, into sums that are
 * zero before. Then one block for each image weighs the sums, a run of neighbours a thread, makes
 * prefix sums of them, and compares the windows, which are differences of two prefix sums.
 */
#ifndef BURIN_RESIZE_SMART_CUH
#define BURIN_RESIZE_SMART_CUH

#include "cuda/luma8_over.cuh"
#include "cuda/ops/resize/tiles.cuh"
#include "pipeline/ops/carve/definition.h"

enum { SMART_SIDE = 32, SMART_THREADS = 256, SMART_CHOOSERS = 256 };

struct smart_image {
    const uint8_t *picture;
    uint32_t *sums;    /* of each column or row; after the last comes the window's place */
    uint64_t *weighed; /* the sum before each column or row, beginning with 0 */
    uint32_t stride, first_tile;
    uint16_t width, height;
    uint16_t count; /* columns or rows to keep */
    uint16_t tiles_across;
    bool columns;
};

struct smart_batch {
    int count;
    struct background under;
    struct smart_image images[CUDA_BATCH_MAX];
};

/* ---- sums */

template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ uint32_t smart_luma(const struct smart_image &image,
                                                      const struct background &under, uint32_t x,
                                                      uint32_t y) {
    const uint8_t *const row = image.picture + (size_t)min(y, image.height - 1u) * image.stride;
    return luma8_over<CHANNELS, DEPTH>(row, min(x, image.width - 1u), under);
}

/* Adds the energies of a tile to the sums. */
template <int CHANNELS, int DEPTH>
static __global__ void __launch_bounds__(SMART_THREADS)
    smart_sum_kernel(const __grid_constant__ struct smart_batch batch) {
    __shared__ uint32_t sums[SMART_SIDE];
    const struct smart_image &image = batch.images[tiles_find(batch, blockIdx.x)];
    const uint32_t tile = blockIdx.x - image.first_tile, down = tile / image.tiles_across;
    const uint32_t left = (tile - down * image.tiles_across) * SMART_SIDE, top = down * SMART_SIDE;
    const uint32_t x = left + threadIdx.x % SMART_SIDE;
    if (threadIdx.x < SMART_SIDE) sums[threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x / SMART_SIDE; i < SMART_SIDE; i += SMART_THREADS / SMART_SIDE) {
        const uint32_t y = top + i;
        if (x >= image.width || y >= image.height) continue;
        const uint32_t energy =
            carve_gradient(smart_luma<CHANNELS, DEPTH>(image, batch.under, x, y),
                           smart_luma<CHANNELS, DEPTH>(image, batch.under, x + 1, y),
                           smart_luma<CHANNELS, DEPTH>(image, batch.under, x, y + 1),
                           smart_luma<CHANNELS, DEPTH>(image, batch.under, x + 1, y + 1));
        atomicAdd(&sums[image.columns ? x - left : i], energy);
    }
    __syncthreads();
    const uint32_t place = (image.columns ? left : top) + threadIdx.x;
    if (threadIdx.x < SMART_SIDE && place < (image.columns ? image.width : image.height))
        atomicAdd(&image.sums[place], sums[threadIdx.x]);
}

/* ---- the window */

/* A window, and the keys by which windows are compared. */
struct smart_window_rank {
    uint64_t sum;
    uint32_t apart, first;
};

static __device__ inline bool smart_better(const struct smart_window_rank &a,
                                           const struct smart_window_rank &b) {
    if (a.sum != b.sum) return a.sum > b.sum;
    return a.apart != b.apart ? a.apart < b.apart : a.first < b.first;
}

static __device__ inline uint64_t smart_weighed(const uint32_t *sums, uint32_t i, uint32_t n) {
    return (uint64_t)sums[i] * min(i + 1, n - i);
}

/* Called by all threads: the sum of OWN over the threads before this one. */
static __device__ inline uint64_t smart_sum_before(uint64_t own) {
    __shared__ uint64_t all[SMART_CHOOSERS];
    all[threadIdx.x] = own;
    for (uint32_t step = 1; step < SMART_CHOOSERS; step *= 2) {
        __syncthreads();
        const uint64_t before = threadIdx.x >= step ? all[threadIdx.x - step] : 0;
        __syncthreads();
        all[threadIdx.x] += before;
    }
    __syncthreads();
    return all[threadIdx.x] - own;
}

static __device__ inline void smart_prefix(const struct smart_image &image, uint32_t n) {
    const uint32_t run = (n + SMART_CHOOSERS - 1) / SMART_CHOOSERS;
    const uint32_t from = min(threadIdx.x * run, n), to = min(from + run, n);
    uint64_t own = 0;
    for (uint32_t i = from; i < to; i++) own += smart_weighed(image.sums, i, n);
    uint64_t sum = smart_sum_before(own);
    for (uint32_t i = from; i < to; i++) {
        image.weighed[i] = sum;
        sum += smart_weighed(image.sums, i, n);
    }
    if (from < n && to == n) image.weighed[n] = sum;
    __syncthreads();
}

static __global__ void __launch_bounds__(SMART_CHOOSERS)
    smart_choose_kernel(const __grid_constant__ struct smart_batch batch) {
    __shared__ struct smart_window_rank ranks[SMART_CHOOSERS];
    const struct smart_image &image = batch.images[blockIdx.x];
    const uint32_t n = image.columns ? image.width : image.height, slack = n - image.count;
    smart_prefix(image, n);
    struct smart_window_rank best = { 0, UINT32_MAX, UINT32_MAX };
    for (uint32_t first = threadIdx.x; first <= slack; first += SMART_CHOOSERS) {
        const struct smart_window_rank rank = { image.weighed[first + image.count] -
                                                    image.weighed[first],
                                                carve_apart(2 * first, slack), first };
        if (smart_better(rank, best)) best = rank;
    }
    ranks[threadIdx.x] = best;
    for (uint32_t half = SMART_CHOOSERS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half && smart_better(ranks[threadIdx.x + half], ranks[threadIdx.x]))
            ranks[threadIdx.x] = ranks[threadIdx.x + half];
    }
    if (threadIdx.x == 0) image.sums[n] = ranks[0].first;
}

#endif
