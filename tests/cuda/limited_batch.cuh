// SPDX-License-Identifier: Apache-2.0
/* limited_batch.cuh - a batch through an operator's twin where fewer blocks run at once than it
 * wants, down to one: the same result as the reference, and the shared counters are 0 again after
 * every launch.
 *
 * Used by:  ops/histeq.cu, ops/clahe_refused.cu.
 * Owns:     `context`, whose `cooperative_blocks_max` refuses launches as the GPU would.
 * Fails:    the test.
 */
#ifndef BURIN_TESTS_CUDA_LIMITED_BATCH_CUH
#define BURIN_TESTS_CUDA_LIMITED_BATCH_CUH

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
    const uint32_t (*sides)[2];
};

static void fill(const struct image *image) {
    uint32_t state = image->width;
    for (size_t i = 0; i < image_bytes(image); i++) {
        noise_next(&state);
        image->pixels[i] = (uint8_t)((state >> 24) * (state >> 24) >> 8);
    }
}

struct batch_memory {
    struct plan plan;
    const struct cuda_op *twin;
    struct op_call calls[IMAGES];
    struct failure failure;
    uint64_t expected[IMAGES];
};

/* Fills HOST's image and returns the digest of what the reference makes of it. */
static uint64_t reference_digest(const struct op *op, struct op_call host) {
    const size_t bytes = image_bytes(&host.in);
    host.out.pixels = (uint8_t *)calloc(1, bytes);
    fill(&host.in);
    host.scratch = aligned_alloc(256, ((op->scratch ? op->scratch(&host) : 0) + 511) / 256 * 256);
    assert_int_equal(op->run(&host), STATUS_OK);
    const uint64_t digest = image_digest(&host.out);
    free(host.out.pixels);
    free(host.scratch);
    return digest;
}

static void make_scratch(struct batch_memory *batch, int count) {
    struct op_call *calls = batch->calls;
    if (!batch->twin->scratch) return;
    calls[0].scratch_bytes = batch->twin->scratch(&context, calls, count);
    TRY(cudaMalloc((void **)&calls[0].scratch, calls[0].scratch_bytes + 1));
    TRY(cudaMemset(calls[0].scratch, 0x5a, calls[0].scratch_bytes));
}

static void make_batch(struct batch_memory *batch, const struct batch_case *one) {
    memset(batch, 0, sizeof *batch);
    assert_int_equal(plan_parse(&batch->plan, one->plan, &batch->failure), STATUS_OK);
    const struct op *op = batch->plan.steps[0].op;
    batch->twin = cuda_twin(op);
    for (int i = 0; i < one->count; i++) {
        struct op_call *call = &batch->calls[i];
        call->params = &batch->plan.steps[0].params;
        call->failure = &batch->failure;
        call->in = call->out = image_shape(one->sides[i][0], one->sides[i][1], one->channels, 8);
        const size_t bytes = image_bytes(&call->in);
        struct op_call host = *call;
        host.in.pixels = (uint8_t *)calloc(1, bytes);
        batch->expected[i] = reference_digest(op, host);
        TRY(cudaMalloc((void **)&call->in.pixels, bytes));
        TRY(cudaMalloc((void **)&call->out.pixels, bytes));
        TRY(cudaMemcpy(call->in.pixels, host.in.pixels, bytes, cudaMemcpyHostToDevice));
        free(host.in.pixels);
    }
    make_scratch(batch, one->count);
}

static void free_batch(struct batch_memory *batch, int count) {
    for (int i = 0; i < count; i++) {
        TRY(cudaFree(batch->calls[i].in.pixels));
        TRY(cudaFree(batch->calls[i].out.pixels));
    }
    TRY(cudaFree(batch->calls[0].scratch));
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

/* Twice, so that what the first one left behind would spoil the second. LIMIT 0: none. */
static void run_limited(const struct batch_case *one, unsigned limit) {
    struct batch_memory batch;
    make_batch(&batch, one);
    context.cooperative_blocks_max = limit;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < one->count; i++)
            TRY(cudaMemset(batch.calls[i].out.pixels, 0x5a, image_bytes(&batch.calls[i].out)));
        TRY(cudaDeviceSynchronize());
        if (batch.twin->run(&context, batch.calls, one->count))
            fail_msg("%s", batch.failure.message);
        TRY(cudaStreamSynchronize(context.stream));
        for (int i = 0; i < one->count; i++) check_image(&batch, i, one->plan, limit);
        check_counters(one->plan, limit);
    }
    free_batch(&batch, one->count);
}

static int open_context(void **) {
    int major, minor;
    TRY(cudaSetDevice(0));
    TRY(cudaStreamCreateWithFlags(&context.stream, cudaStreamNonBlocking));
    TRY(cudaDeviceGetAttribute(&context.multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    TRY(cudaDeviceGetAttribute(&context.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    TRY(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    context.capability = 10 * major + minor;
    TRY(cudaMalloc((void **)&context.zeroed, CUDA_ZEROED_WORDS * sizeof(uint32_t)));
    TRY(cudaMemset(context.zeroed, 0, CUDA_ZEROED_WORDS * sizeof(uint32_t)));
    TRY(cudaDeviceSynchronize());
    return 0;
}

#endif
