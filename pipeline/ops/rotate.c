// SPDX-License-Identifier: Apache-2.0
/* How it works. Half a turn reverses the rows and their pixels. A quarter turn is a transposition
 * with one side reversed: clockwise, the first row of the result is the first column from the
 * bottom up; anticlockwise, the last column from the top down. At other angles a row of the result
 * crosses the image along a line: background, the image's edge, pixels whose four neighbours are
 * all there, the edge, and background again. */
#include "pipeline/ops/rotate.h"

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/rows/reverse.h"
#include "pipeline/rows/transpose.h"
#include "pipeline/sample.h"

#include <string.h>

static const struct param params[] = {
    [ROTATE_ANGLE] = { .name = "angle",
                       .summary = "Clockwise; multiples of 90 move pixels and lose nothing",
                       .unit = "degrees",
                       .type = PARAM_DECIMAL,
                       .min = -360000,
                       .max = 360000,
                       .def = 90000 },
    [ROTATE_BACKGROUND] = { .name = "background",
                            .summary = "Colour beside the turned image, which may be transparent",
                            .type = PARAM_COLOUR,
                            .def = 0xffffffff },
    { .name = NULL },
};

enum { WEIGHED_PASSES = 6 };

static bool is_turned(const struct params *values) {
    return rotate_quarters(values) % 2;
}

static enum status rotate_size(const struct params *values, const struct image *in,
                               struct image *out, struct failure *failure) {
    (void)failure; /* the caller checks the sides */
    const bool turned = is_turned(values);
    if (rotate_quarters(values) == ROTATE_BETWEEN) {
        const struct rotation r = rotation_of(values);
        *out = image_shape(rotation_side(in->width, r.cosine, in->height, r.sine),
                           rotation_side(in->width, r.sine, in->height, r.cosine),
                           canvas_channels((uint32_t)values->number[ROTATE_BACKGROUND],
                                           AROUND_BACKGROUND, in->channels),
                           in->depth);
        return STATUS_OK;
    }
    *out = image_shape(turned ? in->height : in->width, turned ? in->width : in->height,
                       in->channels, in->depth);
    return STATUS_OK;
}

static uint32_t rotate_passes(const struct params *values, const struct image *in) {
    (void)in;
    return rotate_quarters(values) == ROTATE_BETWEEN ? WEIGHED_PASSES : 1;
}

/* ---- quarters: rows of the result, shared out among threads */

static void copy_rows(const struct op_call *call, struct band band) {
    const struct image *in = &call->in;
    const size_t pixel = image_pixel_bytes(in);
    const bool half = rotate_quarters(call->params) == ROTATE_180;
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++) {
        uint8_t *out = image_row(&call->out, y);
        if (half)
            reverse_pixels(image_row(in, in->height - 1 - y), out, in->width, pixel);
        else
            memcpy(out, image_row(in, y), image_row_bytes(in));
    }
}

/* The transposition of the whole image; rows of the result are columns of the input. */
static struct transpose whole(const struct op_call *call) {
    const struct image *in = &call->in, *out = &call->out;
    struct transpose whole = { .from = in->pixels,
                               .to = out->pixels,
                               .from_stride = (ptrdiff_t)in->stride,
                               .to_stride = (ptrdiff_t)out->stride,
                               .columns = in->width,
                               .rows = in->height,
                               .pixel_bytes = image_pixel_bytes(in) };
    if (rotate_quarters(call->params) == ROTATE_90) {
        whole.from = image_row(in, in->height - 1);
        whole.from_stride = -whole.from_stride;
    } else {
        whole.to = image_row(out, out->height - 1);
        whole.to_stride = -whole.to_stride;
    }
    return whole;
}

/* Transposes one strip of tiles at a time. */
static void turn_columns(const struct op_call *call, struct band band) {
    struct transpose strip = whole(call);
    strip.from += band.first * strip.pixel_bytes;
    strip.to += band.first * strip.to_stride;
    for (uint32_t x = band.first; x < band.end && !progress_check(call->progress);) {
        const uint32_t left = band.end - x;
        strip.columns = left < TRANSPOSE_TILE ? left : TRANSPOSE_TILE;
        transpose_pixels(&strip);
        x += strip.columns;
        strip.from += strip.columns * strip.pixel_bytes;
        strip.to += strip.columns * strip.to_stride;
    }
}

