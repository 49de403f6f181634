// SPDX-License-Identifier: Apache-2.0
/* exif.h - the one thing that is read from EXIF: how the camera was held.
 *
 * Used by:  jpeg.c, png.c, webp.c.
 * Fails:    never: what makes no sense is orientation 1. Every offset is checked, since the bytes
 *           are a stranger's; only IFD0 is looked at.
 * Threads:  any.
 * Source:   JEITA CP-3451 (Exif 2.3), TIFF 6.0.
 */
#ifndef BURIN_EXIF_H
#define BURIN_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* Orientation 1..8 from a TIFF block (what follows "Exif\0\0"); 1 where none or nonsense is told.
 */
uint8_t exif_orientation(const uint8_t *tiff, size_t length);

#endif
