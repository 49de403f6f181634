// SPDX-License-Identifier: Apache-2.0
/* reduction.h - an operator that computes one number for each colour channel: threads reduce bands
 * of rows, then the bands' results are combined. Pixels with alpha 0 are left out.
 *
 * Used by:  minimum.c, maximum.c, mean.c.
 * Limits:   REDUCTION_BANDS_MAX threads.
 */
#ifndef BURIN_OPS_REDUCTION_H
#define BURIN_OPS_REDUCTION_H

#include "pipeline/background.h"
#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/rows/alpha.h"
#include "pipeline/rows/reduce.h"

enum { REDUCTION_BANDS_MAX = 64, REDUCTION_PIECE = 4096 /* bytes */ };

static const struct param reduction_params[] = {
    [BACKGROUND_ONLY] = BACKGROUND_PARAM(BACKGROUND_LEFT),
    { .name = NULL },
};

static inline struct background reduction_background(const struct op_call *call) {
    return background_of(call->params->number[BACKGROUND_ONLY], call->in.channels, call->in.depth);
}

static inline int reduction_bands(const struct op_call *call) {
    return band_count(call->in.height, pool_threads(call->pool), REDUCTION_BANDS_MAX);
}

/* The shape of the values of minimum and maximum. */
static inline struct values_shape reduction_values(const struct op *op, const struct params *values,
                                                   const struct image *in) {
    (void)op, (void)values;
    return (struct values_shape){ VALUE_UINT32, image_colours(in), 1, false, 0 };
}

static inline size_t reduction_scratch(const struct op_call *call) {
    (void)call;
    return REDUCTION_BANDS_MAX * REDUCE_CHANNELS_MAX * sizeof(uint64_t);
}

static inline uint64_t *reduction_result(const struct op_call *call, int band) {
    return (uint64_t *)call->scratch + band * REDUCE_CHANNELS_MAX;
}

/* Reduces the visible pixels of BAND; their number takes the place of alpha's result. */
static inline void reduction_visible(const struct image *in, struct band band, uint64_t start,
                                     reduce_function *reduce, uint64_t *result) {
    uint8_t piece[REDUCTION_PIECE];
    const size_t pixel = image_pixel_bytes(in), most = sizeof piece / pixel;
    uint64_t visible = 0;
    for (uint32_t y = band.first; y < band.end; y++)
        for (size_t x = 0, count; x < in->width; x += count) {
            count = in->width - x < most ? in->width - x : most;
            visible += alpha_hide(image_row(in, y) + x * pixel, piece, count, in->channels,
                                  in->depth, (uint32_t)start);
            reduce(piece, count * in->channels, in->depth, in->channels, result);
        }
    result[in->channels - 1] = visible;
}

/* Reduces band INDEX; rows without gaps go as one. START is the result of an image without pixels.
 */
static inline void reduction_band(const struct op_call *call, int index, uint64_t start,
                                  reduce_function *reduce) {
    const struct image *in = &call->in;
    const struct band band = band_of(in->height, index, reduction_bands(call));
    const uint32_t rows = in->stride == image_row_bytes(in) ? band.end - band.first : 1;
    uint64_t *result = reduction_result(call, index);
    for (int c = 0; c < REDUCE_CHANNELS_MAX; c++) result[c] = start;
    if (image_has_alpha(in)) {
        reduction_visible(in, band, start, reduce, result);
        return;
    }
    for (uint32_t y = band.first; y < band.end; y += rows)
        reduce(image_row(in, y), (size_t)in->width * in->channels * rows, in->depth, in->channels,
               result);
}

/* The number of pixels that all BANDS have reduced. */
static inline uint64_t reduction_pixels(const struct op_call *call, int bands) {
    uint64_t pixels = 0;
    if (!image_has_alpha(&call->in)) return image_pixels(&call->in);
    for (int b = 0; b < bands; b++) pixels += reduction_result(call, b)[call->in.channels - 1];
    return pixels;
}

/* Makes NUMBERS the background's if no pixel is visible. */
static inline void reduction_fall_back(const struct op_call *call, int bands, uint32_t *numbers) {
    const struct background background = reduction_background(call);
    if (reduction_pixels(call, bands)) return;
    for (unsigned c = 0; c < image_colours(&call->in); c++) numbers[c] = background.sample[c];
}

#endif
