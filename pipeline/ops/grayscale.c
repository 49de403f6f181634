// SPDX-License-Identifier: Apache-2.0
/* Read this operator first: it has a record, the shape of its output, and the plain reference. */
#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/sample.h"

static const struct param params[] = { { .name = NULL } };

/* RGB becomes gray, RGBA gray with alpha; gray is copied. */
static enum status grayscale_size(const struct params *values, const struct image *in,
                                  struct image *out, struct failure *failure) {
    (void)values, (void)failure;
    *out = image_shape(in->width, in->height, image_has_alpha(in) ? 2 : 1, in->depth);
    return STATUS_OK;
}

static inline void gray_row(const uint8_t *in, uint8_t *out, uint32_t width, unsigned channels,
                            unsigned depth) {
    const unsigned out_channels = channels == 4 ? 2 : channels == 3 ? 1 : channels;
    for (size_t x = 0; x < width; x++) {
        const size_t i = x * channels, o = x * out_channels;
        sample_put(out, o, depth, sample_luma(in, i, channels, depth));
        if (out_channels == 2)
            sample_put(out, o + 1, depth, sample_get(in, i + channels - 1, depth));
    }
}

static void gray_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct band band = band_of(call->in.height, index, pool_threads(call->pool));
    for (uint32_t y = band.first; y < band.end; y++) {
        const uint8_t *in = image_row(&call->in, y);
        uint8_t *out = image_row(&call->out, y);
        SPECIALISE(call->in.channels, call->in.depth, gray_row, in, out, call->in.width);
    }
}

static enum status grayscale_run(struct op_call *call) {
    pool_run(call->pool, gray_band, call, pool_threads(call->pool));
    return progress_check(call->progress);
}

const struct op op_grayscale = {
    .name = "grayscale",
    .title = "Black and white",
    .group = OP_COLOUR,
    .summary = "Luma of every pixel; alpha is kept",
    .params = params,
    .size = grayscale_size,
    .run = grayscale_run,
};
