// SPDX-License-Identifier: Apache-2.0
/* smartcrop.h - which part of an image is kept.
 *
 * Each pixel has carve's gradient energy (carve/definition.h: 8-bit luma, border replicated). It
 * weighs min(x + 1, W - x) where the part is narrower than the image, since pictures are busy at
 * their edges too, and min(y + 1, H - y) where it is lower. The part with the greatest sum of
 * weighed energies is kept; of equals the one nearest to the centre, |2 left - (W - width)| +
 * |2 top - (H - height)|, then the upper one, then the left one.
 *
 * Used by:  smartcrop, on both devices.
 * Bounds:   sums below 690 / 16 * pixels^2, which 64 bits hold of SMARTCROP_PIXELS_MAX.
 */
#ifndef BURIN_OPS_SMARTCROP_H
#define BURIN_OPS_SMARTCROP_H

#include "pipeline/ops/carve/definition.h"

/* Places in the parameter list. */
enum { SMARTCROP_WIDTH, SMARTCROP_HEIGHT };

enum { SMARTCROP_PIXELS_MAX = 1 << 29 };

/* Pixel I of a side of N of which WINDOW are kept. */
HOST_DEVICE uint32_t smartcrop_weight(uint32_t i, uint32_t n, uint32_t window) {
    return window == n ? 1 : i + 1 < n - i ? i + 1 : n - i;
}

/* A part, and what it is judged by. */
struct smartcrop_part {
    uint64_t sum;
    uint32_t apart, top, left; /* apart: twice the way from the centre */
};

/* Of WIDTH x HEIGHT columns and rows that are cut off. */
HOST_DEVICE uint32_t smartcrop_apart(uint32_t left, uint32_t top, uint32_t width, uint32_t height) {
    return carve_apart(2 * left, width) + carve_apart(2 * top, height);
}

HOST_DEVICE bool smartcrop_better(const struct smartcrop_part *a, const struct smartcrop_part *b) {
    if (a->sum != b->sum) return a->sum > b->sum;
    if (a->apart != b->apart) return a->apart < b->apart;
    return a->top != b->top ? a->top < b->top : a->left < b->left;
}

#endif
