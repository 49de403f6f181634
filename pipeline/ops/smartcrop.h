// SPDX-License-Identifier: Apache-2.0
/* smartcrop.h - which part of an image is kept.
 *
 * Each pixel has carve's gradient energy (carve/definition.h: 8-bit luma, border replicated). Its
 * weight is min(x + 1, W - x) where the part is narrower than the image, because pictures are busy
 * at their edges too, times min(y + 1, H - y) where it is lower. The part with the greatest sum of
 * weighed energies is kept; of equal ones the nearest to the centre, by |2 left - (W - width)| + |2
 * top - (H - height)|, then the uppermost, then the leftmost.
 *
 * Used by:  smartcrop, on both devices.
 * Limits:   SMARTCROP_PIXELS_MAX, so that sums (below 690 / 16 * pixels^2) fit 64 bits.
 */
#ifndef BURIN_OPS_SMARTCROP_H
#define BURIN_OPS_SMARTCROP_H

#include "pipeline/ops/carve/definition.h"

/* Places in the parameter list. */
enum { SMARTCROP_WIDTH, SMARTCROP_HEIGHT, SMARTCROP_BACKGROUND };

enum { SMARTCROP_PIXELS_MAX = 1 << 29 };

/* Returns the weight of pixel I of a side of N, of which WINDOW are kept. */
HOST_DEVICE uint32_t smartcrop_weight(uint32_t i, uint32_t n, uint32_t window) {
    return window == n ? 1 : i + 1 < n - i ? i + 1 : n - i;
}

struct smartcrop_part {
    uint64_t sum;
    uint32_t apart, top, left; /* apart: twice the distance from the centre */
};

/* Returns `apart`; WIDTH x HEIGHT columns and rows are cut off. */
HOST_DEVICE uint32_t smartcrop_apart(uint32_t left, uint32_t top, uint32_t width, uint32_t height) {
    return carve_apart(2 * left, width) + carve_apart(2 * top, height);
}

HOST_DEVICE bool smartcrop_better(const struct smartcrop_part *a, const struct smartcrop_part *b) {
    if (a->sum != b->sum) return a->sum > b->sum;
    if (a->apart != b->apart) return a->apart < b->apart;
    return a->top != b->top ? a->top < b->top : a->left < b->left;
}

#endif
