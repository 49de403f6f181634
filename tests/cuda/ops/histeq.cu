// SPDX-License-Identifier: Apache-2.0
/* Equalization where fewer blocks run at once than there are multiprocessors, down to one, so that
 * it is done in two launches: the same result as the reference, and the shared counters are 0 again
 * after every launch.
 *
 * How it works. The operator runs in a context made here, whose `cooperative_blocks_max` refuses
 * launches as the GPU would; the refusal itself is compared with the GPU's own.
 * covers: cuda/ops/histeq.cu cuda/cooperative.cuh cuda/check.cuh
 * covers: cuda/ops/histeq/launch8.cuh cuda/ops/histeq/counters8.cuh cuda/ops/histeq/equalize8.cuh
 */
#include "cuda/check.cuh"
#include "cuda/cooperative.cuh"
#include "cuda/cuda_op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include "pipeline/plan.h"
#include "pipeline/registry.h"
#include "tests/noise.h"

#include <cmocka.h>
}

#define TRY(call) assert_int_equal((int)(call), (int)cudaSuccess)

enum { IMAGES = 3 };

static struct cuda_context context;

/* ---- images */

struct batch_case {
    const char *plan;
    unsigned channels;
    int count;
};

/* Every kernel of 8-bit samples. */
static const struct batch_case cases[] = {
    { "histeq", 1, 1 },
    { "histeq", 1, IMAGES },
    { "histeq:scale=maxabs,bins=7", 2, IMAGES },
    { "histeq", 3, 1 },
    { "histeq:channel=luma", 3, IMAGES },
    { "histeq:channel=each", 3, IMAGES },
    { "histeq:channel=each", 4, 1 },
    { "histeq:channel=luma,scale=maxabs", 4, IMAGES },
};
static const uint32_t sides[IMAGES][2] = { { 801, 333 }, { 3, 5 }, { 640, 480 } };

static void fill(const struct image *image) {
    uint32_t state = image->width;
    for (size_t i = 0; i < image_bytes(image); i++) {
        noise_next(&state);
        image->pixels[i] = (uint8_t)((state >> 24) * (state >> 24) >> 8);
    }
}

struct batch_memory {
    struct plan plan;
    struct op_call calls[IMAGES];
    struct failure failure;
    uint64_t expected[IMAGES];
    uint8_t *scratch; /* the reference's */
};

static void make_batch(struct batch_memory *batch, const struct batch_case *one) {
    const struct op *op = registry_find("histeq");
    memset(batch, 0, sizeof *batch);
    assert_int_equal(plan_parse(&batch->plan, one->plan, &batch->failure), STATUS_OK);
    for (int i = 0; i < one->count; i++) {
        struct op_call *call = &batch->calls[i];
        call->params = &batch->plan.steps[0].params;
        call->failure = &batch->failure;
        call->in = call->out = image_shape(sides[i][0], sides[i][1], one->channels, 8);
        const size_t bytes = image_bytes(&call->in);
        struct op_call host = *call;
        host.in.pixels = (uint8_t *)calloc(1, bytes);
        host.out.pixels = (uint8_t *)calloc(1, bytes);
        fill(&host.in);
        host.scratch =
            aligned_alloc(256, ((op->scratch ? op->scratch(&host) : 0) + 511) / 256 * 256);
        assert_int_equal(op->run(&host), STATUS_OK);
        batch->expected[i] = image_digest(&host.out);
        TRY(cudaMalloc((void **)&call->in.pixels, bytes));
        TRY(cudaMalloc((void **)&call->out.pixels, bytes));
        TRY(cudaMemcpy(call->in.pixels, host.in.pixels, bytes, cudaMemcpyHostToDevice));
        free(host.in.pixels);
        free(host.out.pixels);
        free(host.scratch);
    }
}

static void free_batch(struct batch_memory *batch, int count) {
    for (int i = 0; i < count; i++) {
        TRY(cudaFree(batch->calls[i].in.pixels));
        TRY(cudaFree(batch->calls[i].out.pixels));
    }
}

static void check_image(const struct batch_memory *batch, int i, const char *plan, unsigned limit) {
    struct image out = batch->calls[i].out;
    const size_t bytes = image_bytes(&out);
    out.pixels = (uint8_t *)malloc(bytes);
    TRY(cudaMemcpy(out.pixels, batch->calls[i].out.pixels, bytes, cudaMemcpyDeviceToHost));
    if (image_digest(&out) != batch->expected[i])
        fail_msg("%s, image %d, at most %u blocks: differs from the reference", plan, i, limit);
    free(out.pixels);
}

static void check_counters(const char *plan, unsigned limit) {
    static uint32_t words[CUDA_ZEROED_WORDS];
    TRY(cudaMemcpy(words, context.zeroed, sizeof words, cudaMemcpyDeviceToHost));
    for (int i = 0; i < CUDA_ZEROED_WORDS; i++)
        if (words[i]) fail_msg("%s, at most %u blocks: word %d is %u", plan, limit, i, words[i]);
}

static void run_limited(const struct batch_case *one, unsigned limit) {
    struct batch_memory batch;
    const struct cuda_op *twin = cuda_twin(registry_find("histeq"));
    make_batch(&batch, one);
    context.cooperative_blocks_max = limit;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < one->count; i++)
            TRY(cudaMemset(batch.calls[i].out.pixels, 0x5a, image_bytes(&batch.calls[i].out)));
        if (twin->run(&context, batch.calls, one->count)) fail_msg("%s", batch.failure.message);
        TRY(cudaStreamSynchronize(context.stream));
        for (int i = 0; i < one->count; i++) check_image(&batch, i, one->plan, limit);
        check_counters(one->plan, limit);
    }
    free_batch(&batch, one->count);
}

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

static int open_context(void **) {
    TRY(cudaSetDevice(0));
    TRY(cudaStreamCreateWithFlags(&context.stream, cudaStreamNonBlocking));
    TRY(cudaDeviceGetAttribute(&context.multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    TRY(cudaDeviceGetAttribute(&context.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    TRY(cudaMalloc((void **)&context.zeroed, CUDA_ZEROED_WORDS * sizeof(uint32_t)));
    TRY(cudaMemset(context.zeroed, 0, CUDA_ZEROED_WORDS * sizeof(uint32_t)));
    TRY(cudaDeviceSynchronize());
    return 0;
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
