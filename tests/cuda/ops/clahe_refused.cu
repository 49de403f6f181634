// SPDX-License-Identifier: Apache-2.0
/* One picture by clahe where its blocks may not wait for one another, so that it is done in two
 * launches, and where they may (limited_batch.cuh): the same result, the counters 0 again, and by
 * the names of its kernels the way that it should have gone.
 * covers: cuda/ops/clahe.cu cuda/ops/clahe/fused8.cuh cuda/ops/clahe/table8.cuh
 * covers: cuda/ops/clahe/count.cuh cuda/cooperative.cuh
 */
#include "cuda/timeline.cuh"
#include "tests/cuda/limited_batch.cuh"

/* Regions of 8 tiles are 256 blocks, two a multiprocessor. */
enum { MULTIPROCESSORS_LEAST = 128, CAPABILITY_LEAST = 80 };

static const uint32_t large[][2] = { { 1920, 1080 } }, odd[][2] = { { 1919, 1077 } },
                      narrow[][2] = { { 71, 15001 } }, small[][2] = { { 320, 240 } },
                      least[][2] = { { 1024, 1024 } }, less[][2] = { { 1024, 1016 } };

/* FUSED: one launch is right on a GPU of MULTIPROCESSORS_LEAST or more. */
static const struct way {
    struct batch_case one;
    bool fused;
} ways[] = {
    { { "clahe", 1, 1, large }, true },
    { { "clahe:clip=0", 3, 1, odd }, true },
    { { "clahe:channel=luma", 4, 1, odd }, false },
    { { "clahe", 1, 1, narrow }, true },
    { { "clahe", 2, 1, narrow }, false }, /* pixels with alpha 0 are not counted */
    { { "clahe", 1, 1, least }, true },
    { { "clahe", 1, 1, less }, false },
    { { "clahe", 3, 1, small }, false },
    { { "clahe:tiles=1", 1, 1, large }, false },
    { { "clahe:tiles=9", 1, 1, large }, false },
    { { "clahe:channel=each", 3, 1, large }, false },
};

static struct timeline timeline;

static void check_way(const struct way *way, unsigned limit) {
    const bool fused = way->fused && limit == 0;
    const char *wanted = fused ? "equalize" : "tables", *kernel = timeline.marks[0].kernel;
    const uint32_t(*sides)[2] = way->one.sides;
    if (timeline.count == 0 || strcmp(kernel, wanted) != 0)
        fail_msg("%s on %ux%u, at most %u blocks: %s, should be %s", way->one.plan, sides[0][0],
                 sides[0][1], limit, timeline.count ? kernel : "nothing", wanted);
}

static void test_ways(void **) {
    const bool large_gpu =
        context.multiprocessors >= MULTIPROCESSORS_LEAST && context.capability >= CAPABILITY_LEAST;
    const unsigned limits[] = { 0, 1, 7, 255 };
    for (const struct way &way : ways)
        for (const unsigned limit : limits) {
            timeline_clear(&timeline);
            run_limited(&way.one, limit);
            if (large_gpu || limit) check_way(&way, limit);
        }
    if (!large_gpu) puts("too small a GPU: the way without a limit is not checked");
}

static int open_all(void **state) {
    struct failure failure = {};
    open_context(state);
    context.timeline = &timeline;
    return timeline_init(&timeline, &failure) != STATUS_OK;
}

int main() {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        puts("no GPU here: nothing to test");
        return 77;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_ways) };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
