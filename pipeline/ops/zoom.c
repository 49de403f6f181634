// SPDX-License-Identifier: Apache-2.0
/* Pixels are repeated, and rows with them. */
#include "pipeline/ops/zoom.h"

#include "pipeline/band.h"
#include "pipeline/op.h"

#include <string.h>

static const struct param params[] = {
    [ZOOM_TIMES] = { .name = "times",
                     .summary = "How many times as wide and as high each pixel becomes",
                     .unit = "times",
                     .type = PARAM_INT,
                     .min = 1,
                     .max = 64,
                     .def = 2 },
    { .name = NULL },
};

static enum status zoom_size(const struct params *values, const struct image *in, struct image *out,
                             struct failure *failure) {
    const uint32_t times = (uint32_t)values->number[ZOOM_TIMES];
    (void)failure; /* the caller checks the sides */
    *out = image_shape(in->width * times, in->height * times, in->channels, in->depth);
    return STATUS_OK;
}

/* BYTES is a compile-time constant, so copying a pixel is no call. */
static inline void repeat(const uint8_t *in, uint8_t *out, uint32_t width, long times,
                          size_t bytes) {
    for (uint32_t x = 0; x < width; x++, in += bytes)
        for (long i = 0; i < times; i++, out += bytes) memcpy(out, in, bytes);
}

static void repeat_pixels(const uint8_t *in, uint8_t *out, uint32_t width, long times,
                          size_t bytes) {
    switch (bytes) {
    case 1: repeat(in, out, width, times, 1); break;
    case 2: repeat(in, out, width, times, 2); break;
    case 3: repeat(in, out, width, times, 3); break;
    case 4: repeat(in, out, width, times, 4); break;
    case 6: repeat(in, out, width, times, 6); break;
    default: repeat(in, out, width, times, 8);
    }
}

static void zoom_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct image *in = &call->in, *out = &call->out;
    const long times = call->params->number[ZOOM_TIMES];
    const struct band band = band_of(in->height, index, pool_threads(call->pool));
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++) {
        const uint32_t first = y * (uint32_t)times;
        repeat_pixels(image_row(in, y), image_row(out, first), in->width, times,
                      image_pixel_bytes(in));
        for (uint32_t row = first + 1; row < first + (uint32_t)times; row++)
            memcpy(image_row(out, row), image_row(out, first), image_row_bytes(out));
    }
}

static enum status zoom_run(struct op_call *call) {
    pool_run(call->pool, zoom_band, call, pool_threads(call->pool));
    return progress_check(call->progress);
}

const struct op op_zoom = {
    .name = "zoom",
    .title = "Enlarge pixels",
    .group = OP_SIZE,
    .summary = "Each pixel becomes a square of its colour",
    .params = params,
    .size = zoom_size,
    .run = zoom_run,
};
