// SPDX-License-Identifier: Apache-2.0
/* background.h - the colour under an image's pixels, the same on both devices.
 *
 * What stands under alpha 0 must change no visible sample and no value. So an operator that counts
 * leaves pixels with alpha 0 out, and takes the background's colour where no pixel is left; an
 * operator that looks at neighbours or content sees every pixel laid over the background.
 *
 * Used by:  operators of images with alpha, on either device; codecs/common/flatten.c.
 * Threads:  any; no state.
 */
#ifndef BURIN_BACKGROUND_H
#define BURIN_BACKGROUND_H

#include "pipeline/luma.h"

#include <stdint.h>

/* For the parameter lists of operators; the colour's own alpha does nothing. A request's
 * `background` reaches every parameter of this name. */
#define BACKGROUND_PARAM(what)                                                                     \
    { .name = "background", .summary = what, .type = PARAM_COLOUR, .def = 0xffffffff }
#define BACKGROUND_LAID "Colour over which pixels with alpha are laid before they are looked at"
#define BACKGROUND_LEFT "Colour that is taken where every pixel has alpha 0"

/* Its place in the list of an operator that has no other parameter. */
enum { BACKGROUND_ONLY };

/* In the image's own units; of gray images the colour's luma, three times. */
struct background {
    uint32_t sample[3];
};

/* RGBA: a parameter's number, 0xRRGGBBAA. */
HOST_DEVICE struct background background_of(long rgba, unsigned channels, unsigned depth) {
    const uint32_t scale = depth == 16 ? 257 : 1;
    const uint32_t red = (uint32_t)rgba >> 24, green = (uint32_t)rgba >> 16 & 255,
                   blue = (uint32_t)rgba >> 8 & 255, gray = luma(red, green, blue);
    struct background background;
    background.sample[0] = scale * (channels < 3 ? gray : red);
    background.sample[1] = scale * (channels < 3 ? gray : green);
    background.sample[2] = scale * (channels < 3 ? gray : blue);
    return background;
}

/* A sample laid over UNDER, rounded half up: M is odd, so no sum lies on a half. The largest sum,
 * of 16 bits, is M * M + M / 2 < 2^32. */
HOST_DEVICE uint32_t background_lay(uint32_t sample, uint32_t alpha, uint32_t under,
                                    unsigned depth) {
    const uint32_t max = depth == 16 ? 65535 : 255;
    return (sample * alpha + under * (max - alpha) + max / 2) / max;
}

/* The luma of a colour laid over UNDER. */
HOST_DEVICE uint32_t background_luma(uint32_t red, uint32_t green, uint32_t blue, uint32_t alpha,
                                     const struct background *under, unsigned depth) {
    return luma(background_lay(red, alpha, under->sample[0], depth),
                background_lay(green, alpha, under->sample[1], depth),
                background_lay(blue, alpha, under->sample[2], depth));
}

#endif
