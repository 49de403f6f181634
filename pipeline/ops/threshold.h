// SPDX-License-Identifier: Apache-2.0
/* threshold.h - M for samples over the level, 0 for the others.
 *
 * Used by:  threshold, on both devices.
 */
#ifndef BURIN_OPS_THRESHOLD_H
#define BURIN_OPS_THRESHOLD_H

#include "pipeline/host_device.h"

#include <stdint.h>

enum { THRESHOLD_LEVEL }; /* place in the parameter list */

/* LEVEL is 0..255; for 16 bit it is multiplied by 257. */
HOST_DEVICE uint32_t threshold_level(long level, unsigned depth) {
    return (uint32_t)level * (depth == 16 ? 257 : 1);
}

HOST_DEVICE uint32_t threshold_of(uint32_t value, uint32_t level, uint32_t max) {
    return value > level ? max : 0;
}

#endif
