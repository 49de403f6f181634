// SPDX-License-Identifier: Apache-2.0
/* exif.h - the orientation of the camera, and EXIF built anew for a result.
 *
 * Used by:  jpeg.c, png.c, webp.c, texts.c.
 * Fails:    never: nonsense is orientation 1, and is left out of a result. The bytes are hostile:
 *           each offset is checked.
 * Threads:  any.
 * Source:   JEITA CP-3451 (Exif 2.3), TIFF 6.0.
 */
#ifndef BURIN_EXIF_H
#define BURIN_EXIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Orientation 1..8 of the TIFF block behind "Exif\0\0"; 1 if there is none. */
uint8_t exif_orientation(const uint8_t *tiff, size_t length);

/* EXIF_COPYRIGHT: Artist and Copyright alone. */
enum exif_kept { EXIF_COPYRIGHT, EXIF_ALL };

/* Builds into OUT, of CAPACITY bytes, a TIFF block with the entries of IFD0, and with EXIF_ALL of
 * those for the exposure, the place and interoperability; the orientation becomes 1. Left out are
 * thumbnails, makers' notes and all entries that describe the stored pixels or lead to other
 * places. Returns the block's bytes; 0: there is nothing to keep, or no room. *BROKEN becomes true
 * if something was left out because it makes no sense or has no room. */
size_t exif_rebuild(const uint8_t *tiff, size_t length, enum exif_kept kept, uint8_t *out,
                    size_t capacity, bool *broken);

#endif
