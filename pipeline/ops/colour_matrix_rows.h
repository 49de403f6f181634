// SPDX-License-Identifier: Apache-2.0
/* colour_matrix_rows.h - the reference of the operators of colour_matrix.h.
 *
 * How it works. A chunk of pixels is split into planes, which stay in the first-level cache, so
 * that every loop runs over neighbours.
 *
 * Used by:  matrix.c, sepia.c, saturation.c, hue.c, tint.c.
 * Threads:  as op.h says.
 */
#ifndef BURIN_OPS_COLOUR_MATRIX_ROWS_H
#define BURIN_OPS_COLOUR_MATRIX_ROWS_H

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/ops/colour_matrix.h"
#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"

enum { COLOUR_MATRIX_CHUNK = 256 /* pixels */ };

struct colour_matrix_work {
    const struct op_call *call;
    struct colour_matrix matrix;
};

#define COLOUR_MATRIX_INLINE static inline __attribute__((always_inline))

/* Gray becomes RGB, gray with alpha RGBA. */
static inline enum status colour_matrix_size(const struct params *params, const struct image *in,
                                             struct image *out, struct failure *failure) {
    (void)params, (void)failure;
    *out = image_shape(in->width, in->height, image_has_alpha(in) ? 4 : 3, in->depth);
    return STATUS_OK;
}

COLOUR_MATRIX_INLINE void colour_matrix_chunk(const struct colour_matrix *matrix,
                                              const uint8_t *restrict in, uint8_t *restrict out,
                                              size_t count, unsigned channels, unsigned depth) {
    const unsigned made = 3 + (channels % 2 == 0);
    uint16_t planes[4][COLOUR_MATRIX_CHUNK], results[3][COLOUR_MATRIX_CHUNK];
    for (unsigned c = 0; c < channels; c++)
        for (size_t i = 0; i < count; i++)
            planes[c][i] = (uint16_t)sample_get(in, i * channels + c, depth);
    const uint16_t *green = planes[channels < 3 ? 0 : 1], *blue = planes[channels < 3 ? 0 : 2];
    for (unsigned c = 0; c < 3; c++)
        for (size_t i = 0; i < count; i++)
            results[c][i] = (uint16_t)colour_matrix_of(matrix->weight[c], planes[0][i], green[i],
                                                       blue[i], depth);
    for (size_t i = 0; i < count; i++) {
        for (unsigned c = 0; c < 3; c++) sample_put(out, i * made + c, depth, results[c][i]);
        if (made == 4) sample_put(out, i * 4 + 3, depth, planes[channels - 1][i]);
    }
}

COLOUR_MATRIX_INLINE void colour_matrix_row(const struct colour_matrix *given, const uint8_t *in,
                                            uint8_t *out, uint32_t width, unsigned channels,
                                            unsigned depth) {
    const struct colour_matrix matrix = *given;
    const size_t pixel = channels * (depth / 8u), made = (3 + (channels % 2 == 0)) * (depth / 8u);
    for (size_t x = 0; x < width; x += COLOUR_MATRIX_CHUNK)
        colour_matrix_chunk(&matrix, in + x * pixel, out + x * made,
                            width - x < COLOUR_MATRIX_CHUNK ? width - x : COLOUR_MATRIX_CHUNK,
                            channels, depth);
}

static inline void colour_matrix_plain(const struct colour_matrix *matrix, const uint8_t *in,
                                       uint8_t *out, uint32_t width, unsigned channels,
                                       unsigned depth) {
    SPECIALISE(channels, depth, colour_matrix_row, matrix, in, out, width);
}

#ifdef __x86_64__
AVX2 static inline void colour_matrix_avx2(const struct colour_matrix *matrix, const uint8_t *in,
                                           uint8_t *out, uint32_t width, unsigned channels,
                                           unsigned depth) {
    SPECIALISE(channels, depth, colour_matrix_row, matrix, in, out, width);
}
#else
#define colour_matrix_avx2 colour_matrix_plain
#endif

static inline void colour_matrix_band(void *argument, int index) {
    const struct colour_matrix_work *work = argument;
    const struct op_call *call = work->call;
    const struct image *in = &call->in;
    const struct band band = band_of(in->height, index, pool_threads(call->pool));
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++) {
        if (call->out.channels < 3)
            memcpy(image_row(&call->out, y), image_row(in, y), image_row_bytes(in));
        else
            (simd_has_avx2() ? colour_matrix_avx2 : colour_matrix_plain)(
                &work->matrix, image_row(in, y), image_row(&call->out, y), in->width, in->channels,
                in->depth);
    }
}

static inline enum status colour_matrix_run(struct op_call *call, struct colour_matrix matrix) {
    struct colour_matrix_work work = { call, matrix };
    pool_run(call->pool, colour_matrix_band, &work, pool_threads(call->pool));
    return progress_check(call->progress);
}

#endif
