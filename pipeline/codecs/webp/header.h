// SPDX-License-Identifier: Apache-2.0
/* header.h - what a WebP's chunks say, and where its picture lies among them.
 *
 * Of a still picture that is the file's, of an animation its first frame's. ICCP, EXIF and alpha
 * count where the VP8X says that they are there, as for libwebp's own demuxer.
 *
 * Used by:  codecs/webp.c, which defines it; webp/decoder.c, which reads the header a second time.
 * Fails:    STATUS_CORRUPT with a sentence. Every offset is checked: bytes are a stranger's.
 * Threads:  any.
 * Limits:   65,536 chunks are looked at, and a file of more is refused; sizes are not judged.
 * Source:   RFC 9649 (WebP), RFC 6386 (VP8).
 */
#ifndef BURIN_WEBP_HEADER_H
#define BURIN_WEBP_HEADER_H

#include "pipeline/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct webp_frame {
    size_t at, end; /* its chunks that a decoder takes, from the ALPH or the picture itself on; END
                       is before the picture's where that is cut off */
    size_t data_bytes;                 /* of the picture's chunk, as far as they came */
    uint32_t left, top, width, height; /* on the canvas */
    bool lossless, alpha;
};

struct webp_header {
    uint32_t width, height; /* of the canvas; without one the frame's */
    struct webp_frame frame;
    uint32_t frames; /* of an animation; 0: it is a still picture */
    bool alpha;      /* somewhere on the canvas, or so the file says */
    bool cut;        /* chunks reach beyond the file's end, or the end that its head tells */
    uint8_t orientation;
    size_t profile_at, profile_length; /* 0: none */
};

enum status webp_header_read(const uint8_t *bytes, size_t length, struct webp_header *header,
                             struct failure *failure);

#endif
