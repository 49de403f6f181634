// SPDX-License-Identifier: Apache-2.0
/* alpha.h - rows of pixels with alpha: colours multiplied and divided by it (pipeline/premultiply.h
 * has the arithmetic), and alpha copied.
 *
 * Used by:  operators that mix several pixels, or keep alpha.
 * Threads:  any; no state.
 */
#ifndef BURIN_ALPHA_H
#define BURIN_ALPHA_H

#include <stddef.h>
#include <stdint.h>

/* CHANNELS is 2 or 4; the last is alpha, which is unchanged. TO is FROM or does not overlap it. */
void alpha_multiply(const uint8_t *from, uint8_t *to, size_t pixels, unsigned channels,
                    unsigned depth);
void alpha_divide(const uint8_t *from, uint8_t *to, size_t pixels, unsigned channels,
                  unsigned depth);

void alpha_keep(const uint8_t *in, uint8_t *out, size_t pixels, unsigned channels, unsigned depth);

#endif
