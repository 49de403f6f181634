// SPDX-License-Identifier: Apache-2.0
/* exif.h - the one thing that is read from EXIF: how the camera was held.
 *
 * Bytes are a stranger's: every offset is checked, only IFD0 is looked at.
 */
#ifndef BURIN_EXIF_H
#define BURIN_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* Orientation 1..8 from a TIFF block (what follows "Exif\0\0"); 1 where none or nonsense is told.
 */
uint8_t exif_orientation(const uint8_t *tiff, size_t length);

#endif
