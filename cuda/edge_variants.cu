// SPDX-License-Identifier: Apache-2.0
/* Two kernels as simple as they can be, whose borders are replicated by clamping coordinates, and
 * the operator's. */
#include "cuda/edge_variants.h"

#include "cuda/check.cuh"
#include "cuda/cuda_op.h"
#include "pipeline/plan.h"
#include "pipeline/registry.h"

#include <algorithm>
#include <stdlib.h>
#include <string.h>

namespace {

enum { ACROSS = 32, DOWN = 8, REPEATS_MAX = 100, PAUSE_CYCLES = 40000 };

struct work {
    struct image in, out;        /* on the device */
    uint8_t *host_in, *host_out; /* pinned, rows as on the device */
    size_t bytes;
    struct cuda_context context;
    struct params params; /* of the operator */
};

__device__ uint8_t pixel_at(const struct image &image, int x, int y) {
    const int row = min(max(y, 0), (int)image.height - 1);
    return image.pixels[row * image.stride + min(max(x, 0), (int)image.width - 1)];
}

/* WINDOW leads to the upper left of nine levels, rows PITCH apart. */
__device__ uint8_t sobel(const uint8_t *window, int pitch) {
    const uint8_t *a = window, *b = window + pitch, *c = window + 2 * pitch;
    const int gx = a[2] - a[0] + 2 * (b[2] - b[0]) + c[2] - c[0];
    const int gy = c[0] - a[0] + 2 * (c[1] - a[1]) + c[2] - a[2];
    return (uint8_t)min((int)sqrtf((float)(gx * gx + gy * gy)), 255);
}

__global__ void plain_kernel(struct image in, struct image out) {
    const int x = blockIdx.x * ACROSS + threadIdx.x, y = blockIdx.y * DOWN + threadIdx.y;
    if (x >= (int)in.width || y >= (int)in.height) return;
    uint8_t window[9];
    for (int i = 0; i < 9; i++) window[i] = pixel_at(in, x + i % 3 - 1, y + i / 3 - 1);
    out.pixels[y * out.stride + x] = sobel(window, 3);
}

__global__ void shared_kernel(struct image in, struct image out) {
    enum { PITCH = ACROSS + 2, LEVELS = PITCH * (DOWN + 2) };
    __shared__ uint8_t tile[LEVELS];
    const int left = blockIdx.x * ACROSS, top = blockIdx.y * DOWN;
    const int x = left + threadIdx.x, y = top + threadIdx.y;
    for (int i = threadIdx.y * ACROSS + threadIdx.x; i < LEVELS; i += ACROSS * DOWN)
        tile[i] = pixel_at(in, left + i % PITCH - 1, top + i / PITCH - 1);
    __syncthreads();
    if (x >= (int)in.width || y >= (int)in.height) return;
    out.pixels[y * out.stride + x] = sobel(tile + threadIdx.y * PITCH + threadIdx.x, PITCH);
}

/* Keeps the GPU busy while what is to be timed is handed to it: a small image takes less time than
 * that. */
__global__ void pause_kernel(void) {
    const int64_t start = clock64();
    while (clock64() - start < PAUSE_CYCLES) {
    }
}

enum status launch(struct work *work, enum edge_variant variant, struct failure *failure) {
    const dim3 blocks((work->in.width + ACROSS - 1) / ACROSS, (work->in.height + DOWN - 1) / DOWN);
    const dim3 threads(ACROSS, DOWN);
    struct op_call call = {};
    call.params = &work->params;
    call.in = work->in, call.out = work->out;
    call.failure = failure;
    if (variant == EDGE_VARIANT_SHIPPED)
        return cuda_twin(registry_find("edge"))->run(&work->context, &call, 1);
    if (variant == EDGE_VARIANT_PLAIN)
        plain_kernel<<<blocks, threads>>>(work->in, work->out);
    else
        shared_kernel<<<blocks, threads>>>(work->in, work->out);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

/* EVENTS: before and behind the copy up, the kernel, the copy down. */
enum status run_once(struct work *work, enum edge_variant variant, cudaEvent_t events[6],
                     float ms[3], struct failure *failure) {
    CUDA_TRY(failure, cudaEventRecord(events[0]));
    CUDA_TRY(failure,
             cudaMemcpyAsync(work->in.pixels, work->host_in, work->bytes, cudaMemcpyHostToDevice));
    CUDA_TRY(failure, cudaEventRecord(events[1]));
    pause_kernel<<<1, 1>>>();
    CUDA_LAUNCHED(failure);
    CUDA_TRY(failure, cudaEventRecord(events[2]));
    const enum status status = launch(work, variant, failure);
    if (status) return status;
    CUDA_TRY(failure, cudaEventRecord(events[3]));
    CUDA_TRY(failure, cudaEventRecord(events[4]));
    CUDA_TRY(failure, cudaMemcpyAsync(work->host_out, work->out.pixels, work->bytes,
                                      cudaMemcpyDeviceToHost));
    CUDA_TRY(failure, cudaEventRecord(events[5]));
    CUDA_TRY(failure, cudaEventSynchronize(events[5]));
    for (int i = 0; i < 3; i++)
        CUDA_TRY(failure, cudaEventElapsedTime(&ms[i], events[2 * i], events[2 * i + 1]));
    return STATUS_OK;
}

double median(float *values, int count) {
    std::sort(values, values + count);
    return values[count / 2];
}

enum status measure(struct work *work, enum edge_variant variant, int repeats,
                    struct edge_variant_times *times, struct failure *failure) {
    cudaEvent_t events[6];
    float stages[3][REPEATS_MAX];
    const int count = std::min(repeats, (int)REPEATS_MAX);
    for (int e = 0; e < 6; e++) CUDA_TRY(failure, cudaEventCreate(&events[e]));
    for (int i = -1; i < count; i++) { /* the first is not counted */
        float ms[3];
        const enum status status = run_once(work, variant, events, ms, failure);
        if (status) return status;
        for (int s = 0; s < 3 && i >= 0; s++) stages[s][i] = ms[s];
    }
    for (int e = 0; e < 6; e++) cudaEventDestroy(events[e]);
    times->upload = median(stages[0], count);
    times->compute = median(stages[1], count);
    times->download = median(stages[2], count);
    return STATUS_OK;
}

enum status open_work(struct work *work, int device, const struct image *picture,
                      struct failure *failure) {
    struct cudaDeviceProp facts;
    struct plan plan;
    CUDA_TRY(failure, cudaGetDeviceProperties(&facts, device));
    work->context.multiprocessors = facts.multiProcessorCount;
    work->context.capability = 10 * facts.major + facts.minor;
    work->context.shared_bytes = (int)facts.sharedMemPerBlockOptin;
    const enum status status = plan_parse(&plan, "edge", failure);
    if (status) return status;
    work->params = plan.steps[0].params;
    work->in = work->out = image_shape(picture->width, picture->height, 1, 8);
    work->bytes = image_bytes(&work->in);
    CUDA_TRY(failure, cudaMalloc(&work->in.pixels, work->bytes));
    CUDA_TRY(failure, cudaMalloc(&work->out.pixels, work->bytes));
    CUDA_TRY(failure, cudaMallocHost(&work->host_in, work->bytes));
    CUDA_TRY(failure, cudaMallocHost(&work->host_out, work->bytes));
    for (uint32_t y = 0; y < picture->height; y++)
        memcpy(work->host_in + y * work->in.stride, image_row(picture, y), picture->width);
    return STATUS_OK;
}

bool is_right(const struct work *work, const struct image *expected) {
    for (uint32_t y = 0; y < expected->height; y++)
        if (memcmp(work->host_out + y * work->out.stride, image_row(expected, y),
                   expected->width) != 0)
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
    enum status status = open_work(&work, device, picture, failure);
    if (!status) status = measure(&work, variant, repeats, times, failure);
    if (!status && !is_right(&work, expected))
        status = fail(failure, STATUS_DEVICE, "a variant gave a wrong result");
    cudaFree(work.in.pixels);
    cudaFree(work.out.pixels);
    cudaFreeHost(work.host_in);
    cudaFreeHost(work.host_out);
    return status;
}
