// SPDX-License-Identifier: Apache-2.0
/* How it works. Both devices take three steps: count how often each sample value occurs, make a
 * table of new levels from the counts, apply it. Bins are formed from the counts of single values,
 * so their number does not slow down the first and last step. */
#include "pipeline/ops/histeq.h"

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/rows/histogram.h"
#include "pipeline/rows/lookup.h"
#include "pipeline/rows/rgb_scale.h"
#include "pipeline/sample.h"

#include <stdlib.h>
#include <string.h>

static const struct param params[] = {
    [HISTEQ_BINS] = { .name = "bins",
                      .summary = "Bins of the histogram over the whole range of samples",
                      .unit = "bins",
                      .type = PARAM_INT,
                      .min = 2,
                      .max = 65536,
                      .def = 256 },
    [HISTEQ_SCALE] = { .name = "scale",
                       .summary =
                           "Stretch to the full range from the first level in use, or from 0",
                       .type = PARAM_CHOICE,
                       .choices = { "minmax", "maxabs" } },
    [HISTEQ_CHANNEL] = { .name = "channel",
                         .summary = "What is equalized in a colour image: HSV value, luma, or each "
                                    "channel on its own",
                         .type = PARAM_CHOICE,
                         .choices = { "value", "luma", "each" } },
    { .name = NULL },
};

enum { BANDS_MAX = 16 };

/* Number of tables: 1, or one a colour channel. */
static int table_count(const struct params *values, const struct image *in) {
    return values->number[HISTEQ_CHANNEL] == HISTEQ_EACH ? (int)image_colours(in) : 1;
}

static size_t table_bytes(const struct params *values, const struct image *in) {
    return ((size_t)image_max(in) + 1) * table_count(values, in) * sizeof(uint32_t);
}

/* Counts of every band, then the tables of new levels. */
static size_t histeq_scratch(const struct op_call *call) {
    return (BANDS_MAX + 1) * table_bytes(call->params, &call->in);
}

static int histeq_bands(const struct op_call *call) {
    const int threads = pool_threads(call->pool);
    return threads < BANDS_MAX ? threads : BANDS_MAX;
}

static uint32_t *counts_of(const struct op_call *call, int band) {
    return (uint32_t *)((uint8_t *)call->scratch +
                        (size_t)band * table_bytes(call->params, &call->in));
}

static uint32_t *levels_of(const struct op_call *call) {
    return counts_of(call, BANDS_MAX);
}

/* Whether the kernels of pipeline/rows/ can be used. */
static bool is_bytes(const struct op_call *call) {
    const struct image *in = &call->in;
    return in->depth == 8 &&
           (in->channels == 1 ||
            (in->channels == 3 && call->params->number[HISTEQ_CHANNEL] == HISTEQ_VALUE));
}

/* Returns the number of rows that are processed as one: all of BAND where neither image has gaps
 * between rows, else 1. A short row by itself ends before the vectors are at speed. */
static uint32_t rows_at_once(const struct op_call *call, struct band band) {
    const size_t bytes = image_row_bytes(&call->in);
    const bool whole = call->in.stride == bytes && call->out.stride == bytes;
    return whole ? band.end - band.first : 1;
}

/* Returns V of a pixel: value or luma of a colour, or the gray itself. */
static inline uint32_t value_of(const uint8_t *row, size_t i, long mode, unsigned channels,
                                unsigned depth) {
    const uint32_t red = sample_get(row, i, depth);
    if (channels < 3) return red;
    const uint32_t green = sample_get(row, i + 1, depth), blue = sample_get(row, i + 2, depth);
    if (mode == HISTEQ_LUMA) return luma(red, green, blue);
    const uint32_t most = red > green ? red : green;
    return most > blue ? most : blue;
}

/* ---- count */

static inline void count_row(const uint8_t *row, uint32_t width, long mode, uint32_t *counts,
                             unsigned channels, unsigned depth) {
    const unsigned colours = channels < 3 ? 1 : 3;
    const size_t range = depth == 8 ? 256 : 65536;
    for (size_t i = 0; i < (size_t)width * channels; i += channels) {
        if (mode != HISTEQ_EACH)
            counts[value_of(row, i, mode, channels, depth)] +=
                sample_visible(row, i, channels, depth);
        else
            for (unsigned c = 0; c < colours; c++)
                counts[c * range + sample_get(row, i + c, depth)] +=
                    sample_visible(row, i, channels, depth);
    }
}

/* Counts 8-bit gray and 8-bit colour by value, the two most frequent kinds. */
static void count_bytes(const struct op_call *call, struct band band, uint32_t *counts) {
    const struct image *in = &call->in;
    const uint32_t rows = rows_at_once(call, band);
    struct histogram histogram = { 0 };
    for (uint32_t y = band.first; y < band.end; y += rows)
        (in->channels == 1 ? histogram_add : histogram_add_values)(&histogram, image_row(in, y),
                                                                   (size_t)in->width * rows);
    histogram_counts(&histogram, counts);
}

