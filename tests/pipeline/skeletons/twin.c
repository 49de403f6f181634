// SPDX-License-Identifier: Apache-2.0
/* Users' operators called as a device calls them: rows that begin anywhere, bytes between them that
 * are nobody's, bands of any number, jobs that are not wanted any more. What they compute is tested
 * from outside, by tests/reference/test_user_operators.py. */
#include "pipeline/skeletons/twin.h"

#include "pipeline/sample.h"
#include "pipeline/skeletons/operators_dir.h"
#include "pipeline/skeletons/reader.h"
#include "tests/noise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { GUARD = 0xa5 };

static struct user_file *file; /* NULL: there is no compiler here */

static const char source[] =
    "#P2P_FUNC\nstatic unsigned char invert(unsigned char v, int i) { return 255 - v; }\n"
    "#P2P_FUNC\nstatic unsigned short where(unsigned short v, int i) { return v ^ i; }\n"
    "#N2P_FUNC\nstatic unsigned short corner(unsigned short p[5][5], int x, int y) { return "
    "p[0][4]; }\n"
    "#N2P_FUNC\nstatic unsigned char right(unsigned char p[3][3], int x, int y) { return "
    "p[1][2]; }\n"
    "#R2S_FUNC unsigned\nstatic T sum(E a, E b) { return a + b; }\n"
    "#R2V_FUNC\nstatic void counts(unsigned char v, int *out, int bins) { atomicAdd(&out[v], 1); "
    "}\n";

static void report(void *context, const char *sentence) {
    (void)context;
    print_message("%s\n", sentence);
}

static int compile_operators(void **state) {
    (void)state;
    char path[] = "/tmp/burin-twin-XXXXXX.c";
    const int fd = mkstemps(path, 2);
    assert_true(fd >= 0 && write(fd, source, strlen(source)) == (ssize_t)strlen(source));
    close(fd);
    const struct operators_options options = { .report = report };
    enum twin_state loaded;
    file = operators_dir_read(path, &options, &loaded);
    unlink(path);
    assert_non_null(file);
    if (loaded == TWIN_NO_COMPILER) print_message("there is no C compiler: nothing is run\n");
    return 0;
}

static const struct op *operator_called(const char *name) {
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->ops[i].op.name, name) == 0) return &file->ops[i].op;
    fail_msg("no operator %s", name);
    return NULL;
}

/* Rows GAP bytes apart, the first of them one byte behind the memory's beginning. */
static struct image make_image(uint32_t width, uint32_t height, unsigned channels, unsigned depth,
                               size_t gap, bool filled) {
    struct image image = image_shape(width, height, channels, depth);
    image.stride = image_row_bytes(&image) + gap;
    uint8_t *memory = malloc(image_bytes(&image) + 1);
    memset(memory, GUARD, image_bytes(&image) + 1);
    image.pixels = memory + 1;
    uint32_t noise = 1;
    for (uint32_t y = 0; filled && y < height; y++)
        for (size_t i = 0; i < image_row_bytes(&image); i++)
            image_row(&image, y)[i] = (uint8_t)(noise_next(&noise) >> 24);
    return image;
}

static void assert_guards(const struct image *image) {
    assert_int_equal(image->pixels[-1], GUARD);
    for (uint32_t y = 0; y < image->height; y++)
        for (size_t i = image_row_bytes(image); i < image->stride; i++)
            assert_int_equal(image_row(image, y)[i], GUARD);
}

static uint32_t sample(const struct image *image, uint32_t x, uint32_t y, unsigned channel) {
    return sample_get(image_row(image, y), (size_t)x * image->channels + channel, image->depth);
}

static uint32_t meant(const char *name, const struct image *in, uint32_t x, uint32_t y,
                      unsigned c) {
    const uint32_t right = x + 1 < in->width ? x + 1 : in->width - 1;
    const uint32_t far = x + 2 < in->width ? x + 2 : in->width - 1;
    if (image_has_alpha(in) && c == in->channels - 1u) return sample(in, x, y, c);
    if (strcmp(name, "invert") == 0) return 255 - sample(in, x, y, c);
    if (strcmp(name, "where") == 0) return (sample(in, x, y, c) ^ (y * in->width + x)) & 0xffff;
    if (strcmp(name, "right") == 0) return sample(in, right, y, c);
    return sample(in, far, y < 2 ? 0 : y - 2, c);
}

static void run_picture(const char *name, uint32_t width, uint32_t height, unsigned channels,
                        size_t gap, struct pool *pool) {
    const struct op *op = operator_called(name);
    struct image in = make_image(width, height, channels, op->depth, gap, true);
    struct image out = make_image(width, height, channels, op->depth, gap + 2, false);
    struct params params;
    struct failure failure = { 0 };
    params_init(&params, op->params);
    struct op_call call = {
        .op = op, .params = &params, .in = in, .out = out, .pool = pool, .failure = &failure
    };
    assert_int_equal(op->run(&call), STATUS_OK);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            for (unsigned c = 0; c < channels; c++)
                assert_int_equal(sample(&out, x, y, c), meant(name, &in, x, y, c));
    assert_guards(&in);
    assert_guards(&out);
    free(in.pixels - 1);
    free(out.pixels - 1);
}

