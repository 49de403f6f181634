// SPDX-License-Identifier: Apache-2.0
/* Which method carves what, as a table; the same choice for memory and for running; and, where
 * there is a GPU, launches that are larger than it holds. The first part needs no GPU.
 * covers: cuda/ops/carve/method.cuh cuda/ops/carve/seam_search.cuh
 * covers: cuda/ops/carve/fast_one_axis/plan.cuh cuda/ops/carve/fast_both_axes/fast_both_axes.cuh
 * covers: cuda/ops/carve/carve_context.cuh
 */
#include "cuda/ops/carve/carve_context.cuh"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include <cmocka.h>

/* Stubs of functions that carve.cu calls in device_cuda.cu. */
void cuda_record_kernel(const struct cuda_context *, const char *) {}
struct kernel_progress *kernel_progress_add(const struct cuda_context *, const struct op_call *,
                                            const char *const *) {
    return NULL;
}
}

/* ---- devices */

/* Every multiprocessor holds one block, none is left over. */
static uint32_t all_resident(const struct carve_limits *limits, enum fast_kernel_id,
                             uint32_t cluster) {
    return limits->multiprocessors / cluster * cluster;
}

/* The device could not be asked. */
static uint32_t none_resident(const struct carve_limits *, enum fast_kernel_id, uint32_t) {
    return 0;
}

/* One graphics processing cluster has no 16 multiprocessors, as on small slices. */
static uint32_t clusters_of_8(const struct carve_limits *limits, enum fast_kernel_id,
                              uint32_t cluster) {
    return cluster > 8 ? 0 : limits->multiprocessors / cluster * cluster;
}

static const struct carve_limits h200 = { 90, 132, 232448, all_resident };
static const struct carve_limits h200_unknown = { 90, 132, 232448, none_resident };
static const struct carve_limits h200_small_clusters = { 90, 132, 232448, clusters_of_8 };
static const struct carve_limits slice = { 90, 16, 232448, all_resident };
static const struct carve_limits a100 = { 80, 108, 166912, all_resident };

/* ---- the table */

struct choice_case {
    const char *why;
    const struct carve_limits *limits;
    uint32_t width, height, columns, rows;
    int energy;
    int masks; /* 1 keep, 2 rmask */
    enum carve_method expected;
};

static const struct choice_case choices[] = {
    { "one direction", &h200, 1920, 1080, 100, 0, CARVE_GRADIENT, 0, METHOD_FAST_ONE_AXIS },
    { "8K", &h200, 7680, 4320, 1, 0, CARVE_SOBEL5, 0, METHOD_FAST_ONE_AXIS },
    { "both directions", &h200, 1920, 1080, 50, 50, CARVE_GRADIENT, 0, METHOD_FAST_BOTH_AXES },
    { "down to 2 rows", &h200, 300, 200, 50, 198, CARVE_GRADIENT, 0, METHOD_FAST_BOTH_AXES },
    { "down to 1 row", &h200, 300, 200, 50, 199, CARVE_GRADIENT, 0, METHOD_ANY_GPU },
    { "down to 1 column", &h200, 300, 200, 299, 50, CARVE_GRADIENT, 0, METHOD_ANY_GPU },
    { "masks", &h200, 1920, 1080, 100, 0, CARVE_GRADIENT, 3, METHOD_FAST_ONE_AXIS },
    { "keep", &h200, 1920, 1080, 100, 0, CARVE_SOBEL3, 1, METHOD_FAST_ONE_AXIS },
    { "rmask, turned", &h200, 1080, 1920, 100, 0, CARVE_GRADIENT, 2, METHOD_FAST_ONE_AXIS },
    { "masks, 4K", &h200, 3840, 2160, 100, 0, CARVE_GRADIENT, 3, METHOD_FAST_ONE_AXIS },
    { "keys too high", &h200, 2160, 3840, 100, 0, CARVE_GRADIENT, 2, METHOD_ANY_GPU },
    { "keys too high, sobel3", &h200, 1080, 1920, 100, 0, CARVE_SOBEL3, 1, METHOD_ANY_GPU },
    { "masks, sobel5", &h200, 640, 480, 100, 0, CARVE_SOBEL5, 1, METHOD_ANY_GPU },
    { "masks, both", &h200, 1920, 1080, 50, 50, CARVE_GRADIENT, 3, METHOD_ANY_GPU },
    { "one row", &h200, 1920, 1, 100, 0, CARVE_GRADIENT, 0, METHOD_ANY_GPU },
    { "two rows", &h200, 1920, 2, 100, 0, CARVE_GRADIENT, 0, METHOD_FAST_ONE_AXIS },
    { "the widest", &h200, 16000, 300, 1, 0, CARVE_GRADIENT, 0, METHOD_FAST_ONE_AXIS },
    { "wider", &h200, 16001, 300, 1, 0, CARVE_GRADIENT, 0, METHOD_ANY_GPU },
    { "wider, turned", &h200, 300, 16001, 1, 1, CARVE_GRADIENT, 0, METHOD_ANY_GPU },
    /* (rows / 2 + 1) 13072 is to be below 2^28 - 2^22: up to 40426 rows, by gradient more. */
    { "costs too high", &h200, 64, 40430, 1, 0, CARVE_SOBEL5, 0, METHOD_ANY_GPU },
    { "as high, gradient", &h200, 64, 40430, 1, 0, CARVE_GRADIENT, 0, METHOD_FAST_ONE_AXIS },
    { "no clusters", &a100, 1920, 1080, 100, 0, CARVE_GRADIENT, 0, METHOD_ANY_GPU },
    { "no clusters, both", &a100, 1920, 1080, 50, 50, CARVE_GRADIENT, 0, METHOD_ANY_GPU },
    { "not asked", &h200_unknown, 1920, 1080, 100, 0, CARVE_GRADIENT, 0, METHOD_ANY_GPU },
    { "not asked, both", &h200_unknown, 1920, 1080, 50, 50, CARVE_GRADIENT, 0, METHOD_ANY_GPU },
    /* 20 sweepers of 96 columns, 2 a block, are a cluster of 16; 7 are one of 4. */
    { "cluster too large", &h200_small_clusters, 1920, 1080, 9, 0, CARVE_GRADIENT, 0,
      METHOD_ANY_GPU },
    { "cluster of 4", &h200_small_clusters, 640, 480, 9, 0, CARVE_GRADIENT, 0,
      METHOD_FAST_ONE_AXIS },
    /* A slice of 16 multiprocessors gives 14: two clusters of one block, two that trace, bands. */
    { "a slice", &slice, 1920, 1080, 100, 0, CARVE_GRADIENT, 0, METHOD_ANY_GPU },
    { "a slice, small", &slice, 90, 64, 9, 0, CARVE_GRADIENT, 0, METHOD_FAST_ONE_AXIS },
};

