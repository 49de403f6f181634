// SPDX-License-Identifier: Apache-2.0
/* colour.h - samples of Y, Cb, Cr and alpha as AV1 codes them, to gray or RGB, in integers.
 *
 * Chroma that is coded for two columns or rows lies between them: each pixel takes three parts of
 * its nearest and one of the next, across and down, rounded half up to a sample, as JPEG's and
 * WebP's decoders do. Then each of R, G and B is a sum of products, of which each is rounded to
 * 2^-16 of a sample of 8 bits, or 2^-13 of one of 16; the sum is rounded half up and clamped. 10
 * and 12 bits are stretched to the whole of 16. Colours that alpha has multiplied are divided by
 * it, rounded half up.
 *
 * Used by:  avif/reader.c.
 * Owns:     its tables and rows: the caller calls colour_release, also after a failure.
 * Fails:    colour_init: STATUS_NO_MEMORY; STATUS_NOT_AN_IMAGE for a matrix that is not read.
 * Threads:  one at a time.
 * Source:   ITU-T H.273 (matrices and ranges).
 */
#ifndef BURIN_AVIF_COLOUR_H
#define BURIN_AVIF_COLOUR_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Planes of one picture; of more than 8 bits their samples take two bytes, in the machine's order.
 */
struct colour_planes {
    const uint8_t *planes[4]; /* Y, Cb, Cr, alpha; NULL: not there */
    size_t strides[4];        /* bytes */
    uint32_t width, height;
    unsigned bits;           /* a sample: 8, 10 or 12 */
    bool halved_x, halved_y; /* chroma */
    bool limited;            /* black is 16 and white 235, of 8 bits */
    bool premultiplied;      /* by alpha */
    unsigned matrix;         /* of H.273 */
};

struct colour {
    struct colour_planes from;
    bool copies;      /* the planes are G, B and R */
    int32_t *tables;  /* of the products, by sample: see enum product */
    uint16_t *rows;   /* Y, Cb, Cr, alpha at full width, and one of chroma before it is widened */
    uint32_t samples; /* in a table */
};

enum status colour_init(struct colour *colour, const struct colour_planes *planes,
                        struct failure *failure);
void colour_release(struct colour *colour);

/* Writes COUNT pixels of row Y from column LEFT on: gray if there is no chroma, else RGB, and alpha
 * if there is some; of 16 bits if the planes have more than 8. */
void colour_row(const struct colour *colour, uint32_t y, uint32_t left, uint32_t count,
                uint8_t *to);

#endif
