// SPDX-License-Identifier: Apache-2.0
/* carried.h - what a file has beside its pixels: a colour profile, EXIF and XMP, ready to write.
 *
 * Used by:  codec.h and its codecs, device.h, cuda/codecs/jpeg_encode.h.
 * Owns:     nothing; the blocks are the metadata's (codec.h), in host memory.
 * Threads:  any.
 * Limits:   EXIF and XMP have METADATA_MAX bytes each, so that a segment of a JPEG holds them.
 */
#ifndef BURIN_CARRIED_H
#define BURIN_CARRIED_H

#include <stddef.h>
#include <stdint.h>

enum {
    METADATA_MAX = 63 << 10,
    CARRIED_FRAMES_MAX = 256, /* bytes around EXIF and XMP in any format */
};

struct carried {
    const uint8_t *profile, *exif, *xmp; /* EXIF: a TIFF block, without "Exif" before it */
    size_t profile_length, exif_length, xmp_length; /* 0: none */
};

static inline size_t carried_bytes(const struct carried *carried) {
    return carried->profile_length + carried->exif_length + carried->xmp_length;
}

#endif
