// SPDX-License-Identifier: Apache-2.0
/* twin_batch.h - one batch through an operator's reference and through its twin on the GPU: equal
 * in every byte, padding and the bytes behind the images included. Values that an operator reports
 * are compared in the same way, as an output of one row.
 *
 * Used by:  every_op.c, hidden_colours.c, ops/carve_many.c, ops/clahe.c, ops/edge.c, ops/resize.c,
 *           ops/smartcrop.c, ops/smooth.c.
 * Owns:     the lane, between open_lane() and close_lane().
 * Fails:    the test.
 */
#ifndef BURIN_TESTS_CUDA_TWIN_BATCH_H
#define BURIN_TESTS_CUDA_TWIN_BATCH_H

#include "pipeline/device.h"
#include "pipeline/plan.h"
#include "pipeline/run.h"
#include "tests/cuda/test_images.h"
#include "tests/further_image.h"
#include "tests/made_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* From the CUDA runtime, whose header gcc cannot read. */
extern int cudaMemset(void *memory, int value, size_t bytes);
extern int cudaDeviceSynchronize(void);

enum { PATTERN = 0xA5, STAGING = 64 << 20 };

static struct lane *lane;

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

struct job {
    struct plan plan;
    int count;
    struct image in[RUN_BATCH_MAX], out[RUN_BATCH_MAX]; /* shapes, strides padded */
    struct image aux[RUN_BATCH_MAX * OP_AUX_MAX]; /* width 0 where none is given; the first of an
                                                     operator by profile is its table */
    bool with_aux;
    enum content first_content;                          /* of the first image; the others follow */
    void (*draw)(const struct image *image, int number); /* draws the inputs instead; or NULL */
    void (*draw_aux)(const struct image *aux, int number); /* the same for `aux` */
    struct failure refused[RUN_BATCH_MAX];                 /* why the GPU refused an image */
    size_t work_bytes;   /* of scratch that is offered; 0: as many as the twin asks for */
    struct timing spans; /* what ran on the GPU */
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
static size_t place_aux(struct job *job, uint8_t *base, size_t in_bytes) {
    return place(job->aux, job->count * OP_AUX_MAX, base + in_bytes);
}

static struct op_call make_call(const struct job *job, int i, struct failure *failure) {
    const struct op *op = job->plan.steps[0].op;
    struct op_call call = { .op = op,
                            .params = &job->plan.steps[0].params,
                            .in = job->in[i],
                            .out = op->values ? job->in[i] : job->out[i],
                            .values = op->values ? job->out[i].pixels : NULL,
                            .failure = failure };
    if (op->by_profile)
        call.table = job->aux[i * OP_AUX_MAX];
    else
        memcpy(call.aux, &job->aux[i * OP_AUX_MAX], sizeof call.aux);
    return call;
}

static void make_calls(const struct job *job, struct op_call *calls, struct failure *failure) {
    for (int i = 0; i < job->count; i++) calls[i] = make_call(job, i, failure);
}

static void fill_inputs(struct job *job) {
    for (int i = 0; i < job->count; i++)
        if (job->draw)
            job->draw(&job->in[i], i);
        else
            fill(&job->in[i], (enum content)((job->first_content + i) % CONTENTS),
                 99u + (unsigned)i);
    for (int i = 0; i < job->count * OP_AUX_MAX; i++)
        if (job->plan.steps[0].op->by_profile && job->aux[i].width)
            made_table_fill(&job->aux[i], &job->in[i / OP_AUX_MAX],
                            job->draw ? 1 : (unsigned)i / OP_AUX_MAX); /* drawn ones are compared */
        else if (job->draw_aux)
            job->draw_aux(&job->aux[i], i);
        else
            fill(&job->aux[i], i % 4 ? NOISE : GRADIENT, 7u + (unsigned)i);
}

static void run_gpu(struct job *job, size_t in_bytes, size_t out_bytes) {
    const struct op *op = job->plan.steps[0].op;
    struct failure failure = { 0 };
    struct op_call calls[RUN_BATCH_MAX];
    struct lane_times times;
    job->spans.span_count = 0;
    make_calls(job, calls, &failure);
    const size_t upload_bytes = in_bytes + place_aux(job, NULL, 0);
    const size_t asked = device_cuda.scratch(lane, op, calls, job->count);
    const struct lane_need need = { .in = upload_bytes,
                                    .work = job->work_bytes ? job->work_bytes : asked,
                                    .out = out_bytes };
    if (device_cuda.reserve(lane, &need, &failure)) fail_msg("%s: %s", job->name, failure.message);
    cudaMemset(lane->work, PATTERN, need.work);
    cudaMemset(lane->out, PATTERN, out_bytes);
    cudaDeviceSynchronize();
    memset(lane->host_in, PATTERN, upload_bytes);
    place(job->in, job->count, lane->host_in);
    place_aux(job, lane->host_in, in_bytes);
    fill_inputs(job);
    if (device_cuda.upload(lane, upload_bytes, &failure))
        fail_msg("%s: %s", job->name, failure.message);
    place(job->in, job->count, lane->in);
    place_aux(job, lane->in, in_bytes);
    place(job->out, job->count, lane->out);
    make_calls(job, calls, &failure);
    memset(job->refused, 0, sizeof job->refused);
    for (int i = 0; i < job->count; i++) calls[i].failure = &job->refused[i];
    calls[0].scratch = lane->work;
    calls[0].scratch_bytes = need.work;
    if (device_cuda.run(lane, op, calls, job->count) ||
        device_cuda.download(lane, out_bytes, &failure) ||
        device_cuda.finish(lane, &times, &job->spans, &failure))
        fail_msg("%s: %s", job->name, failure.message);
    place(job->in, job->count, lane->host_in);
    place_aux(job, lane->host_in, in_bytes);
}

/* An image that the reference refuses must be refused by the GPU too, whatever that wrote. */
static void run_reference(struct job *job, uint8_t *expected, size_t out_bytes) {
    const struct op *op = job->plan.steps[0].op;
    memset(expected, PATTERN, out_bytes);
    place(job->out, job->count, expected);
    for (int i = 0; i < job->count; i++) {
        struct failure failure = { 0 };
        struct op_call call = make_call(job, i, &failure);
        const size_t scratch = op->scratch ? op->scratch(&call) : 0;
        call.scratch = aligned_alloc(256, (scratch + 511) / 256 * 256);
        const enum status status = op->run(&call);
        if (status != job->refused[i].status)
            fail_msg("%s: image %d: reference: %s, GPU: %s", job->name, i, failure.message,
                     job->refused[i].message);
        const struct image *out = &job->out[i];
        if (status)
            memcpy(out->pixels, lane->host_out + (out->pixels - expected), image_bytes(out));
        free(call.scratch);
    }
}

static void fail_at(const struct job *job, const uint8_t *expected, const uint8_t *got, size_t at) {
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
        fail_at(job, expected, lane->host_out, at);
    }
    free(expected);
}

