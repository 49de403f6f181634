// SPDX-License-Identifier: Apache-2.0
/* Turns of kernels of which all blocks must run at once: two long ones never run side by side, a
 * short one is refused beside a long one, a small plain one runs beside it at once, and what is
 * refused comes back when the long one is done; two short ones, of which one's batch has the stream
 * of low priority, get their places one after the other. And which errors of CUDA end a worker.
 *
 * How it works. The long kernel here holds multiprocessors until it is released, or for 5 s. The
 * kernel of a second lane is queued behind it; each writes when it began and ended.
 * covers: cuda/cooperative_lane.cu cuda/cooperative.cuh cuda/check.cuh
 */
#include "cuda/check.cuh"
#include "cuda/cooperative.cuh"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include "pipeline/timing.h"

#include <cmocka.h>
}

#define TRY(call) assert_int_equal((int)(call), (int)cudaSuccess)

enum { LANES = 3, THREADS = 64 };

struct times {
    uint64_t began, ended; /* ns; 0: not yet */
};

struct held {
    uint32_t release;
    struct times times;
};

static struct cooperative_lane lanes[LANES];
static struct cuda_context contexts[LANES];
static cudaStream_t slow; /* the last lane's, for large batches */
static int shared_bytes;

static __device__ uint64_t now_ns() {
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* A block with all of a multiprocessor's shared memory. */
static __global__ void hold(volatile struct held *held) {
    extern __shared__ uint8_t memory[];
    const uint64_t began = now_ns();
    memory[threadIdx.x] = (uint8_t)began;
    if (blockIdx.x == 0 && threadIdx.x == 0) held->times.began = began;
    while (!held->release && now_ns() - began < UINT64_C(5000000000)) {
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) held->times.ended = now_ns();
}

static __global__ void store(volatile uint32_t *stored, uint32_t number) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *stored = number;
}

/* Blocks that wait for one another. */
struct gang {
    uint32_t here, alone; /* blocks; those that waited for the others in vain */
};

static __global__ void meet(struct gang *gang) {
    extern __shared__ uint8_t memory[];
    const uint64_t began = now_ns();
    memory[threadIdx.x] = (uint8_t)began;
    if (threadIdx.x) return;
    atomicAdd(&gang->here, 1u);
    while (*(volatile uint32_t *)&gang->here < gridDim.x)
        if (now_ns() - began > UINT64_C(2000000000)) {
            atomicAdd(&gang->alone, 1u);
            return;
        }
}

static struct held *make_held(void) {
    struct held *held;
    TRY(cudaHostAlloc((void **)&held, sizeof *held, cudaHostAllocMapped));
    memset(held, 0, sizeof *held);
    return held;
}

static unsigned share(void) {
    return cooperative_share((unsigned)contexts[0].multiprocessors);
}

static cudaError_t launch_long(struct cuda_context *context, struct held *held) {
    void *arguments[] = { &held };
    const struct cooperative_launch launch = { (const void *)hold, THREADS, (size_t)shared_bytes,
                                               arguments };
    cudaError_t error;
    const cudaStream_t stream =
        cooperative_lane_begin_long(context->cooperative, context->stream, launch.kernel, &error);
    if (error) return error;
    error = cooperative_launch_in(context, &launch, share(), stream);
    const cudaError_t ended = cooperative_lane_end_long(context->cooperative, context->stream);
    return error ? error : ended;
}

static cudaError_t launch_short(struct cuda_context *context, uint32_t *stored, uint32_t number) {
    void *arguments[] = { &stored, &number };
    const struct cooperative_launch launch = { (const void *)store, THREADS, 0, arguments };
    return cooperative_launch(context, &launch, (unsigned)context->multiprocessors);
}

static void wait_until_begun(const struct held *held) {
    const int64_t began = clock_ns();
    while (!((volatile const struct held *)held)->times.began)
        if (clock_ns() - began > INT64_C(4000000000)) fail_msg("the GPU is not ours");
}

static void let_go(struct held *held) {
    *(volatile uint32_t *)&held->release = 1;
}

/* ---- turns */

