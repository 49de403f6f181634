// SPDX-License-Identifier: Apache-2.0
/* parts.h - what stands in a PNG around its pixels, read once for header and decoder, so that both
 * agree.
 *
 * A chunk that no pixel needs and whose checksum is wrong is left out: where only its length is
 * wrong, it ends where its checksum is right. IHDR, PLTE, tRNS and IDAT are what pixels need.
 *
 * Used by:  pipeline/codecs/png.c, png/decoder.c, png/stream.c.
 * Owns:     nothing: pointers lead into the file.
 * Fails:    STATUS_CORRUPT, with a sentence.
 * Threads:  any.
 * Limits:   of the first text with EXIF up to 64 KiB are inflated, to 32 KiB on the stack; four
 *           chunks may have a wrong length.
 */
#ifndef BURIN_PNG_PARTS_H
#define BURIN_PNG_PARTS_H

#include "pipeline/codecs/codecs.h"

enum { PNG_GRAY = 0, PNG_RGB = 2, PNG_PALETTE = 3, PNG_GRAY_ALPHA = 4, PNG_RGB_ALPHA = 6 };
#define PNG_XMP "XML:com.adobe.xmp" /* keyword, followed by its NUL */
enum { PNG_CHUNK_FRAME = 12 };      /* bytes: length, name, checksum */

struct png_chunk {
    const uint8_t *name; /* 4 letters */
    const uint8_t *data;
    size_t length; /* that are in the file */
    bool sound;    /* whole, and its checksum is right */
};

struct png_parts {
    uint32_t width, height;
    uint8_t type, bits, components;
    bool interlaced, animated;
    struct png_chunk palette;      /* name NULL: there is none, as for those below */
    struct png_chunk transparency; /* a valid one */
    struct png_chunk profile;      /* a sound one */
    struct png_chunk exif, xmp;    /* sound; XMP is an iTXt that begins with PNG_XMP */
    unsigned colours;              /* in the palette that may be used */
    uint8_t orientation, colour_kinds, mended;
    uint8_t colour[COLOUR_CHUNKS_MAX]; /* gAMA, cHRM, sRGB, cICP, mDCV, cLLI, with their frames */
    size_t colour_length;
    size_t data_at;      /* the first IDAT */
    uint64_t data_bytes; /* in all IDATs */
    bool left_out;       /* a broken chunk, or IEND is missing */
    char damaged[5];     /* the first chunk before IDAT that pixels need and whose checksum is
                             wrong; "": none */
};

enum status png_read_parts(const uint8_t *bytes, size_t length, struct png_parts *parts,
                           struct failure *failure);

bool png_is(const struct png_chunk *chunk, const char *name);

/* Reads the chunk at AT, also one that is cut off; returns the place behind it, 0: none begins
 * there. */
size_t png_read_chunk(const uint8_t *bytes, size_t length, size_t at, struct png_chunk *chunk);

/* Pixels of a pass: (first_x + i * step_x, first_y + j * step_y). */
struct png_pass {
    uint8_t first_x, step_x, first_y, step_y;
    uint32_t width, height; /* 0: the pass is empty */
    size_t row_bytes;       /* without the byte for the filter */
};

/* INDEX: 0 alone, or 0..6 where the picture is interlaced. false: there are no more. */
bool png_pass(const struct png_parts *parts, int index, struct png_pass *pass);

/* Bytes of all rows, each with its filter. Wraps for sides beyond all limits. */
uint64_t png_filtered_bytes(const struct png_parts *parts);

/* A row has tRNS, or alpha of its own. */
bool png_has_alpha(const struct png_parts *parts);

#endif
