// SPDX-License-Identifier: Apache-2.0
/* map_fill.h - fills an energy map from the picture: luma, the marks of masks, energies.
 *
 * Used by:  ops/carve.c; picture.c asks for marks.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE.
 */
#ifndef BURIN_CARVE_MAP_FILL_H
#define BURIN_CARVE_MAP_FILL_H

#include "pipeline/ops/carve/context.h"

enum status carve_fill_map(const struct carve_context *context, struct energy_map *map);

/* What the masks say of pixel (X, Y) of the present picture: bits, as energies carry them
 * ENERGY_KEEP times. */
unsigned carve_mark_at(const struct carve_context *context, uint32_t x, uint32_t y);

#endif
