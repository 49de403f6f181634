// SPDX-License-Identifier: Apache-2.0
/* indexed.h - a picture as a palette and indices of 1, 2, 4 or 8 bits, as PNG has them.
 *
 * Used by:  png/encoder.c.
 * Owns:     the indices; the caller releases them by png_indexed_release. A zeroed one may be.
 * Fails:    as palette_choose() says.
 * Threads:  any.
 */
#ifndef BURIN_PNG_INDEXED_H
#define BURIN_PNG_INDEXED_H

#include "pipeline/codecs/common/palette.h"

struct png_indexed {
    struct palette palette;
    uint8_t *indices; /* one for each pixel */
    unsigned bits;    /* of an index in the file; 0: the picture has no palette */
};

/* Bytes of PLTE and tRNS with their frames, at most. */
enum { PNG_PALETTE_CHUNKS = 2 * 12 + 4 * PALETTE_MAX };

/* Makes it if the options ask for a palette. Notes what is lost. */
enum status png_indexed_make(struct png_indexed *indexed, const struct encoding *encoding);
void png_indexed_release(struct png_indexed *indexed);

/* The data of PLTE; returns its bytes. */
size_t png_indexed_colours(const struct png_indexed *indexed, uint8_t data[3 * PALETTE_MAX]);

/* The data of tRNS: the alpha of all entries up to the last that is not opaque. */
size_t png_indexed_alphas(const struct png_indexed *indexed, uint8_t data[PALETTE_MAX]);

/* Writes row Y: the leftmost index in the highest bits. */
void png_indexed_row(const struct png_indexed *indexed, uint32_t width, uint32_t y, uint8_t *row);

#endif
