// SPDX-License-Identifier: Apache-2.0
/* Pictures that clahe does alone: large ones in one launch, of tiles that end within a word, a
 * chunk or the padding, of which one block or several have a region; small ones in two. One after
 * the other in the same lane, so that what one left in the counters would spoil the next.
 *
 * How it works. The names of the kernels show which way a picture went. For GPUs of 128 to 144
 * multiprocessors (H100, H200: 132) each case states the right way: one launch if the picture's
 * tiles give enough blocks of at least 4096 pixels and it has no alpha. On other GPUs both ways are
 * right.
 * `clahe tiny` leaves nearly all out and does not ask for the way: compute-sanitizer is slow and
 * makes kernels larger, so that fewer blocks run at once.
 * covers: cuda/ops/clahe.cu cuda/ops/clahe/fused8.cuh cuda/ops/clahe/count.cuh
 * covers: cuda/ops/clahe/blend.cuh cuda/ops/clahe/pixels.cuh
 * covers: cuda/ops/clahe/count.cuh
 */
#include "tests/cuda/twin_batch.h"

struct size {
    uint32_t width, height;
};

static const struct size fused_sizes[] = { { 1920, 1080 }, { 1919, 1077 }, { 1024, 1024 },
                                           { 1027, 1031 }, { 4097, 263 },  { 95, 12007 } };
static const struct size large_sizes[] = { { 3840, 2160 }, { 4003, 2999 } };
static const struct size small_sizes[] = { { 16, 16 }, { 250, 333 }, { 320, 240 }, { 1001, 35 } };
static const char *const fused_sets[] = { "clahe", "clahe:tiles=3", "clahe:tiles=4",
                                          "clahe:tiles=5,clip=0",
                                          "clahe:tiles=7,clip=40,channel=luma" };
static const char *const apart_sets[] = { "clahe:tiles=1", "clahe:tiles=2", "clahe:tiles=9",
                                          "clahe:tiles=8,clip=100,channel=each" };

#define COUNT(list) (sizeof(list) / sizeof *(list))

enum way { EITHER, FUSED, APART };

static bool tiny;
static int fused_count, apart_count;

/* ---- which way */

/* From the CUDA runtime: attribute 16 is cudaDevAttrMultiProcessorCount. */
extern int cudaDeviceGetAttribute(int *value, int attribute, int device);

static bool is_known_gpu(void) {
    int multiprocessors = 0;
    assert_int_equal(cudaDeviceGetAttribute(&multiprocessors, 16, 0), 0);
    return !tiny && multiprocessors >= 128 && multiprocessors <= 144;
}

static bool has_kernel(const struct timing *spans, const char *name) {
    for (int i = 0; i < spans->span_count; i++)
        if (spans->spans[i].level == SPAN_KERNEL && strcmp(spans->spans[i].name, name) == 0)
            return true;
    return false;
}

static void check_way(const struct job *job, enum way wanted) {
    const bool fused = has_kernel(&job->spans, "equalize");
    if (fused == has_kernel(&job->spans, "tables"))
        fail_msg("%s: the kernels' names show no way", job->name);
    *(fused ? &fused_count : &apart_count) += 1;
    if (wanted != EITHER && is_known_gpu() && fused != (wanted == FUSED))
        fail_msg("%s: went through %s", job->name, fused ? "one launch" : "two launches");
}

/* ---- the walk */

struct walk {
    const char *set;
    struct size size;
    unsigned channels;
    enum padding padding;
    enum content content;
    enum way way;
};

static void compare_alone(struct job *job, const struct walk *walk) {
    struct failure failure = { 0 };
    assert_int_equal(plan_parse(&job->plan, walk->set, &failure), STATUS_OK);
    job->count = 0;
    job->first_content = walk->content;
    snprintf(job->name, sizeof job->name, "%s on %ux%u, %u x 8 bit, padding %d, content %d",
             walk->set, walk->size.width, walk->size.height, walk->channels, (int)walk->padding,
             (int)walk->content);
    add_image(job, image_shape(walk->size.width, walk->size.height, walk->channels, 8),
              walk->padding);
    assert_int_equal(job->count, 1);
    compare(job);
    check_way(job, walk->channels % 2 == 0 && walk->way == FUSED ? APART : walk->way);
}

