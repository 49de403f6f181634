// SPDX-License-Identifier: Apache-2.0
/* carve_case.h - one call of carve, as its tests make them. */
#ifndef BURIN_TESTS_OPS_CARVE_CASE_H
#define BURIN_TESTS_OPS_CARVE_CASE_H

#include "pipeline/ops/carve/definition.h"
#include "pipeline/registry.h"
#include "tests/pipeline/ops/pictures.h"
#include "tests/pipeline/ops/table.h"

enum { PADDING = 24, FILL = 0xa5 };

struct carve_case {
    struct params params;
    struct image in, aux[OP_AUX_MAX];
    struct pool *pool;
    struct progress *progress;
    struct timing *timing;
};

static inline struct image padded(struct image shape) {
    shape.stride = image_row_bytes(&shape) + PADDING;
    shape.pixels = malloc(image_bytes(&shape));
    memset(shape.pixels, FILL, image_bytes(&shape));
    return shape;
}

static inline const struct op *carve(void) {
    const struct op *op = registry_find("carve");
    assert_non_null(op);
    return op;
}

static inline struct carve_case job_make(uint32_t width, uint32_t height, unsigned channels,
                                         unsigned depth, enum picture picture) {
    struct carve_case job = { .in = padded(image_shape(width, height, channels, depth)) };
    params_init(&job.params, carve()->params);
    picture_draw(&job.in, picture, width * 31 + height);
    return job;
}

static inline void job_free(struct carve_case *job) {
    free(job->in.pixels);
    for (int i = 0; i < OP_AUX_MAX; i++) free(job->aux[i].pixels);
}

/* A mask whose blocks are set where noise says so. */
static inline void add_mask(struct carve_case *job, int place, uint32_t seed, int block, int of) {
    struct image *mask = &job->aux[place];
    *mask = padded(image_shape(job->in.width, job->in.height, 1, 8));
    for (uint32_t y = 0; y < mask->height; y++)
        for (uint32_t x = 0; x < mask->width; x++) {
            const uint32_t cell = (x / (uint32_t)block) * 7919u + (y / (uint32_t)block) * 104729u;
            const uint32_t noise = (cell + seed) * 2654435761u >> 20;
            image_row(mask, y)[x] = noise % (uint32_t)of == 0 ? 128 : 127;
        }
}

static inline struct op_call call_of(struct carve_case *job, struct image out,
                                     struct failure *failure) {
    struct op_call call = { .params = &job->params,
                            .in = job->in,
                            .out = out,
                            .pool = job->pool,
                            .progress = job->progress,
                            .timing = job->timing,
                            .failure = failure };
    memcpy(call.aux, job->aux, sizeof call.aux);
    return call;
}

/* The result, in memory of its own, whose padding is checked. */
static inline enum status try_run(struct carve_case *job, struct image *out) {
    struct failure failure = { 0 };
    struct image shape;
    if (carve()->size(&job->params, &job->in, &shape, &failure)) fail_msg("%s", failure.message);
    *out = padded(shape);
    struct op_call call = call_of(job, *out, &failure);
    const size_t scratch = carve()->scratch(&call);
    call.scratch = aligned_alloc(256, (scratch + 511) / 256 * 256);
    memset(call.scratch, FILL, scratch);
    const enum status status = carve()->run(&call);
    free(call.scratch);
    for (uint32_t y = 0; y < out->height; y++)
        for (int i = 0; i < PADDING; i++)
            assert_int_equal(image_row(out, y)[image_row_bytes(out) + (size_t)i], FILL);
    return status;
}

static inline struct image run(struct carve_case *job) {
    struct image out;
    assert_int_equal(try_run(job, &out), STATUS_OK);
    return out;
}

static inline void goal(struct carve_case *job, long dx, long dy) {
    job->params.number[CARVE_DX] = dx;
    job->params.number[CARVE_DY] = dy;
}

#endif