static struct seam_search make_search(const struct choice_case &one) {
    alignas(256) static uint8_t some[1]; /* pointers need only be NULL or not */
    struct seam_search search = {};
    search.width = one.width, search.height = one.height;
    search.columns = one.columns, search.rows = one.rows;
    search.energy = one.energy;
    search.luma = some;
    search.luma_stride = (one.width + 15) / 16 * 16;
    search.masks = one.masks;
    search.marks = one.masks ? some : NULL;
    search.taken = one.masks ? (uint32_t *)some : NULL;
    return search;
}

/* Every choice has scratch enough for any_gpu to take over. */
static void test_choices(void **) {
    for (const struct choice_case &one : choices) {
        const struct seam_search search = make_search(one);
        const struct method_choice choice = method_choose(one.limits, &search);
        if (choice.method != one.expected)
            fail_msg("%s: method %d, not %d", one.why, (int)choice.method, (int)one.expected);
        if (choice.scratch < any_gpu_scratch(&search)) fail_msg("%s: no scratch left", one.why);
    }
}

/* No plan has more blocks than are resident at once, nor than the share of one search. */
static void test_blocks(void **) {
    for (uint32_t multiprocessors = 1; multiprocessors <= 160; multiprocessors++)
        for (const struct choice_case &one : choices) {
            struct carve_limits limits = *one.limits;
            limits.multiprocessors = multiprocessors;
            const struct seam_search search = make_search(one);
            struct one_axis_plan cluster;
            struct both_axes_plan both;
            if (one_axis_plan_make(&cluster, &limits, &search, NULL))
                assert_true(cluster.blocks <= limits_share(&limits));
            if (both_axes_plan_make(&both, &limits, &search, NULL))
                assert_true(both.axes[0].blocks <= limits_share(&limits));
        }
}

/* ---- a question that fails is asked again, an answer is kept */

static int questions;
static bool question_fails;

static bool question(const void *argument, uint32_t *blocks) {
    questions++;
    *blocks = question_fails ? 0 : *(const uint32_t *)argument;
    return !question_fails;
}

static void test_residency(void **) {
    uint32_t kept = 0, blocks = 96;
    questions = 0;
    question_fails = true;
    assert_int_equal(residency_find(&kept, question, &blocks), 0);
    question_fails = false;
    assert_int_equal(residency_find(&kept, question, &blocks), 96);
    question_fails = true;
    assert_int_equal(residency_find(&kept, question, &blocks), 96);
    assert_int_equal(questions, 2);
    kept = blocks = 0; /* "none" is an answer too */
    question_fails = false;
    assert_int_equal(residency_find(&kept, question, &blocks), 0);
    assert_int_equal(residency_find(&kept, question, &blocks), 0);
    assert_int_equal(questions, 3);
}

