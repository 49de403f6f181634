// SPDX-License-Identifier: Apache-2.0
/* cut.h - the columns and rows at the sides of an image that trim cuts off.
 *
 * Used by:  op.h, plan.c, run.c; find_trim and trim, on both devices.
 * Threads:  any; no state.
 */
#ifndef BURIN_CUT_H
#define BURIN_CUT_H

#include "pipeline/image.h"

#include <stdbool.h>
#include <stdint.h>

enum { CUT_SIDES = 4 };

/* In the order of find_trim's values. */
struct cut {
    uint32_t left, top, right, bottom;
};

/* Whether it leaves something of IN. As a finder's values: whether not all of IN is border. */
static inline bool cut_leaves(const struct cut *cut, const struct image *in) {
    return (uint64_t)cut->left + cut->right < in->width &&
           (uint64_t)cut->top + cut->bottom < in->height;
}

/* The shape that is left of IN. */
static inline struct image cut_shape(const struct image *in, const struct cut *cut) {
    return image_shape(in->width - cut->left - cut->right, in->height - cut->top - cut->bottom,
                       in->channels, in->depth);
}

#endif
