// SPDX-License-Identifier: Apache-2.0
/* Every operator with a twin: the reference and the GPU agree in every byte, of images and of
 * values, and neither the padding between rows nor anything behind them is written. New operators
 * are covered unasked.
 * `every_op small` leaves large sizes out, `every_op tiny` nearly everything: compute-sanitizer is
 * slow, its racecheck hundreds of times. A folder as the next argument replaces the built-in
 * operators by the users' operators in it. `op=NAME` as the last argument walks one operator.
 * covers: cuda/op_registry.cu cuda/batch.cuh cuda/chunk.cuh
 * covers: cuda/ops/brightness.cu cuda/ops/threshold.cu cuda/ops/grayscale.cu cuda/ops/convolve.cu
 * covers: cuda/ops/dominant.cu cuda/ops/blurhash.cu cuda/ops/thumbhash.cu cuda/ops/placeholder.cuh
 * covers: cuda/ops/negate.cu cuda/ops/contrast.cu cuda/ops/levels.cu cuda/tone.cu
 * covers: cuda/ops/matrix.cu cuda/ops/sepia.cu cuda/ops/saturation.cu cuda/ops/hue.cu
 * covers: cuda/ops/tint.cu cuda/colour_matrix.cu cuda/ops/normalize.cu
 * covers: cuda/ops/clahe.cu cuda/ops/gamma.cu cuda/ops/smartcrop.cu cuda/ops/srgb.cu
 * covers: cuda/ops/extract.cu cuda/ops/crop.cu cuda/ops/rotate.cu cuda/ops/flip.cu cuda/ops/flop.cu
 * covers: cuda/ops/move/copy.cuh cuda/ops/move/mirror.cuh cuda/ops/rotate.cu
 * covers: cuda/ops/zoom.cu cuda/ops/median.cu cuda/ops/pad.cu cuda/ops/composite.cu
 * covers: cuda/ops/pixelate.cu cuda/ops/rotate/tilt.cuh cuda/ops/depth.cu
 * covers: cuda/skeletons/pixel.cuh
 * covers: cuda/ops/histogram.cu cuda/ops/minimum.cu cuda/ops/maximum.cu cuda/ops/mean.cu
 * covers: cuda/ops/blur.cu cuda/ops/sharpen.cu cuda/smooth.cu cuda/smooth/strip.cuh
 * covers: cuda/smooth/tile.cuh cuda/smooth/strip.cuh cuda/smooth/passes.cuh
 * covers: cuda/smooth/finish.cuh
 * covers: cuda/skeletons/user_twin.cu cuda/skeletons/launch.cuh cuda/skeletons/pixels.cuh
 * covers: cuda/skeletons/point.cuh cuda/skeletons/neighbourhood.cuh cuda/skeletons/scalar.cuh
 * covers: cuda/skeletons/vector.cuh
 * covers: cuda/ops/histeq/layout8.cuh cuda/ops/histeq/histogram8.cuh
 * covers: cuda/ops/histeq/equalize8.cuh cuda/ops/histeq/equalize16.cuh
 * covers: cuda/ops/histeq/layout16.cuh cuda/ops/histeq/histogram16.cuh
 */
#include "cuda/skeletons/nvrtc.h"
#include "pipeline/builtin_ops.h"
#include "pipeline/registry.h"
#include "pipeline/skeletons/operators_dir.h"
#include "tests/cuda/parameter_sets.h"
#include "tests/cuda/twin_batch.h"

static const char *const twins[] = {
#define CUDA_OP(name) #name,
#include "cuda_ops.inc"
    NULL,
};

struct size {
    uint32_t width, height;
};

static const struct size sizes[] = { { 1, 1 },    { 1, 17 },   { 17, 1 },    { 13, 42 },
                                     { 123, 66 }, { 4097, 3 }, { 1000, 700 } };
static const struct size batch_sizes[] = { { 1, 1 },     { 31, 9 },  { 320, 240 }, { 64, 64 },
                                           { 257, 129 }, { 5, 300 }, { 97, 1 } };
static const struct size small_sizes[] = { { 1, 17 }, { 13, 42 }, { 123, 66 } };
static bool small, tiny;
static const char *only; /* an operator's name; NULL: all */

/* ---- the walk */

static void walk_size(struct job *job, const char *text, struct size size, unsigned channels,
                      unsigned depth) {
    for (int padding = 0; padding < (tiny ? WIDE : PADDINGS); padding++) {
        job->count = 0;
        snprintf(job->name, sizeof job->name, "%s on %ux%u, %u x %u bit, padding %d", text,
                 size.width, size.height, channels, depth, padding);
        for (int content = 0; content < CONTENTS; content++) /* by the place in the batch */
            add_image(job, image_shape(size.width, size.height, channels, depth),
                      (enum padding)padding);
        if (job->count == 0) continue;
        compare(job);
        job->count = 1;
        compare(job);
    }
}