/* Every channel count, by turns with every padding and content. */
static void walk_sizes(struct job *job, const char *set, enum way way, const struct size *sizes,
                       size_t count) {
    unsigned turn = 0;
    for (size_t i = 0; i < count; i++)
        for (unsigned channels = 1; channels <= 4; channels++, turn++)
            compare_alone(job,
                          &(struct walk){ set, sizes[i], channels, (enum padding)(turn % PADDINGS),
                                          (enum content)(turn / PADDINGS % CONTENTS), way });
}

static void test_fused(void **state) {
    struct job *job = *state;
    for (size_t s = 0; s < COUNT(fused_sets) && !tiny; s++)
        walk_sizes(job, fused_sets[s], FUSED, fused_sizes, COUNT(fused_sizes));
}

static void test_contents(void **state) {
    struct job *job = *state;
    for (unsigned channels = 1; channels <= 4 && !tiny; channels++)
        for (int padding = 0; padding < PADDINGS; padding++)
            for (int content = 0; content < CONTENTS; content++)
                compare_alone(job, &(struct walk){ "clahe", fused_sizes[1], channels,
                                                   (enum padding)padding, (enum content)content,
                                                   FUSED });
}

static void test_large(void **state) {
    struct job *job = *state;
    for (size_t s = 0; s < COUNT(fused_sets) && !tiny; s++)
        for (size_t i = 0; i < COUNT(large_sizes); i++) {
            compare_alone(job,
                          &(struct walk){ fused_sets[s], large_sizes[i], 1, NONE, NOISE, FUSED });
            compare_alone(job,
                          &(struct walk){ fused_sets[s], large_sizes[i], 3, ODD, NOISE, FUSED });
        }
}

/* Small pictures, and those of tiles that are too few or too many. Channels are known to be apart
 * where there is more than one colour. */
static void test_apart(void **state) {
    struct job *job = *state;
    for (size_t s = 0; s < COUNT(fused_sets) && !tiny; s++)
        walk_sizes(job, fused_sets[s], APART, small_sizes, COUNT(small_sizes));
    for (size_t s = 0; s < COUNT(apart_sets) && !tiny; s++)
        for (unsigned channels = 1; channels <= 4; channels += 2)
            compare_alone(job, &(struct walk){ apart_sets[s], fused_sizes[1], channels, ODD, NOISE,
                                               s == 3 && channels == 1 ? EITHER : APART });
}

/* The smallest that 132 multiprocessors do in one launch: 144 regions of 4096 pixels. */
static void test_tiny(void **state) {
    struct job *job = *state;
    const struct walk walks[] = {
        { "clahe:tiles=6", { 768, 768 }, 1, NONE, NOISE, FUSED },
        { "clahe:tiles=6", { 773, 769 }, 3, ODD, NOISE, FUSED },
        { "clahe:tiles=6", { 768, 762 }, 1, WIDE, CONSTANT, APART },
    };
    for (size_t i = 0; i < COUNT(walks); i++) compare_alone(job, &walks[i]);
}

static int open_all(void **state) {
    *state = calloc(1, sizeof(struct job));
    return open_lane(NULL);
}

static int close_all(void **state) {
    printf("%d pictures in one launch, %d in two\n", fused_count, apart_count);
    free(*state);
    return close_lane(NULL);
}

int main(int count, char **arguments) {
    tiny = count > 1 && strcmp(arguments[1], "tiny") == 0;
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to compare");
        return 77;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_tiny), cmocka_unit_test(test_fused),
                                        cmocka_unit_test(test_contents),
                                        cmocka_unit_test(test_large),
                                        cmocka_unit_test(test_apart) };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
