// SPDX-License-Identifier: Apache-2.0
/* expand.h - pixels of a PNG as samples of 8 or 16 bits: gray of few bits is scaled, a palette
 * looked up, tRNS becomes alpha.
 *
 * Used by:  png/decoder.c.
 * Threads:  any.
 * Source:   W3C PNG, 11.3.1, 13.12; where a file breaks the rules, libpng's doing.
 */
#ifndef BURIN_PNG_EXPAND_H
#define BURIN_PNG_EXPAND_H

#include "pipeline/codecs/png/parts.h"

struct png_expansion {
    unsigned bits, pixel, channels; /* a stored sample; bytes of a stored pixel; of the result */
    enum { EXPAND_COPY, EXPAND_LOOK_UP, EXPAND_KEY } how;
    uint8_t colours[256][4]; /* EXPAND_LOOK_UP: the samples of each stored pixel */
    uint8_t key[6];          /* EXPAND_KEY: the stored pixel whose alpha is 0 */
};

void png_expansion_init(struct png_expansion *expansion, const struct png_parts *parts);

/* COUNT pixels, 16 bits in the machine's own byte order. */
void png_expand(const struct png_expansion *expansion, const uint8_t *row, uint8_t *samples,
                uint32_t count);

#endif
