// SPDX-License-Identifier: Apache-2.0
/* luma_row.h - the 8-bit luma of a row's pixels, from which energies are computed; alpha lays them
 * over a background before.
 *
 * Used by:  carve, resize and smartcrop.
 * Threads:  any; no state.
 */
#ifndef BURIN_CARVE_LUMA_ROW_H
#define BURIN_CARVE_LUMA_ROW_H

#include "pipeline/image.h"
#include "pipeline/ops/carve/definition.h"
#include "pipeline/rows/rgb_luma.h"
#include "pipeline/sample.h"

static inline void carve_luma_run(const uint8_t *row, size_t first, uint32_t count,
                                  const struct background *under, uint8_t *out, unsigned channels,
                                  unsigned depth) {
    const struct background mine = *under;
    for (uint32_t i = 0; i < count; i++)
        out[i] = (uint8_t)(sample_luma_over(row, (first + i) * channels, channels, depth, &mine) >>
                           (depth - 8));
}

/* Writes the luma of COUNT pixels of row Y from FIRST on. */
static inline void carve_luma_row(const struct image *image, uint32_t y, uint32_t first,
                                  uint32_t count, const struct background *under, uint8_t *out) {
    const uint8_t *row = image_row(image, y);
    if (image->channels == 3 && image->depth == 8)
        rgb_luma(row + 3 * (size_t)first, out, count);
    else
        SPECIALISE(image->channels, image->depth, carve_luma_run, row, first, count, under, out);
}

/* Writes the luma of row Y and repeats its last pixel. */
static inline void carve_luma_padded(const struct image *image, uint32_t y,
                                     const struct background *under, uint8_t *out) {
    carve_luma_row(image, y, 0, image->width, under, out);
    out[image->width] = out[image->width - 1];
}

#endif
