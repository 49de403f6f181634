// SPDX-License-Identifier: Apache-2.0
/* exif.h - the orientation of the camera, which is all that is read from EXIF.
 *
 * Used by:  jpeg.c, png.c, webp.c.
 * Fails:    never: nonsense is orientation 1. The bytes are hostile: each offset is checked. Only
 *           IFD0 is read.
 * Threads:  any.
 * Source:   JEITA CP-3451 (Exif 2.3), TIFF 6.0.
 */
#ifndef BURIN_EXIF_H
#define BURIN_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* Orientation 1..8 of the TIFF block behind "Exif\0\0"; 1 if there is none. */
uint8_t exif_orientation(const uint8_t *tiff, size_t length);

#endif
