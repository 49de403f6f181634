// SPDX-License-Identifier: Apache-2.0
/* codec.h - the parts of the WebP codec that webp.c puts into its record.
 *
 * Used by:  pipeline/codecs/webp.c.
 * Owns:     nothing.
 * Fails:    as format.h says of each function.
 * Threads:  any.
 */
#ifndef BURIN_WEBP_CODEC_H
#define BURIN_WEBP_CODEC_H

#include "pipeline/codecs/codecs.h"

enum status webp_decode(const struct decoding *decoding);
enum status webp_encode(const struct encoding *encoding);
size_t webp_bound(const struct image *image, size_t profile_length);
double webp_still_ms(const struct image *image, const struct encode_options *options);

#endif
