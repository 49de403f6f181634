// SPDX-License-Identifier: Apache-2.0
/* histeq.h - the arithmetic of histogram equalization that both devices share.
 *
 * Integers only, so both devices agree in every bit. M is the largest sample, 255 or 65535. Pixels
 * with alpha 0 are not counted; where no pixel is left, nothing changes.
 * The method is the textbook one (Gonzalez and Woods, Digital Image Processing, 3.3); colour by the
 * HSV value V needs no HSV: with hue and saturation fixed, R, G and B scale by V' / V.
 *
 * Used by:  histeq, on both devices.
 */
#ifndef BURIN_OPS_HISTEQ_H
#define BURIN_OPS_HISTEQ_H

#include "pipeline/ops/histogram_level.h"

/* Places in the parameter list. */
enum { HISTEQ_BINS, HISTEQ_SCALE, HISTEQ_CHANNEL };
enum { HISTEQ_MINMAX, HISTEQ_MAXABS };
enum { HISTEQ_VALUE, HISTEQ_LUMA, HISTEQ_EACH };

/* round(M * part / whole), half up. */
HOST_DEVICE uint32_t histeq_level(uint64_t part, uint64_t whole, uint32_t max) {
    return (uint32_t)((2 * max * part + whole) / (2 * whole));
}

/* New level of a bin whose inclusive sum is `sum`; `first` is the sum at the first bin that is not
 * empty. Not for minmax where first == pixels: such an image stays as it is. */
HOST_DEVICE uint32_t histeq_quantile(uint64_t sum, uint64_t first, uint64_t pixels, uint32_t max,
                                     int scale) {
    return scale == HISTEQ_MAXABS ? histeq_level(sum, pixels, max)
           : sum < first          ? 0 /* bins before the first: only pixels with alpha 0 ask */
                                  : histeq_level(sum - first, pixels - first, max);
}

#endif
