// SPDX-License-Identifier: Apache-2.0
/* Pictures that clahe does alone in one launch, of tiles that end within a word, a chunk or the
 * padding, and of which several blocks share a region: those that every_op.c has none of. One after
 * the other in the same lane, so that what one left in the counters would spoil the next.
 * `clahe tiny` leaves nearly all out: compute-sanitizer is slow.
 * covers: cuda/ops/clahe.cu cuda/ops/clahe/fused8.cuh cuda/ops/clahe/count.cuh
 * covers: cuda/ops/clahe/blend.cuh cuda/ops/clahe/mix.cuh cuda/ops/clahe/pixels.cuh
 */
#include "tests/cuda/twin_batch.h"

struct size {
    uint32_t width, height;
};

static const struct size shared_sizes[] = { { 16, 16 },     { 17, 23 },    { 123, 66 },
                                            { 250, 333 },   { 640, 480 },  { 1001, 35 },
                                            { 1919, 1077 }, { 4097, 131 }, { 67, 3001 } };
static const struct size large_sizes[] = { { 1920, 1080 }, { 3840, 2160 }, { 4003, 2999 } };
static const char *const sets[] = { "clahe",
                                    "clahe:tiles=4",
                                    "clahe:tiles=5,clip=0",
                                    "clahe:tiles=7,clip=40,channel=luma",
                                    "clahe:tiles=8,clip=100,channel=each",
                                    "clahe:tiles=1" };

static bool tiny;

static void compare_alone(struct job *job, const char *set, struct size size, unsigned channels,
                          enum padding padding) {
    struct failure failure = { 0 };
    assert_int_equal(plan_parse(&job->plan, set, &failure), STATUS_OK);
    job->count = 0;
    snprintf(job->name, sizeof job->name, "%s on %ux%u, %u x 8 bit, padding %d", set, size.width,
             size.height, channels, (int)padding);
    add_image(job, image_shape(size.width, size.height, channels, 8), padding);
    assert_int_equal(job->count, 1);
    compare(job);
}

static void test_alone(void **state) {
    (void)state;
    struct job *job = calloc(1, sizeof *job);
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        for (size_t i = 0; i < (tiny ? 3 : sizeof shared_sizes / sizeof *shared_sizes); i++)
            for (unsigned channels = 1; channels <= 4; channels += tiny ? 2 : 1)
                for (int padding = 0; padding < (tiny ? 2 : PADDINGS); padding++)
                    compare_alone(job, sets[s], shared_sizes[i], channels, (enum padding)padding);
    free(job);
}

static void test_large(void **state) {
    (void)state;
    struct job *job = calloc(1, sizeof *job);
    for (size_t s = 0; s < sizeof sets / sizeof *sets && !tiny; s++)
        for (size_t i = 0; i < sizeof large_sizes / sizeof *large_sizes; i++) {
            compare_alone(job, sets[s], large_sizes[i], 1, NONE);
            compare_alone(job, sets[s], large_sizes[i], 3, ODD);
        }
    free(job);
}

int main(int count, char **arguments) {
    tiny = count > 1 && strcmp(arguments[1], "tiny") == 0;
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to compare");
        return 77;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_alone),
                                        cmocka_unit_test(test_large) };
    return cmocka_run_group_tests(tests, open_lane, close_lane);
}
