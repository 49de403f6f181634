// SPDX-License-Identifier: Apache-2.0
/* alpha.h - rows of pixels with alpha: their colours weighed by it and taken back
 * (pipeline/premultiply.h has the arithmetic), and alpha that rides along.
 *
 * Used by:  operators that make a pixel of several, or leave its alpha alone.
 * Threads:  any.
 */
#ifndef BURIN_ALPHA_H
#define BURIN_ALPHA_H

#include <stddef.h>
#include <stdint.h>

/* CHANNELS is 2 or 4, the last of which is alpha and stays as it is. TO may be FROM, or apart. */
void alpha_multiply(const uint8_t *from, uint8_t *to, size_t pixels, unsigned channels,
                    unsigned depth);
void alpha_divide(const uint8_t *from, uint8_t *to, size_t pixels, unsigned channels,
                  unsigned depth);

/* IN's alpha into OUT. */
void alpha_keep(const uint8_t *in, uint8_t *out, size_t pixels, unsigned channels, unsigned depth);

#endif
