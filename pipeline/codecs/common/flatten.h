// SPDX-License-Identifier: Apache-2.0
/* flatten.h - rows for formats without alpha, which may hold 8 bits only.
 *
 * Alpha is laid on the background and 16 bits become 8 in one step, rounded half up once.
 *
 * Used by:  jpeg/encoder.c, pnm.c.
 * Threads:  any.
 */
#ifndef BURIN_FLATTEN_H
#define BURIN_FLATTEN_H

#include "pipeline/image.h"

/* Channels of the flat picture, 1 or 3: gray on a coloured background becomes colour. */
unsigned flatten_colours(const struct image *image, const uint8_t background[3]);

/* Row Y of IMAGE as COLOURS samples a pixel of DEPTH bits (the image's, or 8), host byte order.
 * Returns the image's own row if nothing has to change, else fills and returns ROW. */
const uint8_t *flatten_row(const struct image *image, uint32_t y, unsigned colours, unsigned depth,
                           const uint8_t background[3], uint8_t *row);

#endif
