// SPDX-License-Identifier: Apache-2.0
/* premultiply.h - colours multiplied by alpha before samples are mixed, and divided by it
 * afterwards.
 *
 * Without this the colour of invisible pixels would bleed into their neighbours. A pixel of full
 * alpha is unchanged by both.
 *
 * Used by:  blur and sharpen, on either device.
 * Threads:  any; no state.
 * Source:   8 bit as Pillow's RGBa does it (src/libImaging/Convert.c, ImagingUtils.h).
 */
#ifndef BURIN_PREMULTIPLY_H
#define BURIN_PREMULTIPLY_H

#include "pipeline/host_device.h"

#include <stdint.h>

/* c a / M: 8 bit half up, 16 bit to the nearest. */
HOST_DEVICE uint32_t premultiply(uint32_t colour, uint32_t alpha, unsigned depth) {
    if (depth == 16) return (colour * alpha + 32767) / 65535;
    const uint32_t scaled = colour * alpha + 128;
    return ((scaled >> 8) + scaled) >> 8;
}

/* floor(M c / a), at most M, because rounding may have left a colour above its alpha. The colour is
 * unchanged where alpha is 0 or M. */
HOST_DEVICE uint32_t unpremultiply(uint32_t colour, uint32_t alpha, unsigned depth) {
    const uint32_t max = depth == 16 ? 65535 : 255;
    if (alpha == 0 || alpha == max) return colour;
    return colour >= alpha ? max : max * colour / alpha;
}

#endif
