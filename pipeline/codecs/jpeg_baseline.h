// SPDX-License-Identifier: Apache-2.0
/* jpeg_baseline.h - strict reading of a plain baseline JPEG: one that every decoder reads alike.
 *
 * 8 bit, gray or YCbCr of 4:4:4, 4:2:2 or 4:2:0, one frame, one scan, sound to the last code.
 * Decoders that do not report damage may be given such a file, and no other.
 *
 * Used by:  tests and fuzzers: no device decodes JPEGs yet.
 * Owns:     nothing; points into the file's bytes.
 * Source:   ITU-T T.81.
 */
#ifndef BURIN_JPEG_BASELINE_H
#define BURIN_JPEG_BASELINE_H

#include "pipeline/codec.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct jpeg_baseline {
    const uint8_t *bytes; /* the file */
    size_t length;
    uint32_t width, height; /* as stored */
    uint8_t orientation;    /* EXIF 1..8 */
    uint8_t across, down;   /* luma samples a chroma sample: 1 or 2; gray: 1, 1 */
    struct image into;      /* 1 or 3 channels, oriented; its pixels are the device's to set */
};

/* false: the cores must decode it, or say what is wrong with it. PROBE is the file's. Takes about
 * as long as a byte of the file takes to be decoded: for a core of its own. */
bool jpeg_baseline_read(const uint8_t *bytes, size_t length, const struct probe *probe,
                        const struct codec_limits *limits, struct jpeg_baseline *out);

#ifdef __cplusplus
}
#endif
#endif
