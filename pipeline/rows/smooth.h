// SPDX-License-Identifier: Apache-2.0
/* smooth.h - two rows at a time through symmetric integer weights, across and then down, with
 * AVX-512 or AVX2 where the CPU has it.
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

/* Two taps: neighbours across, or two rows down whose sums stand next to each other. */
struct smooth_tap {
    uint16_t place;    /* from the first tap: pixels, or pairs of rows */
    uint16_t bytes;    /* across 8 bit: the first's weight, and the second's in the upper byte */
    uint32_t words[2]; /* the first's weight, and the second's in the upper half: for the first
                          result and for the second, a row below, which there is down alone */
};

/* Four taps across, a byte each, the first in the lowest. */
struct smooth_quad {
    uint32_t place; /* pixels from the first tap */
    uint32_t weights;
};

struct smooth_taps {
    struct gaussian gaussian;
    uint32_t channels;
    int across_count, down_count, quad_count;             /* those that are all 0 are left out */
    struct smooth_quad quads[GAUSSIAN_REACH_MAX / 2 + 1]; /* of 8 bit alone */
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
