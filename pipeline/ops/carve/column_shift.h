// SPDX-License-Identifier: Apache-2.0
/* column_shift.h - removes a horizontal seam from a plane stored in rows.
 *
 * Used by:  seam_search.c.
 * Threads:  any, for disjoint columns.
 * Why:      a separate module, because a compiler that knows ELEMENT and the tiles' size replaces
 *           the copies by loops, and carving in both directions then takes a tenth longer.
 */
#ifndef BURIN_CARVE_COLUMN_SHIFT_H
#define BURIN_CARVE_COLUMN_SHIFT_H

#include <stddef.h>
#include <stdint.h>

/* In columns FIRST to END - 1 of a map of HEIGHT rows, STRIDE elements apart, moves all rows below
 * SEAM[column] up by one. ELEMENT: 1, 2 or 4 bytes. */
void column_shift_up(void *map, size_t element, size_t stride, uint32_t height,
                     const uint16_t *seam, uint32_t first, uint32_t end);

#endif
