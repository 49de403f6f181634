// SPDX-License-Identifier: Apache-2.0
/* device_jpeg.h - a JPEG that a device may decode by itself, without leaving a sample to doubt.
 *
 * Kinds:   baseline, 8 bit, gray or YCbCr of 4:4:4, 4:2:2 or 4:2:0, one scan, one frame header, the
 *          marker of the end at the end, no marker within the scan but restarts in their order.
 * Source:  ITU-T T.81, annex B.
 * Owns:    nothing; points into the file's bytes.
 */
#ifndef BURIN_DEVICE_JPEG_H
#define BURIN_DEVICE_JPEG_H

#include "pipeline/image.h"
#include "pipeline/probe.h"

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

/* false: the cores must decode it. PROBE is the file's. What it holds between its markers is not
 * looked at: damage there only decoding finds. */
bool device_jpeg_of(const uint8_t *bytes, size_t length, const struct probe *probe,
                    struct device_jpeg *out);

#ifdef __cplusplus
}
#endif
#endif
