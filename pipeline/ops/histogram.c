// SPDX-License-Identifier: Apache-2.0
/* How it works. Threads count bands of rows, and the bands are then summed. 8-bit samples are
 * counted by value, with the kernels that histeq uses, and then put into bins; 16-bit samples are
 * put into bins directly. */
#include "pipeline/ops/histogram.h"

#include "pipeline/background.h"
#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/rows/histogram.h"

#include <string.h>

static const struct param params[] = {
    [HISTOGRAM_BINS] = { .name = "bins",
                         .summary = "Equal bins over the whole range of samples",
                         .unit = "bins",
                         .type = PARAM_INT,
                         .min = 2,
                         .max = 65536,
                         .def = 256 },
    [HISTOGRAM_BACKGROUND] = BACKGROUND_PARAM(BACKGROUND_LEFT),
    { .name = NULL },
};

enum { BANDS_MAX = 16 };

static uint32_t bins_of(const struct params *values) {
    return (uint32_t)values->number[HISTOGRAM_BINS];
}

static struct values_shape histogram_values(const struct op *op, const struct params *values,
                                            const struct image *in) {
    (void)op;
    return (struct values_shape){ VALUE_UINT32, image_colours(in), bins_of(values), true, 0 };
}

static int bands_of(const struct op_call *call) {
    return band_count(call->in.height, pool_threads(call->pool), BANDS_MAX);
}

static size_t band_bytes(const struct op_call *call) {
    const uint32_t bins = bins_of(call->params);
    return image_colours(&call->in) * (call->in.depth == 8
                                           ? sizeof(struct histogram)
                                           : histogram16_tables(bins) * bins * sizeof(uint32_t));
}

static size_t histogram_scratch(const struct op_call *call) {
    return BANDS_MAX * band_bytes(call);
}

static void *band_memory(const struct op_call *call, int band) {
    return (uint8_t *)call->scratch + (size_t)band * band_bytes(call);
}

static void count_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in;
    const struct band band = band_of(in->height, index, bands_of(call));
    const uint32_t rows = in->stride == image_row_bytes(in) ? band.end - band.first : 1;
    const size_t pixels = (size_t)in->width * rows;
    void *memory = band_memory(call, index);
    memset(memory, 0, band_bytes(call));
    for (uint32_t y = band.first; y < band.end; y += rows) {
        if (in->depth == 8)
            histogram_add_channels(memory, image_row(in, y), pixels, in->channels);
        else
            histogram16_add(memory, bins_of(call->params), image_row(in, y), pixels, in->channels);
    }
}

/* ---- sums */

static void add_band8(const struct op_call *call, int band, uint32_t *numbers) {
    const struct histogram *histograms = band_memory(call, band);
    const uint32_t bins = bins_of(call->params);
    for (unsigned c = 0; c < image_colours(&call->in); c++, numbers += bins) {
        uint32_t counts[256];
        histogram_counts(&histograms[c], counts);
        for (uint32_t v = 0; v < 256; v++) numbers[level_bin(v, bins, 255)] += counts[v];
    }
}

static void add_band16(const struct op_call *call, int band, uint32_t *numbers) {
    const uint32_t *counts = band_memory(call, band), bins = bins_of(call->params);
    const size_t pitch = (size_t)image_colours(&call->in) * bins;
    for (unsigned table = 0; table < histogram16_tables(bins); table++)
        for (size_t i = 0; i < pitch; i++) numbers[i] += counts[table * pitch + i];
}

/* Counts every pixel as the background if none is visible. */
static void fall_back(const struct op_call *call, uint32_t *numbers) {
    const uint32_t bins = bins_of(call->params);
    const struct background background = background_of(call->params->number[HISTOGRAM_BACKGROUND],
                                                       call->in.channels, call->in.depth);
    for (uint32_t bin = 0; bin < bins; bin++)
        if (numbers[bin]) return;
    for (unsigned c = 0; c < image_colours(&call->in); c++)
        numbers[c * bins + level_bin(background.sample[c], bins, image_max(&call->in))] =
            (uint32_t)image_pixels(&call->in);
}

static enum status histogram_run(struct op_call *call) {
    const int bands = bands_of(call);
    const size_t count = (size_t)image_colours(&call->in) * bins_of(call->params);
    pool_run(call->pool, count_band, call, bands);
    memset(call->values, 0, count * sizeof(uint32_t));
    for (int band = 0; band < bands; band++)
        (call->in.depth == 8 ? add_band8 : add_band16)(call, band, call->values);
    fall_back(call, call->values);
    return progress_check(call->progress);
}

const struct op op_histogram = {
    .name = "histogram",
    .title = "Histogram",
    .group = OP_VALUES,
    .summary = "How many samples of each colour channel every bin has; passes the image on",
    .params = params,
    .values = histogram_values,
    .scratch = histogram_scratch,
    .run = histogram_run,
};
