// SPDX-License-Identifier: Apache-2.0
/* configuration.h - an hvcC: the parameter sets of an HEVC picture, and what they promise.
 *
 * All sequence parameter sets are read up to the bits of a sample, and must promise the same: so a
 * decoder that is given them can allocate nothing larger.
 *
 * Used by:  heic/reader.c, heic/tile.c.
 * Owns:     nothing; sets point into the caller's bytes.
 * Fails:    hevc_configuration_read returns a fault, the end of "the file is broken: ".
 * Threads:  any.
 * Limits:   HEVC_SETS_MAX parameter sets.
 * Source:   ISO/IEC 14496-15 (hvcC), ITU-T H.265 7.3.2.2 (SPS).
 */
#ifndef BURIN_HEVC_CONFIGURATION_H
#define BURIN_HEVC_CONFIGURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEVC_SETS_MAX = 16 };

/* Numbers of chroma_format_idc. */
enum hevc_chroma { HEVC_GRAY, HEVC_420, HEVC_422, HEVC_444 };

/* Types of NAL units: parameter sets. */
enum { HEVC_VPS = 32, HEVC_SPS = 33, HEVC_PPS = 34 };

struct hevc_unit {
    const uint8_t *bytes; /* of a NAL unit, with its head of two bytes */
    size_t length;
};

/* An SPS promises this. */
struct hevc_shape {
    uint32_t width, height;             /* as coded, in whole blocks */
    uint32_t shown_width, shown_height; /* within the conformance window */
    uint32_t chroma;                    /* enum hevc_chroma */
    uint32_t bits;                      /* a sample, of luma and chroma */
};

struct hevc_configuration {
    struct hevc_shape shape;
    unsigned length_bytes; /* before each NAL unit of an item */
    unsigned count;
    struct hevc_unit sets[HEVC_SETS_MAX]; /* VPS, SPS and PPS, in the order of the file */
};

/* The type in the head of a NAL unit of 2 bytes or more. */
static inline unsigned hevc_unit_type(const uint8_t *bytes) {
    return bytes[0] >> 1 & 63;
}

/* Its layer is not the base one, which alone is decoded. */
static inline bool hevc_unit_is_of_other_layer(const uint8_t *bytes) {
    return bytes[0] & 1 || bytes[1] >> 3;
}

/* Returns NULL, or the fault. */
const char *hevc_configuration_read(const uint8_t *bytes, size_t length,
                                    struct hevc_configuration *configuration);

#endif
