// SPDX-License-Identifier: Apache-2.0
/* codecs.h - what a format's codec is given (format.h), and what all codecs share.
 *
 * Used by:  codec.c, probe.c and the codecs.
 * Owns:     nothing; a decoding or encoding borrows all that it points to.
 * Threads:  any.
 */
#ifndef BURIN_CODECS_H
#define BURIN_CODECS_H

#include "pipeline/codec.h"

#include <string.h>

struct decoding {
    const uint8_t *bytes;
    size_t length;
    const struct probe *probe;
    const struct codec_limits *limits;
    struct progress *progress; /* may be NULL */
    const struct image *into;  /* NULL for read_metadata */
    struct metadata *metadata;
    uint32_t *notes;
    struct failure *failure; /* may be NULL */
};

/* Takes the frames of an animation, one after the other, each to be shown for MS. Any status other
 * than STATUS_OK ends the decoding, and becomes its own. */
struct frame_sink {
    enum status (*take)(void *context, uint32_t ms);
    void *context;
};

struct encoding {
    const struct image *image;
    const struct metadata *metadata; /* may be NULL */
    const struct encode_options *options;
    struct progress *progress; /* may be NULL */
    uint8_t *bytes;
    size_t capacity;
    size_t *length;
    uint32_t *notes;
    struct failure *failure; /* may be NULL */
};

/* EXIF and XMP in a file. */
struct metadata_places {
    const uint8_t *exif, *xmp;
    size_t exif_length, xmp_length; /* 0: none */
    bool packed;                    /* XMP is a stream of zlib's */
};

/* The failure of a codec that stopped for STATUS_DEADLINE or STATUS_CANCELLED. */
enum status codec_stopped(enum status status, struct failure *failure);

/* Notes damage that the caller accepts, with TEXT if it is the first. */
void codec_damage(const struct decoding *decoding, const char *text);

/* Copies LENGTH bytes at AT of the file, a profile, or notes that they are more than the limits
 * allow. LENGTH may be 0. */
enum status codec_keep_profile(const struct decoding *decoding, size_t at, size_t length);

/* The failure of a codec whose file is larger than `capacity`. */
enum status codec_overflow(const struct encoding *encoding);

/* Bytes of pixels that must be decoded whole before EXIF orientation can move them; 0: upright. */
uint64_t codec_turned_bytes(const struct probe *probe);

static inline bool codec_has_magic(const uint8_t *bytes, size_t length, size_t at,
                                   const char *magic, size_t size) {
    return length >= at + size && memcmp(bytes + at, magic, size) == 0;
}

static inline uint32_t read_be16(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 8 | bytes[1];
}

static inline uint32_t read_be32(const uint8_t *bytes) {
    return read_be16(bytes) << 16 | read_be16(bytes + 2);
}

static inline uint64_t read_be64(const uint8_t *bytes) {
    return (uint64_t)read_be32(bytes) << 32 | read_be32(bytes + 4);
}

static inline uint32_t read_le16(const uint8_t *bytes) {
    return bytes[0] | (uint32_t)bytes[1] << 8;
}

static inline uint32_t read_le24(const uint8_t *bytes) {
    return read_le16(bytes) | (uint32_t)bytes[2] << 16;
}

static inline uint32_t read_le32(const uint8_t *bytes) {
    return read_le24(bytes) | (uint32_t)bytes[3] << 24;
}

static inline uint64_t read_le64(const uint8_t *bytes) {
    return read_le32(bytes) | (uint64_t)read_le32(bytes + 4) << 32;
}

#endif
