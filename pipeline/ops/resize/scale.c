// SPDX-License-Identifier: Apache-2.0
/* How it works. rows/resample.h weighs pixels, also by alpha; with light each row is changed before
 * and after, as definition.h says. Where pixels are moved, a row of places gives the source column
 * of each. */
#include "pipeline/ops/resize/scale.h"

#include "pipeline/band.h"
#include "pipeline/ops/resize/definition.h"
#include "pipeline/ops/resize/light.h"
#include "pipeline/rows/resample.h"
#include "pipeline/sample.h"

#include <string.h>

struct pixels_rule {
    unsigned channels;     /* of the picture */
    unsigned depth;        /* of the picture and of the result */
    unsigned out_channels; /* at least `channels`: gray becomes colour, pixels without alpha become
                         opaque */
    bool linear;
};

#define INLINE static inline __attribute__((always_inline))

/* ---- rows: the last two arguments are constants (SPECIALISE) */

INLINE void prepare(const struct light_tables *light, const uint8_t *from, uint8_t *to,
                    size_t pixels, unsigned channels, unsigned depth) {
    const unsigned colours = channels < 3 ? 1 : 3;
    for (size_t i = 0; i < pixels * channels; i += channels) {
        for (unsigned c = 0; c < colours; c++) {
            const uint32_t colour = sample_get(from, i + c, depth);
            sample_put(to, i + c, 16, depth == 8 ? light->of_8[colour] : light->of_16[colour]);
        }
        if (channels == colours) continue;
        const uint32_t alpha = sample_get(from, i + colours, depth);
        sample_put(to, i + colours, 16, depth == 8 ? resize_alpha_to_16(alpha) : alpha);
    }
}

INLINE void finish(const struct light_tables *light, const uint8_t *from, uint8_t *to,
                   size_t pixels, unsigned channels, unsigned depth) {
    const unsigned colours = channels < 3 ? 1 : 3;
    for (size_t i = 0; i < pixels * channels; i += channels) {
        for (unsigned c = 0; c < colours; c++) {
            const uint32_t colour = sample_get(from, i + c, 16);
            sample_put(to, i + c, depth, depth == 8 ? light->to_8[colour] : light->to_16[colour]);
        }
        if (channels == colours) continue;
        const uint32_t alpha = sample_get(from, i + colours, 16);
        sample_put(to, i + colours, depth, depth == 8 ? resize_alpha_to_8(alpha) : alpha);
    }
}

/* Works from the last pixel to the first, because both lie in the same row. */
INLINE void widen(uint8_t *row, size_t pixels, unsigned out_channels, unsigned channels,
                  unsigned depth) {
    const unsigned colours = channels < 3 ? 1 : 3, out_colours = out_channels < 3 ? 1 : 3;
    const uint32_t max = depth == 16 ? 65535 : 255;
    for (size_t i = pixels; i-- > 0;) {
        uint32_t samples[4];
        for (unsigned c = 0; c < channels; c++)
            samples[c] = sample_get(row, i * channels + c, depth);
        const uint32_t alpha = channels > colours ? samples[colours] : max;
        for (unsigned c = 0; c < out_colours; c++)
            sample_put(row, i * out_channels + c, depth, samples[colours == 3 ? c : 0]);
        if (out_channels > out_colours)
            sample_put(row, i * out_channels + out_colours, depth, alpha);
    }
}

/* Gives the PIXELS pixels at ROW, of the picture's channels, out_channels channels. */
static void pixels_widen(const struct pixels_rule *rule, uint8_t *row, size_t pixels) {
    if (rule->out_channels != rule->channels)
        SPECIALISE(rule->channels, rule->depth, widen, row, pixels, rule->out_channels);
}

/* Makes light of PIXELS pixels, as many channels of 16 bits; pixels_finish converts back, to
 * out_channels. FROM and TO do not overlap. */
static void pixels_prepare(const void *argument, const uint8_t *from, uint8_t *to, size_t pixels) {
    const struct pixels_rule *rule = argument;
    SPECIALISE(rule->channels, rule->depth, prepare, light_tables(), from, to, pixels);
}

static void pixels_finish(const void *argument, const uint8_t *from, uint8_t *to, size_t pixels) {
    const struct pixels_rule *rule = argument;
    const unsigned channels = rule->channels;
    if (!rule->linear)
        memcpy(to, from, pixels * channels * (rule->depth / 8));
    else
        SPECIALISE(channels, rule->depth, finish, light_tables(), from, to, pixels);
    pixels_widen(rule, to, pixels);
}

/* ---- a job */

static bool moves(const struct scale *job) {
    return job->nearest || (!resample_changes(&job->x) && !resample_changes(&job->y));
}

static struct pixels_rule rule_of(const struct scale *job) {
    return (struct pixels_rule){ .channels = job->in.channels,
                                 .depth = job->in.depth,
                                 .out_channels = job->out.channels,
                                 .linear = job->linear && !moves(job) };
}

/* ---- weighed */

/* RULE must live as long as the result. */
static struct resample weighing_of(const struct scale *job, const struct pixels_rule *rule) {
    const bool widen = rule->out_channels != rule->channels;
    return (struct resample){ .in = job->in,
                              .out = job->out,
                              .x = job->x,
                              .y = job->y,
                              .depth = rule->linear ? 16 : rule->depth,
                              .prepare = rule->linear ? pixels_prepare : NULL,
                              .alpha = image_has_alpha(&job->in),
                              .finish = rule->linear || widen ? pixels_finish : NULL,
                              .argument = rule,
                              .pool = job->pool,
                              .progress = job->progress,
                              .scratch = job->scratch };
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
    if (moves(job)) return move(job);
    const struct pixels_rule rule = rule_of(job);
    const struct resample weighing = weighing_of(job, &rule);
    return resample_run(&weighing);
}
