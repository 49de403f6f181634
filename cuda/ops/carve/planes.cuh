// SPDX-License-Identifier: Apache-2.0
/* planes.cuh - what a strip is made of: the luma of an image and its marks, as it lies or turned.
 */
#ifndef BURIN_CARVE_PLANES_CUH
#define BURIN_CARVE_PLANES_CUH

#include "cuda/cuda_op.h"
#include "cuda/ops/carve/words.cuh"
#include "pipeline/ops/carve.h"

/* One byte a pixel. */
struct plane {
    uint8_t *bytes;
    uint32_t stride;
};

static __device__ __forceinline__ uint32_t sample_at(const struct image &image, uint32_t x,
                                                     uint32_t y, unsigned channel) {
    const size_t at = (size_t)x * image.channels + channel;
    const uint8_t *const row = image.pixels + y * image.stride;
    return image.depth == 8 ? row[at] : ((const uint16_t *)row)[at];
}

static __device__ __forceinline__ void put_sample(const struct image &image, uint32_t x, uint32_t y,
                                                  unsigned channel, uint32_t sample) {
    const size_t at = (size_t)x * image.channels + channel;
    uint8_t *const row = image.pixels + y * image.stride;
    if (image.depth == 8)
        row[at] = (uint8_t)sample;
    else
        ((uint16_t *)row)[at] = (uint16_t)sample;
}

static __device__ __forceinline__ uint32_t luma_at(const struct image &image, uint32_t x,
                                                   uint32_t y) {
    const uint32_t red = sample_at(image, x, y, 0);
    if (image.channels < 3) return image.depth == 8 ? red : red >> 8;
    return carve_luma(red, sample_at(image, x, y, 1), sample_at(image, x, y, 2), image.depth);
}

/* Where a plane's bytes come from: a plane, else an image's luma, else masks. */
struct fill_job {
    struct plane from;
    struct image image, keep, remove; /* width 0: not given */
    uint32_t width, height;           /* as they lie */
    struct plane to;
    bool turned;
    struct cuda_watch *watch; /* told TOTAL, if not NULL */
    uint32_t total;
};

static __device__ __forceinline__ uint32_t byte_at(const struct fill_job &job, uint32_t x,
                                                   uint32_t y) {
    if (job.from.bytes) return job.from.bytes[(size_t)y * job.from.stride + x];
    if (job.image.width) return luma_at(job.image, x, y);
    return (job.keep.width && sample_at(job.keep, x, y, 0) >= 128 ? 1 : 0) |
           (job.remove.width && sample_at(job.remove, x, y, 0) >= 128 ? 2 : 0);
}

enum { FILL_TILE = 32, FILL_ROWS = 8 };

/* A block fills a tile, through shared memory, so that rows are read and written whole. */
static __global__ void fill_kernel(const __grid_constant__ struct fill_job job) {
    __shared__ uint8_t tile[FILL_TILE][FILL_TILE + 4];
    const uint32_t x0 = blockIdx.x * FILL_TILE, y0 = blockIdx.y * FILL_TILE;
    if (job.watch && x0 + y0 + threadIdx.x + threadIdx.y == 0)
        ((volatile struct cuda_watch *)job.watch)->total = job.total;
    for (uint32_t i = threadIdx.y; i < FILL_TILE; i += FILL_ROWS) {
        const uint32_t x = x0 + threadIdx.x, y = y0 + i;
        if (x < job.width && y < job.height) tile[i][threadIdx.x] = (uint8_t)byte_at(job, x, y);
    }
    __syncthreads();
    for (uint32_t i = threadIdx.y; i < FILL_TILE; i += FILL_ROWS) {
        const uint32_t x = job.turned ? y0 + threadIdx.x : x0 + threadIdx.x;
        const uint32_t y = job.turned ? x0 + i : y0 + i;
        if (x < (job.turned ? job.height : job.width) && y < (job.turned ? job.width : job.height))
            job.to.bytes[(size_t)y * job.to.stride + x] =
                job.turned ? tile[threadIdx.x][i] : tile[i][threadIdx.x];
    }
}

static inline enum status fill_plane(cudaStream_t stream, const struct fill_job &job,
                                     struct failure *failure) {
    const dim3 tiles((job.width + FILL_TILE - 1) / FILL_TILE,
                     (job.height + FILL_TILE - 1) / FILL_TILE);
    return launch(fill_kernel, tiles, dim3(FILL_TILE, FILL_ROWS), stream, job, failure);
}

#endif
