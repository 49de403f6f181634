// SPDX-License-Identifier: Apache-2.0
/* baseline.h - strict reading of a plain baseline JPEG: one that every decoder reads alike, if with
 * oddities of the header that libjpeg warns of, and no pixel depends on.
 *
 * 8 bit, gray or YCbCr of 4:4:4, 4:2:2 or 4:2:0, one frame, one scan, sound to the last code.
 * Decoders that do not report damage may be given such a file, and no other.
 *
 * Used by:  picture.c, for a device's decoder; tests and fuzzers.
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

enum { JPEG_COMPONENTS = 3, JPEG_CODES = 2 /* of each kind */ };

/* A prefix code as DHT has it, in the file's bytes. */
struct jpeg_code {
    const uint8_t *counts;  /* of codes of 1..16 bits */
    const uint8_t *symbols; /* in the order of the codes */
};

struct jpeg_baseline {
    const uint8_t *bytes; /* the file */
    size_t length;
    uint32_t width, height; /* as stored */
    uint8_t orientation;    /* EXIF 1..8 */
    uint8_t across, down;   /* luma samples a chroma sample: 1 or 2; gray: 1, 1 */
    struct image into;      /* 1 or 3 channels, oriented; its pixels are the device's to set */
    const uint8_t *scan;    /* behind the scan's header, to the end of the file */
    uint32_t notes;         /* on its header, as the CPU codec makes them */
    uint32_t interval;      /* MCUs from restart to restart; 0: no restarts */
    struct jpeg_code dc_codes[JPEG_CODES], ac_codes[JPEG_CODES];
    uint8_t dc[JPEG_COMPONENTS], ac[JPEG_COMPONENTS]; /* which of them each component has */
    uint8_t steps[JPEG_COMPONENTS][64];               /* of quantization, in zigzag order */
};

/* Reads all before the scan as jpeg_baseline_read does, but not the scan: its decoder must find its
 * errors. Takes a microsecond; false if there are more than 2 MiB or 1,000 segments. */
bool jpeg_baseline_read_header(const uint8_t *bytes, size_t length, const struct probe *probe,
                               const struct codec_limits *limits, struct jpeg_baseline *out);

/* false: the cores must decode it, or say what is wrong with it. PROBE is the file's. Takes about
 * as long as a byte of the file takes to be decoded: for a core of its own. */
bool jpeg_baseline_read(const uint8_t *bytes, size_t length, const struct probe *probe,
                        const struct codec_limits *limits, struct jpeg_baseline *out);

#ifdef __cplusplus
}
#endif
#endif
