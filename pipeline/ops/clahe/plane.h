// SPDX-License-Identifier: Apache-2.0
/* plane.h - what clahe equalizes of an image, a plane of one channel, and what becomes of the image
 * when it is done.
 *
 * Used by:  ops/clahe.c.
 * Threads:  any.
 */
#ifndef BURIN_CLAHE_PLANE_H
#define BURIN_CLAHE_PLANE_H

#include "pipeline/image.h"
#include "pipeline/ops/clahe.h"

/* What a plane is made of: HSV value, luma, or one channel. */
struct clahe_plane {
    int mode; /* CLAHE_VALUE...; CLAHE_EACH: of `channel` */
    unsigned channel;
};

/* PLANE of PIXELS of IN, which has CHANNELS. */
void clahe_plane_take(struct clahe_plane plane, const uint8_t *in, uint8_t *gray, size_t pixels,
                      unsigned channels, unsigned depth);

/* OUT of IN and the plane's new levels; of one channel, that channel alone is written. */
void clahe_plane_put(struct clahe_plane plane, const uint8_t *in, const uint8_t *levels,
                     uint8_t *out, size_t pixels, unsigned channels, unsigned depth);

#endif
