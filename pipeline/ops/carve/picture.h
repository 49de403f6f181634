// SPDX-License-Identifier: Apache-2.0
/* picture.h - the pixels that are carved: moved, removed and doubled as a phase's seams say.
 *
 * Used by:  ops/carve.c; seam_search.c paints, context.c lays out memory.
 * Owns:     nothing; all memory is the operator's scratch.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE.
 * Threads:  shares lines among the pool's; carve_paint: any.
 */
#ifndef BURIN_CARVE_PICTURE_H
#define BURIN_CARVE_PICTURE_H

#include "pipeline/ops/carve/context.h"

/* A pixel of the operator's input has the id y * width + x, an inserted pixel this one: */
#define CARVE_NEW UINT32_MAX

size_t carve_origins_bytes(uint32_t lines, uint32_t length);

void carve_paint(const struct image *red, uint32_t id);

/* Returns the image that holds the picture after the present phase. */
const struct image *carve_picture(const struct carve_context *context);

/* Changes the pixels as PHASE's seams say, or writes the seams' map. */
enum status carve_picture_change(struct carve_context *context, const struct carve_phase *phase);

/* Without any phase: copies the input, or writes a map without seams. */
enum status carve_picture_copy(const struct carve_context *context);

#endif
