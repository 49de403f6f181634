// SPDX-License-Identifier: Apache-2.0
/* Every operator there is, with many parameters: what stands under alpha 0 changes no visible
 * sample, no value and no text. A new operator is covered unasked. */
#include "tests/hidden_colours.h"

#include "pipeline/plan.h"
#include "pipeline/registry.h"
#include "tests/cuda/parameter_sets.h"
#include "tests/further_image.h"

enum { RESULT_MOST = 1 << 16 /* pixels */ };

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

/* The result of STEP on IN; the caller frees its pixels. No pixels: the operator refuses,
 * or makes too many. */
static struct result result_of(const struct step *step, const struct image *in,
                               enum filling filling) {
    const struct op *op = step->op;
    struct failure failure = { 0 };
    struct result result = { .image = image_shape(in->width, in->height, in->channels, in->depth) };
    struct values values = { 0 };
    if (op->size && op->size(&step->params, in, &result.image, &failure)) return result;
    if (image_pixels(&result.image) > RESULT_MOST) return result;
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

/* FILLING beside zeros. NOTHING: every pixel is hidden. */
static void check_shape(const char *text, const struct step *step, struct image shape,
                        enum filling filling, bool nothing) {
    const enum filling fillings[] = { FILLED_ZERO, filling };
    struct result results[2];
    char what[256];
    if (hidden_is_long(step->op, &step->params, &shape)) return;
    snprintf(what, sizeof what, "%s on %ux%u, %u x %u bit%s", text, shape.width, shape.height,
             shape.channels, shape.depth, nothing ? ", of which nothing is seen" : "");
    for (int i = 0; i < 2; i++) {
        shape.pixels = malloc(image_bytes(&shape));
        hidden_draw(&shape, fillings[i], nothing);
        results[i] = result_of(step, &shape, fillings[i]);
        free(shape.pixels);
    }
    if (results[0].image.pixels && step->op->text)
        assert_string_equal(results[0].text, results[1].text);
    else if (results[0].image.pixels)
        hidden_compare(what, &results[0].image, &results[1].image);
    for (int i = 0; i < 2; i++) free(results[i].image.pixels);
}

/* Every kind of pixel at one size, and by turns at the others. */
static void check_step(const char *text, const struct step *step, int turn) {
    for (int size = 0; size < HIDDEN_SIZES; size++)
        for (int kind = 0; kind < 4; kind++) {
            const bool wide = kind % 2, deep = kind / 2, whole = size == HIDDEN_WHOLE;
            const struct image shape = image_shape(
                hidden_sizes[size].width, hidden_sizes[size].height, wide ? 4 : 2, deep ? 16 : 8);
            const bool bright = (turn + size + deep) % 2;
            if (!whole && (turn + size + wide + deep) % 2) continue;
            check_shape(text, step, shape, bright ? FILLED_BRIGHT : FILLED_NOISE, false);
            if (whole) check_shape(text, step, shape, bright ? FILLED_NOISE : FILLED_BRIGHT, true);
        }
}

/* An eighth of the sizes that the record gives as examples: what is hidden needs no more. */
static void shrink(struct step *step) {
    for (int i = 0; step->op->params[i].type != PARAM_NONE; i++) {
        const struct param *param = &step->op->params[i];
        long *number = &step->params.number[i];
        const bool size = param->unit && strcmp(param->unit, "pixels") == 0;
        if (size && param->example && *number == param->example) *number = (param->example + 7) / 8;
    }
}

static void check_op(const struct op *op) {
    static struct sets sets;
    list_sets(&sets, op);
    for (int s = 0; s < sets.count; s++) {
        struct plan plan;
        struct failure failure = { 0 };
        if (plan_parse(&plan, sets.text[s], &failure)) continue; /* it needs more parameters */
        shrink(&plan.steps[0]);
        check_step(sets.text[s], &plan.steps[0], s);
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
