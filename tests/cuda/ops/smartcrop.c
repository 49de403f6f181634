// SPDX-License-Identifier: Apache-2.0
/* Batches that do not fit into the scratch together, so that they are done in groups, and images
 * with more rows to begin at than blocks that look for a part: those that every_op.c has none of.
 * covers: cuda/ops/smartcrop.cu
 */
#include "tests/cuda/twin_batch.h"

struct size {
    uint32_t width, height;
};

static const struct size mixed[] = { { 320, 240 }, { 23, 17 }, { 257, 129 }, { 23, 1300 },
                                     { 64, 64 },   { 31, 18 }, { 4097, 17 } };
enum { MIXED = sizeof mixed / sizeof *mixed };
static const char *const sets[] = { "smartcrop:width=20,height=16", "smartcrop:width=1",
                                    "smartcrop:height=9" };

/* Bytes of scratch that image I alone asks for. */
static size_t scratch_of(const struct job *job, int i) {
    struct failure failure = { 0 };
    const struct op_call call = make_call(job, i, &failure);
    return device_cuda.scratch(lane, call.op, &call, 1);
}

static void add_mixed(struct job *job, const char *set, unsigned channels, unsigned depth) {
    struct failure failure = { 0 };
    assert_int_equal(plan_parse(&job->plan, set, &failure), STATUS_OK);
    job->count = 0;
    for (int i = 0; i < RUN_BATCH_MAX; i++) {
        const struct size size = mixed[i % MIXED];
        add_image(job, image_shape(size.width, size.height, channels, depth),
                  i % 11 == 10 ? ODD : NONE);
    }
    assert_int_equal(job->count, RUN_BATCH_MAX);
}

/* The scratch holds the largest image, then one and a half of it. */
static void test_groups(void **state) {
    (void)state;
    struct job *job = calloc(1, sizeof *job);
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        for (unsigned channels = 1; channels <= 4; channels++)
            for (unsigned depth = 8; depth <= 16; depth += 8) {
                size_t largest = 0;
                add_mixed(job, sets[s], channels, depth);
                for (int i = 0; i < MIXED; i++)
                    if (scratch_of(job, i) > largest) largest = scratch_of(job, i);
                for (int half = 2; half <= 3; half++) {
                    job->work_bytes = largest * (size_t)half / 2;
                    snprintf(job->name, sizeof job->name, "%s in %zu bytes, %u x %u bit", sets[s],
                             job->work_bytes, channels, depth);
                    compare(job);
                }
            }
    free(job);
}

static void test_large(void **state) {
    (void)state;
    struct job *job = calloc(1, sizeof *job);
    struct failure failure = { 0 };
    assert_int_equal(plan_parse(&job->plan, "smartcrop:width=1500,height=300", &failure),
                     STATUS_OK);
    snprintf(job->name, sizeof job->name, "smartcrop of large images");
    add_image(job, image_shape(1920, 1080, 3, 8), NONE);
    add_image(job, image_shape(1501, 3001, 3, 8), ODD);
    add_image(job, image_shape(4000, 300, 3, 8), WIDE);
    assert_int_equal(job->count, 3);
    compare(job);
    free(job);
}

int main(void) {
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to compare");
        return 77;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_groups),
                                        cmocka_unit_test(test_large) };
    return cmocka_run_group_tests(tests, open_lane, close_lane);
}
