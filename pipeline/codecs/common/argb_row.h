// SPDX-License-Identifier: Apache-2.0
/* argb_row.h - a row of any image as words of 8 bits a sample, alpha highest, then red.
 *
 * Used by:  webp/encoder.c, avif.c.
 * Threads:  any.
 */
#ifndef BURIN_ARGB_ROW_H
#define BURIN_ARGB_ROW_H

#include "pipeline/image.h"

/* Gray becomes three equal colours, missing alpha 255; 16 bits become v / 257, rounded. WORDS has
 * room for the image's width. */
void argb_row(const struct image *image, uint32_t y, uint32_t *words);

#endif
