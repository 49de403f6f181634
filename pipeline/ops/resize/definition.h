// SPDX-License-Identifier: Apache-2.0
/* definition.h - resize: the exact definition, and the arithmetic that both devices share.
 *
 * frame.h defines the picture's size, which part is kept and where it lies. The pixels, where a
 * side of the picture changes:
 *   light    with `linear` each sample of a colour goes through a table to 16 bits of linear light,
 *            alpha of 8 bits is multiplied by 257, and the following steps use 16 bits;
 *   weights  x first, then y, each where it changes (rows/resample.h); with alpha colours are
 *            weighed by it too (rows/resample_alpha.h);
 *   back     with `linear` colours go through the inverse table, alpha of 8 bits becomes
 *            (a + 128) / 257.
 * `nearest` moves pixels: when an axis of n pixels becomes m, pixel i is the source pixel floor((2
 * i + 1) n / (2 m)). A picture that keeps its size is copied.
 *
 * Used by:  resize, on both devices.
 */
#ifndef BURIN_OPS_RESIZE_DEFINITION_H
#define BURIN_OPS_RESIZE_DEFINITION_H

#include "pipeline/host_device.h"

#include <stdint.h>

/* Places in the parameter list. */
enum {
    RESIZE_WIDTH,
    RESIZE_HEIGHT,
    RESIZE_FIT,
    RESIZE_KERNEL,
    RESIZE_POSITION,
    RESIZE_X,
    RESIZE_Y,
    RESIZE_ENLARGE,
    RESIZE_LINEAR,
    RESIZE_BACKGROUND,
    RESIZE_SHARE,
    RESIZE_AROUND
};
enum { FIT_COVER, FIT_CONTAIN, FIT_FILL, FIT_INSIDE, FIT_OUTSIDE, FIT_CARVE };
/* The first four equal those of enum resample_kernel. */
enum { KERNEL_LANCZOS3, KERNEL_CUBIC, KERNEL_LINEAR, KERNEL_BOX, KERNEL_NEAREST };
enum {
    POSITION_CENTRE,
    POSITION_NORTH,
    POSITION_NORTHEAST,
    POSITION_EAST,
    POSITION_SOUTHEAST,
    POSITION_SOUTH,
    POSITION_SOUTHWEST,
    POSITION_WEST,
    POSITION_NORTHWEST,
    POSITION_SMART
};
enum { AROUND_BACKGROUND, AROUND_EDGE, AROUND_MIRROR };

/* ---- alpha beside linear light */

HOST_DEVICE uint32_t resize_alpha_to_16(uint32_t alpha) {
    return alpha * 257;
}

HOST_DEVICE uint32_t resize_alpha_to_8(uint32_t alpha) {
    return (alpha + 128) / 257;
}

/* ---- nearest */

HOST_DEVICE uint32_t resize_nearest(uint64_t i, uint64_t from, uint64_t to) {
    return (uint32_t)((2 * i + 1) * from / (2 * to));
}

#endif
