// SPDX-License-Identifier: Apache-2.0
/* stretch.h - a sample of a range, over the whole range.
 *
 * Used by:  levels and normalize, on both devices.
 */
#ifndef BURIN_OPS_STRETCH_H
#define BURIN_OPS_STRETCH_H

#include "pipeline/host_device.h"

#include <stdint.h>

/* round(MAX (value - low) / (high - low)), half up, clamped to 0..MAX; LOW < HIGH <= MAX < 2^16.
 * The largest sum is 65535 * 65535 + 32767 < 2^32: adding floor(d / 2) rounds half up for odd d
 * too. */
HOST_DEVICE uint32_t stretch(uint32_t value, uint32_t low, uint32_t high, uint32_t max) {
    const uint32_t range = high - low;
    if (value <= low) return 0;
    return value >= high ? max : (max * (value - low) + range / 2) / range;
}

#endif