/* ---- any angle */

#define INLINE static inline __attribute__((always_inline))

struct tilt {
    const struct op_call *call;
    struct rotation rotation;
    uint32_t background[4]; /* a pixel of the result */
};

/* The pixel X of ROW with the result's CHANNELS, of which IN are the image's. */
INLINE void tilt_tap(const uint8_t *row, size_t x, uint32_t tap[4], unsigned in, unsigned channels,
                     unsigned depth) {
    for (unsigned c = 0; c < channels; c++)
        tap[c] = sample_get(row, x * in + rotation_source(c, in, channels), depth);
    if (in % 2 && channels % 2 == 0) tap[channels - 1] = depth == 16 ? 65535 : 255;
}

/* The same for any X and Y. */
static void tilt_tap_or_background(const struct tilt *tilt, int32_t x, int32_t y, uint32_t tap[4]) {
    const struct image *in = &tilt->call->in;
    if (x < 0 || y < 0 || (uint32_t)x >= in->width || (uint32_t)y >= in->height)
        memcpy(tap, tilt->background, sizeof tilt->background);
    else
        tilt_tap(image_row(in, (uint32_t)y), (uint32_t)x, tap, in->channels,
                 tilt->call->out.channels, in->depth);
}

INLINE void tilt_row(const struct tilt *tilt, uint32_t row, unsigned from, unsigned channels,
                     unsigned depth) {
    const struct image in = tilt->call->in, out = tilt->call->out;
    const struct rotation r = tilt->rotation;
    const int32_t down = 2 * (int32_t)row + 1 - (int32_t)out.height;
    uint8_t *to = image_row(&out, row);
    for (uint32_t i = 0; i < out.width; i++) {
        const int32_t across = 2 * (int32_t)i + 1 - (int32_t)out.width;
        const int32_t u = rotation_place(across, r.cosine, down, r.sine, in.width);
        const int32_t v = rotation_place(across, -r.sine, down, r.cosine, in.height);
        const int32_t x = u >> 8, y = v >> 8;
        uint32_t taps[4][4], pixel[4];
        if ((uint32_t)x < in.width - 1 && (uint32_t)y < in.height - 1) {
            for (uint32_t t = 0; t < 4; t++)
                tilt_tap(image_row(&in, (uint32_t)y + t / 2), (uint32_t)x + t % 2, taps[t], from,
                         channels, depth);
        } else {
            for (int32_t t = 0; t < 4; t++)
                tilt_tap_or_background(tilt, x + t % 2, y + t / 2, taps[t]);
        }
        rotation_mix(taps, (uint32_t)u & 255, (uint32_t)v & 255, channels, depth, pixel);
        for (unsigned c = 0; c < channels; c++)
            sample_put(to, (size_t)i * channels + c, depth, pixel[c]);
    }
}

/* A result with the image's own channels. */
INLINE void tilt_row_alike(const struct tilt *tilt, uint32_t row, unsigned channels,
                           unsigned depth) {
    tilt_row(tilt, row, channels, channels, depth);
}

static void tilt_rows(const struct op_call *call, struct band band) {
    const struct image *in = &call->in, *out = &call->out;
    struct tilt tilt = { .call = call, .rotation = rotation_of(call->params) };
    rotation_background(call, tilt.background);
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++) {
        if (in->channels == out->channels)
            SPECIALISE(in->channels, in->depth, tilt_row_alike, &tilt, y);
        else
            tilt_row(&tilt, y, in->channels, out->channels, in->depth);
    }
}

static void rotate_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct band band = band_of(call->out.height, index, pool_threads(call->pool));
    if (rotate_quarters(call->params) == ROTATE_BETWEEN)
        tilt_rows(call, band);
    else
        (is_turned(call->params) ? turn_columns : copy_rows)(call, band);
}

static enum status rotate_run(struct op_call *call) {
    pool_run(call->pool, rotate_band, call, pool_threads(call->pool));
    return progress_check(call->progress);
}

const struct op op_rotate = {
    .name = "rotate",
    .title = "Rotate",
    .group = OP_SIZE,
    .summary = "Turns the image clockwise, by quarters or any angle",
    .params = params,
    .size = rotate_size,
    .passes = rotate_passes,
    .run = rotate_run,
};
