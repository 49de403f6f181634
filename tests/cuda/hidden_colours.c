// SPDX-License-Identifier: Apache-2.0
/* Every twin, with many parameters, on the pictures of tests/hidden_colours.h: it makes the
 * reference's bytes, and nothing visible depends on what stands under alpha 0.
 * covers: cuda/lay_over.cuh cuda/luma8_over.cuh
 */
#include "tests/hidden_colours.h"
#include "pipeline/registry.h"
#include "tests/cuda/parameter_sets.h"
#include "tests/cuda/twin_batch.h"

static const char *const twins[] = {
#define CUDA_OP(name) #name,
#include "cuda_ops.inc"
    NULL,
};

/* All fillings of a picture, then of one where nothing is seen. */
enum { IMAGES = 2 * FILLINGS };

static void draw(const struct image *image, int number) {
    hidden_draw(image, (enum filling)(number % FILLINGS), number >= FILLINGS);
}

static void draw_overlay(const struct image *overlay, int number) {
    if (overlay->width) hidden_draw(overlay, (enum filling)(number / OP_AUX_MAX % FILLINGS), false);
}

static void check_shape(struct job *job, const char *text, struct image shape) {
    const struct step *step = &job->plan.steps[0];
    if (hidden_is_long(step->op, &step->params, &shape)) return;
    job->count = 0;
    snprintf(job->name, sizeof job->name, "%s on %ux%u, %u x %u bit", text, shape.width,
             shape.height, shape.channels, shape.depth);
    for (int i = 0; i < IMAGES; i++) add_image(job, shape, NONE);
    if (job->count == 0) return;
    for (int i = 0; i < IMAGES && job->with_aux; i++) /* results are compared */
        job->aux[i * OP_AUX_MAX] = further_shape(step->op, 0, &shape, shape.width + shape.channels);
    compare(job);
    place(job->out, job->count, lane->host_out);
    for (int i = 0; i < IMAGES && !step->op->text; i++)
        hidden_compare(job->name, &job->out[i / FILLINGS * FILLINGS], &job->out[i]);
}

static void check_op(const struct op *op) {
    struct sets *sets = malloc(sizeof *sets);
    struct job *job = calloc(1, sizeof *job);
    job->draw = draw;
    job->draw_aux = further_is_picture(op) ? draw_overlay : NULL;
    job->with_aux = further_is_picture(op);
    list_sets(sets, op);
    for (int s = 0; s < sets->count; s++) {
        struct failure failure = { 0 };
        if (plan_parse(&job->plan, sets->text[s], &failure)) continue; /* it needs more */
        for (int i = 0; i < HIDDEN_SIZES * 4; i++)
            check_shape(job, sets->text[s],
                        image_shape(hidden_sizes[i / 4].width, hidden_sizes[i / 4].height,
                                    i % 2 ? 4 : 2, i / 2 % 2 ? 16 : 8));
    }
    free(job);
    free(sets);
}

static void every_twin(void **state) {
    (void)state;
    for (int i = 0; twins[i]; i++) check_op(registry_find(twins[i]));
}

int main(void) {
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to compare");
        return 77;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_twin) };
    return cmocka_run_group_tests(tests, open_lane, close_lane);
}
