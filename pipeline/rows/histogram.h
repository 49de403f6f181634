// SPDX-License-Identifier: Apache-2.0
/* histogram.h - how often each 8-bit value, or each bin of 16-bit values, occurs in a run of
 * samples, with AVX2 where the CPU has it.
 *
 * Used by:  ops/histeq.c, ops/histogram.c.
 * Threads:  any; a histogram belongs to one at a time.
 * Limits:   2^32 - 1 a value or bin in each table.
 */
#ifndef BURIN_HISTOGRAM_H
#define BURIN_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Counts are spread over tables, so that equal neighbours need not wait for each other. The caller
 * zeroes the struct; a value's count is the sum over the tables. */
struct histogram {
    uint32_t table[8][256];
};
void histogram_counts(const struct histogram *histogram, uint32_t counts[256]);

void histogram_add(struct histogram *histogram, const uint8_t *bytes, size_t length);

/* Counts each colour channel separately; HISTOGRAMS has one for each. Alpha is left out, and pixels
 * that have none of it. */
void histogram_add_channels(struct histogram *histograms, const uint8_t *bytes, size_t pixels,
                            unsigned channels);

/* Counts V = max(R, G, B) of every pixel. */
void histogram_add_values(struct histogram *histogram, const uint8_t *rgb, size_t pixels);

/* ---- 16 bits, BINS 1..65536: the bin of v is floor(v * BINS / 65536) */

/* Returns the number of tables over which neighbours are spread, as far as they fit the cache. */
static inline unsigned histogram16_tables(uint32_t bins) {
    return bins <= 4096 ? 4 : 1;
}

/* Adds to COUNTS[table][colour][BINS], which the caller zeroes and sums up. Alpha is left out, and
 * pixels that have none of it. */
void histogram16_add(uint32_t *counts, uint32_t bins, const uint8_t *bytes, size_t pixels,
                     unsigned channels);

#endif