/* Too much for the reference: seams that take more than some milliseconds, and other operators with
 * a unit over 2^27 pixels, such as resize to more than 100 MP. */
static bool is_long(const struct step *step, const struct image *in, const struct image *out) {
    const struct op *op = step->op;
    if (!op->unit) return false;
    const uint64_t passes = op->passes ? op->passes(&step->params, in) : 1;
    return passes * (image_pixels(in) + image_pixels(out)) >
           UINT64_C(1) << (strcmp(op->name, "carve") == 0 ? 22 : 27);
}

/* Nothing where the operator refuses such an image. */
static inline void add_image(struct job *job, struct image in, enum padding padding) {
    struct image shapes[PLAN_STEPS_MAX + 1];
    if (plan_shapes(&job->plan, &in, UINT64_C(1) << 31, shapes, NULL)) return;
    struct image out = shapes[1];
    if (is_long(&job->plan.steps[0], &in, &out)) return;
    for (int p = 0; p < OP_AUX_MAX; p++) {
        struct image *aux = &job->aux[job->count * OP_AUX_MAX + p];
        *aux = job->with_aux ? further_shape(job->plan.steps[0].op, p, &in, (unsigned)job->count)
                             : (struct image){ 0 };
        if (aux->width) aux->stride = padded(aux, padding);
        if (job->plan.steps[0].op->by_profile && p == 0 && job->count % 5 != 4)
            *aux = srgb_table_shape(&in);
    }
    out.stride = padded(&out, padding);
    struct values_shape values = { .type = VALUE_NONE };
    if (job->plan.steps[0].op->values) values = plan_step_values(&job->plan, 0, shapes);
    if (values.type) out = image_shape((uint32_t)values_bytes(&values), 1, 1, 8);
    if (values.type) out.stride = values_bytes(&values);
    in.stride = padded(&in, padding);
    job->in[job->count] = in;
    job->out[job->count++] = out;
}

#endif
