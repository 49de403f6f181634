// SPDX-License-Identifier: Apache-2.0
/* Two kernels as simple as they can be; borders are replicated by clamping coordinates. */
#include "cuda/edge_variants.h"

#include "cuda/check.cuh"

#include <algorithm>
#include <stdlib.h>
#include <string.h>

namespace {

enum { ACROSS = 32, DOWN = 8, REPEATS_MAX = 100 };

struct work {
    uint8_t *in, *out;           /* device, rows without gaps */
    uint8_t *host_in, *host_out; /* pinned */
    int width, height;
    size_t bytes;
};

__device__ uint8_t pixel_at(const struct work &work, int x, int y) {
    return work
        .in[(size_t)min(max(y, 0), work.height - 1) * work.width + min(max(x, 0), work.width - 1)];
}

/* WINDOW leads to the upper left of nine levels, rows PITCH apart. */
__device__ uint8_t sobel(const uint8_t *window, int pitch) {
    const uint8_t *a = window, *b = window + pitch, *c = window + 2 * pitch;
    const int gx = a[2] - a[0] + 2 * (b[2] - b[0]) + c[2] - c[0];
    const int gy = c[0] - a[0] + 2 * (c[1] - a[1]) + c[2] - a[2];
    return (uint8_t)min((int)sqrtf((float)(gx * gx + gy * gy)), 255);
}

__global__ void plain_kernel(struct work work) {
    const int x = blockIdx.x * ACROSS + threadIdx.x, y = blockIdx.y * DOWN + threadIdx.y;
    if (x >= work.width || y >= work.height) return;
    uint8_t window[9];
    for (int i = 0; i < 9; i++) window[i] = pixel_at(work, x + i % 3 - 1, y + i / 3 - 1);
    work.out[(size_t)y * work.width + x] = sobel(window, 3);
}

__global__ void shared_kernel(struct work work) {
    enum { PITCH = ACROSS + 2, LEVELS = PITCH * (DOWN + 2) };
    __shared__ uint8_t tile[LEVELS];
    const int left = blockIdx.x * ACROSS, top = blockIdx.y * DOWN;
    const int x = left + threadIdx.x, y = top + threadIdx.y;
    for (int i = threadIdx.y * ACROSS + threadIdx.x; i < LEVELS; i += ACROSS * DOWN)
        tile[i] = pixel_at(work, left + i % PITCH - 1, top + i / PITCH - 1);
    __syncthreads();
    if (x >= work.width || y >= work.height) return;
    work.out[(size_t)y * work.width + x] = sobel(tile + threadIdx.y * PITCH + threadIdx.x, PITCH);
}

enum status run_once(const struct work *work, enum edge_variant variant, cudaEvent_t events[4],
                     float ms[3], struct failure *failure) {
    const dim3 blocks((work->width + ACROSS - 1) / ACROSS, (work->height + DOWN - 1) / DOWN);
    const dim3 threads(ACROSS, DOWN);
    CUDA_TRY(failure, cudaEventRecord(events[0]));
    CUDA_TRY(failure,
             cudaMemcpyAsync(work->in, work->host_in, work->bytes, cudaMemcpyHostToDevice));
    CUDA_TRY(failure, cudaEventRecord(events[1]));
    if (variant == EDGE_VARIANT_PLAIN)
        plain_kernel<<<blocks, threads>>>(*work);
    else
        shared_kernel<<<blocks, threads>>>(*work);
    CUDA_LAUNCHED(failure);
    CUDA_TRY(failure, cudaEventRecord(events[2]));
    CUDA_TRY(failure,
             cudaMemcpyAsync(work->host_out, work->out, work->bytes, cudaMemcpyDeviceToHost));
    CUDA_TRY(failure, cudaEventRecord(events[3]));
    CUDA_TRY(failure, cudaEventSynchronize(events[3]));
    for (int i = 0; i < 3; i++)
        CUDA_TRY(failure, cudaEventElapsedTime(&ms[i], events[i], events[i + 1]));
    return STATUS_OK;
}

double median(float *values, int count) {
    std::sort(values, values + count);
    return values[count / 2];
}

enum status measure(const struct work *work, enum edge_variant variant, int repeats,
                    struct edge_variant_times *times, struct failure *failure) {
    cudaEvent_t events[4];
    float stages[3][REPEATS_MAX];
    const int count = std::min(repeats, (int)REPEATS_MAX);
    for (int e = 0; e < 4; e++) CUDA_TRY(failure, cudaEventCreate(&events[e]));
    for (int i = -1; i < count; i++) { /* the first is not counted */
        float ms[3];
        const enum status status = run_once(work, variant, events, ms, failure);
        if (status) return status;
        for (int s = 0; s < 3 && i >= 0; s++) stages[s][i] = ms[s];
    }
    for (int e = 0; e < 4; e++) cudaEventDestroy(events[e]);
    times->upload = median(stages[0], count);
    times->compute = median(stages[1], count);
    times->download = median(stages[2], count);
    return STATUS_OK;
}

enum status open_work(struct work *work, const struct image *picture, struct failure *failure) {
    work->width = (int)picture->width, work->height = (int)picture->height;
    work->bytes = (size_t)picture->width * picture->height;
    CUDA_TRY(failure, cudaMalloc(&work->in, work->bytes));
    CUDA_TRY(failure, cudaMalloc(&work->out, work->bytes));
    CUDA_TRY(failure, cudaMallocHost(&work->host_in, work->bytes));
    CUDA_TRY(failure, cudaMallocHost(&work->host_out, work->bytes));
    for (uint32_t y = 0; y < picture->height; y++)
        memcpy(work->host_in + (size_t)y * picture->width, image_row(picture, y), picture->width);
    return STATUS_OK;
}

bool is_right(const struct work *work, const struct image *expected) {
    for (uint32_t y = 0; y < expected->height; y++)
        if (memcmp(work->host_out + (size_t)y * work->width, image_row(expected, y),
                   (size_t)work->width) != 0)
            return false;
    return true;
}

} // namespace

extern "C" enum status edge_variant_measure(int device, enum edge_variant variant,
                                            const struct image *picture,
                                            const struct image *expected, int repeats,
                                            struct edge_variant_times *times,
                                            struct failure *failure) {
    struct work work = {};
    CUDA_TRY(failure, cudaSetDevice(device));
    enum status status = open_work(&work, picture, failure);
    if (!status) status = measure(&work, variant, repeats, times, failure);
    if (!status && !is_right(&work, expected))
        status = fail(failure, STATUS_DEVICE, "a variant gave a wrong result");
    cudaFree(work.in);
    cudaFree(work.out);
    cudaFreeHost(work.host_in);
    cudaFreeHost(work.host_out);
    return status;
}