/* ---- memory that was counted while the device said something else */

static struct carve_context context_for(const struct op_call *call,
                                        const struct carve_limits *limits) {
    struct cuda_context cuda = {};
    struct carve_context carve = context_of(&cuda, call);
    carve.limits = *limits;
    return carve;
}

/* Few columns: there the scratch of fast_one_axis is far more than any_gpu's. */
static void test_laid_out_once(void **) {
    struct params params = {};
    struct op_call call = {};
    call.params = &params;
    call.in = image_shape(60, 3000, 1, 8);
    call.out = image_shape(50, 3000, 1, 8);
    struct carve_context counted = context_for(&call, &h200_unknown);
    struct carve_context alike = context_for(&call, &h200);
    const size_t bytes = lay_out_all(&counted, NULL), more = lay_out_all(&alike, NULL);
    assert_true(more > bytes);
    uint8_t *const memory = (uint8_t *)aligned_alloc(256, more);
    struct carve_context run = context_for(&call, &h200);
    lay_out(&run, memory, bytes);
    assert_int_equal(run.methods[0], METHOD_ANY_GPU);
    assert_int_equal(run.total, 10);
    lay_out(&alike, memory, more);
    assert_int_equal(alike.methods[0], METHOD_FAST_ONE_AXIS);
    free(memory);
}

/* ---- memory that was counted before the number of seams was known */

static void check_cleared(const struct op_call *call, bool turned, uint32_t seams,
                          const struct needs &most, size_t bits) {
    struct carve_context carve = context_for(call, &h200);
    (turned ? carve.clear.rows : carve.clear.columns) = seams;
    const struct needs needs = needs_of(&carve);
    if (needs.plane > most.plane || needs.first > most.first || needs.later > most.later ||
        needs.bits > bits || needs.width > most.width || needs.height > most.height)
        fail_msg("%ux%u to %ux%u, %u %s: not enough memory", call->in.width, call->in.height,
                 call->out.width, call->out.height, seams, turned ? "rows" : "columns");
}

/* Whatever a phase that clears takes, the phases behind it fit into what was laid out. */
static void test_clearing(void **) {
    static const uint32_t sizes[][4] = { { 1, 9, 1, 9 },          { 9, 1, 9, 1 },
                                         { 60, 40, 60, 40 },      { 60, 40, 50, 40 },
                                         { 60, 40, 601, 40 },     { 100, 400, 150, 420 },
                                         { 400, 100, 390, 3000 }, { 1000, 33, 1000, 33 },
                                         { 33, 5000, 33, 5001 },  { 700, 500, 2100, 4500 } };
    for (const uint32_t *size : sizes) {
        struct params params = {};
        struct op_call call = {};
        call.params = &params;
        call.in = image_shape(size[0], size[1], 4, 16);
        call.out = image_shape(size[2], size[3], 4, 16);
        call.aux[CARVE_REMOVE] = image_shape(size[0], size[1], 1, 8);
        struct carve_context carve = context_for(&call, &h200);
        assert_true(carve.clears);
        lay_out_all(&carve, NULL);
        struct needs most = needs_of(&carve);
        raise_for_clearing(&carve, &most);
        for (int turned = 0; turned < 2; turned++) {
            const uint32_t side = size[turned], goal = size[2 + turned];
            if (size[2 + !turned] < size[!turned]) continue;
            for (uint32_t seams = 1; seams < side; seams++)
                if (side - seams <= goal)
                    check_cleared(&call, turned, seams, most, carve.bits_most);
        }
    }
}

/* ---- with a GPU: more blocks than it holds */

#define TRY(call) assert_int_equal((int)(call), (int)cudaSuccess)

static struct cuda_context cuda;
static struct carve_limits believed;

static uint32_t four_times_resident(const struct carve_limits *limits, enum fast_kernel_id kernel,
                                    uint32_t cluster) {
    return 4 * residency_of(limits, kernel, cluster);
}

static uint32_t attribute(enum cudaDeviceAttr which) {
    int value = 0;
    TRY(cudaDeviceGetAttribute(&value, which, 0));
    return (uint32_t)value;
}

static bool have_gpu(void) {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) return false;
    TRY(cudaStreamCreateWithFlags(&cuda.stream, cudaStreamNonBlocking));
    cuda.multiprocessors = (int)attribute(cudaDevAttrMultiProcessorCount);
    cuda.capability = (int)(10 * attribute(cudaDevAttrComputeCapabilityMajor) +
                            attribute(cudaDevAttrComputeCapabilityMinor));
    cuda.shared_bytes = (int)attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    believed = limits_of(&cuda);
    believed.multiprocessors *= 4;
    believed.resident = four_times_resident;
    return true;
}

struct strip_result {
    uint16_t *seams;
    uint32_t *origins;
    size_t seam_count, origin_count;
};

