// SPDX-License-Identifier: Apache-2.0
/* canvas.h - what is around a picture that is smaller than the result: a colour, or the picture's
 * own pixels as numpy.pad's `edge` and `symmetric` repeat them (libvips: `copy` and `mirror`).
 *
 * Used by:  resize, on both devices.
 * Threads:  any; no state.
 */
#ifndef BURIN_OPS_RESIZE_CANVAS_H
#define BURIN_OPS_RESIZE_CANVAS_H

#include "pipeline/ops/resize/definition.h"
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

/* The pixel that place I of an axis repeats. The picture's COUNT pixels begin at AT. */
HOST_DEVICE uint32_t canvas_source(uint32_t i, uint32_t at, uint32_t count, long around) {
    const uint32_t period = 2 * count, phase = (i + period - at % period) % period;
    if (around == AROUND_MIRROR) return at + (phase < count ? phase : period - 1 - phase);
    return i < at ? at : i - at < count ? i : at + count - 1;
}

#endif
