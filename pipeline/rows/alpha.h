// SPDX-License-Identifier: Apache-2.0
/* alpha.h - rows of pixels with alpha: colours multiplied and divided by it (pipeline/premultiply.h
 * has the arithmetic), laid over a background (pipeline/background.h), hidden; and alpha copied.
 *
 * Used by:  operators that mix several pixels, or keep alpha.
 * Threads:  any; no state.
 */
#ifndef BURIN_ALPHA_H
#define BURIN_ALPHA_H

#include "pipeline/background.h"

#include <stddef.h>
#include <stdint.h>

/* CHANNELS is 2 or 4; the last is alpha, which is unchanged. TO is FROM or does not overlap it. */
void alpha_multiply(const uint8_t *from, uint8_t *to, size_t pixels, unsigned channels,
                    unsigned depth);
void alpha_divide(const uint8_t *from, uint8_t *to, size_t pixels, unsigned channels,
                  unsigned depth);

/* Lays colours over UNDER; alpha is unchanged. FROM and TO must not overlap. */
void alpha_lay(const uint8_t *from, uint8_t *to, size_t pixels, unsigned channels, unsigned depth,
               const struct background *under);

/* Replaces the colours of pixels with alpha 0 by FILL; returns the number of the others. */
size_t alpha_hide(const uint8_t *from, uint8_t *to, size_t pixels, unsigned channels,
                  unsigned depth, uint32_t fill);

void alpha_keep(const uint8_t *in, uint8_t *out, size_t pixels, unsigned channels, unsigned depth);

#endif