static void walk_sizes(struct job *job, const char *text, unsigned channels, unsigned depth) {
    const struct size *list = small ? small_sizes : sizes;
    const size_t count = small ? sizeof small_sizes / sizeof *list : sizeof sizes / sizeof *list;
    for (size_t s = 0; s < (tiny ? 2 : count); s++) walk_size(job, text, list[s], channels, depth);
}

static void walk_batches(struct job *job, const char *text, unsigned channels, unsigned depth) {
    static const int counts[] = { 5, RUN_BATCH_MAX };
    for (int b = 0; b < (tiny ? 0 : small ? 1 : 2); b++) {
        job->count = 0;
        snprintf(job->name, sizeof job->name, "%s on a batch of %d, %u x %u bit", text, counts[b],
                 channels, depth);
        for (int i = 0; i < counts[b]; i++) {
            const struct size size = batch_sizes[i % (sizeof batch_sizes / sizeof *batch_sizes)];
            add_image(job, image_shape(size.width, size.height, channels, depth),
                      i % 11 == 10 ? ODD : NONE);
        }
        if (job->count) compare(job);
    }
}

/* THIN: of the kinds of samples two only, others for each SET: where every image is a long job. */
static void walk_set(struct job *job, const char *text, bool thin, unsigned set) {
    for (unsigned channels = 1; channels <= 4; channels++) {
        for (unsigned depth = 8; depth <= 16; depth += 8) {
            if (thin && (channels + depth / 8 + set) % 4 != 0) continue;
            walk_sizes(job, text, channels, depth);
            walk_batches(job, text, channels, depth);
        }
    }
}

/* Than one parameter at a time: an operator with one that must be given. */
static bool asks_for_more(const struct op *op) {
    for (const struct param *p = op->params; p->type != PARAM_NONE; p++)
        if (p->required) return true;
    return false;
}

static void walk_op(const struct op *op) {
    struct sets *sets = malloc(sizeof *sets);
    struct job *job = calloc(1, sizeof *job);
    list_sets(sets, op);
    for (int s = 0; s < (tiny && sets->count > 5 ? 5 : sets->count); s++) {
        struct failure failure = { 0 };
        if (plan_parse(&job->plan, sets->text[s], &failure)) {
            if (!asks_for_more(op)) fail_msg("%s: %s", sets->text[s], failure.message);
            continue;
        }
        const bool takes_aux = op->aux[0].name;
        job->with_aux = false;
        walk_set(job, sets->text[s], takes_aux, (unsigned)s);
        job->with_aux = true;
        if (takes_aux) walk_set(job, sets->text[s], true, (unsigned)s + 1);
    }
    print_message("%s: %d parameter sets\n", op->name, sets->count);
    free(job);
    free(sets);
}

static void test_every_twin(void **state) {
    (void)state;
    for (int i = 0; twins[i]; i++) {
        if (only && strcmp(only, twins[i]) != 0) continue;
        const struct op *op = registry_find(twins[i]);
        assert_non_null(op);
        walk_op(op);
    }
}

static void test_users_operators(void **state) {
    (void)state;
    for (int i = builtin_op_count(); i < registry_count(); i++) walk_op(registry_at(i));
}

static void test_refuses_without_twin(void **state) {
    (void)state;
    struct failure failure = { 0 };
    const struct op stranger = { .name = "stranger" };
    struct op_call call = { .failure = &failure };
    assert_int_equal(device_cuda.run(lane, &stranger, &call, 1), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "stranger"));
}

static void print_mistake(void *context, const char *sentence) {
    (void)context;
    fprintf(stderr, "%s\n", sentence);
}

static bool load_operators(const char *directory) {
    const struct operators_options options = { .report = print_mistake };
    struct failure failure = { 0 };
    if (operators_dir_load(directory, &options, &failure) > 0) return true;
    fprintf(stderr, "%s: no operator: %s\n", directory, failure.message);
    return false;
}

int main(int count, char **arguments) {
    if (strncmp(arguments[count - 1], "op=", 3) == 0) only = arguments[--count] + 3;
    tiny = count > 1 && strcmp(arguments[1], "tiny") == 0;
    small = tiny || (count > 1 && strcmp(arguments[1], "small") == 0);
    const char *last = arguments[count - 1];
    const bool users = count > 1 && strcmp(last, "small") != 0 && strcmp(last, "tiny") != 0;
    if (users && !load_operators(last)) return 1;
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to compare");
        return 77;
    }
    if (users && nvrtc_missing()) {
        puts(nvrtc_missing());
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_twin),
        cmocka_unit_test(test_refuses_without_twin),
    };
    const struct CMUnitTest users_tests[] = { cmocka_unit_test(test_users_operators) };
    if (users) return cmocka_run_group_tests(users_tests, open_lane, close_lane);
    return cmocka_run_group_tests(tests, open_lane, close_lane);
}
