// SPDX-License-Identifier: Apache-2.0
/* aux_image.h - an extra image that an operator takes: any readable file, turned into 8-bit gray
 * for a mask, and into RGBA for a picture.
 *
 * A mask loses its alpha, its colour becomes luma, and 16 bit is cut to 8. A picture keeps its
 * depth; pixels without alpha are opaque, its profile is ignored. A damaged file is always refused,
 * even where the limits accept damage: a wrong mask would remove the wrong pixels.
 *
 * Used by:  the worker and `burin run`, beside codec.h.
 * Owns:     nothing.
 * Fails:    with the statuses of codec_decode, or STATUS_NO_MEMORY.
 * Threads:  any.
 * Limits:   memory_max bounds the decoded file, unless that has the wanted form already.
 */
#ifndef BURIN_AUX_IMAGE_H
#define BURIN_AUX_IMAGE_H

#include "pipeline/codec.h"
#include "pipeline/op.h"

/* Returns the shape of the image that PROBE's file becomes, without pixels. */
struct image aux_image_shape(enum aux_kind kind, const struct probe *probe);

/* Reads the header of BYTES, an image beside MAIN. A picture and MAIN may have at most
 * limits->pixels_max pixels together. */
enum status aux_image_probe(enum aux_kind kind, const uint8_t *bytes, size_t length,
                            const struct image *main, const struct probe_limits *limits,
                            struct probe *probe, struct failure *failure);

/* Decodes BYTES into INTO, which has a shape of aux_image_shape and memory. */
enum status aux_image_decode(const uint8_t *bytes, size_t length, const struct probe *probe,
                             const struct codec_limits *limits, struct progress *progress,
                             const struct image *into, struct failure *failure);

#endif
