// SPDX-License-Identifier: Apache-2.0
/* reduction.h - an operator that computes one number for each colour channel: threads reduce bands
 * of rows, then the bands' results are combined.
 *
 * Used by:  minimum.c, maximum.c, mean.c.
 * Limits:   REDUCTION_BANDS_MAX threads.
 */
#ifndef BURIN_OPS_REDUCTION_H
#define BURIN_OPS_REDUCTION_H

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/rows/reduce.h"

enum { REDUCTION_BANDS_MAX = 64 };

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

/* Reduces band INDEX; rows without gaps go as one. START is the result of an image without pixels.
 */
static inline void reduction_band(const struct op_call *call, int index, uint64_t start,
                                  reduce_function *reduce) {
    const struct image *in = &call->in;
    const struct band band = band_of(in->height, index, reduction_bands(call));
    const uint32_t rows = in->stride == image_row_bytes(in) ? band.end - band.first : 1;
    uint64_t *result = reduction_result(call, index);
    for (int c = 0; c < REDUCE_CHANNELS_MAX; c++) result[c] = start;
    for (uint32_t y = band.first; y < band.end; y += rows)
        reduce(image_row(in, y), (size_t)in->width * in->channels * rows, in->depth, in->channels,
               result);
}

#endif
