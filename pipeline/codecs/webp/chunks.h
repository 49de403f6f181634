// SPDX-License-Identifier: Apache-2.0
/* chunks.h - the container of a WebP: a RIFF of chunks, each a name, a length and bytes, padded to
 * an even number.
 *
 * Used by:  codecs/webp.c, webp/encoder.c, webp/animation.c.
 * Threads:  any.
 * Source:   developers.google.com/speed/webp/docs/riff_container, and RFC 9649.
 */
#ifndef BURIN_WEBP_CHUNKS_H
#define BURIN_WEBP_CHUNKS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    WEBP_CHUNK_HEAD = 8,  /* name and length */
    WEBP_FILE_HEAD = 12,  /* "RIFF", the length of what follows, "WEBP" */
    WEBP_VP8X_BYTES = 18, /* that chunk, whole: flags, three bytes of nothing, the canvas less 1 */
    WEBP_ANIM_BYTES = 6,  /* the background, and how often it plays */
    WEBP_ANMF_HEAD = 16,  /* place, size, duration and flags of a frame, before its own chunks */
};

/* Flags of a VP8X. */
enum {
    WEBP_ANIMATED = 0x02,
    WEBP_HAS_XMP = 0x04,
    WEBP_HAS_EXIF = 0x08,
    WEBP_HAS_ALPHA = 0x10,
    WEBP_HAS_PROFILE = 0x20,
};

/* Flags of an ANMF. */
enum { WEBP_FRAME_DISPOSED = 0x01, WEBP_FRAME_REPLACES = 0x02 };

static inline void write_le24(uint8_t *bytes, uint32_t value) {
    for (int i = 0; i < 3; i++) bytes[i] = (uint8_t)(value >> (8 * i));
}

/* The head of a chunk of LENGTH bytes; RIFF is one too. */
static inline void webp_write_chunk(uint8_t *bytes, const char *name, size_t length) {
    memcpy(bytes, name, 4);
    write_le24(bytes + 4, (uint32_t)length);
    bytes[7] = (uint8_t)(length >> 24);
}

#endif
