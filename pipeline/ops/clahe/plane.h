// SPDX-License-Identifier: Apache-2.0
/* plane.h - the plane of one channel that clahe equalizes, taken out of the image and put back.
 *
 * Used by:  ops/clahe.c.
 * Threads:  any; no state.
 */
#ifndef BURIN_CLAHE_PLANE_H
#define BURIN_CLAHE_PLANE_H

#include "pipeline/image.h"
#include "pipeline/ops/clahe.h"

/* The source of a plane: HSV value, luma, or one channel. */
struct clahe_plane {
    int mode; /* CLAHE_VALUE...; CLAHE_EACH: the channel `channel` */
    unsigned channel;
};

/* Takes PLANE of PIXELS pixels of IN, which has CHANNELS channels. */
void clahe_plane_take(struct clahe_plane plane, const uint8_t *in, uint8_t *gray, size_t pixels,
                      unsigned channels, unsigned depth);

/* Writes OUT from IN and the plane's new LEVELS; a plane of one channel writes only that channel.
 */
void clahe_plane_put(struct clahe_plane plane, const uint8_t *in, const uint8_t *levels,
                     uint8_t *out, size_t pixels, unsigned channels, unsigned depth);

#endif
