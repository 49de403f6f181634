// SPDX-License-Identifier: Apache-2.0
/* smooth.h - filters two rows at a time with symmetric integer weights, across and then down, with
 * AVX-512 or AVX2 where the CPU has it.
 *
 * Nothing is rounded between the passes: sums there have 8.8 bits for 8-bit samples, 16.16 for
 * 16-bit ones. The result is (sum + half) >> 16 (>> 32 for 16 bit).
 *
 * Used by:  pipeline/smooth.c.
 * Owns:     nothing; smooth_sizes gives the sizes of the caller's memory.
 * Threads:  any; memory belongs to one. The limit of simd.h must not change during a strip.
 */
#ifndef BURIN_ROWS_SMOOTH_H
#define BURIN_ROWS_SMOOTH_H

#include "pipeline/gaussian.h"

#include <stddef.h>
#include <stdint.h>

/* Samples that are processed together; strips have memory for whole chunks. */
enum { SMOOTH_CHUNK = 32 };

/* Pairs of taps; one more where the centre exceeds 16 signed bits. */
enum { SMOOTH_PAIRS_MAX = GAUSSIAN_REACH_MAX + 2 };

/* Two taps: neighbours across, or two rows whose sums lie side by side. */
struct smooth_tap {
    uint16_t place; /* from the first tap, in pixels or pairs of rows */
    uint16_t bytes; /* across, 8 bit: the first weight, the second in the upper byte */
    uint32_t words
        [2]; /* the first weight, the second in the upper half: for the first result and, down only,
                for the second, a row below */
};

struct smooth_taps {
    struct gaussian gaussian;
    uint32_t channels;
    int across_count, down_count; /* taps of weight 0 are omitted */
    struct smooth_tap across[SMOOTH_PAIRS_MAX], down[SMOOTH_PAIRS_MAX];
};

void smooth_taps_make(struct smooth_taps *taps, const struct gaussian *gaussian, uint32_t channels);

/* Bytes for a strip of CHUNKS chunks; `slots`: pairs of rows in its ring. */
struct smooth_sizes {
    size_t line; /* a row of samples with continued borders */
    size_t work; /* memory of smooth_across */
    size_t ring, slots;
    size_t row; /* a row of results */
};
struct smooth_sizes smooth_sizes_of(const struct smooth_taps *taps, size_t chunks);

/* LINES are two rows, each from `reach` pixels before the strip on; writes their sums to SLOT. */
void smooth_across(const struct smooth_taps *taps, const uint8_t *const lines[2], uint8_t *work,
                   size_t chunks, uint8_t *ring, size_t slot);

/* Makes two rows of results; the first one's window begins with the first row of SLOT. */
void smooth_down(const struct smooth_taps *taps, const uint8_t *ring, size_t slot, size_t chunks,
                 uint8_t *const out[2]);

#endif
