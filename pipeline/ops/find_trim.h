// SPDX-License-Identifier: Apache-2.0
/* find_trim.h - which pixels are border.
 *
 * The border has one colour: `color`, or that of the top left pixel (the default of sharp; that of
 * libvips is white). A pixel is border if its alpha is 0, or if none of its samples, alpha
 * included, differs from that colour by more than `tolerance` levels. If the colour's alpha is 0,
 * only alpha is compared: hidden colours decide nothing. An image without alpha is opaque. In a
 * gray image `color` is its luma.
 *
 * What is left is the smallest rectangle that has all pixels that are not border. If there are
 * none, find_trim returns the width as `left` and the height as `top`, and trim cuts nothing off:
 * the image stays whole, as with sharp. All frames of an animation get one cut: what one of them
 * needs stays; the border's colour is each frame's own. Unlike in libvips no median filter
 * runs before: a single pixel that differs keeps its row and its column.
 *
 * Used by:  find_trim, on both devices; trim, which has the same parameters.
 */
#ifndef BURIN_OPS_FIND_TRIM_H
#define BURIN_OPS_FIND_TRIM_H

#include "pipeline/background.h"
#include "pipeline/op.h"

#include <stdbool.h>

/* Places in the parameter list. */
enum { TRIM_TOLERANCE, TRIM_COLOR };

#define TRIM_PARAMS                                                                                \
    {                                                                                              \
        [TRIM_TOLERANCE] = { .name = "tolerance",                                                  \
                             .summary = "Levels by which a sample of the border may differ",       \
                             .unit = "levels",                                                     \
                             .type = PARAM_INT,                                                    \
                             .max = 255,                                                           \
                             .def = 10 },                                                          \
        [TRIM_COLOR] = { .name = "color",                                                          \
                         .summary = "Colour of the border; that of the top left pixel if not "     \
                                    "given",                                                       \
                         .type = PARAM_COLOUR,                                                     \
                         .def = -1 },                                                              \
        { .name = NULL },                                                                          \
    }

/* A pixel is border if every sample is LOW to LOW + SPAN; NONE: no pixel is, by its colour. */
struct trim_border {
    uint32_t low[4], span[4]; /* alpha at its place in the pixel */
    bool none;
};

/* COLOR, LEVELS: the parameters; FIRST: the samples of the top left pixel. */
HOST_DEVICE struct trim_border trim_border_of(long color, long levels, const uint32_t first[4],
                                              unsigned channels, unsigned depth) {
    const uint32_t scale = depth == 16 ? 257 : 1, most = 255 * scale;
    const uint32_t tolerance = (uint32_t)levels * scale;
    const struct background given = background_of(color, channels, depth);
    const bool has_alpha = channels % 2 == 0;
    const uint32_t own = has_alpha ? first[channels - 1] : most;
    const uint32_t alpha = color < 0 ? own : ((uint32_t)color & 255) * scale;
    struct trim_border border;
    border.none = !has_alpha && alpha + tolerance < most;
    for (unsigned c = 0; c < channels; c++) {
        const bool is_alpha = has_alpha && c == channels - 1;
        const uint32_t sample = is_alpha ? alpha : color < 0 ? first[c] : given.sample[c % 3];
        const uint32_t low = sample > tolerance ? sample - tolerance : 0;
        const uint32_t high = most - sample > tolerance ? sample + tolerance : most;
        const bool any = !is_alpha && !alpha;
        border.low[c] = any ? 0 : low;
        border.span[c] = any ? most : high - low;
    }
    return border;
}

/* Whether a pixel of SAMPLES is border. */
HOST_DEVICE bool trim_is_border(const struct trim_border *border, const uint32_t samples[4],
                                unsigned channels) {
    bool within = !border->none;
    for (unsigned c = 0; c < channels; c++)
        within &= samples[c] - border->low[c] <= border->span[c];
    return within || (channels % 2 == 0 && !samples[channels - 1]);
}

#endif
