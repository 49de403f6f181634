// SPDX-License-Identifier: Apache-2.0
/* Every operator with a twin: the reference and the GPU agree in every byte, and neither the
 * padding between rows nor anything behind an image is written. New operators are covered unasked.
 * `every_op small` leaves large sizes out, `every_op tiny` nearly everything: compute-sanitizer is
 * slow, its racecheck hundreds of times. */
#include "pipeline/device.h"
#include "pipeline/plan.h"
#include "pipeline/registry.h"
#include "pipeline/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Of the CUDA runtime, whose header gcc is not shown. */
extern int cudaMemset(void *memory, int value, size_t bytes);
extern int cudaDeviceSynchronize(void);

static const char *const twins[] = {
#define CUDA_OP(name) #name,
#include "cuda_ops.inc"
    NULL,
};

struct size {
    uint32_t width, height;
};

enum content { NOISE, GRADIENT, CONSTANT, CONTENTS };
enum padding { NONE, ODD, WIDE, PADDINGS };
enum { PATTERN = 0xA5, SETS_MAX = 64, STAGING = 64 << 20 };

static const struct size sizes[] = { { 1, 1 },    { 1, 17 },   { 17, 1 },    { 13, 42 },
                                     { 123, 66 }, { 4097, 3 }, { 1000, 700 } };
static const struct size batch_sizes[] = { { 1, 1 },     { 31, 9 },  { 320, 240 }, { 64, 64 },
                                           { 257, 129 }, { 5, 300 }, { 97, 1 } };
/* Edges: strips of more rows than few, the last of them short, warps that end within a row; and, of
 * bytes with sobel3, more strips than a GPU of 132 multiprocessors holds threads, whose rows are
 * fetched ahead. */
static const struct size edge_size = { 4001, 1999 }, edge_ahead_size = { 9001, 3999 };
static const char *const edge_sets[] = {
    "edge",
    "edge:kernel=sobel5",
    "edge:border=zero,threshold=30,brightness=-40",
    "edge:kernel=sobel5,border=zero,binary=true,threshold=60,brightness=25",
};
static const struct size small_sizes[] = { { 1, 17 }, { 13, 42 }, { 123, 66 } };
static bool small, tiny;
static struct lane *lane;

/* ---- images */

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void fill(const struct image *image, enum content content, uint32_t seed) {
    const size_t samples = (size_t)image->width * image->channels;
    for (uint32_t y = 0; y < image->height; y++) {
        for (size_t i = 0; i < samples; i++) {
            uint32_t sample = content == NOISE ? next_random(&seed)
                              : content == GRADIENT
                                  ? (uint32_t)(i * 40 / samples + y) * (image->depth == 8 ? 1 : 211)
                                  : 77 + (uint32_t)(i % image->channels);
            if (content == NOISE && seed % 16 == 0) sample = 0; /* black in noise too */
            const uint16_t wide = (uint16_t)sample;
            if (image->depth == 8)
                image_row(image, y)[i] = (uint8_t)sample;
            else
                memcpy(image_row(image, y) + 2 * i, &wide, 2);
        }
    }
}

static size_t padded(const struct image *image, enum padding padding) {
    const size_t row = image_row_bytes(image);
    return padding == NONE ? image->stride : padding == WIDE ? image->stride + 48 : row + 6;
}

/* ---- parameter sets, as the text of a one-step plan */

