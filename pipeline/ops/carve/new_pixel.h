// SPDX-License-Identifier: Apache-2.0
/* new_pixel.h - the pixel that a seam inserts, the mean of three (definition.h).
 *
 * Used by:  picture.c, retarget.c.
 * Threads:  any; no state.
 */
#ifndef BURIN_CARVE_NEW_PIXEL_H
#define BURIN_CARVE_NEW_PIXEL_H

#include "pipeline/ops/carve/definition.h"
#include "pipeline/sample.h"

static inline void carve_put_new(uint8_t *to, const uint8_t *left, const uint8_t *seam,
                                 const uint8_t *right, unsigned channels, unsigned depth) {
    const unsigned last = channels - 1;
    const uint32_t alpha[3] = { sample_get(left, last, depth), sample_get(seam, last, depth),
                                sample_get(right, last, depth) };
    for (unsigned c = 0; c < channels; c++) {
        const uint32_t sample[3] = { sample_get(left, c, depth), sample_get(seam, c, depth),
                                     sample_get(right, c, depth) };
        const bool weighs = channels % 2 == 0 && c < last;
        sample_put(to, c, depth,
                   weighs ? carve_mean_weighed(sample, alpha)
                          : carve_mean(sample[0], sample[1], sample[2]));
    }
}

#endif
