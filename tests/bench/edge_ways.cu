// SPDX-License-Identifier: Apache-2.0
/* How it works. Each run is three pairs of events on the default stream: copy up, kernel, copy
 * down. A kernel that only waits goes ahead of the one that is timed, so that this one is queued
 * before the GPU reaches it and its events do not include the time of the launch. */
#include "tests/bench/edge_ways.h"

#include "cuda/check.cuh"
#include "cuda/cuda_op.h"
#include "pipeline/plan.h"
#include "pipeline/registry.h"
#include "tests/bench/kernels/edge_textbook.cuh"

#include <algorithm>
#include <stdlib.h>
#include <string.h>

namespace {

enum { REPEATS_MAX = 100, PAUSE_CYCLES = 40000 };

struct work {
    struct image in, out;        /* on the device */
    uint8_t *host_in, *host_out; /* pinned, rows as on the device */
    size_t bytes;
    struct cuda_context context;
    struct params params; /* of the operator */
};

/* Keeps the GPU busy while the timed kernel is handed to it: a small image takes less time than
 * that. */
__global__ void pause_kernel(void) {
    const int64_t start = clock64();
    while (clock64() - start < PAUSE_CYCLES) {
    }
}

enum status launch(struct work *work, enum edge_way way, struct failure *failure) {
    struct op_call call = {};
    call.params = &work->params;
    call.in = work->in, call.out = work->out;
    call.failure = failure;
    if (way == EDGE_WAY_SHIPPED)
        return cuda_twin(registry_find("edge"))->run(&work->context, &call, 1);
    if (way == EDGE_WAY_PLAIN)
        textbook_plain(work->in, work->out, 0);
    else
        textbook_shared(work->in, work->out, 0);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

/* EVENTS: before and behind the copy up, the kernel, the copy down. */
enum status run_once(struct work *work, enum edge_way way, cudaEvent_t events[6], float ms[3],
                     struct failure *failure) {
    CUDA_TRY(failure, cudaEventRecord(events[0]));
    CUDA_TRY(failure,
             cudaMemcpyAsync(work->in.pixels, work->host_in, work->bytes, cudaMemcpyHostToDevice));
    CUDA_TRY(failure, cudaEventRecord(events[1]));
    pause_kernel<<<1, 1>>>();
    CUDA_LAUNCHED(failure);
    CUDA_TRY(failure, cudaEventRecord(events[2]));
    const enum status status = launch(work, way, failure);
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

enum status measure(struct work *work, enum edge_way way, int repeats, struct edge_way_times *times,
                    struct failure *failure) {
    cudaEvent_t events[6];
    float stages[3][REPEATS_MAX];
    const int count = std::min(repeats, (int)REPEATS_MAX);
    for (int e = 0; e < 6; e++) CUDA_TRY(failure, cudaEventCreate(&events[e]));
    for (int i = -1; i < count; i++) { /* the first is not counted */
        float ms[3];
        const enum status status = run_once(work, way, events, ms, failure);
        if (status) return status;
        for (int s = 0; s < 3 && i >= 0; s++) stages[s][i] = ms[s];
    }
    for (int e = 0; e < 6; e++) cudaEventDestroy(events[e]);
    times->upload_ms = median(stages[0], count);
    times->compute_ms = median(stages[1], count);
    times->download_ms = median(stages[2], count);
    return STATUS_OK;
}

enum status open_work(struct work *work, int device, const struct image *picture,
                      struct failure *failure) {
    struct cudaDeviceProp properties;
    struct plan plan;
    CUDA_TRY(failure, cudaGetDeviceProperties(&properties, device));
    work->context.multiprocessors = properties.multiProcessorCount;
    work->context.capability = 10 * properties.major + properties.minor;
    work->context.shared_bytes = (int)properties.sharedMemPerBlockOptin;
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

extern "C" enum status edge_way_measure(int device, enum edge_way way, const struct image *picture,
                                        const struct image *expected, int repeats,
                                        struct edge_way_times *times, struct failure *failure) {
    struct work work = {};
    CUDA_TRY(failure, cudaSetDevice(device));
    enum status status = open_work(&work, device, picture, failure);
    if (!status) status = measure(&work, way, repeats, times, failure);
    if (!status && !is_right(&work, expected))
        status = fail(failure, STATUS_DEVICE, "its result is wrong");
    cudaFree(work.in.pixels);
    cudaFree(work.out.pixels);
    cudaFreeHost(work.host_in);
    cudaFreeHost(work.host_out);
    return status;
}