static const struct {
    const char *op, *values;
} chosen[] = {
    { "histeq", "bins=2" },
    { "histeq", "bins=7,scale=maxabs" },
    { "histeq", "bins=100,channel=luma" },
    { "histeq", "bins=65536,scale=maxabs,channel=luma" },
    { "histeq", "bins=1000,channel=each,scale=maxabs" },
    { "histeq", "bins=40000" },
    { "carve", "dx=-2" },
    { "carve", "dx=-1,dy=-1" },
    { "carve", "dx=2,energy=sobel3" },
    { "carve", "dy=-3,energy=sobel5" },
    { "carve", "dx=-5,dy=-4,energy=sobel3" },
    { "carve", "dx=-4,dy=-6" },
    { "carve", "dy=6" },
    { "carve", "dx=3,dy=2,energy=sobel5" },
    { "carve", "dx=-2,dy=5" },
    { "carve", "width=1" },
    { "carve", "height=1,energy=sobel3" },
    { "carve", "width=130,height=60" },
    { "carve", "dx=-3,dy=-2,show=seams" },
    { "carve", "dx=4,dy=-1,show=seams,energy=sobel3" },
    { "carve", "dx=9,dy=8,show=seams" },
    { "carve", "show=energy" },
    { "carve", "show=energy,energy=sobel3" },
    { "carve", "show=energy,energy=sobel5" },
    { "convolve", "taps=1 2 1 2 4 2 1 2 1,divisor=16" },
    { "convolve", "taps=-1 -2 -1 0 0 0 1 2 1,abs=true" },
    { "convolve", "taps=-1 0 1 -2 0 2 -1 0 1,divisor=3,offset=100" },
    { "convolve", "taps=1 4 6 4 1 4 16 24 16 4 6 24 36 24 6 4 16 24 16 4 1 4 6 4 1" },
    { "convolve", "taps=1024 -1024 1024 -1024 1024 -1024 1024 -1024 1024 -1024 1024 -1024 "
                  "1024 -1024 1024 -1024 1024 -1024 1024 -1024 1024 -1024 1024 -1024 1024,"
                  "divisor=1048576,offset=-7" },
    { "edge", "kernel=sobel5,border=zero,binary=true,threshold=60,brightness=25" },
    { "edge", "kernel=sobel5,threshold=200,brightness=-90" },
    { "edge", "border=zero,binary=true,threshold=254" },
    { "edge", "border=zero,brightness=-40" },
    { "edge", "brightness=120,threshold=33" },
    { "edge", "binary=true" },
};

struct sets {
    int count;
    char text[SETS_MAX][192];
};

static void add_set(struct sets *sets, const char *op, const char *name, const char *value) {
    assert_true(sets->count < SETS_MAX);
    char *text = sets->text[sets->count++];
    if (name)
        snprintf(text, sizeof sets->text[0], "%s:%s=%s", op, name, value);
    else
        snprintf(text, sizeof sets->text[0], value ? "%s:%s" : "%s", op, value);
}

/* Both ends and the middle of a range, and every choice, one parameter at a time. */
static void vary(struct sets *sets, const struct op *op, const struct param *param) {
    char value[32];
    const long numbers[] = { param->min, param->max, (param->min + param->max) / 2 };
    for (int i = 0; i < 3 && param->type == PARAM_INT; i++) {
        snprintf(value, sizeof value, "%ld", numbers[i]);
        add_set(sets, op->name, param->name, value);
    }
    for (int i = 0; i < CHOICES_MAX && param->type == PARAM_CHOICE && param->choices[i]; i++)
        add_set(sets, op->name, param->name, param->choices[i]);
    if (param->type == PARAM_BOOL) add_set(sets, op->name, param->name, "true");
}

static void list_sets(struct sets *sets, const struct op *op) {
    sets->count = 0;
    add_set(sets, op->name, NULL, NULL);
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        if (strcmp(chosen[i].op, op->name) == 0) add_set(sets, op->name, NULL, chosen[i].values);
    if (strcmp(op->name, "carve") == 0) return; /* its extremes are hours of work */
    for (const struct param *p = op->params; p->type != PARAM_NONE; p++) vary(sets, op, p);
}

/* ---- one batch on both sides */

struct job {
    struct plan plan;
    int count;
    struct image in[RUN_BATCH_MAX], out[RUN_BATCH_MAX]; /* shapes, strides padded */
    struct image parts[RUN_BATCH_MAX * OP_PARTS_MAX];   /* width 0 where none is given */
    bool with_parts;
    char name[160];
};

static size_t place(struct image *images, int count, uint8_t *base) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        images[i].pixels = base + bytes;
        bytes += (image_bytes(&images[i]) + 255) / 256 * 256;
    }
    return bytes;
}

/* Parts lie behind the inputs, which begin at BASE and take IN_BYTES. */
static size_t place_parts(struct job *job, uint8_t *base, size_t in_bytes) {
    return place(job->parts, job->count * OP_PARTS_MAX, base + in_bytes);
}

