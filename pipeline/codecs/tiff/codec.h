// SPDX-License-Identifier: Apache-2.0
/* codec.h - what the parts of the TIFF codec know of a file: its tags, as far as pixels need them.
 *
 * A picture is stored in blocks: tiles, or strips, which are as wide as the picture. With separate
 * planes each sample has blocks of its own.
 *
 * Used by:  tiff.c, tiff/decoder.c.
 * Fails:    tiff_read_header: STATUS_CORRUPT; STATUS_NOT_AN_IMAGE for what is not read, by its
 *           name; each with a sentence.
 * Threads:  any.
 * Source:   TIFF 6.0; for BigTIFF libtiff's description.
 */
#ifndef BURIN_TIFF_CODEC_H
#define BURIN_TIFF_CODEC_H

#include "pipeline/codecs/codecs.h"

enum {
    TIFF_SAMPLES_MAX = 64,   /* of a pixel */
    TIFF_PADDING_MAX = 4096, /* pixels by which a tile may be wider than the picture */
};

enum tiff_compression {
    TIFF_RAW = 1,
    TIFF_LZW = 5,
    TIFF_DEFLATE = 8,
    TIFF_PACKBITS = 32773,
    TIFF_OLD_DEFLATE = 32946, /* the same by its first number */
};

enum tiff_colours { TIFF_WHITE_IS_ZERO, TIFF_BLACK_IS_ZERO, TIFF_RGB, TIFF_PALETTE, TIFF_CMYK = 5 };

/* The values of a tag, which lie in the file. */
struct tiff_values {
    uint64_t at, count;
    unsigned size; /* bytes of each; 0: there is no such tag, or it has no whole numbers */
};

struct tiff_header {
    const uint8_t *bytes;
    size_t length;
    bool big_endian, big; /* BigTIFF */
    bool values_lost;     /* of a tag that was looked for */

    uint32_t width, height;
    uint8_t orientation;
    bool more_pages;

    enum tiff_colours colours;
    unsigned samples, bits; /* of a pixel; of a sample */
    unsigned alpha;         /* the number of that sample; 0: none */
    bool premultiplied;     /* by this alpha */
    bool left_out;          /* samples that are neither */
    bool separate;          /* planes */
    struct tiff_values palette, profile;

    enum tiff_compression compression;
    bool differences; /* from the pixel to the left */
    uint32_t block_width, block_height, across, down;
    struct tiff_values offsets, sizes; /* of blocks */
};

/* The I-th of VALUES, which has more. */
uint64_t tiff_value(const struct tiff_header *header, const struct tiff_values *values, uint64_t i);

enum status tiff_read_header(const uint8_t *bytes, size_t length, struct tiff_header *header,
                             struct failure *failure);

/* Colour samples of a stored pixel: 1, 3 or 4. */
static inline unsigned tiff_colour_samples(const struct tiff_header *header) {
    return header->colours == TIFF_RGB ? 3 : header->colours == TIFF_CMYK ? 4 : 1;
}

/* Bytes of a row of a block, which is of one plane. */
static inline size_t tiff_row_bytes(const struct tiff_header *header) {
    const size_t samples = header->separate ? 1 : header->samples;
    return (header->block_width * samples * header->bits + 7) / 8;
}

/* Sample PLANE is needed for a picture. */
static inline bool tiff_needs(const struct tiff_header *header, unsigned plane) {
    return plane < tiff_colour_samples(header) || (header->alpha && plane == header->alpha);
}

/* Rows of a block that lie in the picture; ROW: of blocks. */
static inline uint32_t tiff_block_rows(const struct tiff_header *header, uint32_t row) {
    const uint32_t left = header->height - row * header->block_height;
    return left < header->block_height ? left : header->block_height;
}

/* Finds block INDEX in the file. Returns its bytes, as many as are there and decoding may read. */
size_t tiff_find_block(const struct tiff_header *header, uint64_t index, size_t *at);

enum status tiff_decode(const struct decoding *decoding);
uint64_t tiff_decode_memory(const struct probe *probe);

#endif
