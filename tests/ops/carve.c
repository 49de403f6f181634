// SPDX-License-Identifier: Apache-2.0
/* carve against tables computed by hand, against all paths of small images, and against the slow
 * second implementation of carve_slow.h. */
#include "pipeline/ops/carve.h"
#include "pipeline/ops/carve/energy.h"
#include "pipeline/ops/carve/sweep.h"
#include "pipeline/registry.h"
#include "tests/ops/carve_slow.h"
#include "tests/ops/pictures.h"
#include "tests/ops/table.h"

#include <pthread.h>
#include <stdio.h>

enum { PADDING = 24, FILL = 0xa5 };

/* ---- one call */

struct job {
    struct params params;
    struct image in, parts[OP_PARTS_MAX];
    struct pool *pool;
    struct progress *progress;
    struct timing *timing;
};

static struct image padded(struct image shape) {
    shape.stride = image_row_bytes(&shape) + PADDING;
    shape.pixels = malloc(image_bytes(&shape));
    memset(shape.pixels, FILL, image_bytes(&shape));
    return shape;
}

static const struct op *carve(void) {
    const struct op *op = registry_find("carve");
    assert_non_null(op);
    return op;
}

static struct job job_make(uint32_t width, uint32_t height, unsigned channels, unsigned depth,
                           enum picture picture) {
    struct job job = { .in = padded(image_shape(width, height, channels, depth)) };
    params_init(&job.params, carve()->params);
    picture_draw(&job.in, picture, width * 31 + height);
    return job;
}

static void job_free(struct job *job) {
    free(job->in.pixels);
    for (int i = 0; i < OP_PARTS_MAX; i++) free(job->parts[i].pixels);
}

/* A mask whose blocks are set where noise says so. */
static void add_mask(struct job *job, int place, uint32_t seed, int block, int of) {
    struct image *part = &job->parts[place];
    *part = padded(image_shape(job->in.width, job->in.height, 1, 8));
    for (uint32_t y = 0; y < part->height; y++)
        for (uint32_t x = 0; x < part->width; x++) {
            const uint32_t cell = (x / (uint32_t)block) * 7919u + (y / (uint32_t)block) * 104729u;
            const uint32_t noise = (cell + seed) * 2654435761u >> 20;
            image_row(part, y)[x] = noise % (uint32_t)of == 0 ? 128 : 127;
        }
}

static struct op_call call_of(struct job *job, struct image out, struct failure *failure) {
    struct op_call call = { .params = &job->params,
                            .in = job->in,
                            .out = out,
                            .pool = job->pool,
                            .progress = job->progress,
                            .timing = job->timing,
                            .failure = failure };
    memcpy(call.parts, job->parts, sizeof call.parts);
    return call;
}

