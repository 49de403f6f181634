// SPDX-License-Identifier: Apache-2.0
/* canvas.h - what lies around a picture that is smaller than the result.
 *
 * Used by:  ops/resize.c, on both devices.
 * Threads:  any.
 */
#ifndef BURIN_OPS_RESIZE_CANVAS_H
#define BURIN_OPS_RESIZE_CANVAS_H

#include "pipeline/ops/resize/frame.h"
#include "pipeline/pool.h"

/* The samples of a pixel of CHANNELS of the colour RGBA, which is 0xRRGGBBAA; gray where the
 * channels are one or two is its red: then all three are equal, or none of it is seen. */
static inline void canvas_pixel(uint32_t rgba, unsigned channels, unsigned depth,
                                uint16_t samples[4]) {
    const unsigned colours = channels < 3 ? 1 : 3;
    for (unsigned c = 0; c < channels; c++)
        samples[c] =
            (uint16_t)((rgba >> (c == colours ? 0 : 24 - 8 * c) & 255) * (depth == 16 ? 257 : 1));
}

/* Everything of OUT that is not the picture. */
void canvas_fill(const struct frame *frame, const struct image *out, uint32_t rgba,
                 struct pool *pool);

#endif
