// SPDX-License-Identifier: Apache-2.0
/* codec.h - the parts of the JPEG codec that jpeg.c puts into its record.
 *
 * Used by:  pipeline/codecs/jpeg.c, jpeg/decoder.c.
 * Owns:     nothing.
 * Fails:    as format.h says of each function.
 * Threads:  any.
 */
#ifndef BURIN_JPEG_CODEC_H
#define BURIN_JPEG_CODEC_H

#include "pipeline/codecs/codecs.h"

enum status jpeg_decode(const struct decoding *decoding);
enum status jpeg_encode(const struct encoding *encoding);
size_t jpeg_bound(const struct image *image, size_t profile_length);

/* Joins the ICC profile that APP2 segments carry; a broken or too large one is left out and
 * noted, and so is one of CMYK unless the decoder converts by it.
 * The metadata owns it. STATUS_NO_MEMORY. */
enum status jpeg_profile(const struct decoding *decoding);

#endif
