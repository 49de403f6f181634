// SPDX-License-Identifier: Apache-2.0
/* luma.h - luma of a pixel, the same on both devices.
 *
 * Used by:  operators that work on the gray of a colour, on either device.
 * Source:   ITU-R BT.601, weights rounded to 1/256; 77 + 150 + 29 = 256, so white stays white.
 */
#ifndef BURIN_LUMA_H
#define BURIN_LUMA_H

#include "pipeline/host_device.h"

#include <stdint.h>

HOST_DEVICE uint32_t luma(uint32_t red, uint32_t green, uint32_t blue) {
    return (77 * red + 150 * green + 29 * blue + 128) >> 8;
}

#endif