static void rows_begin_anywhere(void **state) {
    (void)state;
    static const char *const names[] = { "invert", "where", "corner", "right" };
    static const uint32_t sizes[][2] = { { 1, 1 }, { 1, 7 },   { 7, 1 },   { 2, 2 },    { 3, 3 },
                                         { 4, 5 }, { 481, 3 }, { 963, 2 }, { 1031, 12 } };
    struct pool *pool = pool_create(3);
    for (size_t s = 0; file->ops[0].loops[0].rows && s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned channels = 1; channels <= 4; channels++)
            for (size_t gap = 0; gap < 4; gap++)
                for (int n = 0; n < 4; n++)
                    run_picture(names[n], sizes[s][0], sizes[s][1], channels, gap,
                                gap % 2 ? pool : NULL);
    pool_destroy(pool);
}

/* NUMBERS of the values that NAME tells of IN. */
static void run_values(const char *name, const struct image *in, long bins, struct pool *pool,
                       uint32_t *numbers) {
    const struct op *op = operator_called(name);
    struct params params;
    struct failure failure = { 0 };
    params_init(&params, op->params);
    if (op->params[0].type) params.number[0] = bins;
    const struct values_shape shape = op->values(op, &params, in);
    assert_int_equal(shape.type, op->params[0].type ? VALUE_INT32 : VALUE_UINT32);
    assert_int_equal(shape.is_list, op->params[0].type != PARAM_NONE);
    struct op_call call = { .op = op,
                            .params = &params,
                            .in = *in,
                            .out = *in,
                            .values = numbers,
                            .pool = pool,
                            .failure = &failure };
    call.scratch_bytes = op->scratch(&call);
    call.scratch = malloc(call.scratch_bytes);
    memset(call.scratch, GUARD, call.scratch_bytes); /* "not cleared" */
    assert_int_equal(op->run(&call), STATUS_OK);
    free(call.scratch);
}

static void values_do_not_depend_on_bands(void **state) {
    (void)state;
    enum { BINS = 5000 };
    uint32_t *counts = malloc(3 * BINS * sizeof *counts);
    for (int threads = 1; file->ops[0].loops[0].rows && threads <= 70; threads += 23) {
        struct pool *pool = pool_create(threads);
        for (unsigned channels = 1; channels <= 4; channels++) {
            struct image in = make_image(701, 300, channels, 8, 3, true);
            uint32_t sums[3] = { 0 }, wanted[3] = { 0 }, few[3 * 20];
            run_values("sum", &in, 0, pool, sums);
            run_values("counts", &in, BINS, pool, counts);
            run_values("counts", &in, 20, pool, few);
            for (uint32_t y = 0; y < in.height; y++)
                for (uint32_t x = 0; x < in.width; x++)
                    for (unsigned c = 0; c < image_colours(&in); c++) {
                        wanted[c] += sample(&in, x, y, c);
                        counts[c * BINS + sample(&in, x, y, c)]--;
                        if (sample(&in, x, y, c) < 20) few[c * 20 + sample(&in, x, y, c)]--;
                    }
            for (unsigned c = 0; c < image_colours(&in); c++) {
                assert_int_equal(sums[c], wanted[c]);
                for (int b = 0; b < BINS; b++) assert_int_equal(counts[c * BINS + (unsigned)b], 0);
                for (int b = 0; b < 20; b++) assert_int_equal(few[c * 20 + (unsigned)b], 0);
            }
            free(in.pixels - 1);
        }
        pool_destroy(pool);
    }
    free(counts);
}

static void a_job_that_nobody_wants_ends(void **state) {
    (void)state;
    struct image in = make_image(64, 64, 1, 8, 0, true), out = make_image(64, 64, 1, 8, 0, false);
    struct progress progress = { .cancelled = 1 };
    struct params params = { .given = 0 };
    struct op_call call = { .op = operator_called("invert"),
                            .params = &params,
                            .in = in,
                            .out = out,
                            .progress = &progress };
    if (file->ops[0].loops[0].rows) assert_int_equal(call.op->run(&call), STATUS_CANCELLED);
    free(in.pixels - 1);
    free(out.pixels - 1);
}

static void without_a_compiled_twin_it_says_so(void **state) {
    (void)state;
    struct user_op copy = *user_op_of(operator_called("invert"));
    struct image in = make_image(2, 2, 1, 8, 0, true);
    struct params params = { .given = 0 };
    struct failure failure = { 0 };
    copy.loops[0].rows = NULL;
    struct op_call call = {
        .op = &copy.op, .params = &params, .in = in, .out = in, .failure = &failure
    };
    assert_int_equal(copy.op.run(&call), STATUS_INTERNAL);
    assert_string_equal(failure.message, "invert is not compiled for a CPU");
    free(in.pixels - 1);
}

static int release(void **state) {
    (void)state;
    reader_destroy(file);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_begin_anywhere),
        cmocka_unit_test(values_do_not_depend_on_bands),
        cmocka_unit_test(a_job_that_nobody_wants_ends),
        cmocka_unit_test(without_a_compiled_twin_it_says_so),
    };
    return cmocka_run_group_tests(tests, compile_operators, release);
}
