// SPDX-License-Identifier: Apache-2.0
/* Rules for every operator there is, found by walking the registry: awkward sizes, both depths, all
 * channel counts, padded rows; the bytes between rows are left alone, threads change nothing, the
 * input is not written, wrong parameters are refused by name; an operator that reports values keeps
 * these rules and passes the image on. A new operator is covered unasked. */
#include "pipeline/plan.h"
#include "pipeline/registry.h"
#include "tests/further_image.h"
#include "tests/pipeline/ops/pictures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PADDING = 48, CANARY = 0xa5 };

/* Memory of its own with PADDING bytes behind every row, all set to CANARY. */
static struct image padded(struct image shape) {
    shape.stride = image_row_bytes(&shape) + PADDING;
    shape.pixels = malloc(image_bytes(&shape));
    assert_non_null(shape.pixels);
    memset(shape.pixels, CANARY, image_bytes(&shape));
    return shape;
}

static void assert_padding_untouched(const struct image *image, const char *what) {
    for (uint32_t y = 0; y < image->height; y++)
        for (int i = 0; i < PADDING; i++)
            if (image_row(image, y)[image_row_bytes(image) + (size_t)i] != CANARY)
                fail_msg("%s wrote behind row %u", what, y);
}

static uint64_t digest_of(const uint8_t *bytes, size_t count) {
    uint64_t digest = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < count; i++) digest = (digest ^ bytes[i]) * UINT64_C(1099511628211);
    return digest;
}

/* Runs CALL with memory of its own, which has been used before. */
static void run_call(struct op_call *call, const struct op *op) {
    const size_t scratch = op->scratch ? op->scratch(call) : 0;
    call->scratch = aligned_alloc(256, (scratch + 511) / 256 * 256);
    memset(call->scratch, call->pool ? 0 : CANARY, scratch);
    if (op->run(call)) fail_msg("%s failed: %s", op->name, call->failure->message);
    free(call->scratch);
}

/* Digest of the values; nothing behind them is written. */
static uint64_t run_values(const struct op *op, const struct params *params, const struct image *in,
                           struct pool *pool) {
    const struct values_shape shape = op->values(op, params, in);
    const size_t bytes = values_bytes(&shape), room = (bytes + 511) / 256 * 256;
    struct failure failure = { 0 };
    uint8_t *values = aligned_alloc(256, room);
    struct op_call call = { .op = op,
                            .params = params,
                            .in = *in,
                            .out = *in,
                            .values = values,
                            .pool = pool,
                            .failure = &failure };
    assert_null(op->size);
    assert_true(bytes > 0);
    memset(values, CANARY, room);
    run_call(&call, op);
    assert_padding_untouched(in, op->name);
    for (size_t i = bytes; i < room; i++)
        if (values[i] != CANARY) fail_msg("%s wrote behind its values", op->name);
    const uint64_t digest = digest_of(values, bytes);
    free(values);
    return digest;
}

/* The further picture of an operator that needs one; width 0: it needs none. */
static struct image make_overlay(const struct op *op, const struct image *in) {
    struct image overlay = { 0 };
    if (!further_is_picture(op)) return overlay;
    overlay = padded(further_shape(op, 0, in, in->width + in->channels + in->depth / 16));
    picture_draw(&overlay, PICTURE_NOISE, 9);
    return overlay;
}

/* Digest of the result, with POOL's threads. 0: the operator refuses the shape. */
static uint64_t run_once(const struct op *op, const struct params *params, const struct image *in,
                         struct pool *pool) {
    if (op->values) return run_values(op, params, in, pool);
    struct image shape = image_shape(in->width, in->height, in->channels, in->depth);
    struct failure failure = { 0 };
    if (op->size && op->size(params, in, &shape, &failure)) return 0;
    struct image out = padded(shape);
    struct op_call call = {
        .op = op, .params = params, .in = *in, .out = out, .pool = pool, .failure = &failure
    };
    call.aux[0] = make_overlay(op, in);
    run_call(&call, op);
    assert_padding_untouched(&out, op->name);
    const uint64_t digest = image_digest(&out);
    free(out.pixels);
    free(call.aux[0].pixels);
    return digest;
}

