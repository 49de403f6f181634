// SPDX-License-Identifier: Apache-2.0
/* aux_image.h - an extra image that an operator takes, such as a mask: any readable file, turned
 * into 8-bit gray.
 *
 * Alpha is dropped, colour becomes luma, 16 bit is cut to 8. A damaged file is always refused, even
 * where the limits accept damage: a wrong mask would remove the wrong pixels.
 *
 * Used by:  the worker and `burin run`, beside codec.h.
 * Owns:     nothing.
 * Fails:    with the statuses of codec_decode, or STATUS_NO_MEMORY.
 * Threads:  any.
 * Limits:   memory_max bounds the decoded file, unless that is 8-bit gray already.
 */
#ifndef BURIN_AUX_IMAGE_H
#define BURIN_AUX_IMAGE_H

#include "pipeline/codec.h"

/* Returns the shape of the decoded gray image, without pixels. */
struct image aux_image_shape(const struct probe *probe);

/* Decodes BYTES into INTO, which has the shape of aux_image_shape and memory. */
enum status aux_image_decode(const uint8_t *bytes, size_t length, const struct probe *probe,
                             const struct codec_limits *limits, struct progress *progress,
                             const struct image *into, struct failure *failure);

#endif
