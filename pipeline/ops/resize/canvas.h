// SPDX-License-Identifier: Apache-2.0
/* canvas.h - what is around a picture that is smaller than the result: a colour, or the picture's
 * own pixels as numpy.pad's `edge` and `symmetric` repeat them (libvips: `copy` and `mirror`).
 *
 * Used by:  resize, pad and rotate, on both devices.
 * Threads:  any; no state. canvas_fill's call belongs to one, which shares its work.
 */
#ifndef BURIN_OPS_RESIZE_CANVAS_H
#define BURIN_OPS_RESIZE_CANVAS_H

#include "pipeline/image.h"
#include "pipeline/ops/resize/definition.h"
#include "pipeline/ops/resize/frame.h"
#include "pipeline/pool.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The channels of a result with RGBA, 0xRRGGBBAA, around a picture of CHANNELS. Depends on
 * parameters and channels alone, so the images of a batch stay alike. */
static inline unsigned canvas_channels(uint32_t rgba, long around, unsigned channels) {
    const bool coloured =
        (rgba >> 24 & 255) != (rgba >> 16 & 255) || (rgba >> 16 & 255) != (rgba >> 8 & 255);
    if (around != AROUND_BACKGROUND) return channels;
    const bool alpha = channels == 2 || channels == 4 || (rgba & 255) != 255;
    return (channels > 2 || coloured ? 3 : 1) + alpha;
}

/* Sets SAMPLES to the CHANNELS samples of colour RGBA, 0xRRGGBBAA. One or two channels take its
 * red: then all three are equal, or the colour is invisible. */
static inline void canvas_pixel(uint32_t rgba, unsigned channels, unsigned depth,
                                uint16_t samples[4]) {
    const unsigned colours = channels < 3 ? 1 : 3;
    for (unsigned c = 0; c < channels; c++)
        samples[c] =
            (uint16_t)((rgba >> (c == colours ? 0 : 24 - 8 * c) & 255) * (depth == 16 ? 257 : 1));
}

/* The same as the bytes of a pixel. */
static inline void canvas_pixel_bytes(uint32_t rgba, unsigned channels, unsigned depth,
                                      uint8_t bytes[8]) {
    uint16_t samples[4];
    canvas_pixel(rgba, channels, depth, samples);
    for (unsigned c = 0; c < channels; c++) {
        if (depth == 16)
            memcpy(bytes + 2 * c, &samples[c], 2);
        else
            bytes[c] = (uint8_t)samples[c];
    }
}

/* The pixel that place I of an axis repeats. The picture's COUNT pixels begin at AT. */
HOST_DEVICE uint32_t canvas_source(uint32_t i, uint32_t at, uint32_t count, long around) {
    const uint32_t period = 2 * count, phase = (i + period - at % period) % period;
    if (around == AROUND_MIRROR) return at + (phase < count ? phase : period - 1 - phase);
    return i < at ? at : i - at < count ? i : at + count - 1;
}

/* Fills what is around the picture that lies in OUT as FRAME says, with RGBA, 0xRRGGBBAA, or as
 * AROUND repeats the picture. */
void canvas_fill(const struct frame *frame, const struct image *out, uint32_t rgba, long around,
                 struct pool *pool);

#ifdef __cplusplus
}
#endif
#endif
