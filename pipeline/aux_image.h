// SPDX-License-Identifier: Apache-2.0
/* aux_image.h - a further image that an operator takes, such as a mask: any file that is read here,
 * turned into 8-bit gray.
 *
 * Alpha is dropped, colour becomes luma, 16 bit is cut to 8. A damaged one is refused whatever the
 * limits accept: where a mask is wrong, the wrong pixels go.
 *
 * Used by:  the worker and `burin run`, beside codec.h.
 * Owns:     nothing.
 * Fails:    as codec_decode.
 * Threads:  any.
 * Limits:   memory_max, where the file is not 8-bit gray itself.
 */
#ifndef BURIN_AUX_IMAGE_H
#define BURIN_AUX_IMAGE_H

#include "pipeline/codec.h"

/* Where it will lie: 8-bit gray, pixels not set. */
struct image aux_image_shape(const struct probe *probe);

/* As codec_decode, and its failures. INTO is aux_image_shape's with memory. */
enum status aux_image_decode(const uint8_t *bytes, size_t length, const struct probe *probe,
                             const struct codec_limits *limits, struct progress *progress,
                             const struct image *into, struct failure *failure);

#endif
