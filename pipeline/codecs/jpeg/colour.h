// SPDX-License-Identifier: Apache-2.0
/* colour.h - four pixels at a time from RGB to Y, Cb and Cr, and chroma of half the columns
 * and rows: what libjpeg-turbo computes, less 128, as the transform takes it.
 *
 * Four pixels are three words, red of the first in the lowest byte. Luma is (19595 R + 38470 G +
 * 7471 B + 32768) >> 16; chroma is 128 + (-11059 R - 21709 G + 32768 B + 32767 >> 16) and 128 +
 * (32768 R - 27439 G - 5329 B + 32767 >> 16). 32768 is no weight of 16 bits with a sign, but -32768
 * is: so chroma is computed with all signs turned, minus 1, which is the same sum with all its bits
 * turned. Chroma of 2 x 2 pixels is the sum of their four rounded values plus 1 (even columns) or 2
 * (odd ones), shifted right by 2.
 *
 * Used by:  tile.h, cuda/codecs/.
 * Source:   jccolor.c and jcsample.c of libjpeg-turbo; tests/pipeline/codecs/jpeg/colour.c compares
 *           all 2^24 colours.
 */
#ifndef BURIN_JPEG_COLOUR_H
#define BURIN_JPEG_COLOUR_H

#include "pipeline/codecs/jpeg/packed_bytes.h"

/* Turns a sample into a signed byte: the transform takes samples less 128. */
enum { JPEG_LEVEL = 0x80 };
#define JPEG_LEVELS 0x80808080u

/* The weights of red, green and blue, with the sign that the text above gives them. */
struct jpeg_chroma_weights {
    int16_t red, green, blue;
};

#define JPEG_CB_WEIGHTS                                                                            \
    { 11059, 21709, -32768 }
#define JPEG_CR_WEIGHTS                                                                            \
    { -32768, 27439, 5329 }
enum { JPEG_CHROMA_START = -(128 << 16) - 32767 - 1 };

/* Four lumas, a signed byte each. */
HOST_DEVICE uint32_t jpeg_luma4(const uint32_t *rgb) {
    const uint32_t red_green = PACKED_PAIR(19595, 38470), blue = PACKED_PAIR(7471, 0);
    const uint32_t red = PACKED_PAIR(0, 19595), green_blue = PACKED_PAIR(38470, 7471);
    const uint32_t half = 32768;
    const uint32_t y0 = packed_udot2_high(blue, rgb[0], packed_udot2_low(red_green, rgb[0], half));
    const uint32_t y1 = packed_udot2_low(green_blue, rgb[1], packed_udot2_high(red, rgb[0], half));
    const uint32_t y2 = packed_udot2_low(blue, rgb[2], packed_udot2_high(red_green, rgb[1], half));
    const uint32_t y3 = packed_udot2_high(green_blue, rgb[2], packed_udot2_low(red, rgb[2], half));
    return packed_select(packed_select(y0, y1, 0x0062), packed_select(y2, y3, 0x0062), 0x5410) ^
           JPEG_LEVELS;
}

/* The sums of four pixels, of which bits 16..31 are ~chroma. */
HOST_DEVICE void jpeg_chroma_sums(const uint32_t *rgb, struct jpeg_chroma_weights by,
                                  uint32_t *sums) {
    const uint32_t red_green = PACKED_PAIR(by.red, by.green), blue = PACKED_PAIR(by.blue, 0);
    const uint32_t red = PACKED_PAIR(0, by.red), green_blue = PACKED_PAIR(by.green, by.blue);
    const int32_t start = JPEG_CHROMA_START;
    sums[0] = (uint32_t)packed_dot2_high(blue, rgb[0], packed_dot2_low(red_green, rgb[0], start));
    sums[1] = (uint32_t)packed_dot2_low(green_blue, rgb[1], packed_dot2_high(red, rgb[0], start));
    sums[2] = (uint32_t)packed_dot2_low(blue, rgb[2], packed_dot2_high(red_green, rgb[1], start));
    sums[3] = (uint32_t)packed_dot2_high(green_blue, rgb[2], packed_dot2_low(red, rgb[2], start));
}

/* Four chromas of the full width, a signed byte each. */
HOST_DEVICE uint32_t jpeg_chroma4(const uint32_t *rgb, struct jpeg_chroma_weights by) {
    uint32_t sums[4];
    jpeg_chroma_sums(rgb, by, sums);
    return packed_select(packed_select(sums[0], sums[1], 0x0062),
                         packed_select(sums[2], sums[3], 0x0062), 0x5410) ^
           ~JPEG_LEVELS;
}

/* Four pixels' chromas added by twos, one pair in each half, as -(Cb + 1) each. */
HOST_DEVICE uint32_t jpeg_chroma_pairs(const uint32_t *rgb, struct jpeg_chroma_weights by) {
    uint32_t sums[4];
    jpeg_chroma_sums(rgb, by, sums);
    return packed_select(sums[0], sums[2], 0x7632) + packed_select(sums[1], sums[3], 0x7632);
}

/* Two chromas from 4 x 2 pixels, a byte in the low end of each half, not yet signed. A half of
 * jpeg_chroma_pairs is 65536 - (Cb + 1) four times over: what the lower one carries into the upper
 * one is known. */
HOST_DEVICE uint32_t jpeg_chroma2(const uint32_t *above, const uint32_t *below,
                                  struct jpeg_chroma_weights by) {
    const uint32_t start = 4u * 65536 - 0x00040004u + 0x00020001u;
    return (start - jpeg_chroma_pairs(above, by) - jpeg_chroma_pairs(below, by)) >> 2 & 0x00ff00ffu;
}

/* Four chromas, a signed byte each, from 8 x 2 pixels: six words ABOVE and BELOW. */
HOST_DEVICE uint32_t jpeg_chroma_halved4(const uint32_t *above, const uint32_t *below,
                                         struct jpeg_chroma_weights by) {
    return packed_select(jpeg_chroma2(above, below, by), jpeg_chroma2(above + 3, below + 3, by),
                         0x6420) ^
           JPEG_LEVELS;
}

#endif
