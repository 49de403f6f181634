// SPDX-License-Identifier: Apache-2.0
/* picture.h - the pixels that are carved: moved, taken out and doubled as a phase's seams say.
 *
 * Used by:  ops/carve.c.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE.
 */
#ifndef BURIN_CARVE_PICTURE_H
#define BURIN_CARVE_PICTURE_H

#include "pipeline/ops/carve/context.h"

/* Where the picture is to be after the present phase. */
const struct image *carve_picture(const struct carve_context *context);

/* What PHASE, whose seams were found, does to it; or the map of these seams. */
enum status carve_picture_change(struct carve_context *context, const struct carve_phase *phase);

/* Where there is no phase: the output is the input, or a map without seams. */
enum status carve_picture_copy(const struct carve_context *context);

#endif
