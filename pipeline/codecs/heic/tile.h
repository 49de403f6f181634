// SPDX-License-Identifier: Apache-2.0
/* tile.h - one HEVC picture to planes, by libde265 on this thread.
 *
 * The decoder is given parameter sets and slices of pictures that are coded alone, and nothing else
 * of the file. Its planes are lent by this side, for one picture of the promised sides.
 *
 * Used by:  heic/reader.c.
 * Owns:     the planes and the decoder, until hevc_picture_release, also after a failure.
 * Fails:    STATUS_NO_MEMORY; damage is a text.
 * Threads:  any; a picture belongs to one.
 * Limits:   HEVC_UNITS_MAX slices. A tile of 512 x 512 takes a core some 15 ms, a picture of 12
 *           megapixels in one piece 700, in which nothing stops it.
 */
#ifndef BURIN_HEIC_TILE_H
#define BURIN_HEIC_TILE_H

#include "pipeline/codecs/common/isobmff.h"
#include "pipeline/codecs/heic/configuration.h"
#include "pipeline/status.h"

/* The most that the highest level of H.265 allows. */
enum { HEVC_UNITS_MAX = 600 };

struct hevc_picture {
    const struct hevc_configuration *configuration;
    bool black;               /* where no slice is, not noise */
    const uint8_t *planes[3]; /* as shown; NULL: no picture, or no chroma */
    size_t strides[3];        /* bytes */
    struct isobmff_nclx vui;  /* colours by the SPS */
    const char *damage;       /* NULL: none */
    uint8_t *memory, *luma;   /* of all planes; of the coded luma */
    size_t luma_stride;       /* samples */
    void *decoder;
};

/* Heap bytes that decoding a picture of CODED bytes takes, at most. */
uint64_t hevc_picture_memory(uint64_t pixels, uint64_t coded, unsigned chroma, unsigned bits);

/* Decodes BYTES, the NAL units of an item. BLACK: what no slice has is black; else damage. */
enum status hevc_picture_decode(struct hevc_picture *picture,
                                const struct hevc_configuration *configuration,
                                const uint8_t *bytes, size_t length, bool black,
                                struct failure *failure);
void hevc_picture_release(struct hevc_picture *picture);

#endif
