// SPDX-License-Identifier: Apache-2.0
/* canvas.h - the colour around a picture that is smaller than the result.
 *
 * Used by:  resize, on both devices.
 * Threads:  any; no state.
 */
#ifndef BURIN_OPS_RESIZE_CANVAS_H
#define BURIN_OPS_RESIZE_CANVAS_H

#include "pipeline/ops/resize/frame.h"
#include "pipeline/pool.h"

/* Sets SAMPLES to the CHANNELS samples of colour RGBA, 0xRRGGBBAA. One or two channels take its
 * red: then all three are equal, or the colour is invisible. */
static inline void canvas_pixel(uint32_t rgba, unsigned channels, unsigned depth,
                                uint16_t samples[4]) {
    const unsigned colours = channels < 3 ? 1 : 3;
    for (unsigned c = 0; c < channels; c++)
        samples[c] =
            (uint16_t)((rgba >> (c == colours ? 0 : 24 - 8 * c) & 255) * (depth == 16 ? 257 : 1));
}

#endif
