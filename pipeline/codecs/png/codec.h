// SPDX-License-Identifier: Apache-2.0
/* codec.h - the parts of the PNG codec that png.c puts into its record.
 *
 * Used by:  pipeline/codecs/png.c.
 * Owns:     nothing.
 * Fails:    as format.h says of each function.
 * Threads:  any.
 */
#ifndef BURIN_PNG_CODEC_H
#define BURIN_PNG_CODEC_H

#include "pipeline/codecs/codecs.h"

enum status png_decode(const struct decoding *decoding);
enum status png_encode(const struct encoding *encoding);
uint64_t png_encode_memory(const struct image *image, const struct encode_options *options);
size_t png_bound(const struct image *image, size_t profile_length);

#endif
