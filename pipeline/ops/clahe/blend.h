// SPDX-License-Identifier: Apache-2.0
/* blend.h - looks samples up in four tables and mixes the levels by place, with AVX2 or AVX-512
 * where the CPU has it.
 *
 * Used by:  ops/clahe.c.
 * Threads:  any; no state.
 */
#ifndef BURIN_CLAHE_BLEND_H
#define BURIN_CLAHE_BLEND_H

#include "pipeline/image.h"

struct clahe_blend {
    const void *upper[2], *lower[2]; /* left and right table: a sample for each level */
    const float *right;              /* for each column the weight of the right tables, 0..1 */
    const float *down;               /* for each row the weight of the lower tables, 0..1 */
};

/* IN and OUT are gray, have one shape and do not overlap; the result is clahe_mix's. */
void clahe_blend_rows(const struct clahe_blend *blend, const struct image *in,
                      const struct image *out);

#endif
