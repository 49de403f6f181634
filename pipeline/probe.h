// SPDX-License-Identifier: Apache-2.0
/* probe.h - what an image is, read from its header alone; nothing is decoded or allocated.
 *
 * By magic bytes, never by name or Content-Type. Every offset is checked: bytes are a stranger's.
 *
 * A header costs its sender nothing, whatever it announces. So the probe also tells how many bytes
 * of picture data there are, and how many the pixels take at the very least in their format: less
 * than that is no picture, and nothing is allocated for it. The least is exact for PNM; for PNG
 * what deflate's greatest ratio leaves of the rows; for JPEG two bits a block of the first scan,
 * one where it is progressive; for WebP two bits a macroblock. Arithmetic coding of a JPEG and a
 * lossless WebP have no such bound: a plain picture of any size fits a few bytes, and is decoded
 * for what it says. So has an animation whose first frame is small on a large canvas.
 *
 * Used by:  the front, before a job is queued; the codecs, which refuse what differs from it.
 * Fails:    STATUS_NOT_AN_IMAGE, STATUS_CORRUPT, STATUS_TOO_LARGE, with a sentence.
 * Threads:  any.
 * Limits:   struct probe_limits, and IMAGE_SIDE_MAX.
 */
#ifndef BURIN_PROBE_H
#define BURIN_PROBE_H

#include "pipeline/format.h"
#include "pipeline/image.h"
#include "pipeline/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct probe {
    enum format format;
    struct image shape;     /* as decoding will put it out: orientation applied, palette and tRNS
                               expanded, CMYK as RGB, 1/2/4 bit as 8; pixels NULL */
    uint32_t width, height; /* as stored, before orientation */
    uint8_t orientation;    /* EXIF 1..8; 1 where none is told */
    uint8_t components;     /* as stored: JPEG 1, 3, 4; PNG samples a pixel, palette 1 */
    uint8_t bits;           /* as stored, a sample */
    bool progressive;       /* JPEG */
    bool interlaced;        /* PNG Adam7 */
    bool palette;
    bool lossless;       /* WebP */
    bool animated;       /* more frames than the first, which alone is decoded */
    bool profile;        /* an ICC profile is carried */
    char space[8];       /* "gray", "rgb", "ycbcr", "cmyk", "ycck" */
    uint64_t data_bytes; /* of the pixels, as far as they came; JPEG: all from the first scan */
    uint64_t data_bytes_least; /* that so many pixels take; nothing decodes from fewer */
};

struct probe_limits {
    uint64_t pixels_max;
    uint32_t side_max;
};

/* STATUS_NOT_AN_IMAGE: no magic that is known (say which formats are read); STATUS_CORRUPT: known,
 * but the header is broken; STATUS_TOO_LARGE: over a limit, named with its key. A header cut off by
 * LENGTH is STATUS_CORRUPT. */
enum status probe_image(const uint8_t *bytes, size_t length, const struct probe_limits *limits,
                        struct probe *probe, struct failure *failure);

/* STATUS_CORRUPT where the data that came cannot be all of what the header announces; with
 * ACCEPT_DAMAGE not even a part of it that is worth having: a sixteenth. */
enum status probe_check_data(const struct probe *probe, bool accept_damage,
                             struct failure *failure);

/* The format that the first 12 bytes tell, or FORMAT_NONE. */
enum format probe_format(const uint8_t *bytes, size_t length);

#ifdef __cplusplus
}
#endif
#endif
