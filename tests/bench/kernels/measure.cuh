// SPDX-License-Identifier: Apache-2.0
/* measure.cuh - median times of work queued on a stream, and what a ladder needs around it.
 *
 * Used by:  scene.cuh; the ladders of carving.
 * Fails:    a CUDA error ends the program with its text, after on_failure.
 * Threads:  in_parallel starts one for each core and joins them.
 */
#ifndef BURIN_MEASURE_CUH
#define BURIN_MEASURE_CUH

#include "cuda/check.cuh"
#include "cuda/cooperative_lane.cuh"
#include "cuda/cuda_op.h"

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <thread>
#include <vector>

enum { REPEATS = 41, TRAIN = 20, COLD_BYTES = 384 << 20 };

enum status fail(struct failure *failure, enum status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->message, sizeof failure->message, format, arguments);
    va_end(arguments);
    return status;
}

/* A ladder is alone on its GPU: nobody takes turns. */
cudaStream_t cooperative_lane_begin_short(struct cooperative_lane *, cudaStream_t stream,
                                          cudaError_t *error) {
    *error = cudaSuccess;
    return stream;
}
cudaError_t cooperative_lane_end_short(struct cooperative_lane *, cudaStream_t) {
    return cudaSuccess;
}
cudaStream_t cooperative_lane_begin_long(struct cooperative_lane *, cudaStream_t stream,
                                         const void *, cudaError_t *error) {
    *error = cudaSuccess;
    return stream;
}
cudaError_t cooperative_lane_end_long(struct cooperative_lane *, cudaStream_t) {
    return cudaSuccess;
}

/* Prints details of a failure; may be NULL. */
static void (*on_failure)(void);

static void check(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    if (on_failure) on_failure();
    exit(1);
}
#define TRY(call) check(call, #call)

/* Keeps the stream busy while the host queues what is to be measured, so that no launch is waited
 * for. */
static __global__ void hold_stream(long long cycles) {
    const long long until = clock64() + cycles;
    while (clock64() < until) {
    }
}

/* Median microseconds of one of TRAIN calls of WORK(number of the run) in a row, by events. */
template <class Work> static double median_us(cudaStream_t stream, int train, const Work &work) {
    cudaEvent_t events[2 * REPEATS];
    std::vector<double> us;
    for (cudaEvent_t &event : events) TRY(cudaEventCreate(&event));
    for (int i = -3; i < REPEATS; i++) {
        if (i == 0) hold_stream<<<1, 1, 0, stream>>>(REPEATS * 40000ll * train);
        if (i >= 0) TRY(cudaEventRecord(events[2 * i], stream));
        for (int k = 0; k < train; k++) work(i + 3);
        if (i >= 0) TRY(cudaEventRecord(events[2 * i + 1], stream));
    }
    TRY(cudaStreamSynchronize(stream));
    for (int i = 0; i < REPEATS; i++) {
        float ms;
        TRY(cudaEventElapsedTime(&ms, events[2 * i], events[2 * i + 1]));
        us.push_back(1e3 * ms / train);
    }
    for (cudaEvent_t &event : events) TRY(cudaEventDestroy(event));
    std::sort(us.begin(), us.end());
    return us[REPEATS / 2];
}

static unsigned host_threads(void) {
    return std::max(1u, std::thread::hardware_concurrency());
}

/* WORK(part, from, to) over 0..COUNT, a part for each of host_threads(). */
template <class Work> static void in_parallel(uint64_t count, const Work &work) {
    const unsigned parts = host_threads();
    std::vector<std::thread> threads;
    for (unsigned p = 0; p < parts; p++)
        threads.emplace_back([=] { work(p, count * p / parts, count * (p + 1) / parts); });
    for (std::thread &thread : threads) thread.join();
}

/* The device's facts and a stream of its own. */
static void context_make(struct cuda_context &context) {
    int major, minor;
    TRY(cudaStreamCreateWithFlags(&context.stream, cudaStreamNonBlocking));
    TRY(cudaDeviceGetAttribute(&context.multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    TRY(cudaDeviceGetAttribute(&context.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    TRY(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    context.capability = 10 * major + minor;
    context.cooperative_blocks_max = 0;
}

static inline __host__ __device__ uint32_t hash(uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* A symbol of one of NVIDIA's libraries, or NULL where the machine has none. */
static inline void *library_symbol(const char *library, const char *symbol) {
    for (const char *folder : { "", "/usr/local/cuda/lib64/" })
        for (const char *version : { ".13", ".12", "" }) {
            char name[160];
            snprintf(name, sizeof name, "%s%s.so%s", folder, library, version);
            void *handle = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
            if (handle) return dlsym(handle, symbol);
        }
    return NULL;
}

#endif
