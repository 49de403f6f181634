// SPDX-License-Identifier: Apache-2.0
/* histogram16.h - how many 16-bit samples of a run each bin has, channel by channel.
 *
 * Used by:  ops/histogram.c.
 * Threads:  any; counts belong to one at a time.
 * Limits:   bins 1..65536, 2^32 - 1 samples a bin.
 */
#ifndef BURIN_HISTOGRAM16_H
#define BURIN_HISTOGRAM16_H

#include <stddef.h>
#include <stdint.h>

/* Tables that neighbours are spread over, so that equal ones do not wait for each other: as long as
 * they fit into the cache. */
static inline unsigned histogram16_tables(uint32_t bins) {
    return bins <= 4096 ? 4 : 1;
}

/* COUNTS[table][colour][BINS], which the caller zeroes and sums up; alpha is left out. Bin of v:
 * floor(v * BINS / 65536). */
void histogram16_add(uint32_t *counts, uint32_t bins, const uint8_t *bytes, size_t pixels,
                     unsigned channels);

#endif
