// SPDX-License-Identifier: Apache-2.0
/* device_jpeg.h - a JPEG that a device may decode by itself, since nothing in it is in doubt.
 *
 * Kinds:   baseline, 8 bit, gray or YCbCr of 4:4:4, 4:2:2 or 4:2:0, one frame, one scan, sound to
 * the last code: decoders in hardware do not tell damage, so it is told here, by reading all codes
 * on a core, half of what decoding takes. Source:  ITU-T T.81. Owns:    nothing; points into the
 * file's bytes.
 */
#ifndef BURIN_DEVICE_JPEG_H
#define BURIN_DEVICE_JPEG_H

#include "pipeline/codec.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct device_jpeg {
    const uint8_t *bytes; /* the file */
    size_t length;
    uint32_t width, height; /* as stored */
    uint8_t orientation;    /* EXIF 1..8 */
    uint8_t across, down;   /* luma samples a chroma sample: 1 or 2; gray: 1, 1 */
    struct image into;      /* 1 or 3 channels, oriented; its pixels are the device's to set */
};

/* false: the cores must decode it, or say what is wrong with it. PROBE is the file's. Takes about
 * as long as a byte of the file takes to be decoded: for a core of its own. */
bool device_jpeg_of(const uint8_t *bytes, size_t length, const struct probe *probe,
                    const struct codec_limits *limits, struct device_jpeg *out);

#ifdef __cplusplus
}
#endif
#endif
