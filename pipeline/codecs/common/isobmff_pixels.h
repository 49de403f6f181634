// SPDX-License-Identifier: Apache-2.0
/* isobmff_pixels.h - the planes of a HEIF's picture, decoded, as the image that was asked for.
 *
 * Used by:  avif/reader.c, heic/reader.c, heic/still.c.
 * Owns:     nothing.
 * Fails:    as ycbcr.h says; STATUS_NO_MEMORY; STATUS_CANCELLED and STATUS_DEADLINE.
 * Threads:  any.
 */
#ifndef BURIN_ISOBMFF_PIXELS_H
#define BURIN_ISOBMFF_PIXELS_H

#include "pipeline/codecs/codecs.h"
#include "pipeline/codecs/common/isobmff.h"
#include "pipeline/codecs/common/ycbcr.h"

/* Crops and turns the picture of PLANES into `decoding->into`, keeps its profile, and notes colours
 * that are not sRGB's without one. */
enum status isobmff_pixels(const struct decoding *decoding, const struct isobmff_picture *picture,
                           const struct ycbcr_planes *planes);

/* The picture's colours are not sRGB's, and no profile says so. */
bool isobmff_loses_primaries(const struct isobmff_picture *picture);

#endif
