// SPDX-License-Identifier: Apache-2.0
/* How it works. Half a turn reverses the rows and their pixels. A quarter turn is a transposition
 * with one side reversed: clockwise, the first row of the result is the first column from the
 * bottom up; anticlockwise, the last column from the top down. At other angles a row of the result
 * is made in pieces: the four pixels around each place are taken, then vectors mix those of
 * neighbouring places. Pieces beyond the image are filled. */
#include "pipeline/ops/rotate.h"

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/rows/reverse.h"
#include "pipeline/rows/simd.h"
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

enum { TILT_CHUNK = 64 /* pixels */ };

/* Pixels of the result on their way, in words as memory has them. */
struct tilt {
    const struct op_call *call;
    struct rotation rotation;
    uint64_t background; /* a pixel of the result */
    uint32_t right, low; /* the first column and row with a pixel whose neighbours cannot be read */
    int32_t u[TILT_CHUNK], v[TILT_CHUNK];
    uint32_t words[2][4][TILT_CHUNK]; /* taps as rotation_mix has them */
};

INLINE uint32_t tilt_sample(const struct tilt *tilt, unsigned tap, size_t i, unsigned c,
                            unsigned depth) {
    return tilt->words[c * depth / 32][tap][i] >> c * depth % 32 & ((1u << depth) - 1);
}

/* A pixel of FROM channels as one of the result, with anything behind it. Three samples are read as
 * four. */
INLINE uint64_t tilt_load(const uint8_t *pixel, unsigned from, unsigned channels, unsigned depth) {
    const unsigned bits = channels * depth;
    uint64_t word = 0;
    if (from == channels) {
        memcpy(&word, pixel, bits > 32 ? 8 : bits > 16 ? 4 : bits / 8);
        return word;
    }
    for (unsigned c = 0; c < channels; c++)
        word |= (uint64_t)sample_get(pixel, rotation_source(c, from, channels), depth) << c * depth;
    if (from % 2 && channels % 2 == 0) word |= ~UINT64_C(0) << (bits - depth);
    return word;
}

/* The same at X and Y, which may be beyond the image. */
static uint64_t tilt_edge(const struct tilt *tilt, int32_t x, int32_t y) {
    const struct image *in = &tilt->call->in;
    uint8_t pixel[8] = { 0 };
    if (x < 0 || y < 0 || (uint32_t)x >= in->width || (uint32_t)y >= in->height)
        return tilt->background;
    memcpy(pixel, image_row(in, (uint32_t)y) + (size_t)x * image_pixel_bytes(in),
           image_pixel_bytes(in));
    return tilt_load(pixel, in->channels, tilt->call->out.channels, in->depth);
}

INLINE void tilt_take(struct tilt *tilt, size_t count, unsigned from, unsigned channels,
                      unsigned depth) {
    const struct image in = tilt->call->in;
    const uint32_t right = tilt->right, low = tilt->low;
    for (size_t i = 0; i < count; i++) {
        const int32_t x = tilt->u[i] >> 8, y = tilt->v[i] >> 8;
        uint64_t taps[4];
        if ((uint32_t)x < right && (uint32_t)y < low) {
            const size_t pixel = from * (depth / 8);
            const uint8_t *left = image_row(&in, (uint32_t)y) + (size_t)x * pixel;
            for (unsigned t = 0; t < 4; t++)
                taps[t] =
                    tilt_load(left + t / 2 * in.stride + t % 2 * pixel, from, channels, depth);
        } else {
            for (int32_t t = 0; t < 4; t++) taps[t] = tilt_edge(tilt, x + t % 2, y + t / 2);
        }
        for (unsigned t = 0; t < 4; t++) {
            tilt->words[0][t][i] = (uint32_t)taps[t];
            if (channels * depth > 32) tilt->words[1][t][i] = (uint32_t)(taps[t] >> 32);
        }
    }
}

/* Whether all taps have full alpha. */
INLINE bool tilt_opaque(const struct tilt *tilt, size_t count, unsigned channels, unsigned depth) {
    uint32_t alphas = ~0u;
    for (size_t i = 0; i < count; i++)
        for (unsigned t = 0; t < 4; t++) alphas &= tilt_sample(tilt, t, i, channels - 1, depth);
    return alphas == (1u << depth) - 1;
}

/* Computes rotation_mix, where colours are WEIGHED by alpha in doubles: vectors cannot divide
 * integers. Sums are whole and below 2^48; between two of them, a quarter away, no rounding reaches
 * a whole quotient. */
