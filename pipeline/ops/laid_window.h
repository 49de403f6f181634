// SPDX-License-Identifier: Apache-2.0
/* laid_window.h - an image's rows in a window, laid over a background where they have alpha.
 *
 * Used by:  convolve.c, median.c.
 * Threads:  a window belongs to one.
 */
#ifndef BURIN_OPS_LAID_WINDOW_H
#define BURIN_OPS_LAID_WINDOW_H

#include "pipeline/image.h"
#include "pipeline/rows/alpha.h"
#include "pipeline/rows/window.h"

/* Writes row Y of IN into WINDOW, with its borders. */
static inline void laid_window_take(const struct window *window, const struct image *in, uint32_t y,
                                    const struct background *under) {
    if (image_has_alpha(in))
        alpha_lay(image_row(in, y), window_row(window, y), in->width, in->channels, in->depth,
                  under);
    else
        memcpy(window_row(window, y), image_row(in, y), image_row_bytes(in));
    window_pad(window, y);
}

#endif
