// SPDX-License-Identifier: Apache-2.0
/* energy_view.h - show=energy: the picture's energies, gray, in place of carving.
 *
 * Used by:  ops/carve.c.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE.
 */
#ifndef BURIN_CARVE_ENERGY_VIEW_H
#define BURIN_CARVE_ENERGY_VIEW_H

#include "pipeline/ops/carve/context.h"

/* Scratch bytes. */
size_t energy_view_bytes(struct carve_context *context);

/* Into `out`. */
enum status energy_view_draw(struct carve_context *context);

#endif
