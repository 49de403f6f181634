// SPDX-License-Identifier: Apache-2.0
/* dominant.h - bins of colours: the upper four bits of each channel.
 *
 * Pixels with alpha 0 are left out.
 *
 * Used by:  dominant, on both devices.
 * Source:   sharp's stats report such a centre too (lovell/sharp, src/stats.cc), but libvips puts a
 *           sample v into bin floor(16 v / 257), so 16 k goes into the bin before ours. Where two
 *           colours are about as frequent, sharp may name the other one.
 */
#ifndef BURIN_OPS_DOMINANT_H
#define BURIN_OPS_DOMINANT_H

#include "pipeline/background.h"

#include <stdint.h>

enum { DOMINANT_BINS = 4096, DOMINANT_GRAYS = 16 };

/* Returns the number of bins for one or three colour channels. */
HOST_DEVICE uint32_t dominant_bins(uint32_t colours) {
    return colours == 3 ? DOMINANT_BINS : DOMINANT_GRAYS;
}

/* The first channel has the highest bits. */
HOST_DEVICE uint32_t dominant_bin(uint32_t red, uint32_t green, uint32_t blue, unsigned depth) {
    const unsigned drop = depth - 4;
    return red >> drop << 8 | green >> drop << 4 | blue >> drop;
}

/* Returns the bin that is taken where no pixel is visible. RGBA: the parameter's number. */
HOST_DEVICE uint32_t dominant_background(long rgba, unsigned channels, unsigned depth) {
    const struct background b = background_of(rgba, channels, depth);
    return channels < 3 ? b.sample[0] >> (depth - 4)
                        : dominant_bin(b.sample[0], b.sample[1], b.sample[2], depth);
}

/* Returns the centre of BIN in colour channel C of COLOURS, 0..255 for images of either depth. */
HOST_DEVICE uint32_t dominant_centre(uint32_t bin, uint32_t c, uint32_t colours) {
    return (bin >> 4 * (colours - 1 - c) & 15) * 16 + 8;
}

#endif