/* The result, in memory of its own, whose padding is checked. */
static enum status try_run(struct job *job, struct image *out) {
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

static struct image run(struct job *job) {
    struct image out;
    assert_int_equal(try_run(job, &out), STATUS_OK);
    return out;
}

static void goal(struct job *job, long dx, long dy) {
    job->params.number[CARVE_DX] = dx;
    job->params.number[CARVE_DY] = dy;
}

/* ---- against the slow one */

static bool is_masked(const struct job *job) {
    return job->parts[0].width || job->parts[1].width;
}

static struct slow carve_slowly(const struct job *job, bool *touched) {
    return slow_carve(slow_load(&job->in, &job->parts[CARVE_KEEP], &job->parts[CARVE_REMOVE]),
                      (int)job->in.width + (int)job->params.number[CARVE_DX],
                      (int)job->in.height + (int)job->params.number[CARVE_DY],
                      (int)job->params.number[CARVE_ENERGY], is_masked(job), touched);
}

static void assert_sample(const struct job *job, const struct image *out, uint32_t x, uint32_t y,
                          unsigned c, uint32_t expected) {
    const uint32_t got = sample_get(image_row(out, y), (size_t)x * out->channels + c, out->depth);
    if (got != expected)
        fail_msg("%ux%u, %u x %u bit, dx %ld, dy %ld, energy %ld, show %ld, %s: pixel %u, %u, "
                 "channel %u is %u, should be %u",
                 job->in.width, job->in.height, job->in.channels, job->in.depth,
                 job->params.number[CARVE_DX], job->params.number[CARVE_DY],
                 job->params.number[CARVE_ENERGY], job->params.number[CARVE_SHOW],
                 is_masked(job) ? "masked" : "not masked", x, y, c, got, expected);
}

static void check_result(struct job *job, const struct slow *slow) {
    struct image out = run(job);
    assert_int_equal(out.width, slow->width);
    assert_int_equal(out.height, slow->height);
    assert_int_equal(out.channels, job->in.channels);
    for (uint32_t y = 0; y < out.height; y++)
        for (uint32_t x = 0; x < out.width; x++)
            for (unsigned c = 0; c < out.channels; c++)
                assert_sample(job, &out, x, y, c, dot_at(slow, (int)x, (int)y)->sample[c]);
    free(out.pixels);
}

/* Red where a seam went, else the input; alpha kept. */
static void check_seams(struct job *job, const bool *touched) {
    struct image out = run(job);
    const struct image *in = &job->in;
    const unsigned colours = image_colours(in);
    assert_int_equal(out.width, in->width);
    assert_int_equal(out.height, in->height);
    assert_int_equal(out.channels, image_has_alpha(in) ? 4 : 3);
    for (uint32_t y = 0; y < out.height; y++)
        for (uint32_t x = 0; x < out.width; x++)
            for (unsigned c = 0; c < out.channels; c++) {
                const unsigned from = c == 3 ? colours : colours == 1 ? 0 : c;
                const uint32_t was =
                    sample_get(image_row(in, y), (size_t)x * in->channels + from, in->depth);
                const bool red = touched[y * in->width + x] && c < 3;
                assert_sample(job, &out, x, y, c, !red ? was : c == 0 ? image_max(in) : 0);
            }
    free(out.pixels);
}

static void check_job(struct job *job) {
    bool *touched = calloc(image_pixels(&job->in), 1);
    struct slow slow = carve_slowly(job, touched);
    job->params.number[CARVE_SHOW] = CARVE_SHOW_RESULT;
    check_result(job, &slow);
    job->params.number[CARVE_SHOW] = CARVE_SHOW_SEAMS;
    check_seams(job, touched);
    job->params.number[CARVE_SHOW] = CARVE_SHOW_RESULT;
    free(slow.dots);
    free(touched);
}

/* All energies, without and with masks, for one way from size to size. */
static void check_way(uint32_t width, uint32_t height, long dx, long dy, unsigned channels,
                      unsigned depth, enum picture picture, struct pool *pool) {
    for (int energy = CARVE_GRADIENT; energy <= CARVE_SOBEL5; energy++)
        for (int masks = 0; masks < 4; masks++) {
            struct job job = job_make(width, height, channels, depth, picture);
            job.pool = pool;
            job.params.number[CARVE_ENERGY] = energy;
            goal(&job, dx, dy);
            if (masks & 1) add_mask(&job, CARVE_KEEP, width + 3, 3, 4);
            if (masks & 2) add_mask(&job, CARVE_REMOVE, height + 5, 2, 5);
            check_job(&job);
            job_free(&job);
        }
}

static const struct {
    uint32_t width, height;
    long dx, dy;
} ways[] = {
    { 1, 1, 0, 0 },      { 1, 1, 3, 0 },     { 1, 1, 2, 5 },     { 2, 2, -1, -1 },
    { 1, 19, 1, 0 },     { 1, 19, 0, -18 },  { 23, 1, -22, 0 },  { 23, 1, 0, 2 },
    { 2, 40, -1, 0 },    { 40, 2, 0, -1 },   { 2, 21, 5, -3 },   { 7, 9, -6, -8 },
    { 13, 42, -5, 0 },   { 13, 42, 0, -7 },  { 13, 42, -4, -9 }, { 13, 42, 9, 0 },
    { 13, 42, 0, 50 },   { 13, 42, 20, 11 }, { 13, 42, -6, 30 }, { 13, 42, 14, -20 },
    { 33, 32, -7, -7 },  { 31, 65, -3, -3 }, { 65, 31, -33, 0 }, { 100, 20, -20, -3 },
    { 20, 100, -3, -20 }, { 64, 64, 0, 0 },  { 140, 5, -9, 2 },  { 5, 140, 2, -9 },
};
enum { WAYS = sizeof ways / sizeof *ways };

static void every_way_is_as_slow(void **state) {
    (void)state;
    for (int w = 0; w < WAYS; w++)
        for (int p = 0; p < PICTURES; p++)
            check_way(ways[w].width, ways[w].height, ways[w].dx, ways[w].dy, 1 + (unsigned)w % 4,
                      w / 4 % 2 ? 16 : 8, (enum picture)p, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_is_as_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
