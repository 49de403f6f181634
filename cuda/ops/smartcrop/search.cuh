// SPDX-License-Identifier: Apache-2.0
/* search.cuh - the part of an image that smartcrop keeps, found on the device and left there.
 *
 * Used by:  smartcrop.cu.
 * Threads:  no block waits for another.
 * Limits:   those of pipeline/ops/smartcrop.h, which says what is computed.
 *
 * How it works. Four launches:
 *   rows     each block sums up the weighed energies of a row: all from the first to each
 *   columns  each thread sums these up down a column, within a strip of rows
 *   strips   and these the strips before each, so that a pixel's sum of all that is above and left
 *            of it is two numbers
 *   parts    a part's sum is four of those; each block keeps its best part
 * The block that copies the part finds the best of the best again by itself: they are few.
 */
#ifndef BURIN_SMARTCROP_SEARCH_CUH
#define BURIN_SMARTCROP_SEARCH_CUH

#include "cuda/chunk.cuh"
#include "pipeline/image.h"
#include "pipeline/ops/smartcrop.h"

enum { SEARCH_THREADS = 256, SEARCH_STRIP = 32, SEARCH_PARTS = 512 };

/* Of one image. */
struct search {
    struct image in;
    uint32_t width, height;       /* of the part */
    uint64_t *sums;               /* a row after the other */
    uint64_t *strips;             /* sums of all strips before, likewise */
    struct smartcrop_part *parts; /* the best of each of SEARCH_PARTS blocks */
};

static inline uint32_t strips_of(uint32_t height) {
    return (height + SEARCH_STRIP - 1) / SEARCH_STRIP;
}

/* ---- energy */

template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ uint32_t search_luma(const struct image &in, uint32_t x,
                                                       uint32_t y) {
    const uint8_t *row = in.pixels + (size_t)min(y, in.height - 1) * in.stride;
    const uint32_t first = min(x, in.width - 1) * CHANNELS;
    const uint32_t red = load_sample<DEPTH>(row, first);
    if (CHANNELS < 3) return red >> (DEPTH - 8);
    return carve_luma(red, load_sample<DEPTH>(row, first + 1), load_sample<DEPTH>(row, first + 2),
                      DEPTH);
}

template <int CHANNELS, int DEPTH>
static __device__ __forceinline__ uint64_t weighed_energy(const struct search &search, uint32_t x,
                                                          uint32_t y) {
    const struct image &in = search.in;
    const uint32_t energy = carve_gradient(
        search_luma<CHANNELS, DEPTH>(in, x, y), search_luma<CHANNELS, DEPTH>(in, x + 1, y),
        search_luma<CHANNELS, DEPTH>(in, x, y + 1), search_luma<CHANNELS, DEPTH>(in, x + 1, y + 1));
    return (uint64_t)energy * smartcrop_weight(x, in.width, search.width) *
           smartcrop_weight(y, in.height, search.height);
}

/* ---- sums */

/* All threads: the sum of their own and all before. */
static __device__ __forceinline__ uint64_t sum_up_to(uint64_t own, uint64_t *shared) {
    shared[threadIdx.x] = own;
    for (uint32_t step = 1; step < SEARCH_THREADS; step *= 2) {
        __syncthreads();
        const uint64_t before = threadIdx.x >= step ? shared[threadIdx.x - step] : 0;
        __syncthreads();
        shared[threadIdx.x] += before;
    }
    __syncthreads();
    return shared[threadIdx.x];
}

template <int CHANNELS, int DEPTH>
static __global__ void __launch_bounds__(SEARCH_THREADS)
    search_rows_kernel(const __grid_constant__ struct search search) {
    __shared__ uint64_t shared[SEARCH_THREADS];
    const uint32_t y = blockIdx.x, width = search.in.width;
    uint64_t *row = search.sums + (size_t)y * width;
    uint64_t before = 0;
    for (uint32_t first = 0; first < width; first += SEARCH_THREADS) {
        const uint32_t x = first + threadIdx.x;
        const uint64_t own = x < width ? weighed_energy<CHANNELS, DEPTH>(search, x, y) : 0;
        const uint64_t sum = before + sum_up_to(own, shared);
        if (x < width) row[x] = sum;
        before += shared[SEARCH_THREADS - 1];
        __syncthreads();
    }
}

