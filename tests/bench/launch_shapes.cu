// SPDX-License-Identifier: Apache-2.0
/* How it works. Three plain kernels: count, table, apply. The first and the last walk the picture
 * in strides of the whole grid, so that every shape from one thread upwards gives the same
 * result. */
#include "tests/bench/launch_shapes.h"

#include "cuda/check.cuh"
#include "pipeline/ops/histeq.h"

#include <stdlib.h>
#include <string.h>

namespace {

enum { LEVELS = 256, REPEATS = 3 };

struct work {
    uint8_t *in, *out; /* packed RGB */
    uint32_t *counts, *levels;
    uint32_t pixels;
};

__device__ uint32_t peak(const uint8_t *rgb) {
    return max(max((uint32_t)rgb[0], (uint32_t)rgb[1]), (uint32_t)rgb[2]);
}

__global__ void count_kernel(struct work work) {
    __shared__ uint32_t counts[LEVELS];
    for (uint32_t i = threadIdx.x; i < LEVELS; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    const uint32_t step = gridDim.x * blockDim.x;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < work.pixels; i += step)
        atomicAdd(&counts[peak(work.in + 3 * (size_t)i)], 1);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < LEVELS; i += blockDim.x)
        atomicAdd(&work.counts[i], counts[i]);
}

/* One block; every thread sums for its own levels. */
__global__ void table_kernel(struct work work) {
    for (uint32_t v = threadIdx.x; v < LEVELS; v += blockDim.x) {
        uint32_t sum = 0, first = 0;
        for (uint32_t i = 0; i < LEVELS; i++) {
            if (!first) first = work.counts[i];
            if (i <= v) sum += work.counts[i];
        }
        work.levels[v] =
            first == work.pixels ? v : histeq_quantile(sum, first, work.pixels, 255, HISTEQ_MINMAX);
    }
}

__global__ void apply_kernel(struct work work) {
    const uint32_t step = gridDim.x * blockDim.x;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < work.pixels; i += step) {
        const uint8_t *in = work.in + 3 * (size_t)i;
        const uint32_t value = peak(in), level = work.levels[value];
        for (int c = 0; c < 3; c++)
            work.out[3 * (size_t)i + c] = (uint8_t)level_scaled(in[c], value, level, 255);
    }
}

enum status run_once(const struct work *work, struct launch_shape *shape, cudaEvent_t start,
                     cudaEvent_t stop, float *ms, struct failure *failure) {
    CUDA_TRY(failure, cudaMemsetAsync(work->counts, 0, LEVELS * sizeof(uint32_t)));
    CUDA_TRY(failure, cudaEventRecord(start));
    count_kernel<<<shape->blocks, shape->threads>>>(*work);
    table_kernel<<<1, LEVELS>>>(*work);
    apply_kernel<<<shape->blocks, shape->threads>>>(*work);
    CUDA_LAUNCHED(failure);
    CUDA_TRY(failure, cudaEventRecord(stop));
    CUDA_TRY(failure, cudaEventSynchronize(stop));
    CUDA_TRY(failure, cudaEventElapsedTime(ms, start, stop));
    return STATUS_OK;
}

enum status measure_shape(const struct work *work, struct launch_shape *shape, cudaEvent_t start,
                          cudaEvent_t stop, struct failure *failure) {
    float ms[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        const enum status status = run_once(work, shape, start, stop, &ms[i], failure);
        if (status) return status;
    }
    shape->ms = max(min(ms[0], ms[1]), min(max(ms[0], ms[1]), ms[2]));
    return STATUS_OK;
}

enum status check_result(const struct work *work, const struct image *expected,
                         struct failure *failure) {
    const size_t row = image_row_bytes(expected);
    uint8_t *got = (uint8_t *)malloc(row * expected->height);
    if (!got) return fail(failure, STATUS_NO_MEMORY, "no memory to check a result");
    const cudaError_t error =
        cudaMemcpy(got, work->out, row * expected->height, cudaMemcpyDeviceToHost);
    int wrong = error != cudaSuccess;
    for (uint32_t y = 0; !wrong && y < expected->height; y++)
        wrong = memcmp(got + y * row, image_row(expected, y), row) != 0;
    free(got);
    return wrong ? fail(failure, STATUS_DEVICE, "a launch shape gave a wrong result") : STATUS_OK;
}

enum status measure_all(struct work *work, const struct image *expected,
                        struct launch_shape *shapes, int count, struct failure *failure) {
    cudaEvent_t start, stop;
    CUDA_TRY(failure, cudaEventCreate(&start));
    CUDA_TRY(failure, cudaEventCreate(&stop));
    for (int i = 0; i < count; i++) {
        CUDA_TRY(failure, cudaMemset(work->out, 0x5a, 3 * (size_t)work->pixels));
        enum status status = measure_shape(work, &shapes[i], start, stop, failure);
        if (!status) status = check_result(work, expected, failure);
        if (status) return status;
    }
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return STATUS_OK;
}

enum status open_work(struct work *work, const struct image *picture, struct failure *failure) {
    const size_t row = image_row_bytes(picture), bytes = row * picture->height;
    work->pixels = (uint32_t)image_pixels(picture);
    CUDA_TRY(failure, cudaMalloc(&work->in, bytes));
    CUDA_TRY(failure, cudaMalloc(&work->out, bytes));
    CUDA_TRY(failure, cudaMalloc(&work->counts, LEVELS * sizeof(uint32_t)));
    CUDA_TRY(failure, cudaMalloc(&work->levels, LEVELS * sizeof(uint32_t)));
    CUDA_TRY(failure, cudaMemcpy2D(work->in, row, picture->pixels, picture->stride, row,
                                   picture->height, cudaMemcpyHostToDevice));
    return STATUS_OK;
}

} // namespace

extern "C" enum status launch_shapes_measure(int device, const struct image *picture,
                                             const struct image *expected,
                                             struct launch_shape *shapes, int count,
                                             struct failure *failure) {
    struct work work = {};
    CUDA_TRY(failure, cudaSetDevice(device));
    enum status status = open_work(&work, picture, failure);
    if (!status) status = measure_all(&work, expected, shapes, count, failure);
    cudaFree(work.in);
    cudaFree(work.out);
    cudaFree(work.counts);
    cudaFree(work.levels);
    return status;
}
