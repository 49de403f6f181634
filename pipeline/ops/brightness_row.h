// SPDX-License-Identifier: Apache-2.0
/* brightness_row.h - a row of samples, each made brighter by brightness.h's rule.
 *
 * Used by:  ops/brightness.c, ops/edge.c.
 * Threads:  any.
 */
#ifndef BURIN_OPS_BRIGHTNESS_ROW_H
#define BURIN_OPS_BRIGHTNESS_ROW_H

#include "pipeline/ops/brightness.h"
#include "pipeline/rows/pointwise.h"

static inline vector8 brighten8(vector8 v, struct brightness_rule rule) {
    return vector8_min(vector8_max(v, vector8_all(rule.low)), vector8_all(rule.high)) +
           vector8_all(rule.add);
}

static inline vector16 brighten16(vector16 v, struct brightness_rule rule) {
    return vector16_min(vector16_max(v, vector16_all(rule.low)), vector16_all(rule.high)) +
           vector16_all(rule.add);
}

POINTWISE_ROW(brightness_row8, vector8, struct brightness_rule, brighten8)
POINTWISE_ROW(brightness_row16, vector16, struct brightness_rule, brighten16)

/* Brightens BYTES bytes of samples of DEPTH bits; alpha, if CHANNELS includes it, is unchanged. OUT
 * may be IN. */
static inline void brightness_row(const uint8_t *in, uint8_t *out, size_t bytes,
                                  struct brightness_rule rule, unsigned channels, unsigned depth) {
    (depth == 8 ? brightness_row8 : brightness_row16)(in, out, bytes, rule, channels);
}

#endif
