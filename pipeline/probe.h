// SPDX-License-Identifier: Apache-2.0
/* probe.h - type and shape of an image, from its header alone; no pixel is decoded. Of compressed
 * text in a PNG the first with EXIF is inflated, up to 32 KiB.
 *
 * The magic bytes decide, never a name or Content-Type. Input is hostile: each offset is checked.
 *
 * A header costs its sender nothing, however large the image it announces. So the probe reports the
 * bytes of picture data in the file, and the least that its pixels can take in that format; a
 * file with less is refused before memory is allocated. The least is exact for raw PNM, and a digit
 * a sample, with a blank unless it is a bit, for plain PNM; for PNG it follows from deflate's
 * greatest ratio; for JPEG it is two bits a block of the first scan, or one if progressive; for
 * WebP two bits a macroblock; for GIF twelve bits for the longest string of a code; for TIFF it
 * follows from the best ratio of its compression. There is none for a JPEG with arithmetic coding,
 * nor for a lossless WebP, a small first frame on a large canvas, a HEIC, or strips of a TIFF that
 * share bytes, which must have a byte for 32768 pixels; nor for an AVIF, which must have one for
 * 1048576.
 *
 * Used by:  the front, before a job is queued; codecs, which refuse a file that differs from it.
 * Owns:     nothing.
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
    struct image shape;     /* of the decoded image: orientation applied, palette and tRNS
                               expanded, CMYK as RGB, 1/2/4 bit as 8; pixels NULL */
    uint32_t width, height; /* as stored, before orientation */
    uint8_t orientation;    /* EXIF 1..8; 1 if the file has none */
    uint8_t components;     /* as stored: JPEG 1, 3, 4; PNG samples a pixel, palette 1 */
    uint8_t bits;           /* as stored, a sample */
    bool progressive;       /* JPEG */
    bool interlaced;        /* PNG Adam7 */
    bool palette;
    bool lossless;             /* WebP */
    bool plain;                /* PNM: samples are text */
    bool animated;             /* there are more frames than the first */
    uint32_t frames;           /* to be decoded, all of an animation; 0: the first frame alone */
    uint32_t plays;            /* with `frames`: of the animation; 0: without end */
    bool profile;              /* an ICC profile is carried */
    char space[8];             /* "gray", "rgb", "ycbcr", "cmyk", "ycck" */
    uint64_t data_bytes;       /* of the pixels, in this file; JPEG: all from the first scan on */
    uint64_t data_bytes_least; /* with fewer, no decoder can have all pixels */
};

struct probe_limits {
    uint64_t pixels_max;
    uint32_t side_max;
};

/* STATUS_NOT_AN_IMAGE: unknown magic bytes; STATUS_CORRUPT: a known format whose header is broken
 * or cut off by LENGTH; STATUS_TOO_LARGE: over a limit, which the sentence names with its key. */
enum status probe_image(const uint8_t *bytes, size_t length, const struct probe_limits *limits,
                        struct probe *probe, struct failure *failure);

/* STATUS_CORRUPT if the file has too little data for the pixels that its header announces; with
 * ACCEPT_DAMAGE, for a sixteenth of them. */
enum status probe_check_data(const struct probe *probe, bool accept_damage,
                             struct failure *failure);

/* Counts the frames of PROBE's file, an animation: `frames`, `plays`, and the channels and the
 * orientation that all frames have. STATUS_TOO_LARGE: there are more than MOST, or they have more
 * pixels together than LIMITS allow. */
enum status probe_frames(const uint8_t *bytes, size_t length, uint32_t most,
                         const struct probe_limits *limits, struct probe *probe,
                         struct failure *failure);

/* The format of a file that begins with BYTES, or FORMAT_NONE. The first 12 suffice, but for an
 * AVIF or HEIC that names another brand first. */
enum format probe_format(const uint8_t *bytes, size_t length);

#ifdef __cplusplus
}
#endif
#endif
