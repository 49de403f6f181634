// SPDX-License-Identifier: Apache-2.0
/* isobmff.h - the picture in a file of ISO boxes: HEIF, of which AVIF and HEIC are kinds.
 *
 * The primary item is described, coded in one piece or as a grid of tiles. No coded byte is read.
 * Input is hostile: each length is checked against the box that has it, and against the file.
 *
 * Used by:  avif/reader.c.
 * Owns:     nothing; places are offsets in the caller's bytes.
 * Fails:    isobmff_read returns a fault, the end of the sentence "the file is broken: ".
 * Threads:  any.
 * Limits:   ISOBMFF_ITEMS_MAX items, and that many tiles; a million boxes and entries are looked
 *           at. A crop must leave half of the picture, so that it hides no large one.
 * Source:   ISO/IEC 14496-12 (boxes), 23008-12 (HEIF), 23000-22 (MIAF).
 */
#ifndef BURIN_ISOBMFF_H
#define BURIN_ISOBMFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ISOBMFF_ITEMS_MAX = 256 };

/* Bytes of the file; length 0: there are none. */
struct isobmff_place {
    size_t at, length;
};

struct isobmff_picture {
    char codec[5];                      /* of the item or its tiles: "av01", "hvc1" */
    uint32_t width, height;             /* as coded */
    uint32_t left, top, across, down;   /* the part that is shown (clap) */
    uint8_t orientation;                /* EXIF 1..8, of irot and imir */
    uint8_t samples, bits;              /* pixi: a pixel, a sample; 0: not stated */
    bool alpha, premultiplied;          /* an auxiliary item has alpha */
    bool tiled;                         /* a grid */
    bool animated;                      /* there is a track beside the item */
    struct isobmff_place profile;       /* ICC */
    struct isobmff_place configuration; /* av1C or hvcC of the first coded item */
    uint64_t stated_bytes, there_bytes; /* of the coded colours, and how many the file has */
};

/* True if the file begins with an ftyp that has BRAND, of four letters. */
bool isobmff_has_brand(const uint8_t *bytes, size_t length, const char *brand);

/* Returns NULL, or the fault. */
const char *isobmff_read(const uint8_t *bytes, size_t length, struct isobmff_picture *picture);

#endif
