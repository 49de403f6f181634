// SPDX-License-Identifier: Apache-2.0
/* phases.h - carves from the first phase to the last.
 *
 * Used by:  ops/carve.c.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE: the output is unfit then.
 */
#ifndef BURIN_CARVE_PHASES_H
#define BURIN_CARVE_PHASES_H

#include "pipeline/ops/carve/context.h"

/* For show=seams `out` holds the picture already. */
enum status carve_phases_run(struct carve_context *context);

#endif