static void test_beside_long_ones(void **) {
    struct held *first = make_held(), *second = make_held();
    uint32_t *stored = &make_held()->release;
    TRY(launch_short(&contexts[2], stored, 1));
    TRY(launch_long(&contexts[0], first));
    TRY(launch_long(&contexts[1], second)); /* behind the first */
    wait_until_begun(first);
    assert_int_equal(*(volatile uint32_t *)stored, 1); /* the long one waited for it */

    assert_int_equal(launch_short(&contexts[2], stored, 2), cudaErrorCooperativeLaunchTooLarge);
    TRY(cudaGetLastError());
    /* A plain kernel of as many blocks does not queue behind the waiting ones. */
    store<<<contexts[2].multiprocessors, THREADS, 0, contexts[2].stream>>>(stored, 3);
    TRY(cudaStreamSynchronize(contexts[2].stream));
    assert_int_equal(*(volatile uint32_t *)stored, 3);
    assert_int_equal(cudaStreamQuery(contexts[0].stream), cudaErrorNotReady);
    assert_true(second->times.began == 0);

    let_go(first);
    wait_until_begun(second);
    TRY(cudaStreamSynchronize(contexts[0].stream));
    assert_int_equal(launch_short(&contexts[2], stored, 4), cudaErrorCooperativeLaunchTooLarge);
    let_go(second);
    TRY(cudaStreamSynchronize(contexts[1].stream));
    assert_true(first->times.ended <= second->times.began);
    TRY(launch_short(&contexts[2], stored, 5));
    TRY(cudaStreamSynchronize(contexts[2].stream));
    assert_int_equal(*(volatile uint32_t *)stored, 5);
    TRY(cudaFreeHost(first));
    TRY(cudaFreeHost(second));
    TRY(cudaFreeHost(stored));
}

/* On a stream of low priority the kernel runs after the work queued there before it, and before the
 * work queued there after it. */
static void test_of_a_large_batch(void **) {
    struct held *held = make_held();
    uint32_t *stored = &make_held()->release;
    struct cuda_context context = contexts[2];
    context.stream = slow;
    store<<<1, 1, 0, slow>>>(stored, 6);
    TRY(launch_long(&context, held));
    wait_until_begun(held);
    assert_int_equal(*(volatile uint32_t *)stored, 6);
    store<<<1, 1, 0, slow>>>(stored, 7);
    assert_int_equal(*(volatile uint32_t *)stored, 6);
    let_go(held);
    TRY(cudaStreamSynchronize(slow));
    assert_int_equal(*(volatile uint32_t *)stored, 7);
    TRY(cudaFreeHost(held));
    TRY(cudaFreeHost(stored));
}

static cudaError_t launch_gang(struct cuda_context *context, struct gang *gang) {
    void *arguments[] = { &gang };
    const struct cooperative_launch launch = { (const void *)meet, THREADS, (size_t)shared_bytes,
                                               arguments };
    return cooperative_launch(context, &launch, (unsigned)context->multiprocessors);
}

/* Half of the GPU is taken when they come: did the first get the other half, and the second what
 * becomes free, they would wait for each other. */
static void test_two_gangs(void **) {
    struct held *held = make_held();
    struct gang *gangs, ended[2];
    struct cuda_context large = contexts[2];
    large.stream = slow;
    TRY(cudaMalloc((void **)&gangs, sizeof ended));
    TRY(cudaMemset(gangs, 0, sizeof ended));
    hold<<<contexts[0].multiprocessors / 2, THREADS, shared_bytes, contexts[0].stream>>>(held);
    wait_until_begun(held);
    TRY(launch_gang(&large, &gangs[0]));
    TRY(launch_gang(&contexts[1], &gangs[1]));
    const struct timespec placed = { .tv_nsec = 20000000 };
    nanosleep(&placed, NULL);
    let_go(held);
    TRY(cudaStreamSynchronize(slow));
    TRY(cudaStreamSynchronize(contexts[1].stream));
    TRY(cudaMemcpy(ended, gangs, sizeof ended, cudaMemcpyDeviceToHost));
    for (const struct gang &gang : ended) {
        assert_int_equal(gang.here, contexts[0].multiprocessors);
        assert_int_equal(gang.alone, 0);
    }
    TRY(cudaStreamSynchronize(contexts[0].stream));
    TRY(cudaFree(gangs));
    TRY(cudaFreeHost(held));
}

