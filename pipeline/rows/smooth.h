// SPDX-License-Identifier: Apache-2.0
/* smooth.h - two rows at a time through symmetric integer weights, across and then down, with
 * AVX2 where the CPU has it.
 *
 * Nothing is rounded between the passes, and what is kept between them holds every sum: 8 bit has
 * 8.8 bits there, 16 bit 16.16. The result is (sum + half) >> 16 (>> 32 of 16 bit).
 *
 * Used by:  pipeline/smooth.c.
 * Owns:     nothing; sizes of the caller's memory are in smooth_sizes.
 * Threads:  any; memory belongs to one. The limit of simd.h stays while a strip is under way.
 */
#ifndef BURIN_ROWS_SMOOTH_H
#define BURIN_ROWS_SMOOTH_H

#include "pipeline/gaussian.h"

#include <stddef.h>
#include <stdint.h>

/* Samples that are worked on together; strips have whole chunks of memory. */
enum { SMOOTH_CHUNK = 32 };

/* Pairs of taps, one more where the centre is too heavy for 16 signed bits. */
enum { SMOOTH_PAIRS_MAX = GAUSSIAN_REACH_MAX + 2 };

/* Two rows whose sums stand next to each other, sample by sample: rows 2k and 2k + 1 of those that
 * the window of the first result begins with. */
struct smooth_tap {
    uint16_t place; /* pixels from the first tap (across), pairs of rows from the first (down) */
    uint16_t weight[2][2]; /* of the pair's first and second, in the first and second result */
};

struct smooth_taps {
    struct gaussian gaussian;
    uint32_t channels;
    int across_count, down_count; /* pairs that are all 0 are left out */
    struct smooth_tap across[SMOOTH_PAIRS_MAX], down[SMOOTH_PAIRS_MAX];
};

void smooth_taps_make(struct smooth_taps *taps, const struct gaussian *gaussian, uint32_t channels);

/* Bytes for a strip of CHUNKS chunks; pairs of rows that stand in its ring. */
struct smooth_sizes {
    size_t line; /* a row of samples, with its borders continued */
    size_t work; /* what smooth_across needs for itself */
    size_t ring, slots;
    size_t row; /* a row of results */
};
struct smooth_sizes smooth_sizes_of(const struct smooth_taps *taps, size_t chunks);

/* LINES are two rows, each from `reach` pixels before the strip on; their sums go into SLOT. */
void smooth_across(const struct smooth_taps *taps, const uint8_t *const lines[2], uint8_t *work,
                   size_t chunks, uint8_t *ring, size_t slot);

/* Two rows of results; the window of the first begins with the first row of SLOT. */
void smooth_down(const struct smooth_taps *taps, const uint8_t *ring, size_t slot, size_t chunks,
                 uint8_t *const out[2]);

#endif
