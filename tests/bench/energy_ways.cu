// SPDX-License-Identifier: Apache-2.0
/* How it works. A thread a pixel, blocks of 32 x 8. In the one kernel every thread reads its
 * neighbours from global memory; in the other a block first brings its tile, with a margin of two,
 * to shared memory. Borders are replicated by clamping coordinates, in both. */
#include "tests/bench/energy_ways.h"

#include "cuda/check.cuh"
#include "cuda/ops/carve/energy.cuh"

#include <algorithm>
#include <stdlib.h>
#include <string.h>

namespace {

enum { TILE_X = 32, TILE_Y = 8, MARGIN = 2, REPEATS_MAX = 64 };

struct plane {
    uint8_t *luma;
    uint16_t *energy;
    int width, height;
};

struct from_global {
    const struct plane &plane;
    __device__ int at(int x, int y) const {
        x = min(max(x, 0), plane.width - 1), y = min(max(y, 0), plane.height - 1);
        return plane.luma[(size_t)y * plane.width + x];
    }
};

struct from_tile {
    const uint8_t (*tile)[TILE_X + 2 * MARGIN];
    int left, top;
    __device__ int at(int x, int y) const {
        return tile[y - top][x - left];
    }
};

/* Rows of the window: all in one piece of code. */
enum { ROWS = 2 * MARGIN + 1 };

template <int KIND> __global__ void global_kernel(const struct plane plane) {
    const int x = blockIdx.x * TILE_X + threadIdx.x, y = blockIdx.y * TILE_Y + threadIdx.y;
    if (x >= plane.width || y >= plane.height) return;
    const struct from_global luma = { plane };
    plane.energy[(size_t)y * plane.width + x] = (uint16_t)energy_at<ROWS>(luma, KIND, x, y);
}

template <int KIND> __global__ void shared_kernel(const struct plane plane) {
    __shared__ uint8_t tile[TILE_Y + 2 * MARGIN][TILE_X + 2 * MARGIN];
    const int left = blockIdx.x * TILE_X - MARGIN, top = blockIdx.y * TILE_Y - MARGIN;
    for (int j = threadIdx.y; j < TILE_Y + 2 * MARGIN; j += TILE_Y)
        for (int i = threadIdx.x; i < TILE_X + 2 * MARGIN; i += TILE_X) {
            const struct from_global luma = { plane };
            tile[j][i] = (uint8_t)luma.at(left + i, top + j);
        }
    __syncthreads();
    const int x = left + MARGIN + threadIdx.x, y = top + MARGIN + threadIdx.y;
    if (x >= plane.width || y >= plane.height) return;
    const struct from_tile luma = { tile, left, top };
    plane.energy[(size_t)y * plane.width + x] = (uint16_t)energy_at<ROWS>(luma, KIND, x, y);
}

typedef void (*kernel)(const struct plane plane);

const kernel kernels[ENERGY_KINDS][2] = {
    { global_kernel<CARVE_GRADIENT>, shared_kernel<CARVE_GRADIENT> },
    { global_kernel<CARVE_SOBEL3>, shared_kernel<CARVE_SOBEL3> },
    { global_kernel<CARVE_SOBEL5>, shared_kernel<CARVE_SOBEL5> },
};

enum status median_of(const struct plane *plane, kernel run, int repeats, double *median,
                      struct failure *failure) {
    float ms[REPEATS_MAX];
    cudaEvent_t start, stop;
    const dim3 threads(TILE_X, TILE_Y);
    const dim3 blocks((plane->width + TILE_X - 1) / TILE_X, (plane->height + TILE_Y - 1) / TILE_Y);
    CUDA_TRY(failure, cudaEventCreate(&start));
    CUDA_TRY(failure, cudaEventCreate(&stop));
    const int runs = std::min(repeats, (int)REPEATS_MAX);
    for (int i = -1; i < runs; i++) { /* the first is not counted */
        CUDA_TRY(failure, cudaEventRecord(start));
        run<<<blocks, threads>>>(*plane);
        CUDA_LAUNCHED(failure);
        CUDA_TRY(failure, cudaEventRecord(stop));
        CUDA_TRY(failure, cudaEventSynchronize(stop));
        if (i >= 0) CUDA_TRY(failure, cudaEventElapsedTime(&ms[i], start, stop));
    }
    std::sort(ms, ms + runs);
    *median = ms[runs / 2];
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return STATUS_OK;
}

enum status measure_one(const struct plane *plane, kernel run, const uint16_t *expected,
                        uint16_t *got, int repeats, double *ms, struct failure *failure) {
    const size_t bytes = (size_t)plane->width * plane->height * sizeof *got;
    CUDA_TRY(failure, cudaMemset(plane->energy, 0x5a, bytes));
    const enum status status = median_of(plane, run, repeats, ms, failure);
    if (status) return status;
    CUDA_TRY(failure, cudaMemcpy(got, plane->energy, bytes, cudaMemcpyDeviceToHost));
    return memcmp(got, expected, bytes) == 0
               ? STATUS_OK
               : fail(failure, STATUS_DEVICE, "an energy kernel gave a wrong result");
}

enum status measure_all(const struct plane *plane, const uint16_t *const expected[ENERGY_KINDS],
                        int repeats, struct energy_way_times *times, struct failure *failure) {
    uint16_t *got = (uint16_t *)malloc((size_t)plane->width * plane->height * sizeof *got);
    enum status status =
        got ? STATUS_OK : fail(failure, STATUS_NO_MEMORY, "no memory to check a result");
    for (int kind = 0; kind < ENERGY_KINDS && !status; kind++) {
        status = measure_one(plane, kernels[kind][0], expected[kind], got, repeats,
                             &times->global_ms[kind], failure);
        if (!status)
            status = measure_one(plane, kernels[kind][1], expected[kind], got, repeats,
                                 &times->shared_ms[kind], failure);
    }
    free(got);
    return status;
}

enum status open_plane(struct plane *plane, const struct image *luma, struct failure *failure) {
    const size_t pixels = (size_t)image_pixels(luma);
    plane->width = (int)luma->width;
    plane->height = (int)luma->height;
    CUDA_TRY(failure, cudaMalloc(&plane->luma, pixels));
    CUDA_TRY(failure, cudaMalloc(&plane->energy, pixels * sizeof *plane->energy));
    CUDA_TRY(failure, cudaMemcpy2D(plane->luma, luma->width, luma->pixels, luma->stride,
                                   luma->width, luma->height, cudaMemcpyHostToDevice));
    return STATUS_OK;
}

} // namespace

extern "C" enum status energy_ways_measure(int device, const struct image *luma,
                                           const uint16_t *const expected[ENERGY_KINDS],
                                           int repeats, struct energy_way_times *times,
                                           struct failure *failure) {
    struct plane plane = {};
    CUDA_TRY(failure, cudaSetDevice(device));
    enum status status = open_plane(&plane, luma, failure);
    if (!status) status = measure_all(&plane, expected, repeats, times, failure);
    cudaFree(plane.luma);
    cudaFree(plane.energy);
    return status;
}
