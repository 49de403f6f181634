// SPDX-License-Identifier: Apache-2.0
/* codec.h - the parts of the GIF codec: what the header says, decoder and encoder.
 *
 * A picture of at most 256 colours keeps them; from another a palette of 256 is made, and each
 * colour becomes the nearest of these, without dithering: areas of one colour stay so, which codes
 * need, and pixels that do not change between two frames do not flicker. Alpha below 128 is
 * transparent, which takes one of the 256; other pixels are opaque and keep their colours.
 *
 * Used by:  pipeline/codecs/gif.c, which has the record; gif/decoder.c, which defines
 *           gif_read_header(); gif/encoder.c; gif/colours.c, which chooses a palette.
 * Owns:     nothing.
 * Fails:    as format.h says of each function. Input is hostile: each offset is checked.
 * Threads:  any.
 * Limits:   2^20 blocks; a file with more is refused. Sizes are not limited here.
 * Source:   the description of GIF89a.
 */
#ifndef BURIN_GIF_CODEC_H
#define BURIN_GIF_CODEC_H

#include "pipeline/codecs/codecs.h"

enum {
    GIF_FILE_HEAD = 13,
    GIF_FRAME_HEAD = 10, /* comma, place, sides, flags */
    GIF_CODE_BITS_MAX = 12,
    GIF_CODES = 4096,       /* a code has at most 12 bits */
    GIF_HAS_PALETTE = 0x80, /* of flags, whose lowest three bits are then the palette's size */
    GIF_COLOURS_MAX = 256,
};

struct gif_header {
    uint32_t width, height;            /* of the canvas */
    uint32_t left, top, columns, rows; /* of the first frame */
    const uint8_t *palette;
    unsigned colours; /* of the palette: 2 to 256 */
    int transparent;  /* an index; -1: none */
    bool interlaced;
    unsigned literal_bits; /* 2 to 8 */
    size_t data;           /* where the frame's blocks begin */
    uint64_t data_bytes;   /* in these blocks */
    bool animated;
};

/* Returns what is wrong, or NULL. */
const char *gif_read_header(const uint8_t *bytes, size_t length, struct gif_header *header);

/* The first frame is as large as the canvas. */
static inline bool gif_is_covered(const struct gif_header *header) {
    return header->columns == header->width && header->rows == header->height;
}

enum status gif_decode(const struct decoding *decoding);

struct gif_palette {
    unsigned count;  /* of entries, the transparent one included; at least 1 */
    int transparent; /* an index; -1: none */
    uint8_t colours[GIF_COLOURS_MAX][3];
};

/* Fills PALETTE, and INDICES with one for each pixel, row after row. */
enum status gif_choose_colours(const struct encoding *encoding, struct gif_palette *palette,
                               uint8_t *indices);

enum status gif_encode(const struct encoding *encoding);
size_t gif_bound(const struct image *image, size_t profile_length);
uint64_t gif_encode_memory(const struct image *image, const struct encode_options *options);

#endif