static __global__ void __launch_bounds__(SEARCH_THREADS)
    search_columns_kernel(const __grid_constant__ struct search search) {
    const uint32_t x = blockIdx.x * SEARCH_THREADS + threadIdx.x, width = search.in.width;
    const uint32_t first = blockIdx.y * SEARCH_STRIP;
    const uint32_t end = min(first + SEARCH_STRIP, search.in.height);
    if (x >= width) return;
    uint64_t sum = 0;
    for (uint32_t y = first; y < end; y++) {
        uint64_t *at = search.sums + (size_t)y * width + x;
        sum += *at;
        *at = sum;
    }
}

static __global__ void __launch_bounds__(SEARCH_THREADS)
    search_strips_kernel(const __grid_constant__ struct search search, uint32_t strips) {
    const uint32_t x = blockIdx.x * SEARCH_THREADS + threadIdx.x, width = search.in.width;
    if (x >= width) return;
    uint64_t sum = 0;
    for (uint32_t s = 0; s < strips; s++) {
        search.strips[(size_t)s * width + x] = sum;
        const uint32_t last = min((s + 1) * SEARCH_STRIP, search.in.height) - 1;
        sum += search.sums[(size_t)last * width + x];
    }
}

/* ---- parts */

/* Of all pixels above row Y and left of column X. */
static __device__ __forceinline__ uint64_t sum_before(const struct search &search, uint32_t x,
                                                      uint32_t y) {
    if (x == 0 || y == 0) return 0;
    const size_t width = search.in.width;
    return search.sums[(y - 1) * width + x - 1] +
           search.strips[(y - 1) / SEARCH_STRIP * width + x - 1];
}

static __device__ __forceinline__ struct smartcrop_part part_at(const struct search &search,
                                                                uint32_t left, uint32_t top) {
    const uint32_t right = left + search.width, end = top + search.height;
    struct smartcrop_part part;
    part.sum = sum_before(search, right, end) - sum_before(search, left, end) -
               sum_before(search, right, top) + sum_before(search, left, top);
    part.apart = smartcrop_apart(left, top, search.in.width - search.width,
                                 search.in.height - search.height);
    part.top = top;
    part.left = left;
    return part;
}

/* All threads: the best of theirs, in shared memory. */
static __device__ __forceinline__ struct smartcrop_part best_of_block(struct smartcrop_part own) {
    __shared__ struct smartcrop_part parts[SEARCH_THREADS];
    parts[threadIdx.x] = own;
    for (uint32_t half = SEARCH_THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half && smartcrop_better(&parts[threadIdx.x + half], &parts[threadIdx.x]))
            parts[threadIdx.x] = parts[threadIdx.x + half];
    }
    __syncthreads();
    return parts[0];
}

static __device__ __forceinline__ struct smartcrop_part no_part(void) {
    struct smartcrop_part part;
    part.sum = 0;
    part.apart = part.top = part.left = UINT32_MAX;
    return part;
}

/* Blocks take rows of parts in turn. */
static __global__ void __launch_bounds__(SEARCH_THREADS)
    search_parts_kernel(const __grid_constant__ struct search search) {
    const uint32_t across = search.in.width - search.width, down = search.in.height - search.height;
    struct smartcrop_part best = no_part();
    for (uint32_t top = blockIdx.x; top <= down; top += SEARCH_PARTS)
        for (uint32_t left = threadIdx.x; left <= across; left += SEARCH_THREADS) {
            const struct smartcrop_part part = part_at(search, left, top);
            if (smartcrop_better(&part, &best)) best = part;
        }
    best = best_of_block(best);
    if (threadIdx.x == 0) search.parts[blockIdx.x] = best;
}

#endif
