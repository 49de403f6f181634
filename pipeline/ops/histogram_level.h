// SPDX-License-Identifier: Apache-2.0
/* histogram_level.h - levels of a histogram: a sample's bin, and a colour that takes its value's
 * new level.
 *
 * Integers only, so both devices agree in every bit. M is the largest sample, 255 or 65535.
 *
 * Used by:  histeq, histogram and clahe, on both devices.
 * Threads:  any; no state.
 */
#ifndef BURIN_OPS_HISTOGRAM_LEVEL_H
#define BURIN_OPS_HISTOGRAM_LEVEL_H

#include "pipeline/luma.h"

#include <stdint.h>

/* Returns the bin of VALUE among BINS equal bins of 0..MAX. */
HOST_DEVICE uint32_t level_bin(uint32_t value, uint32_t bins, uint32_t max) {
    return (uint32_t)((uint64_t)value * bins / (max + 1u));
}

/* round(c * V' / V), half up, clamped to M; V' where V is 0. */
HOST_DEVICE uint32_t level_scaled(uint32_t sample, uint32_t value, uint32_t new_value,
                                  uint32_t max) {
    if (value == 0) return new_value;
    const uint64_t scaled = (2 * (uint64_t)sample * new_value + value) / (2 * (uint64_t)value);
    return scaled < max ? (uint32_t)scaled : max;
}

#endif