/* Many launches of all lanes; the host waits for none. */
static void test_many(void **) {
    struct held *held = make_held();
    uint32_t *stored = &make_held()->release;
    let_go(held);
    for (uint32_t i = 0; i < 300; i++) {
        struct cuda_context *context = &contexts[i * 7 % LANES];
        if (i % 3)
            TRY(launch_long(context, held));
        else if (launch_short(context, stored, i) == cudaErrorCooperativeLaunchTooLarge)
            store<<<context->multiprocessors, THREADS, 0, context->stream>>>(stored, i);
    }
    for (struct cuda_context &context : contexts) TRY(cudaStreamSynchronize(context.stream));
    TRY(cudaGetLastError());
    TRY(cudaFreeHost(held));
    TRY(cudaFreeHost(stored));
}

/* ---- errors */

/* Launches that no GPU takes: refused at once, an ordinary failure, and the context goes on. */
static enum status launch_absurd(dim3 blocks, dim3 threads, size_t bytes, struct failure *failure) {
    uint32_t *stored = NULL, number = 0;
    void *arguments[] = { &stored, &number };
    CUDA_TRY(failure, cudaLaunchKernel((const void *)store, blocks, threads, arguments, bytes,
                                       contexts[0].stream));
    return STATUS_OK;
}

static void test_refused_launches(void **) {
    struct failure failure = {};
    uint32_t *stored = &make_held()->release;
    assert_int_equal(launch_absurd(1, 4096, 0, &failure), STATUS_INTERNAL);
    assert_int_equal(launch_absurd(0, 32, 0, &failure), STATUS_INTERNAL);
    assert_int_equal(launch_absurd(dim3(1, 70000, 70000), 32, 0, &failure), STATUS_INTERNAL);
    assert_int_equal(launch_absurd(1, 32, (size_t)1 << 30, &failure), STATUS_INTERNAL);
    assert_non_null(strstr(failure.message, "cudaLaunchKernel"));
    TRY(cudaGetLastError());
    TRY(launch_short(&contexts[0], stored, 9));
    TRY(cudaStreamSynchronize(contexts[0].stream));
    assert_int_equal(*(volatile uint32_t *)stored, 9);
    TRY(cudaFreeHost(stored));
}

/* ---- */

static int open_lanes(void **) {
    int least, most;
    struct failure failure;
    TRY(cudaSetDevice(0));
    TRY(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    TRY(cudaFuncSetAttribute(hold, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    struct cudaFuncAttributes facts; /* loaded now: later that would wait for what is held */
    TRY(cudaFuncGetAttributes(&facts, store));
    TRY(cudaFuncSetAttribute(meet, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    TRY(cudaDeviceGetStreamPriorityRange(&least, &most));
    TRY(cudaStreamCreateWithPriority(&slow, cudaStreamNonBlocking, least));
    for (int i = 0; i < LANES; i++) {
        struct cuda_context *context = &contexts[i];
        TRY(cudaDeviceGetAttribute(&context->multiprocessors, cudaDevAttrMultiProcessorCount, 0));
        TRY(cudaStreamCreateWithPriority(&context->stream, cudaStreamNonBlocking, most));
        context->cooperative = &lanes[i];
        assert_int_equal(cooperative_lane_open(&lanes[i], 0, context->stream, slow, &failure),
                         STATUS_OK);
    }
    return 0;
}

static int close_lanes(void **) {
    for (int i = 0; i < LANES; i++) {
        cooperative_lane_close(&lanes[i]);
        TRY(cudaStreamDestroy(contexts[i].stream));
    }
    TRY(cudaStreamDestroy(slow));
    return 0;
}

/* "small": under a sanitizer, which runs one kernel at a time, so that none can be held. */
int main(int argc, char **argv) {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        puts("no GPU here: nothing to test");
        return 77;
    }
    const struct CMUnitTest any[] = {
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_refused_launches),
    };
    const struct CMUnitTest held[] = {
        cmocka_unit_test(test_beside_long_ones),
        cmocka_unit_test(test_of_a_large_batch),
        cmocka_unit_test(test_two_gangs),
    };
    const int failed = cmocka_run_group_tests(any, open_lanes, close_lanes);
    if (argc > 1 && strcmp(argv[1], "small") == 0) return failed;
    return failed + cmocka_run_group_tests(held, open_lanes, close_lanes);
}
