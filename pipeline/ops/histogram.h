// SPDX-License-Identifier: Apache-2.0
/* histogram.h - the levels that belong to a bin.
 *
 * Used by:  histogram, on both devices.
 */
#ifndef BURIN_OPS_HISTOGRAM_H
#define BURIN_OPS_HISTOGRAM_H

#include "pipeline/ops/histogram_level.h"

/* Places in the parameter list. */
enum { HISTOGRAM_BINS, HISTOGRAM_BACKGROUND };

/* Returns the first 8-bit level whose level_bin is BIN or a later one. */
HOST_DEVICE uint32_t histogram_first_level(uint32_t bin, uint32_t bins) {
    return (bin * 256 + bins - 1) / bins;
}

#endif
