// SPDX-License-Identifier: Apache-2.0
/* Values equal the reference's, twice in a row, of images that many blocks share and of batches
 * whose images share blocks; the zeroed words are 0 again after every launch.
 *
 * How it works. The operators run in a context made here, whose zeroed words the test reads.
 * covers: cuda/reduction.cuh cuda/ops/histogram.cu
 */
#include "cuda/check.cuh"
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

enum { IMAGES = 5 };

static struct cuda_context context;

static const char *const plans[] = { "minimum", "maximum", "mean", "histogram",
                                     "histogram:bins=9" };
static const uint32_t sides[IMAGES][2] = {
    { 1920, 1080 }, { 3, 5 }, { 641, 481 }, { 1, 1 }, { 3000, 2000 }
};

/* The least byte and the largest are there once: where one is missed it shows. */
static void fill(const struct image *image) {
    uint32_t state = image->width;
    for (uint32_t y = 0; y < image->height; y++)
        for (size_t i = 0; i < image_row_bytes(image); i++) {
            noise_next(&state);
            image_row(image, y)[i] = (uint8_t)(32 + (state >> 24) % 200);
        }
    image_row(image, image->height - 1)[image_row_bytes(image) - 1] = 255;
    image_row(image, image->height / 2)[image_row_bytes(image) / 2] = 0;
}

struct batch_memory {
    struct plan plan;
    struct op_call calls[IMAGES];
    struct failure failure;
    size_t bytes[IMAGES]; /* of values */
    uint8_t *expected[IMAGES], *pixels[IMAGES];
};

/* The stride of every other image is no multiple of 16. */
static void make_image(struct batch_memory *batch, int i, unsigned channels, unsigned depth) {
    const struct step *step = &batch->plan.steps[0];
    struct op_call *call = &batch->calls[i];
    memset(call, 0, sizeof *call);
    call->op = step->op;
    call->params = &step->params;
    call->failure = &batch->failure;
    call->in = image_shape(sides[i][0], sides[i][1], channels, depth);
    if (i % 2) call->in.stride = image_row_bytes(&call->in) + 6;
    struct values_shape shape = step->op->values(step->op, &step->params, &call->in);
    batch->bytes[i] = values_bytes(&shape);
    batch->expected[i] = (uint8_t *)malloc(batch->bytes[i]);
    struct op_call host = *call;
    host.in.pixels = (uint8_t *)calloc(1, image_bytes(&call->in));
    fill(&host.in);
    host.out = host.in;
    host.values = batch->expected[i];
    host.scratch = aligned_alloc(256, (step->op->scratch(&host) + 511) / 256 * 256);
    assert_int_equal(step->op->run(&host), STATUS_OK);
    free(host.scratch);
    TRY(cudaMalloc((void **)&batch->pixels[i], image_bytes(&call->in)));
    TRY(cudaMemcpy(batch->pixels[i], host.in.pixels, image_bytes(&call->in),
                   cudaMemcpyHostToDevice));
    free(host.in.pixels);
    call->in.pixels = batch->pixels[i];
    call->out = call->in;
    TRY(cudaMalloc(&call->values, batch->bytes[i]));
}

static void check_values(const struct batch_memory *batch, int i, const char *what) {
    uint8_t *values = (uint8_t *)malloc(batch->bytes[i]);
    TRY(cudaMemcpy(values, batch->calls[i].values, batch->bytes[i], cudaMemcpyDeviceToHost));
    if (memcmp(values, batch->expected[i], batch->bytes[i]) != 0)
        fail_msg("%s, image %d: differs from the reference", what, i);
    free(values);
}

static void check_words(const char *what) {
    static uint32_t words[CUDA_ZEROED_WORDS];
    TRY(cudaMemcpy(words, context.zeroed, sizeof words, cudaMemcpyDeviceToHost));
    for (int i = 0; i < CUDA_ZEROED_WORDS; i++)
        if (words[i]) fail_msg("%s: word %d is %u", what, i, words[i]);
}

static void run_batch_of(const char *text, unsigned channels, unsigned depth, int count) {
    struct batch_memory batch = {};
    char what[96];
    snprintf(what, sizeof what, "%s, %u x %u bit, %d images", text, channels, depth, count);
    assert_int_equal(plan_parse(&batch.plan, text, &batch.failure), STATUS_OK);
    const struct cuda_op *twin = cuda_twin(batch.plan.steps[0].op);
    for (int i = 0; i < count; i++) make_image(&batch, i, channels, depth);
    const size_t scratch = twin->scratch ? twin->scratch(&context, batch.calls, count) : 0;
    TRY(cudaMalloc(&batch.calls[0].scratch, scratch + 1));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < count; i++)
            TRY(cudaMemset(batch.calls[i].values, 0x5a, batch.bytes[i]));
        TRY(cudaDeviceSynchronize());
        if (twin->run(&context, batch.calls, count)) fail_msg("%s", batch.failure.message);
        TRY(cudaStreamSynchronize(context.stream));
        for (int i = 0; i < count; i++) check_values(&batch, i, what);
        check_words(what);
    }
    TRY(cudaFree(batch.calls[0].scratch));
    for (int i = 0; i < count; i++) {
        TRY(cudaFree(batch.pixels[i]));
        TRY(cudaFree(batch.calls[i].values));
        free(batch.expected[i]);
    }
}

static void test_blocks_share_images(void **) {
    for (const char *text : plans) {
        if (!registry_find("minimum") || !registry_find("histogram")) skip();
        for (unsigned channels = 1; channels <= 4; channels++)
            for (unsigned depth = 8; depth <= 16; depth += 8) {
                run_batch_of(text, channels, depth, 1);
                run_batch_of(text, channels, depth, IMAGES);
            }
    }
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
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_blocks_share_images) };
    return cmocka_run_group_tests(tests, open_context, NULL);
}
