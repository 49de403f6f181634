// SPDX-License-Identifier: Apache-2.0
/* How it works. Where pixels are weighed, rows/resample.h does it, and pixels.h before and after.
 * Where they are moved, a row of places says which of the source row each one is. */
#include "pipeline/ops/resize/scale.h"

#include "pipeline/band.h"
#include "pipeline/ops/resize/definition.h"
#include "pipeline/rows/resample.h"
#include "pipeline/sample.h"

#include <string.h>

static bool changes(const struct scale *job) {
    return resample_changes(&job->x) || resample_changes(&job->y);
}

static bool moves(const struct scale *job) {
    return job->nearest || !changes(job);
}

static struct pixels_rule rule_of(const struct scale *job) {
    return (struct pixels_rule){ .channels = job->in.channels,
                                 .depth = job->in.depth,
                                 .out_channels = job->out.channels,
                                 .linear = job->linear && !moves(job) };
}

/* ---- weighed */

/* RULE stays as long as what is returned. */
static struct resample weighing_of(const struct scale *job, const struct pixels_rule *rule) {
    const bool change = pixels_change(rule), widen = rule->out_channels != rule->channels;
    return (struct resample){ .in = job->in,
                              .out = job->out,
                              .x = job->x,
                              .y = job->y,
                              .depth = pixels_depth_between(rule),
                              .prepare = change ? pixels_prepare : NULL,
                              .premultiply = change && !rule->linear,
                              .finish = change || widen ? pixels_finish : NULL,
                              .argument = rule,
                              .pool = job->pool,
                              .progress = job->progress,
                              .scratch = job->scratch };
}

static enum status weigh(const struct scale *job) {
    const struct pixels_rule rule = rule_of(job);
    const struct resample weighing = weighing_of(job, &rule);
    return resample_run(&weighing);
}

/* ---- moved */

static inline void move_row(const uint8_t *from, uint8_t *to, const uint32_t *places, size_t count,
                            unsigned channels, unsigned depth) {
    const size_t pixel = channels * (depth / 8);
    for (size_t i = 0; i < count; i++) memcpy(to + i * pixel, from + places[i] * pixel, pixel);
}

static void move_band(void *argument, int index) {
    const struct scale *job = argument;
    const struct pixels_rule rule = rule_of(job);
    const struct band band = band_of(job->y.count, index, pool_threads(job->pool));
    const size_t pixel = image_pixel_bytes(&job->in);
    for (uint32_t y = band.first; y < band.end && !progress_check(job->progress); y++) {
        const uint32_t source = resize_nearest((uint64_t)job->y.first + y, job->y.from, job->y.to);
        const uint8_t *from = image_row(&job->in, source);
        uint8_t *to = image_row(&job->out, y);
        if (resample_changes(&job->x))
            SPECIALISE(job->in.channels, job->in.depth, move_row, from, to, job->scratch,
                       job->x.count);
        else
            memcpy(to, from + job->x.first * pixel, job->x.count * pixel);
        pixels_widen(&rule, to, job->x.count);
    }
}

static enum status move(const struct scale *job) {
    uint32_t *places = job->scratch;
    for (uint32_t i = 0; i < job->x.count && resample_changes(&job->x); i++)
        places[i] = resize_nearest((uint64_t)job->x.first + i, job->x.from, job->x.to);
    pool_run(job->pool, move_band, (void *)job, pool_threads(job->pool));
    return progress_check(job->progress);
}

/* ---- either */

size_t scale_bytes(const struct scale *job) {
    if (moves(job)) return job->x.count * sizeof(uint32_t);
    const struct pixels_rule rule = rule_of(job);
    const struct resample weighing = weighing_of(job, &rule);
    return resample_bytes(&weighing);
}

enum status scale_run(const struct scale *job) {
    return moves(job) ? move(job) : weigh(job);
}
