// SPDX-License-Identifier: Apache-2.0
/* Every operator there is, with many parameters: what stands under alpha 0 changes no visible
 * sample, no value and no text. A new operator is covered unasked. */
#include "tests/hidden_colours.h"

#include "pipeline/plan.h"
#include "pipeline/registry.h"
#include "tests/cuda/parameter_sets.h"
#include "tests/further_image.h"

struct result {
    struct image image; /* values are an image of one row */
    char text[VALUES_TEXT_MAX + 1];
};

/* The further picture of a call, whose hidden colours are of FILLING too. */
static struct image overlay_of(const struct op *op, const struct image *in, enum filling filling) {
    if (!further_is_picture(op)) return (struct image){ 0 };
    struct image overlay = further_shape(op, 0, in, in->width + in->channels);
    overlay.pixels = malloc(image_bytes(&overlay));
    hidden_draw(&overlay, filling, false);
    return overlay;
}

/* The result of STEP on IN; the caller frees its pixels. No pixels: the operator refuses. */
static struct result result_of(const struct step *step, const struct image *in,
                               enum filling filling) {
    const struct op *op = step->op;
    struct failure failure = { 0 };
    struct result result = { .image = image_shape(in->width, in->height, in->channels, in->depth) };
    struct values values = { 0 };
    if (op->size && op->size(&step->params, in, &result.image, &failure)) return result;
    if (op->values) {
        values.shape = op->values(op, &step->params, in);
        result.image = image_shape((uint32_t)values_bytes(&values.shape), 1, 1, 8);
    }
    result.image.pixels = calloc(1, image_bytes(&result.image));
    struct op_call call = { .op = op,
                            .params = &step->params,
                            .in = *in,
                            .out = op->values ? *in : result.image,
                            .failure = &failure };
    call.aux[0] = overlay_of(op, in, filling);
    if (op->values) call.values = values.numbers = result.image.pixels;
    const size_t scratch = op->scratch ? op->scratch(&call) : 0;
    call.scratch = aligned_alloc(256, (scratch + 511) / 256 * 256);
    if (op->run(&call)) fail_msg("%s failed: %s", op->name, failure.message);
    free(call.scratch);
    free(call.aux[0].pixels);
    if (op->text) op->text(&step->params, &values, result.text);
    return result;
}

static void check_shape(const char *text, const struct step *step, struct image shape,
                        bool nothing) {
    struct result results[FILLINGS];
    char what[256];
    if (hidden_is_long(step->op, &step->params, &shape)) return;
    snprintf(what, sizeof what, "%s on %ux%u, %u x %u bit%s", text, shape.width, shape.height,
             shape.channels, shape.depth, nothing ? ", of which nothing is seen" : "");
    for (int filling = 0; filling < FILLINGS; filling++) {
        shape.pixels = malloc(image_bytes(&shape));
        hidden_draw(&shape, (enum filling)filling, nothing);
        results[filling] = result_of(step, &shape, (enum filling)filling);
        free(shape.pixels);
    }
    for (int filling = 1; filling < FILLINGS && results[0].image.pixels; filling++) {
        if (step->op->text)
            assert_string_equal(results[0].text, results[filling].text);
        else
            hidden_compare(what, &results[0].image, &results[filling].image);
    }
    for (int filling = 0; filling < FILLINGS; filling++) free(results[filling].image.pixels);
}

static void check_op(const struct op *op) {
    static struct sets sets;
    list_sets(&sets, op);
    for (int s = 0; s < sets.count; s++) {
        struct plan plan;
        struct failure failure = { 0 };
        if (plan_parse(&plan, sets.text[s], &failure)) continue; /* it needs more parameters */
        for (int i = 0; i < HIDDEN_SIZES * 4; i++)
            for (int nothing = 0; nothing < 2; nothing++)
                check_shape(sets.text[s], &plan.steps[0],
                            image_shape(hidden_sizes[i / 4].width, hidden_sizes[i / 4].height,
                                        i % 2 ? 4 : 2, i / 2 % 2 ? 16 : 8),
                            nothing);
    }
}

static void every_operator(void **state) {
    (void)state;
    for (int o = 0; o < registry_count(); o++) check_op(registry_at(o));
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_operator) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
