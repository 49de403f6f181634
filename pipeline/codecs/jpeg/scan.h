// SPDX-License-Identifier: Apache-2.0
/* scan.h - whether the one scan of a baseline JPEG is sound, without decoding it: every code
 * read, no coefficient kept.
 *
 * Sound means that libjpeg has nothing to warn of, and that any decoder that follows the standard
 * gives the samples of libjpeg-turbo's accurate integer transform: all blocks are there, between
 * restarts in their order, not a byte more; coefficients stay within their block, and so small
 * that no step of a transform in 16 bits overflows. A picture's own always are.
 *
 * Used by:  baseline.c.
 * Threads:  any.
 * Limits:   the sum of magnitudes is at most 5900 in columns 0 and 4 together, 1 and 5, 3 and 7,
 *           and in 2 and 6 each: the transform's first pass scales by at most 1.388 x 4 before it
 *           cuts to 16 bits, its second pass adds those pairs in 16 bits, and 5900 x 1.388 x 4 <
 *           32768. Pictures, even those of black and white noise, reach 3058 in a pair.
 * Source:   ITU-T T.81, annexes C, F and H.
 */
#ifndef BURIN_JPEG_SCAN_H
#define BURIN_JPEG_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HUFFMAN_LOOKUP_BITS = 10, JPEG_SCAN_COMPONENTS = 3 };

/* A code at the start of the next bits, and the number behind it if they contain both. */
struct huffman_entry {
    int16_t number; /* 0: none, or not within them: the symbol's lower half is its size */
    uint8_t symbol;
    uint8_t bits; /* of the code, and of the number if there; 0: a longer code */
};

/* A prefix code: lengths and symbols as DHT has them. */
struct huffman {
    struct huffman_entry lookup[1 << HUFFMAN_LOOKUP_BITS]; /* by the next bits */
    int32_t last[18];            /* the last code of each length, -1: none */
    int32_t first[17], from[17]; /* the first code of each length, and its symbol's place */
    uint8_t symbols[256];
};

/* COUNTS: of codes of 1..16 bits. false: they make no prefix code. */
bool huffman_is_code(const uint8_t counts[16]);
bool huffman_make(struct huffman *huffman, const uint8_t counts[16], const uint8_t *symbols);

/* The components in their order; the first has ACROSS x DOWN blocks an MCU, the others one. */
struct jpeg_scan {
    int components;
    unsigned across, down;
    uint32_t width, height; /* pixels */
    uint32_t interval;      /* MCUs from restart to restart; 0: no restarts */
    const struct huffman *dc[JPEG_SCAN_COMPONENTS], *ac[JPEG_SCAN_COMPONENTS];
    const uint8_t *quantization[JPEG_SCAN_COMPONENTS]; /* 64, in zigzag order */
};

/* DATA: behind the scan's header, to the end of the file, whose last marker it must end with. */
bool jpeg_scan_is_sound(const struct jpeg_scan *scan, const uint8_t *data, size_t length);

#endif
