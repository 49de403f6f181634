// SPDX-License-Identifier: Apache-2.0
/* Equalization where fewer blocks run at once than there are multiprocessors, down to one, so that
 * it is done in two launches: the same result as the reference, and the shared counters are 0 again
 * after every launch.
 *
 * How it works. limited_batch.cuh; its refusal is compared with the GPU's own.
 * covers: cuda/ops/histeq.cu cuda/cooperative.cuh cuda/check.cuh
 * covers: cuda/ops/histeq/counters8.cuh cuda/ops/histeq/equalize8.cuh
 */
#include "cuda/check.cuh"
#include "cuda/cooperative.cuh"
#include "tests/cuda/limited_batch.cuh"

static const uint32_t sides[IMAGES][2] = { { 801, 333 }, { 3, 5 }, { 640, 480 } };

/* Every kernel of 8-bit samples. */
static const struct batch_case cases[] = {
    { "histeq", 1, 1, sides },
    { "histeq", 1, IMAGES, sides },
    { "histeq:scale=maxabs,bins=7", 2, IMAGES, sides },
    { "histeq", 3, 1, sides },
    { "histeq:channel=luma", 3, IMAGES, sides },
    { "histeq:channel=each", 3, IMAGES, sides },
    { "histeq:channel=each", 4, 1, sides },
    { "histeq:channel=luma,scale=maxabs", 4, IMAGES, sides },
};
static void test_limited(void **) {
    const unsigned limits[] = { 0, 1, 2, 7, (unsigned)context.multiprocessors - 1 };
    for (const struct batch_case &one : cases)
        for (const unsigned limit : limits) run_limited(&one, limit);
}

/* ---- what the GPU itself says */

static __global__ void count_block(uint32_t *count) {
    if (threadIdx.x == 0) atomicAdd(count, 1);
}

/* The true refusal, of more blocks than ever run at once, is the injected one's. */
static void test_refusal(void **) {
    uint32_t *count = context.zeroed, blocks = 0;
    void *arguments[] = { &count };
    const struct cooperative_launch launch = { (const void *)count_block, 1024, 0, arguments };
    context.cooperative_blocks_max = 0;
    assert_int_equal(cooperative_launch(&context, &launch, 100u * context.multiprocessors),
                     cudaErrorCooperativeLaunchTooLarge);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    context.cooperative_blocks_max = 3;
    assert_int_equal(cooperative_launch(&context, &launch, 4), cudaErrorCooperativeLaunchTooLarge);
    TRY(cooperative_launch(&context, &launch, 3));
    TRY(cooperative_launch(&context, &launch, 1));
    TRY(cudaStreamSynchronize(context.stream));
    TRY(cudaMemcpy(&blocks, count, sizeof blocks, cudaMemcpyDeviceToHost));
    assert_int_equal(blocks, 4);
    TRY(cudaMemset(count, 0, sizeof *count));
}

/* Which errors end the worker. */
static void test_status(void **) {
    assert_int_equal(cuda_status(cudaErrorMemoryAllocation), STATUS_NO_MEMORY);
    assert_int_equal(cuda_status(cudaErrorCooperativeLaunchTooLarge), STATUS_INTERNAL);
    assert_int_equal(cuda_status(cudaErrorLaunchOutOfResources), STATUS_INTERNAL);
    assert_int_equal(cuda_status(cudaErrorInvalidConfiguration), STATUS_INTERNAL);
    assert_int_equal(cuda_status(cudaErrorInvalidClusterSize), STATUS_INTERNAL);
    assert_int_equal(cuda_status(cudaErrorNotSupported), STATUS_INTERNAL);
    assert_int_equal(cuda_status(cudaErrorLaunchTimeout), STATUS_DEVICE);
    assert_int_equal(cuda_status(cudaErrorUnknown), STATUS_DEVICE);
    assert_int_equal(cuda_status(cudaErrorLaunchFailure), STATUS_DEVICE);
    assert_int_equal(cuda_status(cudaErrorIllegalAddress), STATUS_DEVICE);
    assert_int_equal(cuda_status(cudaErrorNoDevice), STATUS_DEVICE);
    struct failure failure = {};
    cuda_fail(&failure, cudaErrorLaunchFailure, "call", __FILE__, __LINE__);
    assert_int_equal(failure.status, STATUS_DEVICE);
    assert_non_null(strstr(failure.message, "waited too long"));
}

int main() {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        puts("no GPU here: nothing to test");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limited),
        cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_status),
    };
    return cmocka_run_group_tests(tests, open_context, NULL);
}
