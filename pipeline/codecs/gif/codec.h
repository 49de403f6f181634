// SPDX-License-Identifier: Apache-2.0
/* codec.h - the parts of the GIF codec: what the header says, decoder and encoder.
 *
 * A picture of at most 256 colours keeps them; from another a palette of 256 is made, and each
 * colour becomes the nearest of these, without dithering: areas of one colour stay so, which codes
 * need, and pixels that do not change between two frames do not flicker. Alpha below 128 is
 * transparent, which takes one of the 256; other pixels are opaque and keep their colours. A
 * picture with alpha gets a transparent entry, if there is room, also where no pixel takes it:
 * readers clear the place of an animation's frame to that.
 *
 * Used by:  pipeline/codecs/gif.c, which has the record; gif/decoder.c, which defines
 *           gif_begin(); gif/encoder.c.
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
    GIF_FRAME_HEAD = 10,    /* comma, place, sides, flags */
    GIF_HAS_PALETTE = 0x80, /* of flags, whose lowest three bits are then the palette's size */
};

/* A frame, and the canvas. */
struct gif_header {
    uint32_t width, height; /* of the canvas */
    uint32_t left, top, columns, rows;
    const uint8_t *palette;
    unsigned colours; /* of the palette: 2 to 256 */
    int transparent;  /* an index; -1: none */
    bool interlaced;
    unsigned literal_bits; /* 2 to 8 */
    unsigned disposal;     /* what becomes of the frame once its time is over */
    uint32_t delay;        /* its time, in hundredths of a second */
    size_t data;           /* where its blocks begin */
    uint64_t data_bytes;   /* in these blocks */
};

enum { GIF_DISPOSE_TO_NOTHING = 2, GIF_DISPOSE_TO_PREVIOUS = 3 };

/* Walks the blocks of a file, without decoding any. */
struct gif_reader {
    const uint8_t *bytes;
    size_t length, at;
    unsigned blocks;
    const uint8_t *palette; /* of the file; NULL: none */
    unsigned colours;
    int transparent; /* by the last control, for the next picture; also the next two */
    unsigned disposal;
    uint32_t delay;
    uint32_t plays; /* of the animation; 0: without end */
    bool animated;  /* there is a second picture */
};

/* Reads the head and the first picture's, and goes to the next picture. Returns what is wrong, or
 * NULL. */
const char *gif_begin(struct gif_reader *reader, const uint8_t *bytes, size_t length,
                      struct gif_header *header);

/* Reads the head of the next picture into HEADER, whose canvas stays. False: there is none, or
 * *FAULT is wrong with it. */
bool gif_next_picture(struct gif_reader *reader, struct gif_header *header, const char **fault);

/* The first frame is as large as the canvas. */
static inline bool gif_is_covered(const struct gif_header *header) {
    return header->columns == header->width && header->rows == header->height;
}

enum status gif_decode(const struct decoding *decoding);
enum status gif_decode_frames(const struct decoding *decoding, const struct frame_sink *sink);

bool gif_begin_animation(struct animation_file *file);
bool gif_add_frame(struct animation_file *file, const uint8_t *frame, size_t length, uint32_t ms);
bool gif_end_animation(struct animation_file *file);

static inline void write_le16(uint8_t *bytes, uint32_t value) {
    bytes[0] = (uint8_t)value;
    bytes[1] = (uint8_t)(value >> 8);
}

enum status gif_encode(const struct encoding *encoding);
size_t gif_bound(const struct image *image, size_t profile_length);
uint64_t gif_encode_memory(const struct image *image, const struct encode_options *options);

#endif
