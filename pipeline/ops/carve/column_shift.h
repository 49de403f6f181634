// SPDX-License-Identifier: Apache-2.0
/* column_shift.h - takes a seam out of a plane that it crosses the other way.
 *
 * Used by:  seam_search.c.
 * Threads:  any, for columns apart.
 * Why:      a module of its own, since a compiler that knows ELEMENT and that tiles are short makes
 *           loops of the copies: carving in both directions takes a tenth longer then.
 */
#ifndef BURIN_CARVE_COLUMN_SHIFT_H
#define BURIN_CARVE_COLUMN_SHIFT_H

#include <stddef.h>
#include <stdint.h>

/* In columns FIRST to END - 1 of a map of HEIGHT rows, STRIDE elements apart, all rows below
 * SEAM[column] move up by one. ELEMENT: 1, 2 or 4 bytes. */
void column_shift_up(void *map, size_t element, size_t stride, uint32_t height,
                     const uint16_t *seam, uint32_t first, uint32_t end);

#endif
