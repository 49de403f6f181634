// SPDX-License-Identifier: Apache-2.0
/* header.h - all that a HEIC says of its picture before a coded byte is read.
 *
 * Used by:  heic/reader.c and heic/still.c.
 * Owns:     nothing; places are offsets in the caller's bytes.
 * Fails:    functions that return a text return NULL, or the fault, the end of "the file is broken:
 *           ".
 * Threads:  any.
 */
#ifndef BURIN_HEIC_HEADER_H
#define BURIN_HEIC_HEADER_H

#include "pipeline/codecs/common/isobmff.h"
#include "pipeline/codecs/heic/configuration.h"
#include "pipeline/probe.h"

/* The probe keeps less than decoding needs. */
struct heic_header {
    struct isobmff_picture picture;
    struct isobmff_tiling tiling[2]; /* of the colours, of alpha */
    uint32_t chroma, bits;           /* enum hevc_chroma; a sample */
};

const char *heic_header_read(const uint8_t *bytes, size_t length, struct heic_header *header);

/* The probe was read from the same header. */
bool heic_header_is_of(const struct heic_header *header, const struct probe *probe);

/* Heap bytes that decoding on the CPU takes beside the pixels, at most. */
uint64_t heic_header_memory(const struct heic_header *header);

/* The hvcC at PLACE, of a tile of TILING. */
const char *heic_configuration_read(const uint8_t *bytes, const struct isobmff_place *place,
                                    const struct isobmff_tiling *tiling,
                                    struct hevc_configuration *configuration);

#endif
