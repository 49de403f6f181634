// SPDX-License-Identifier: Apache-2.0
/* Edges of images so large that strips have all their rows: those that every_op.c has no room for.
 * covers: cuda/ops/edge.cu cuda/ops/edge/luma_row.cuh
 * covers: cuda/ops/edge/luma_row.cuh cuda/ops/edge/sobel.cuh
 * covers: cuda/ops/edge.cu
 */
#include "tests/cuda/twin_batch.h"

struct size {
    uint32_t width, height;
};

/* Strips of many rows, the last of them cut off, and warps that end within a row; and, for bytes
 * with sobel3, more strips than a GPU of 132 multiprocessors runs threads at once, whose rows are
 * prefetched. */
static const struct size edge_size = { 4001, 1999 }, edge_ahead_size = { 9001, 3999 };
static const char *const edge_sets[] = {
    "edge",
    "edge:kernel=sobel5",
    "edge:border=zero,threshold=30,brightness=-40",
    "edge:kernel=sobel5,border=zero,binary=true,threshold=60,brightness=25",
};

static void compare_edges(struct job *job, const char *set, struct size size, unsigned channels,
                          unsigned depth) {
    struct failure failure = { 0 };
    assert_int_equal(plan_parse(&job->plan, set, &failure), STATUS_OK);
    job->count = 0;
    snprintf(job->name, sizeof job->name, "%s on %ux%u, %u x %u bit", set, size.width, size.height,
             channels, depth);
    add_image(job, image_shape(size.width, size.height, channels, depth), NONE);
    assert_int_equal(job->count, 1);
    compare(job);
}

static void test_large_edges(void **state) {
    (void)state;
    struct job *job = calloc(1, sizeof *job);
    for (size_t s = 0; s < sizeof edge_sets / sizeof *edge_sets; s++)
        for (unsigned channels = 1; channels <= 4; channels++) {
            compare_edges(job, edge_sets[s], edge_size, channels, 8);
            compare_edges(job, edge_sets[s], edge_size, channels, 16);
            if (!strstr(edge_sets[s], "sobel5"))
                compare_edges(job, edge_sets[s], edge_ahead_size, channels, 8);
        }
    free(job);
}

int main(void) {
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to compare");
        return 77;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_large_edges) };
    return cmocka_run_group_tests(tests, open_lane, close_lane);
}
