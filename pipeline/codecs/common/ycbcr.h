// SPDX-License-Identifier: Apache-2.0
/* ycbcr.h - samples of Y, Cb, Cr and alpha as AV1 and HEVC code them, to gray or RGB, in integers.
 *
 * B bits a sample, 8 or more; white W = 255 and f = 16 for 8 bits, else W = 65535 and f = 13. All
 * divisions round down, all shifts are of signed numbers.
 *
 *   Chroma c that is coded for two columns or rows lies between them. Pixel (x, y) has
 *       (9 c(i, j) + 3 c(i', j) + 3 c(i, j') + c(i', j') + 8) >> 4
 *   with i = x >> 1 and i' = i + 1 for an odd x, i - 1 for an even one, held within the plane;
 *   i = i' = x if columns are not halved. The same of j, y and rows.
 *
 *   t(v, middle, range, times) = (2 (v - middle) (W << f) times + 10000 range) / (20000 range)
 *   luma  = t(y, black, span, 10000)     black = 16 << (B - 8), span = 219 << (B - 8) if limited,
 *                                        else 0 and 2^B - 1
 *   red   = luma + t(cr, m, c, 2 (10000 - kr))        m = 128 << (B - 8)
 *   blue  = luma + t(cb, m, c, 2 (10000 - kb))        c = 224 << (B - 8) if limited, else 2^B - 1
 *   green = luma + t(cr, m, c kg, -2 (10000 - kr) kr) + t(cb, m, c kg, -2 (10000 - kb) kb)
 *   alpha = t(a, 0, 2^B - 1, 10000)      kg = 10000 - kr - kb; kr and kb by the matrix, times 10000
 *   each then is ((sum + (1 << (f - 1))) >> f), held within 0..W.
 *
 *   With the identity matrix Cr, Y and Cb are red, green and blue, each as luma. Colours v that
 *   alpha a has multiplied become (v W + a / 2) / a, at most W; 0 where a is 0.
 *
 * Used by:  isobmff_pixels.c; cuda/codecs/hevc_decode.cu, with the same tables.
 * Owns:     its tables and rows: the caller calls ycbcr_release, also after a failure.
 * Fails:    ycbcr_init: STATUS_NO_MEMORY; STATUS_NOT_AN_IMAGE for a matrix that is not read.
 * Threads:  one at a time.
 * Source:   ITU-T H.273 (matrices and ranges).
 */
#ifndef BURIN_YCBCR_H
#define BURIN_YCBCR_H

#include "pipeline/host_device.h"
#include "pipeline/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Planes of one picture; of more than 8 bits their samples take two bytes, in the machine's order.
 */
struct ycbcr_planes {
    const uint8_t *planes[4]; /* Y, Cb, Cr, alpha; NULL: not there */
    size_t strides[4];        /* bytes */
    uint32_t width, height;
    unsigned bits;           /* a sample: 8, 10 or 12 */
    bool halved_x, halved_y; /* chroma */
    bool limited;            /* black is 16 and white 235, of 8 bits */
    bool premultiplied;      /* by alpha */
    unsigned matrix;         /* of H.273 */
};

/* Tables, one behind the other, of 2^bits numbers each. */
enum ycbcr_product {
    YCBCR_LUMA,
    YCBCR_RED_CR,
    YCBCR_GREEN_CB,
    YCBCR_GREEN_CR,
    YCBCR_BLUE_CB,
    YCBCR_OPACITY,
    YCBCR_PRODUCTS
};
enum { YCBCR_FRACTION_8 = 16, YCBCR_FRACTION_16 = 13 };

struct ycbcr {
    struct ycbcr_planes from;
    bool copies;      /* the planes are G, B and R */
    int32_t *tables;  /* of the products, by sample: see enum ycbcr_product */
    uint16_t *rows;   /* Y, Cb, Cr, alpha at full width, and one of chroma before it is widened */
    uint32_t samples; /* in a table */
};

enum status ycbcr_init(struct ycbcr *ycbcr, const struct ycbcr_planes *planes,
                       struct failure *failure);
void ycbcr_release(struct ycbcr *ycbcr);

/* The last steps of both devices. */
HOST_DEVICE uint32_t ycbcr_settle(int32_t sum, unsigned fraction_bits, uint32_t white) {
    const int32_t value = (sum + (1 << (fraction_bits - 1))) >> fraction_bits;
    return value < 0 ? 0 : (uint32_t)value < white ? (uint32_t)value : white;
}

HOST_DEVICE uint32_t ycbcr_divide(uint32_t value, uint32_t alpha, uint32_t white) {
    const uint64_t whole = alpha ? ((uint64_t)value * white + alpha / 2) / alpha : 0;
    return whole < white ? (uint32_t)whole : white;
}

/* Writes COUNT pixels of row Y from column LEFT on: gray if there is no chroma, else RGB, and alpha
 * if there is some; of 16 bits if the planes have more than 8. */
void ycbcr_row(const struct ycbcr *ycbcr, uint32_t y, uint32_t left, uint32_t count, uint8_t *to);

#ifdef __cplusplus
}
#endif
#endif
