// SPDX-License-Identifier: Apache-2.0
/* resample_alpha.h - scaling pixels with alpha, so that one colour stays one colour: exact sums.
 *
 * With samples of D bits, M = 2^D - 1 and H = 2^(D - 1), a pixel of colour c and alpha a counts
 *   (c - H) a   for a colour, and
 *   H a         for alpha:
 * nothing is rounded or clamped before both axes are summed, but for the sum across, which keeps
 * ALPHA_BITS bits of fraction: (2^17 + sum of weight * count) >> 18. Down the columns the sum of
 * weight * that is rounded to C for a colour and to A for alpha, by (2^21 + sum) >> 22. Then
 *   alpha   is A / (16 H), rounded half up, clamped to 0..M;
 *   colour  is H + H C / A, rounded half up, clamped to 0..M; 0 where the alpha is 0.
 * An axis that keeps its size has windows of one pixel with weight 2^22.
 *
 * Both roundings move C and A by at most 1.3. Where alpha is at least 1, A is at least 8 H; so a
 * colour that all pixels share moves by at most 0.33, and stays. Colours from H on need no larger
 * numbers than alpha: |count| is at most H M, a sum across at most 1.56 * 16 H M, which is below
 * 2^20 of 8 bits and 2^36 of 16.
 *
 * Used by:  the ways of rows/resample.c for alpha; the operator's twin.
 * Threads:  any; no state.
 */
#ifndef BURIN_RESAMPLE_ALPHA_H
#define BURIN_RESAMPLE_ALPHA_H

#include "pipeline/host_device.h"
#include "pipeline/rows/resample_weights.h"

enum { ALPHA_BITS = 4, ALPHA_SHIFT = RESAMPLE_BITS - ALPHA_BITS };

/* The count of sample COLOUR under ALPHA. */
HOST_DEVICE int32_t resample_count(uint32_t colour, uint32_t alpha, unsigned depth) {
    return (int32_t)((colour - (1u << (depth - 1))) * alpha);
}

HOST_DEVICE int32_t resample_count_alpha(uint32_t alpha, unsigned depth) {
    return (int32_t)(alpha << (depth - 1));
}

HOST_DEVICE int64_t resample_across(int64_t sum) {
    return (sum + (1 << (ALPHA_SHIFT - 1))) >> ALPHA_SHIFT;
}

HOST_DEVICE int64_t resample_down(int64_t sum) {
    return (sum + (1 << (RESAMPLE_BITS - 1))) >> RESAMPLE_BITS;
}

/* A's sample. */
HOST_DEVICE uint32_t resample_alpha(int64_t a, unsigned depth) {
    const unsigned shift = depth - 1 + ALPHA_BITS;
    const int64_t alpha = (a + (1 << (shift - 1))) >> shift, max = (1 << depth) - 1;
    return alpha < 0 ? 0 : alpha > max ? (uint32_t)max : (uint32_t)alpha;
}

/* C's sample; the quotient is (2 H C + (2 H + 1) A) / 2 A. */
HOST_DEVICE uint32_t resample_colour(int64_t c, int64_t a, unsigned depth) {
    const int64_t dividend = (c + a) * (1 << depth) + a, max = (1 << depth) - 1;
    if (!resample_alpha(a, depth) || dividend < 0) return 0;
    const int64_t quotient = dividend / (2 * a);
    return quotient > max ? (uint32_t)max : (uint32_t)quotient;
}

#endif