static void check_picture(const struct op *op, const struct params *params, struct pool *pool,
                          struct image shape, enum picture picture) {
    struct image in = padded(shape);
    picture_draw(&in, picture, 7);
    uint8_t *copy = malloc(image_bytes(&in));
    memcpy(copy, in.pixels, image_bytes(&in));
    const uint64_t alone = run_once(op, params, &in, NULL);
    if (alone != run_once(op, params, &in, pool))
        fail_msg("%s %ux%u, %u channels of %u bit: the result depends on threads or on old memory",
                 op->name, shape.width, shape.height, shape.channels, shape.depth);
    if (memcmp(copy, in.pixels, image_bytes(&in))) fail_msg("%s wrote its input", op->name);
    free(copy);
    free(in.pixels);
}

/* Sets the examples of the operator's record; false: it needs more parameters. */
static bool set_examples(struct params *params, const struct op *op) {
    params_init(params, op->params);
    for (int i = 0; op->params[i].type != PARAM_NONE; i++) {
        if (!op->params[i].example) continue;
        params->number[i] = op->params[i].example;
        params->given |= 1u << i;
    }
    return params_complete(params, op->params, op->name, NULL) == STATUS_OK;
}

/* Noise, and in every other of them one of the other pictures by turns. */
static enum picture picture_of(size_t size, unsigned channels, unsigned depth) {
    const size_t turn = size + channels + depth / 16;
    return turn % 2 ? PICTURE_NOISE : (enum picture)(1 + turn / 2 % (PICTURES - 1));
}

static void every_size_depth_and_channel(void **state) {
    (void)state;
    struct pool *pool = pool_create(3);
    for (int o = 0; o < registry_count(); o++) {
        const struct op *op = registry_at(o);
        struct params params;
        if (!set_examples(&params, op)) continue;
        for (size_t s = 0; s < AWKWARD_SIZES; s++)
            for (unsigned channels = 1; channels <= 4; channels++)
                for (unsigned depth = 8; depth <= 16; depth += 8)
                    check_picture(op, &params, pool,
                                  image_shape(awkward_sizes[s].width, awkward_sizes[s].height,
                                              channels, depth),
                                  picture_of(s, channels, depth));
    }
    pool_destroy(pool);
}

static void every_record_is_whole(void **state) {
    (void)state;
    for (int o = 0; o < registry_count(); o++) {
        const struct op *op = registry_at(o);
        assert_non_null(op->name);
        assert_non_null(op->title);
        assert_non_null(op->summary);
        assert_non_null(op_group_name(op->group));
        assert_non_null(op->run);
        assert_ptr_equal(registry_find(op->name), op);
        if (o) assert_true(strcmp(registry_at(o - 1)->name, op->name) < 0);
        for (const struct param *param = op->params; param->type != PARAM_NONE; param++) {
            assert_non_null(param->name);
            assert_non_null(param->summary);
            if (param->type == PARAM_INT) assert_true(param->min < param->max);
            if (param->example)
                assert_true(param->min <= param->example && param->example <= param->max);
        }
    }
}

static void wrong_parameters_are_refused_by_name(void **state) {
    (void)state;
    for (int o = 0; o < registry_count(); o++) {
        const struct op *op = registry_at(o);
        struct failure failure = { 0 };
        struct params params;
        params_init(&params, op->params);
        assert_int_equal(params_set(&params, op->params, op->name, "nonsense", "1", &failure),
                         STATUS_BAD_PARAM);
        assert_non_null(strstr(failure.message, "nonsense"));
        for (const struct param *param = op->params; param->type != PARAM_NONE; param++) {
            params_init(&params, op->params);
            assert_int_equal(
                params_set(&params, op->params, op->name, param->name, "abc", &failure),
                STATUS_BAD_PARAM);
            assert_non_null(strstr(failure.message, param->name));
            char over[32];
            if (param->type != PARAM_INT) continue;
            snprintf(over, sizeof over, "%ld", param->max + 1);
            assert_int_equal(params_set(&params, op->params, op->name, param->name, over, &failure),
                             STATUS_BAD_PARAM);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_is_whole),
        cmocka_unit_test(wrong_parameters_are_refused_by_name),
        cmocka_unit_test(every_size_depth_and_channel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