INLINE void tilt_mix(const struct tilt *tilt, size_t count, uint32_t results[2][TILT_CHUNK],
                     bool weighed, unsigned channels, unsigned depth) {
    const unsigned alpha = channels - 1;
    for (size_t i = 0; i < count; i++) {
        const uint32_t x = (uint32_t)tilt->u[i] & 255, y = (uint32_t)tilt->v[i] & 255;
        const uint32_t weights[4] = { (256 - x) * (256 - y), x * (256 - y), (256 - x) * y, x * y };
        uint32_t words[2] = { 0 }, plain[4] = { 0 }, taps[4][4];
        for (unsigned c = 0; c < channels; c++)
            for (unsigned t = 0; t < 4; t++)
                plain[c] += weights[t] * (taps[t][c] = tilt_sample(tilt, t, i, c, depth));
        double seen[4], sum = 0;
        for (unsigned t = 0; t < 4; t++)
            sum += seen[t] = (double)(int32_t)weights[t] * (int32_t)taps[t][alpha];
        const double share = 1 / (sum + (plain[alpha] == 0));
        for (unsigned c = 0; c < channels; c++) {
            double mixed = sum / 2 + 0.25;
            for (unsigned t = 0; t < 4; t++) mixed += seen[t] * (int32_t)taps[t][c];
            const uint32_t sample = weighed && c < alpha ? (uint32_t)(int32_t)(mixed * share)
                                                         : (plain[c] + 32768) >> 16;
            words[c * depth / 32] |= sample << c * depth % 32;
        }
        results[0][i] = words[0];
        if (channels * depth > 32) results[1][i] = words[1];
    }
}

/* Whether all of a chunk's PLACES are beyond an axis of LENGTH pixels, on the same side. */
static bool tilt_beyond(const int32_t *places, size_t count, uint32_t length) {
    const int32_t first = places[0], last = places[count - 1], end = (int32_t)length * 256;
    return (first < -256 && last < -256) || (first >= end && last >= end);
}

INLINE void tilt_row(struct tilt *tilt, uint32_t row, unsigned channels, unsigned depth) {
    const struct image in = tilt->call->in, out = tilt->call->out;
    const struct rotation r = tilt->rotation;
    const size_t pixel = channels * (depth / 8), first = pixel < 4 ? pixel : 4;
    const int32_t down = 2 * (int32_t)row + 1 - (int32_t)out.height;
    uint32_t results[2][TILT_CHUNK];
    uint8_t *to = image_row(&out, row);
    for (uint32_t begin = 0; begin < out.width; begin += TILT_CHUNK) {
        const uint32_t left = out.width - begin, count = left < TILT_CHUNK ? left : TILT_CHUNK;
        for (uint32_t i = 0; i < count; i++) {
            const int32_t across = 2 * (int32_t)(begin + i) + 1 - (int32_t)out.width;
            tilt->u[i] = rotation_place(across, r.cosine, down, r.sine, in.width);
            tilt->v[i] = rotation_place(across, -r.sine, down, r.cosine, in.height);
        }
        if (tilt_beyond(tilt->u, count, in.width) || tilt_beyond(tilt->v, count, in.height)) {
            for (uint32_t i = 0; i < count; i++)
                for (int k = 0; k < 2; k++) results[k][i] = (uint32_t)(tilt->background >> 32 * k);
        } else {
            if (in.channels == channels)
                tilt_take(tilt, count, channels, channels, depth);
            else if (in.channels == 1)
                tilt_take(tilt, count, 1, channels, depth);
            else
                tilt_take(tilt, count, in.channels == 2 ? 2 : 3, channels, depth);
            if (channels % 2 || tilt_opaque(tilt, count, channels, depth))
                tilt_mix(tilt, count, results, false, channels, depth);
            else
                tilt_mix(tilt, count, results, true, channels, depth);
        }
        for (uint32_t i = 0; i < count; i++, to += pixel) {
            memcpy(to, &results[0][i], first);
            if (pixel > 4) memcpy(to + 4, &results[1][i], pixel - 4);
        }
    }
}

static void tilt_plain(struct tilt *tilt, uint32_t row, unsigned channels, unsigned depth) {
    SPECIALISE(channels, depth, tilt_row, tilt, row);
}

#ifdef __x86_64__
AVX2 static void tilt_avx2(struct tilt *tilt, uint32_t row, unsigned channels, unsigned depth) {
    SPECIALISE(channels, depth, tilt_row, tilt, row);
}
#else
#define tilt_avx2 tilt_plain
#endif

static void tilt_rows(const struct op_call *call, struct band band) {
    const struct image *in = &call->in, *out = &call->out;
    struct tilt tilt = { .call = call, .rotation = rotation_of(call->params) };
    const uint32_t beside = in->channels == 3 ? 2 : 1,
                   rgba = (uint32_t)call->params->number[ROTATE_BACKGROUND];
    if (rgba & 255) /* else all is 0, as rotation_mix has it */
        canvas_pixel_bytes(rgba, out->channels, out->depth, (uint8_t *)&tilt.background);
    tilt.right = in->width > beside ? in->width - beside : 0;
    tilt.low = in->height - 1;
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++)
        (simd_has_avx2() ? tilt_avx2 : tilt_plain)(&tilt, y, out->channels, out->depth);
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
