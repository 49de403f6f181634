// SPDX-License-Identifier: Apache-2.0
/* sobel.h - gradient magnitudes of one row, with AVX2 where the CPU has it.
 *
 * m = min(M, floor(sqrt(gx^2 + gy^2))), M the largest sample; out is m, or M where `binary`, if m
 * is over `threshold`, else 0. Weights: 3 taps (1 2 1) across and (-1 0 1) along, 5 taps (1 4 6 4
 * 1) across and (-1 -2 0 2 1) along. rows[0 .. taps - 1] point to the first pixel of the window's
 * rows, from the top; taps / 2 pixels left of it and right of the last one are read too. OUT
 * overlaps no row.
 *
 * Used by:  ops/edge.c.
 * Threads:  any.
 * Source:   Sobel and Feldman, 1968; the 5x5 is the 3x3 smoothed once more.
 */
#ifndef BURIN_SOBEL_H
#define BURIN_SOBEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sobel_rule {
    int taps;           /* 3 or 5 */
    uint32_t threshold; /* in samples' own units */
    bool binary;
};

void sobel_bytes(const uint8_t *const rows[], uint8_t *out, size_t pixels,
                 const struct sobel_rule *rule);
void sobel_words(const uint16_t *const rows[], uint16_t *out, size_t pixels,
                 const struct sobel_rule *rule);

#endif
