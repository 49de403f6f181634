// SPDX-License-Identifier: Apache-2.0
/* lift.h - takes a seam out of a plane that it crosses the other way. */
#ifndef BURIN_CARVE_LIFT_H
#define BURIN_CARVE_LIFT_H

#include <stddef.h>
#include <stdint.h>

/* In columns FIRST to END - 1 of a plane of HEIGHT rows, STRIDE elements apart, all rows below
 * SEAM[column] move up by one. ELEMENT: 1, 2 or 4 bytes. */
void lift(void *plane, size_t element, size_t stride, uint32_t height, const uint16_t *seam,
          uint32_t first, uint32_t end);

#endif
