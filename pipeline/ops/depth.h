// SPDX-License-Identifier: Apache-2.0
/* depth.h - a sample in the other depth.
 *
 * Used by:  depth, on both devices.
 */
#ifndef BURIN_OPS_DEPTH_H
#define BURIN_OPS_DEPTH_H

#include "pipeline/host_device.h"

#include <stdint.h>

enum { DEPTH_BITS }; /* place in the parameter list; 0: 8 bits, 1: 16 bits */

/* 65535 is 257 * 255, so that black and white stay, and 8 bits come back as they were. */
HOST_DEVICE uint32_t depth_convert(uint32_t sample, unsigned from, unsigned to) {
    return from == to ? sample : to == 8 ? (sample + 128) / 257 : sample * 257;
}

#endif