/* Carves a noisy image by METHOD, which believes LIMITS of the GPU, in memory of its own. */
static struct strip_result carved(const struct choice_case &one, enum carve_method method,
                                  const struct carve_limits *limits,
                                  const struct cuda_context *context) {
    struct seam_search search = make_search(one);
    struct failure failure = {};
    const size_t pixels = (size_t)search.luma_stride * one.height + 32;
    const size_t scratch = method_choose(limits, &search).scratch;
    uint8_t *const noise = (uint8_t *)malloc(pixels);
    uint32_t state = 5;
    for (size_t i = 0; i < pixels; i++) noise[i] = noise_next(&state) >> 24;
    struct strip_result result = {};
    result.seam_count = one.rows ? 0 : (size_t)one.columns * one.height;
    result.origin_count = one.rows ? (size_t)one.width * one.height : 0;
    search.origin_stride = one.width;
    TRY(cudaMalloc((void **)&search.luma, pixels));
    TRY(cudaMalloc(&search.scratch, scratch));
    TRY(cudaMallocManaged((void **)&result.seams, 2 * result.seam_count + 16));
    TRY(cudaMallocManaged((void **)&result.origins, 4 * result.origin_count + 16));
    TRY(cudaMemset(result.origins, 0, 4 * result.origin_count + 16));
    search.seams = result.seams, search.origins = result.origins;
    TRY(cudaMemcpy(search.luma, noise, pixels, cudaMemcpyHostToDevice));
    TRY(cudaDeviceSynchronize());
    if (method_run(context, limits, method, &search, &failure))
        fail_msg("%s: %s", one.why, failure.message);
    TRY(cudaStreamSynchronize(context->stream));
    TRY(cudaFree(search.luma));
    TRY(cudaFree(search.scratch));
    free(noise);
    return result;
}

static void check_too_large(const struct choice_case &one) {
    const struct carve_limits real = limits_of(&cuda);
    const struct strip_result expected = carved(one, METHOD_ANY_GPU, &real, &cuda);
    const struct strip_result got = carved(one, one.expected, &believed, &cuda);
    assert_memory_equal(got.seams, expected.seams, 2 * expected.seam_count);
    assert_memory_equal(got.origins, expected.origins, 4 * expected.origin_count);
    TRY(cudaFree(expected.seams));
    TRY(cudaFree(expected.origins));
    TRY(cudaFree(got.seams));
    TRY(cudaFree(got.origins));
}

/* Blocks that do not fit at once are no failure: any_gpu takes over, and the kernel is not
 * tried again. */
static void test_too_large(void **) {
    static const struct choice_case cases[] = {
        { "bands for 4 GPUs", NULL, 640, 4000, 3, 0, CARVE_GRADIENT, 0, METHOD_FAST_ONE_AXIS },
        { "bands for 4 GPUs, both", NULL, 2600, 2600, 2, 2, CARVE_GRADIENT, false,
          METHOD_FAST_BOTH_AXES },
    };
    if (!have_gpu()) skip();
    if (cuda.capability < 90) skip();
    for (const struct choice_case &one : cases) {
        const struct seam_search search = make_search(one);
        const struct carve_limits real = limits_of(&cuda);
        struct one_axis_plan cluster;
        struct both_axes_plan both;
        const bool planned = one.rows ? both_axes_plan_make(&both, &believed, &search, NULL)
                                      : one_axis_plan_make(&cluster, &believed, &search, NULL);
        assert_true(planned);
        const uint32_t blocks = one.rows ? both.axes[0].blocks : cluster.blocks;
        assert_true(blocks > (uint32_t)cuda.multiprocessors);
        assert_int_equal(method_choose(&real, &search).method, one.expected);
        check_too_large(one);
        const uint32_t left = one.rows ? residency_of(&real, both.kernel, both.cluster)
                                       : residency_of(&real, cluster.kernel, cluster.cluster);
        assert_int_equal(left, 0);
    }
}

/* any_gpu with more multiprocessors than there are. */
static void test_grid_too_large(void **) {
    const struct choice_case one = { "rows for 4 GPUs", NULL, 300,           9000, 3, 0,
                                     CARVE_GRADIENT,    0,    METHOD_ANY_GPU };
    if (!have_gpu()) skip();
    const struct carve_limits real = limits_of(&cuda);
    struct cuda_context larger = cuda;
    larger.multiprocessors *= 4;
    const struct strip_result expected = carved(one, METHOD_ANY_GPU, &real, &cuda);
    const struct strip_result got = carved(one, METHOD_ANY_GPU, &real, &larger);
    assert_memory_equal(got.seams, expected.seams, 2 * expected.seam_count);
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices),        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_residency),      cmocka_unit_test(test_laid_out_once),
        cmocka_unit_test(test_clearing),       cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_grid_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
