// SPDX-License-Identifier: Apache-2.0
/* palette.h - at most 256 colours for a picture, and which of them each pixel takes.
 *
 * A picture that has no more colours than are allowed keeps them. For another, colours are chosen
 * that are near in red, green and blue, each multiplied by alpha, and alpha. Pixels of alpha 0 are
 * one colour, whatever stands under it, and have an entry of their own. All of it is in integers,
 * and the first of equals is taken: the same picture gets the same palette everywhere.
 *
 * Used by:  gif/encoder.c, png/indexed.c.
 * Owns:     nothing; palette and indices are the caller's.
 * Fails:    STATUS_NO_MEMORY; STATUS_CANCELLED and STATUS_DEADLINE as progress_check() says.
 * Threads:  any.
 * Limits:   PALETTE_MEMORY bytes of heap.
 */
#ifndef BURIN_PALETTE_H
#define BURIN_PALETTE_H

#include "pipeline/codecs/codecs.h"

enum { PALETTE_MAX = 256, PALETTE_MEMORY = 9 << 20 };

struct palette {
    unsigned count; /* 1..PALETTE_MAX */
    uint32_t
        colours[PALETTE_MAX]; /* alpha highest, then red; the least alpha first, 0 at most once */
    bool cut;                 /* the picture has more colours */
    bool alpha_cut;           /* an alpha became 0 or 255 */
};

struct palette_wish {
    unsigned most; /* 2..PALETTE_MAX colours */
    bool opaque;   /* an alpha of 128 and more becomes 255, and another 0 */
    bool dither;   /* a colour between two of the palette is a pattern of both, ordered by place */
};

/* Fills PALETTE, and INDICES with one for each pixel, row after row. */
enum status palette_choose(const struct encoding *encoding, const struct palette_wish *wish,
                           struct palette *palette, uint8_t *indices);

#endif
