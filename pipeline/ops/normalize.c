// SPDX-License-Identifier: Apache-2.0
/* How it works. Threads count bands of rows; the sums of the counts give each table of new levels,
 * one for all colour channels or one for each, and all samples are looked up. */
#include "pipeline/ops/normalize.h"

#include "pipeline/ops/tone_rows.h"
#include "pipeline/rows/histogram.h"

static const struct param params[] = {
    [NORMALIZE_LOWER] = { .name = "lower",
                          .summary = "Share of the pixels that may become black",
                          .unit = "percent",
                          .type = PARAM_DECIMAL,
                          .min = 0,
                          .max = 100000,
                          .def = 1000 },
    [NORMALIZE_UPPER] = { .name = "upper",
                          .summary =
                              "Share of the pixels that need not become white; nothing changes if "
                              "it is not above lower",
                          .unit = "percent",
                          .type = PARAM_DECIMAL,
                          .min = 0,
                          .max = 100000,
                          .def = 99000 },
    [NORMALIZE_CHANNEL] = { .name = "channel",
                            .summary = "All colour channels are stretched alike, by luma, or each "
                                       "by itself",
                            .type = PARAM_CHOICE,
                            .choices = { "luma", "each" } },
    { .name = NULL },
};

enum { BANDS_MAX = 16 };

static unsigned table_count(const struct op_call *call) {
    return call->params->number[NORMALIZE_CHANNEL] == NORMALIZE_EACH ? image_colours(&call->in) : 1;
}

/* Levels of all tables. */
static size_t level_count(const struct op_call *call) {
    return (image_max(&call->in) + (size_t)1) * table_count(call);
}

/* Counts of every band, then the tables. */
static size_t normalize_scratch(const struct op_call *call) {
    return level_count(call) * (BANDS_MAX * sizeof(uint32_t) + sizeof(uint16_t));
}

static int bands_of(const struct op_call *call) {
    return band_count(call->in.height, pool_threads(call->pool), BANDS_MAX);
}

static uint32_t *counts_of(const struct op_call *call, int band) {
    return (uint32_t *)call->scratch + (size_t)band * level_count(call);
}

static void *tables_of(const struct op_call *call) {
    return counts_of(call, BANDS_MAX);
}

/* ---- count */

static inline void count_row(const uint8_t *row, uint32_t width, uint32_t *counts, bool each,
                             unsigned channels, unsigned depth) {
    const size_t range = depth == 8 ? 256 : 65536;
    for (size_t i = 0; i < (size_t)width * channels; i += channels) {
        const uint32_t visible = sample_visible(row, i, channels, depth);
        if (!each)
            counts[sample_luma(row, i, channels, depth)] += visible;
        else
            for (unsigned c = 0; c < (channels < 3 ? 1 : 3); c++)
                counts[c * range + sample_get(row, i + c, depth)] += visible;
    }
}

static void count_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in;
    const struct band band = band_of(in->height, index, bands_of(call));
    const unsigned tables = table_count(call);
    uint32_t *counts = counts_of(call, index);
    struct histogram histograms[3] = { 0 };
    memset(counts, 0, level_count(call) * sizeof *counts);
    if (in->depth == 8 && tables == image_colours(in)) {
        for (uint32_t y = band.first; y < band.end; y++)
            histogram_add_channels(histograms, image_row(in, y), in->width, in->channels);
        for (unsigned t = 0; t < tables; t++) histogram_counts(&histograms[t], counts + 256 * t);
        return;
    }
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++)
        SPECIALISE(in->channels, in->depth, count_row, image_row(in, y), in->width, counts,
                   tables > 1);
}

/* ---- tables */

static void make_table(const struct op_call *call, const uint32_t *counts, unsigned table) {
    const uint32_t max = image_max(&call->in);
    const struct normalize_rule rule = normalize_rule_of(call->params);
    struct normalize_range range = { 0, 0 };
    uint64_t pixels = 0, sum = 0;
    for (size_t v = 0; v <= max; v++) pixels += counts[v];
    for (size_t v = 0; v <= max; v++) normalize_count(&range, rule, sum += counts[v], pixels);
    for (uint32_t v = 0; v <= max; v++)
        sample_put(tables_of(call), table * (max + (size_t)1) + v, call->in.depth,
                   normalize_of(v, range, max));
}

static void make_tables(const struct op_call *call) {
    uint32_t *counts = counts_of(call, 0);
    for (int band = 1; band < bands_of(call); band++)
        for (size_t i = 0; i < level_count(call); i++) counts[i] += counts_of(call, band)[i];
    for (unsigned t = 0; t < table_count(call); t++)
        make_table(call, counts + t * (image_max(&call->in) + (size_t)1), t);
}

/* ---- apply */

static void apply_row(const struct op_call *call, const uint8_t *in, uint8_t *out) {
    const unsigned channels = call->in.channels, depth = call->in.depth;
    const size_t samples = (size_t)call->in.width * channels;
    const uint8_t *table = tables_of(call);
    const size_t table_bytes = (image_max(&call->in) + (size_t)1) * (depth / 8);
    if (table_count(call) > 1)
        for (unsigned c = 0; c < 3; c++)
            tone_look_up(table + c * table_bytes, in, out, c, samples, channels, depth);
    else if (depth == 8)
        lookup_bytes(table, in, out, samples);
    else
        tone_look_up(table, in, out, 0, samples, 1, 16);
    if (image_has_alpha(&call->in)) alpha_keep(in, out, call->in.width, channels, depth);
}

static void apply_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct band band = band_of(call->in.height, index, bands_of(call));
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++)
        apply_row(call, image_row(&call->in, y), image_row(&call->out, y));
}

static enum status normalize_run(struct op_call *call) {
    pool_run(call->pool, count_band, call, bands_of(call));
    const enum status status = progress_check(call->progress);
    if (status) return status;
    make_tables(call);
    pool_run(call->pool, apply_band, call, bands_of(call));
    return progress_check(call->progress);
}

const struct op op_normalize = {
    .name = "normalize",
    .title = "Auto levels",
    .group = OP_TONE,
    .summary = "Stretches the range between two percentiles to the whole range; alpha is kept",
    .params = params,
    .scratch = normalize_scratch,
    .run = normalize_run,
};
