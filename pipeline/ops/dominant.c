// SPDX-License-Identifier: Apache-2.0
/* Colours are counted in bins. Neighbours, which often share a bin, go to two tables, so that one
 * addition need not wait for the other. */
#include "pipeline/ops/dominant.h"

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/sample.h"

#include <string.h>

static const struct param params[] = {
    [BACKGROUND_ONLY] = BACKGROUND_PARAM(BACKGROUND_LEFT),
    { .name = NULL },
};

enum { BANDS_MAX = 16, TABLES = 2 };

static struct values_shape dominant_values(const struct op *op, const struct params *values,
                                           const struct image *in) {
    (void)op, (void)values;
    return (struct values_shape){ VALUE_UINT32, image_colours(in), 1, false, 0 };
}

static size_t dominant_scratch(const struct op_call *call) {
    (void)call;
    return BANDS_MAX * TABLES * DOMINANT_BINS * sizeof(uint32_t);
}

static int bands_of(const struct op_call *call) {
    return band_count(call->in.height, pool_threads(call->pool), BANDS_MAX);
}

static inline void count_row(const uint8_t *row, uint32_t width, uint32_t *counts,
                             unsigned channels, unsigned depth) {
    for (size_t x = 0; x < width; x++) {
        const size_t i = x * channels;
        const uint32_t bin =
            channels < 3 ? sample_get(row, i, depth) >> (depth - 4)
                         : dominant_bin(sample_get(row, i, depth), sample_get(row, i + 1, depth),
                                        sample_get(row, i + 2, depth), depth);
        counts[x % TABLES * DOMINANT_BINS + bin] += sample_visible(row, i, channels, depth);
    }
}

static void count_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in;
    const struct band band = band_of(in->height, index, bands_of(call));
    uint32_t *counts = (uint32_t *)call->scratch + (size_t)index * TABLES * DOMINANT_BINS;
    memset(counts, 0, TABLES * DOMINANT_BINS * sizeof *counts);
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++)
        SPECIALISE(in->channels, in->depth, count_row, image_row(in, y), in->width, counts);
}

/* Returns the first of the fullest bins. */
static uint32_t fullest(const struct op_call *call, int tables, uint32_t bins) {
    const uint32_t *counts = call->scratch;
    uint32_t most = 0, best = dominant_background(call->params->number[BACKGROUND_ONLY],
                                                  call->in.channels, call->in.depth);
    for (uint32_t bin = 0; bin < bins; bin++) {
        uint32_t count = 0;
        for (int t = 0; t < tables; t++) count += counts[(size_t)t * DOMINANT_BINS + bin];
        if (count > most) best = bin, most = count;
    }
    return best;
}

static enum status dominant_run(struct op_call *call) {
    const uint32_t colours = image_colours(&call->in);
    uint32_t *numbers = call->values;
    pool_run(call->pool, count_band, call, bands_of(call));
    const uint32_t bin = fullest(call, bands_of(call) * TABLES, dominant_bins(colours));
    for (uint32_t c = 0; c < colours; c++) numbers[c] = dominant_centre(bin, c, colours);
    return progress_check(call->progress);
}

const struct op op_dominant = {
    .name = "dominant",
    .title = "Dominant colour",
    .group = OP_VALUES,
    .summary = "The colour that most pixels are near to, 0..255; passes the image on",
    .params = params,
    .values = dominant_values,
    .scratch = dominant_scratch,
    .run = dominant_run,
};
