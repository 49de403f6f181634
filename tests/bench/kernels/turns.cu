// SPDX-License-Identifier: Apache-2.0
/* turns - what a small kernel waits for beside long kernels whose blocks wait for one another: why
 * they take turns (cuda/cooperative_lane.cuh), leave an eighth, and who has which priority.
 *
 * How it works. A long kernel holds its multiprocessors, with all of their shared memory, for
 * HOLD_MS. While there is one, a small kernel is launched and waited for again and again, on the
 * host's clock, from launch to end. A row a case; the first is without any long kernel.
 * Then chains of kernels as two lanes have them that decode and encode, beside a long kernel that
 * leaves none of the multiprocessors, a 16th, an 8th, a quarter or half of them: what
 * COOPERATIVE_LEFT (cuda/cooperative.cuh) should be. And small copies, by the engine and by a
 * kernel, beside a large one. */
#include <cuda_runtime.h>

#include <algorithm>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <vector>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const cudaError_t error_ = (call);                                                         \
        if (error_ != cudaSuccess) {                                                               \
            printf("%s: %s\n", #call, cudaGetErrorString(error_));                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { CHAIN = 12, CHAIN_THREADS = 128, CHAIN_BYTES = 24 << 10, CHAIN_ROUNDS = 2000, HOLDS = 8 };
enum { HOLD_MS = 30, LONG_THREADS = 640, SMALL_THREADS = 512, SMALL_BLOCKS = 10, SAMPLES = 20000 };

static __device__ uint64_t now_ns() {
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

static __global__ void hold(uint64_t ns) {
    extern __shared__ uint8_t memory[];
    const uint64_t began = now_ns();
    memory[threadIdx.x] = (uint8_t)began;
    while (now_ns() - began < ns) {
    }
}

static __global__ void touch(uint32_t *words) {
    words[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

/* A plain kernel that keeps all multiprocessors busy for milliseconds, in many short blocks. */
static __global__ void copy(uint4 *to, const uint4 *from, uint32_t rounds) {
    const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint4 v = from[at];
    for (uint32_t i = 0; i < rounds; i++) v.x = v.x * 1664525u + 1013904223u;
    to[at] = v;
}

/* The same cost for each block; 4 to 5 us where it has a scheduler to itself. */
static __global__ void chain_step(uint32_t *words) {
    extern __shared__ uint8_t memory[];
    uint32_t value = threadIdx.x;
    memory[threadIdx.x] = (uint8_t)value;
#pragma unroll 1
    for (int i = 0; i < CHAIN_ROUNDS; i++) value = value * 1664525u + 1013904223u;
    if (value == 1) words[0] = value;
}

/* Out of pinned memory. */
static __global__ void fetch(uint4 *to, const uint4 *from, uint32_t vectors) {
    const uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < vectors) to[at] = from[at];
}

static struct {
    int multiprocessors, shared_bytes;
    cudaStream_t high[3], low[2];
    cudaEvent_t done;
    uint32_t *words;
    uint4 *from, *to;
    uint8_t *host;
} gpu;

static const size_t COPY_BYTES = (size_t)256 << 20, SMALL_BYTES = 320 * 240 * 3;

static double host_us() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void start_long(cudaStream_t stream, int blocks) {
    uint64_t ns = HOLD_MS * UINT64_C(1000000);
    void *arguments[] = { &ns };
    TRY(cudaLaunchCooperativeKernel((const void *)hold, blocks, LONG_THREADS, arguments,
                                    gpu.shared_bytes, stream));
}

static void start_copy(cudaStream_t stream) {
    copy<<<COPY_BYTES / sizeof(uint4) / 256, 256, 0, stream>>>(gpu.to, gpu.from, 256);
    TRY(cudaGetLastError());
}

static void run_small(cudaStream_t stream, int blocks, bool cooperative) {
    void *arguments[] = { &gpu.words };
    if (cooperative)
        TRY(cudaLaunchCooperativeKernel((const void *)touch, blocks, SMALL_THREADS, arguments, 0,
                                        stream));
    else
        TRY(cudaLaunchKernel((const void *)touch, blocks, SMALL_THREADS, arguments, 0, stream));
    TRY(cudaStreamSynchronize(stream));
}

/* While WATCHED is busy, or SAMPLES / 10 times where it is NULL. */
template <class RUN> static void sample(const char *name, cudaStream_t watched, const RUN &run) {
    std::vector<double> us;
    while (watched ? us.size() < SAMPLES && cudaStreamQuery(watched) == cudaErrorNotReady
                   : us.size() < SAMPLES / 10) {
        const double began = host_us();
        run();
        us.push_back(host_us() - began);
    }
    cudaGetLastError();
    TRY(cudaDeviceSynchronize());
    std::sort(us.begin(), us.end());
    if (us.empty())
        printf("%-64s over before the first sample\n", name);
    else
        printf("%-64s %8zu %10.1f %10.1f %10.1f\n", name, us.size(), us[us.size() / 2],
               us[us.size() * 99 / 100], us.back());
    fflush(stdout);
}

static void measure(const char *name, cudaStream_t watched, cudaStream_t small, int blocks,
                    bool cooperative) {
    sample(name, watched, [&] { run_small(small, blocks, cooperative); });
}

/* ---- chains: two lanes of them, each kernel of BLOCKS blocks, beside a long kernel that leaves
 * one of LEFT multiprocessors; 0: none, and below 0 there is no long kernel */

static void run_chains(int blocks) {
    for (int i = 0; i < CHAIN; i++)
        for (int lane = 1; lane < 3; lane++)
            chain_step<<<blocks, CHAIN_THREADS, CHAIN_BYTES, gpu.high[lane]>>>(gpu.words);
    TRY(cudaGetLastError());
    for (int lane = 1; lane < 3; lane++) TRY(cudaStreamSynchronize(gpu.high[lane]));
}

static void measure_chains(int left, int blocks) {
    char name[80];
    const int kept = left > 0 ? gpu.multiprocessors / left : 0;
    snprintf(name, sizeof name, "two chains of %d kernels of %d blocks, %d of %d left", CHAIN,
             blocks, left < 0 ? gpu.multiprocessors : kept, gpu.multiprocessors);
    for (int i = 0; left >= 0 && i < HOLDS; i++)
        start_long(gpu.high[0], gpu.multiprocessors - kept);
    sample(name, left < 0 ? NULL : gpu.high[0], [&] { run_chains(blocks); });
}

/* ---- copies: some KB to the device beside COPY_BYTES in pieces */

static void fetch_small(size_t bytes, bool by_kernel, cudaStream_t stream) {
    const uint32_t vectors = (uint32_t)(bytes / sizeof(uint4));
    if (by_kernel)
        fetch<<<(vectors + 255) / 256, 256, 0, stream>>>(
            gpu.from, (const uint4 *)(gpu.host + COPY_BYTES), vectors);
    else
        TRY(cudaMemcpyAsync(gpu.from, gpu.host + COPY_BYTES, bytes, cudaMemcpyHostToDevice,
                            stream));
    TRY(cudaGetLastError());
    TRY(cudaStreamSynchronize(stream));
}

static void measure_copy(const char *name, size_t piece, int streams, size_t bytes = SMALL_BYTES,
                         bool by_kernel = false) {
    const cudaStream_t small = gpu.high[2];
    for (size_t at = 0, i = 0; piece && at < COPY_BYTES; at += piece, i++) {
        const cudaStream_t stream = gpu.low[i % streams];
        TRY(cudaMemcpyAsync((uint8_t *)gpu.to + at, gpu.host + at, piece, cudaMemcpyHostToDevice,
                            stream));
        if (streams == 1) continue;
        TRY(cudaEventRecord(gpu.done, stream));
        TRY(cudaStreamWaitEvent(gpu.low[(i + 1) % streams], gpu.done, 0));
    }
    sample(name, piece ? gpu.low[0] : NULL, [&] { fetch_small(bytes, by_kernel, small); });
}

static void open_gpu() {
    int least, most;
    TRY(cudaDeviceGetAttribute(&gpu.multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    TRY(cudaDeviceGetAttribute(&gpu.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    TRY(cudaFuncSetAttribute(hold, cudaFuncAttributeMaxDynamicSharedMemorySize, gpu.shared_bytes));
    TRY(cudaDeviceGetStreamPriorityRange(&least, &most));
    for (cudaStream_t &stream : gpu.high)
        TRY(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, most));
    for (cudaStream_t &stream : gpu.low)
        TRY(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, least));
    TRY(cudaEventCreateWithFlags(&gpu.done, cudaEventDisableTiming));
    TRY(cudaMalloc(&gpu.words, (size_t)gpu.multiprocessors * SMALL_THREADS * sizeof(uint32_t)));
    TRY(cudaMalloc(&gpu.from, COPY_BYTES));
    TRY(cudaMalloc(&gpu.to, COPY_BYTES));
    TRY(cudaHostAlloc(&gpu.host, COPY_BYTES + SMALL_BYTES, 0));
    for (int i = 0; i < 3; i++) { /* loads the kernels: later that would wait for long ones */
        run_small(gpu.high[2], gpu.multiprocessors, i > 0);
        run_chains(1);
        fetch_small(SMALL_BYTES, true, gpu.high[2]);
        start_copy(gpu.low[0]);
        start_long(gpu.high[0], 1);
        TRY(cudaDeviceSynchronize());
    }
}

int main() {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || !gpus) return puts("no GPU here"), 77;
    open_gpu();
    const int all = gpu.multiprocessors, share = all - all / 8;
    const cudaStream_t small = gpu.high[2];
    printf(
        "%d multiprocessors, a long kernel has %d, a small one %d blocks; us from launch to end\n"
        "%-64s %8s %10s %10s %10s\n",
        all, share, SMALL_BLOCKS, "", "samples", "p50", "p99", "max");
    measure("alone", NULL, small, SMALL_BLOCKS, false);
    measure("alone, cooperative", NULL, small, SMALL_BLOCKS, true);
    start_long(gpu.high[0], share);
    measure("beside a long one", gpu.high[0], small, SMALL_BLOCKS, false);
    start_long(gpu.high[0], all);
    measure("beside a long one that has all", gpu.high[0], small, SMALL_BLOCKS, false);
    start_long(gpu.high[0], share), start_long(gpu.high[1], share);
    measure("beside two, the second waits for room, one priority", gpu.high[1], small, SMALL_BLOCKS,
            false);
    start_long(gpu.low[0], share), start_long(gpu.low[1], share);
    measure("beside two, the second waits for room, lower priority", gpu.low[1], small,
            SMALL_BLOCKS, false);
    start_long(gpu.high[0], share);
    TRY(cudaEventRecord(gpu.done, gpu.high[0]));
    TRY(cudaStreamWaitEvent(gpu.high[1], gpu.done, 0));
    start_long(gpu.high[1], share);
    measure("beside two that take turns by an event", gpu.high[1], small, SMALL_BLOCKS, false);
    start_long(gpu.high[0], share);
    measure("cooperative, beside a long one", gpu.high[0], small, SMALL_BLOCKS, true);
    start_long(gpu.high[0], share);
    measure("cooperative on all, beside a long one", gpu.high[0], small, all, true);
    start_long(gpu.high[0], all / 4), start_long(gpu.high[1], all / 4);
    const double began = host_us();
    TRY(cudaDeviceSynchronize());
    printf("two long ones of a quarter each: %.0f ms, %d if they run side by side\n",
           (host_us() - began) / 1e3, (int)HOLD_MS);
    for (int i = 0; i < 20; i++) start_copy(gpu.high[0]);
    measure("beside large plain ones of one priority", gpu.high[0], small, SMALL_BLOCKS, false);
    for (int i = 0; i < 20; i++) start_copy(gpu.low[0]);
    measure("beside large plain ones of lower priority", gpu.low[0], small, SMALL_BLOCKS, false);
    start_long(gpu.high[0], share);
    for (int i = 0; i < 20; i++) start_copy(gpu.high[1]);
    measure("beside a long one and large plain ones of one priority", gpu.high[1], small,
            SMALL_BLOCKS, false);
    start_long(gpu.high[0], share);
    for (int i = 0; i < 20; i++) start_copy(gpu.low[1]);
    measure("beside a long one and large plain ones of lower priority", gpu.low[1], small,
            SMALL_BLOCKS, false);
    measure_copy("a copy of 225 KB alone", 0, 1);
    measure_copy("beside a copy of 256 MB", COPY_BYTES, 1);
    measure_copy("beside one in pieces of 16 MB", (size_t)16 << 20, 1);
    measure_copy("beside one in pieces of 2 MB", (size_t)2 << 20, 1);
    measure_copy("beside one in pieces of 2 MB, in two streams in turn", (size_t)2 << 20, 2);
    const size_t step = (size_t)16 << 20, few = 8192;
    measure_copy("8 KB alone", 0, 1, few);
    measure_copy("8 KB beside one in pieces of 16 MB", step, 1, few);
    measure_copy("8 KB by a kernel, alone", 0, 1, few, true);
    measure_copy("8 KB by a kernel, beside one in pieces of 16 MB", step, 1, few, true);
    measure_copy("225 KB by a kernel, beside one in pieces of 16 MB", step, 1, SMALL_BYTES, true);
    for (int blocks : { 8, 64, 256 })
        for (int left : { -1, 0, 16, 8, 4, 2 }) measure_chains(left, blocks);
    return 0;
}
