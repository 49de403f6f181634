// SPDX-License-Identifier: Apache-2.0
/* part.h - a further image that an operator takes, such as a mask: any file that is read here,
 * turned into 8-bit gray.
 *
 * Alpha is dropped, colour becomes luma, 16 bit is cut to 8. A damaged one is refused whatever the
 * limits accept: where a mask is wrong, the wrong pixels go.
 * Ownership: nothing is kept. Threads: any.
 */
#ifndef BURIN_PART_H
#define BURIN_PART_H

#include "pipeline/codec.h"

/* Where it will lie: 8-bit gray, pixels not set. */
struct image part_shape(const struct probe *probe);

/* As codec_decode, and its failures. INTO is part_shape's with memory. */
enum status part_decode(const uint8_t *bytes, size_t length, const struct probe *probe,
                        const struct codec_limits *limits, struct progress *progress,
                        const struct image *into, struct failure *failure);

#endif
