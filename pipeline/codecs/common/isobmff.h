// SPDX-License-Identifier: Apache-2.0
/* isobmff.h - the picture in a file of ISO boxes: HEIF, of which AVIF and HEIC are kinds.
 *
 * The primary item is described, coded in one piece or as a grid of tiles; then, for who decodes
 * tiles one by one, which they are, in which order, where and how large. No coded byte is read.
 * Input is hostile: each length is checked against the box that has it, and against the file.
 *
 * Used by:  avif/reader.c, heic/reader.c.
 * Owns:     nothing; places are offsets in the caller's bytes.
 * Fails:    isobmff_read and isobmff_tiles return a fault, the end of the sentence "the file is
 *           broken: ".
 * Threads:  any.
 * Limits:   ISOBMFF_ITEMS_MAX items, and that many tiles; a million boxes and entries are looked
 *           at. A crop must leave half of the picture, so that it hides no large one; the tiles of
 *           a grid have four times its pixels and a megapixel at most.
 * Source:   ISO/IEC 14496-12 (boxes), 23008-12 (HEIF), 23000-22 (MIAF).
 */
#ifndef BURIN_ISOBMFF_H
#define BURIN_ISOBMFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A phone's 48 megapixels are 192 tiles of 512 x 512, with 48 more for its gain map, and a dozen
 * items beside them; 200 megapixels are 768 tiles. */
enum { ISOBMFF_ITEMS_MAX = 1024 };

/* Bytes of the file; length 0: there are none. */
struct isobmff_place {
    size_t at, length;
};

/* Colours by the numbers of H.273. */
struct isobmff_nclx {
    bool there, full; /* range */
    uint16_t primaries, transfer, matrix;
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
    struct isobmff_nclx nclx;           /* of colr */
    struct isobmff_place configuration; /* av1C or hvcC of the first coded item */
    uint64_t stated_bytes, there_bytes; /* of coded colours and alpha, and how many the file has;
                                           those of an item that is several tiles count once */
};

/* A coded item: the whole picture, or a tile of a grid. */
struct isobmff_tile {
    struct isobmff_place configuration; /* av1C or hvcC */
    struct isobmff_place coded;         /* what the file has of it; length 0 if in pieces */
};

/* Tile (x, y) is number y * columns + x. Those at the right and lower end may stand out. */
struct isobmff_tiling {
    uint32_t columns, rows;
    uint32_t width, height; /* of each tile */
};

/* True if the file begins with an ftyp that has one of BRANDS, of four letters each; or one of HEIF
 * as such, and the primary item is coded by CODEC. */
bool isobmff_is(const uint8_t *bytes, size_t length, const char *brands, const char *codec);

/* Returns NULL, or the fault. */
const char *isobmff_read(const uint8_t *bytes, size_t length, struct isobmff_picture *picture);

/* The tiles of the picture's colours, or of its ALPHA. TILES: room for ISOBMFF_ITEMS_MAX of them,
 * or NULL. */
const char *isobmff_tiles(const uint8_t *bytes, size_t length,
                          const struct isobmff_picture *picture, bool alpha,
                          struct isobmff_tiling *tiling, struct isobmff_tile *tiles);

#endif