static struct op_call make_call(const struct job *job, int i, struct failure *failure) {
    struct op_call call = { .params = &job->plan.steps[0].params,
                            .in = job->in[i],
                            .out = job->out[i],
                            .failure = failure };
    memcpy(call.parts, &job->parts[i * OP_PARTS_MAX], sizeof call.parts);
    return call;
}

static void make_calls(const struct job *job, struct op_call *calls, struct failure *failure) {
    for (int i = 0; i < job->count; i++) calls[i] = make_call(job, i, failure);
}

static void fill_inputs(struct job *job) {
    for (int i = 0; i < job->count; i++)
        fill(&job->in[i], (enum content)(i % CONTENTS), 99u + (unsigned)i);
    for (int i = 0; i < job->count * OP_PARTS_MAX; i++)
        fill(&job->parts[i], i % 4 ? NOISE : GRADIENT, 7u + (unsigned)i);
}

static void run_gpu(struct job *job, size_t in_bytes, size_t out_bytes) {
    const struct op *op = job->plan.steps[0].op;
    struct failure failure = { 0 };
    struct op_call calls[RUN_BATCH_MAX];
    struct lane_times times;
    make_calls(job, calls, &failure);
    const size_t upload_bytes = in_bytes + place_parts(job, NULL, 0);
    const struct lane_need need = { upload_bytes, device_cuda.scratch(lane, op, calls, job->count),
                                    out_bytes };
    if (device_cuda.reserve(lane, &need, &failure)) fail_msg("%s: %s", job->name, failure.message);
    cudaMemset(lane->work, PATTERN, need.work);
    cudaMemset(lane->out, PATTERN, out_bytes);
    cudaDeviceSynchronize();
    memset(lane->host_in, PATTERN, upload_bytes);
    place(job->in, job->count, lane->host_in);
    place_parts(job, lane->host_in, in_bytes);
    fill_inputs(job);
    if (device_cuda.upload(lane, upload_bytes, &failure))
        fail_msg("%s: %s", job->name, failure.message);
    place(job->in, job->count, lane->in);
    place_parts(job, lane->in, in_bytes);
    place(job->out, job->count, lane->out);
    make_calls(job, calls, &failure);
    calls[0].scratch = lane->work;
    calls[0].scratch_bytes = need.work;
    if (device_cuda.run(lane, op, calls, job->count) ||
        device_cuda.download(lane, out_bytes, &failure) ||
        device_cuda.finish(lane, &times, NULL, &failure))
        fail_msg("%s: %s", job->name, failure.message);
    place(job->in, job->count, lane->host_in);
    place_parts(job, lane->host_in, in_bytes);
}

static void run_reference(struct job *job, uint8_t *expected, size_t out_bytes) {
    const struct op *op = job->plan.steps[0].op;
    struct failure failure = { 0 };
    memset(expected, PATTERN, out_bytes);
    place(job->out, job->count, expected);
    for (int i = 0; i < job->count; i++) {
        struct op_call call = make_call(job, i, &failure);
        const size_t scratch = op->scratch ? op->scratch(&call) : 0;
        call.scratch = aligned_alloc(256, (scratch + 511) / 256 * 256);
        if (op->run(&call)) fail_msg("%s: reference: %s", job->name, failure.message);
        free(call.scratch);
    }
}

static void tell_difference(const struct job *job, const uint8_t *expected, const uint8_t *got,
                            size_t at) {
    for (int i = 0; i < job->count; i++) {
        const struct image *out = &job->out[i];
        const size_t offset = (size_t)(out->pixels - expected);
        if (at < offset || at >= offset + image_bytes(out)) continue;
        fail_msg("%s: image %d, %ux%u, row %zu, byte %zu (of %zu in a row): %02x, should be %02x",
                 job->name, i, out->width, out->height, (at - offset) / out->stride,
                 (at - offset) % out->stride, image_row_bytes(out), got[at], expected[at]);
    }
    fail_msg("%s: byte %zu behind an image was written", job->name, at);
}

/* Every byte of the output area, padding included. */
static void compare(struct job *job) {
    const size_t in_bytes = place(job->in, job->count, NULL);
    const size_t out_bytes = place(job->out, job->count, NULL);
    uint8_t *expected = malloc(out_bytes);
    run_gpu(job, in_bytes, out_bytes);
    run_reference(job, expected, out_bytes);
    if (memcmp(expected, lane->host_out, out_bytes) != 0) {
        size_t at = 0;
        while (expected[at] == lane->host_out[at]) at++;
        tell_difference(job, expected, lane->host_out, at);
    }
    free(expected);
}

