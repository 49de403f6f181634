// SPDX-License-Identifier: Apache-2.0
/* tone_rows.h - the reference of the operators of tone.h.
 *
 * How it works. A table of 8 bits has 256 bytes, which vectors hold; one of 16 bits has 128 KiB,
 * which the threads make together first, except for an image of fewer samples. Samples that are
 * kept go through the table too, and are then restored.
 *
 * Used by:  gamma.c, contrast.c, levels.c; normalize.c, for its look-ups.
 * Threads:  as op.h says.
 */
#ifndef BURIN_OPS_TONE_ROWS_H
#define BURIN_OPS_TONE_ROWS_H

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/ops/tone.h"
#include "pipeline/rows/alpha.h"
#include "pipeline/rows/lookup.h"
#include "pipeline/sample.h"

struct tone_work {
    const struct op_call *call;
    tone_fill *fill;
    int channel; /* the one that changes, or TONE_ALL */
};

static inline size_t tone_scratch(const struct op_call *call) {
    return call->in.depth == 8 ? TONE_LEVELS8 : TONE_LEVELS16 * sizeof(uint16_t);
}

static inline void tone_fill_band(void *argument, int index) {
    const struct tone_work *work = argument;
    const struct op_call *call = work->call;
    const struct band band = band_of(TONE_LEVELS16, index, pool_threads(call->pool));
    work->fill(call->params, 16, band.first, band.end, (uint16_t *)call->scratch + band.first);
}

static inline bool tone_is_small(const struct image *in) {
    return in->depth == 16 && image_pixels(in) * in->channels < TONE_LEVELS16;
}

/* Makes the level of each sample. */
static inline void tone_row_small(const struct tone_work *work, const uint8_t *in, uint8_t *out) {
    const struct image *image = &work->call->in;
    const unsigned channels = image->channels, alpha = image_has_alpha(image) ? channels - 1 : 4;
    for (size_t i = 0; i < (size_t)image->width * channels; i++) {
        const uint32_t value = sample_get(in, i, 16);
        const unsigned c = (unsigned)(i % channels);
        sample_put(out, i, 16, value);
        if (c != alpha && (work->channel == TONE_ALL || (int)c == work->channel))
            work->fill(work->call->params, 16, value, value + 1, out + 2 * i);
    }
}

/* Looks up every STEP-th sample from FIRST to END - 1. */
static inline void tone_look_up(const void *table, const uint8_t *in, uint8_t *out, size_t first,
                                size_t end, size_t step, unsigned depth) {
    for (size_t i = first; i < end; i += step)
        sample_put(out, i, depth, sample_get(table, sample_get(in, i, depth), depth));
}

static inline void tone_row(const struct tone_work *work, const uint8_t *in, uint8_t *out) {
    const struct image *image = &work->call->in;
    const void *table = work->call->scratch;
    const unsigned channels = image->channels, depth = image->depth;
    const size_t samples = (size_t)image->width * channels;
    if (work->channel != TONE_ALL) {
        memcpy(out, in, image_row_bytes(image));
        if (depth == 8)
            tone_look_up(table, in, out, (size_t)work->channel, samples, channels, 8);
        else
            tone_look_up(table, in, out, (size_t)work->channel, samples, channels, 16);
        return;
    }
    if (depth == 8)
        lookup_bytes(table, in, out, samples);
    else
        tone_look_up(table, in, out, 0, samples, 1, 16);
    if (image_has_alpha(image)) alpha_keep(in, out, image->width, channels, depth);
}

static inline void tone_band(void *argument, int index) {
    const struct tone_work *work = argument;
    const struct op_call *call = work->call;
    const struct band band = band_of(call->in.height, index, pool_threads(call->pool));
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++)
        (tone_is_small(&call->in) ? tone_row_small : tone_row)(work, image_row(&call->in, y),
                                                               image_row(&call->out, y));
}

static inline enum status tone_run(struct op_call *call, tone_fill *fill, int channel) {
    struct tone_work work = { call, fill, channel };
    if (call->in.depth == 8)
        fill(call->params, 8, 0, TONE_LEVELS8, call->scratch);
    else if (!tone_is_small(&call->in))
        pool_run(call->pool, tone_fill_band, &work, pool_threads(call->pool));
    pool_run(call->pool, tone_band, &work, pool_threads(call->pool));
    return progress_check(call->progress);
}

#endif
