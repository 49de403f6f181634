// SPDX-License-Identifier: Apache-2.0
/* How it works. Each pixel goes through the table that the host made of the image's profile;
 * without a table, or with one that is void, pixels are copied. */
#include "pipeline/ops/srgb.h"

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/sample.h"

static const struct param params[] = { { .name = NULL } };

static inline void gray_row(const struct srgb_table *table, const uint8_t *in, uint8_t *out,
                            uint32_t width, unsigned channels, unsigned depth) {
    const int32_t *curve = srgb_curves(table);
    for (size_t i = 0; i < (size_t)width * channels; i++) {
        const uint32_t sample = sample_get(in, i, depth);
        sample_put(out, i, depth, i % channels ? sample : (uint32_t)curve[sample]);
    }
}

static inline void colour_row(const struct srgb_table *table, const uint8_t *in, uint8_t *out,
                              uint32_t width, unsigned channels, unsigned depth) {
    for (size_t x = 0; x < width; x++) {
        const size_t i = x * channels;
        const uint32_t from[3] = { sample_get(in, i, depth), sample_get(in, i + 1, depth),
                                   sample_get(in, i + 2, depth) };
        uint32_t to[3];
        srgb_convert(table, from, to, depth);
        for (size_t c = 0; c < 3; c++) sample_put(out, i + c, depth, to[c]);
        if (channels == 4) sample_put(out, i + 3, depth, sample_get(in, i + 3, depth));
    }
}

static inline void srgb_row(const struct srgb_table *table, const uint8_t *in, uint8_t *out,
                            uint32_t width, unsigned channels, unsigned depth) {
    if (!table)
        memcpy(out, in, (size_t)width * channels * (depth / 8));
    else if (channels < 3)
        gray_row(table, in, out, width, channels, depth);
    else
        colour_row(table, in, out, width, channels, depth);
}

static void srgb_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in;
    const struct srgb_table *table = (const void *)call->table.pixels;
    const struct band band = band_of(in->height, index, pool_threads(call->pool));
    if (!call->table.width || table->side == SRGB_VOID) table = NULL;
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++)
        SPECIALISE(in->channels, in->depth, srgb_row, table, image_row(in, y),
                   image_row(&call->out, y), in->width);
}

static enum status srgb_run(struct op_call *call) {
    pool_run(call->pool, srgb_band, call, pool_threads(call->pool));
    return progress_check(call->progress);
}

const struct op op_srgb = {
    .name = "srgb",
    .title = "Colours of screens",
    .group = OP_COLOUR,
    .summary = "Colours by the image's profile in sRGB, without it from then on; alpha is kept",
    .params = params,
    .by_profile = true,
    .run = srgb_run,
};