static void count_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in;
    const struct band band = band_of(in->height, index, histeq_bands(call));
    const long mode = call->params->number[HISTEQ_CHANNEL];
    uint32_t *counts = counts_of(call, index);
    memset(counts, 0, table_bytes(call->params, in));
    if (is_bytes(call)) {
        count_bytes(call, band, counts);
        return;
    }
    for (uint32_t y = band.first; y < band.end; y++)
        SPECIALISE(in->channels, in->depth, count_row, image_row(in, y), in->width, mode, counts);
}

/* ---- table */

/* Makes LEVELS of single values from COUNTS of single values, max + 1 entries each. */
static void make_levels(const uint32_t *counts, uint32_t *levels, uint32_t max, uint64_t pixels,
                        const struct params *values) {
    const uint32_t bins = (uint32_t)values->number[HISTEQ_BINS];
    const int scale = (int)values->number[HISTEQ_SCALE];
    uint64_t sum = 0, first = 0;
    uint32_t least = 0; /* lower levels are those of pixels with alpha 0 */
    while (least <= max && !counts[least]) least++;
    for (uint32_t v = least; v <= max && level_bin(v, bins, max) == level_bin(least, bins, max);
         v++)
        first += counts[v];
    const bool identity = pixels == 0 || (scale == HISTEQ_MINMAX && first == pixels);
    for (uint32_t start = 0, end; start <= max; start = end) {
        const uint32_t bin = level_bin(start, bins, max);
        for (end = start; end <= max && level_bin(end, bins, max) == bin; end++) sum += counts[end];
        for (uint32_t v = start; v < end; v++)
            levels[v] = identity ? v : histeq_quantile(sum, first, pixels, max, scale);
    }
}

static void make_tables(const struct op_call *call) {
    const size_t range = (size_t)image_max(&call->in) + 1;
    const int tables = table_count(call->params, &call->in);
    uint32_t *total = counts_of(call, 0);
    uint64_t pixels = 0;
    for (int band = 1; band < histeq_bands(call); band++)
        for (size_t i = 0; i < range * tables; i++) total[i] += counts_of(call, band)[i];
    for (size_t v = 0; v < range; v++) pixels += total[v];
    for (int t = 0; t < tables; t++)
        make_levels(total + range * t, levels_of(call) + range * t, image_max(&call->in), pixels,
                    call->params);
}

/* ---- apply */

static inline void map_row(const uint8_t *row, uint8_t *out, uint32_t width, long mode,
                           const uint32_t *levels, unsigned channels, unsigned depth) {
    const unsigned colours = channels < 3 ? 1 : 3;
    const uint32_t max = depth == 8 ? 255 : 65535;
    for (size_t i = 0; i < (size_t)width * channels; i += channels) {
        const uint32_t value = value_of(row, i, mode, channels, depth), level = levels[value];
        for (unsigned c = 0; c < colours; c++) {
            const uint32_t sample = sample_get(row, i + c, depth);
            sample_put(out, i + c, depth,
                       mode == HISTEQ_EACH ? levels[c * (max + 1) + sample]
                                           : level_scaled(sample, value, level, max));
        }
        if (colours < channels)
            sample_put(out, i + colours, depth, sample_get(row, i + colours, depth));
    }
}

static void map_bytes(const struct op_call *call, struct band band, const uint32_t *levels) {
    uint8_t table[256];
    struct rgb_scale colour;
    for (int v = 0; v < 256; v++) table[v] = (uint8_t)levels[v];
    rgb_scale_make(&colour, table);
    const uint32_t rows = rows_at_once(call, band);
    const size_t pixels = (size_t)call->in.width * rows;
    for (uint32_t y = band.first; y < band.end; y += rows) {
        if (call->in.channels == 1)
            lookup_bytes(table, image_row(&call->in, y), image_row(&call->out, y), pixels);
        else
            rgb_scale_apply(&colour, image_row(&call->in, y), image_row(&call->out, y), pixels);
    }
}

static void map_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in;
    const struct band band = band_of(in->height, index, histeq_bands(call));
    const long mode = call->params->number[HISTEQ_CHANNEL];
    const uint32_t *levels = levels_of(call);
    if (is_bytes(call)) {
        map_bytes(call, band, levels);
        return;
    }
    for (uint32_t y = band.first; y < band.end; y++)
        SPECIALISE(in->channels, in->depth, map_row, image_row(in, y), image_row(&call->out, y),
                   in->width, mode, levels);
}

/* ---- run */

static enum status histeq_run(struct op_call *call) {
    const int64_t start = clock_ns();
    pool_run(call->pool, count_band, call, histeq_bands(call));
    const int64_t counted = clock_ns();
    enum status status = progress_check(call->progress);
    if (status) return status;
    make_tables(call);
    const int64_t made = clock_ns();
    pool_run(call->pool, map_band, call, histeq_bands(call));
    timing_span(call->timing, "histogram", 1, ns_to_ms(counted - start));
    timing_span(call->timing, "table", 1, ns_to_ms(made - counted));
    timing_span(call->timing, "apply", 1, ns_to_ms(clock_ns() - made));
    return progress_check(call->progress);
}

const struct op op_histeq = {
    .name = "histeq",
    .title = "Auto contrast",
    .group = OP_TONE,
    .summary = "Histogram equalization: every level equally frequent",
    .params = params,
    .scratch = histeq_scratch,
    .run = histeq_run,
};