/* ---- the walk */

/* A change of size that the reference would take more than some milliseconds for. */
static bool is_long(const struct image *in, const struct image *out) {
    const int64_t across = (int64_t)in->width - out->width,
                  down = (int64_t)in->height - out->height;
    const uint64_t lines = (uint64_t)llabs(across) + (uint64_t)llabs(down);
    return lines * (image_pixels(in) + image_pixels(out)) > UINT64_C(1) << 22;
}

/* Nothing where the operator refuses such an image. */
static void add_image(struct job *job, struct image in, enum padding padding) {
    struct image shapes[PLAN_STEPS_MAX + 1];
    if (plan_shapes(&job->plan, &in, UINT64_C(1) << 31, shapes, NULL)) return;
    struct image out = shapes[1];
    if (is_long(&in, &out)) return;
    for (int p = 0; p < OP_PARTS_MAX; p++) {
        struct image *part = &job->parts[job->count * OP_PARTS_MAX + p];
        *part = job->with_parts ? image_shape(in.width, in.height, 1, 8) : (struct image){ 0 };
        if (part->width) part->stride = padded(part, padding);
    }
    out.stride = padded(&out, padding);
    in.stride = padded(&in, padding);
    job->in[job->count] = in;
    job->out[job->count++] = out;
}

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

static void walk_op(const struct op *op) {
    struct sets *sets = malloc(sizeof *sets);
    struct job *job = malloc(sizeof *job);
    list_sets(sets, op);
    for (int s = 0; s < (tiny && sets->count > 5 ? 5 : sets->count); s++) {
        struct failure failure = { 0 };
        if (plan_parse(&job->plan, sets->text[s], &failure)) continue; /* asks for more than this */
        const bool takes_parts = op->parts[0].name;
        job->with_parts = false;
        walk_set(job, sets->text[s], takes_parts, (unsigned)s);
        job->with_parts = true;
        if (takes_parts) walk_set(job, sets->text[s], true, (unsigned)s + 1);
    }
    print_message("%s: %d parameter sets\n", op->name, sets->count);
    free(job);
    free(sets);
}

static void test_every_twin(void **state) {
    (void)state;
    for (int i = 0; twins[i]; i++) {
        const struct op *op = registry_find(twins[i]);
        assert_non_null(op);
        walk_op(op);
    }
}

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
    for (size_t s = 0; !small && s < sizeof edge_sets / sizeof *edge_sets; s++)
        for (unsigned channels = 1; channels <= 4; channels++) {
            compare_edges(job, edge_sets[s], edge_size, channels, 8);
            compare_edges(job, edge_sets[s], edge_size, channels, 16);
            if (!strstr(edge_sets[s], "sobel5"))
                compare_edges(job, edge_sets[s], edge_ahead_size, channels, 8);
        }
    free(job);
}

static void test_refuses_without_twin(void **state) {
    (void)state;
    struct failure failure = { 0 };
    const struct op stranger = { .name = "stranger" };
    struct op_call call = { .failure = &failure };
    assert_int_equal(device_cuda.run(lane, &stranger, &call, 1), STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "stranger"));
}

static int open_lane(void **state) {
    (void)state;
    struct failure failure = { 0 };
    const struct lane_options options = { .staging_bytes = STAGING, .arena_bytes = 256 << 20 };
    if (device_cuda.open(0, &options, &lane, &failure) == STATUS_OK) return 0;
    print_error("%s\n", failure.message);
    return 1;
}

static int close_lane(void **state) {
    (void)state;
    device_cuda.close(lane);
    return 0;
}

int main(int count, char **arguments) {
    tiny = count > 1 && strcmp(arguments[1], "tiny") == 0;
    small = tiny || (count > 1 && strcmp(arguments[1], "small") == 0);
    if (device_cuda.count() == 0) {
        puts("no GPU here: nothing to compare");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_twin),
        cmocka_unit_test(test_large_edges),
        cmocka_unit_test(test_refuses_without_twin),
    };
    return cmocka_run_group_tests(tests, open_lane, close_lane);
}
