// SPDX-License-Identifier: Apache-2.0
/* retarget.h - a width of a picture from its map of seams, in the place of a carving.
 *
 * Used by:  ops/carve.c, for calls that op.common's serves.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE: the output is unfit then.
 * Threads:  shares rows out among the pool's.
 */
#ifndef BURIN_CARVE_RETARGET_H
#define BURIN_CARVE_RETARGET_H

#include "pipeline/op.h"

/* CALL, of which `common` is the map of at least as many vertical seams as the width changes by. */
enum status carve_retarget(const struct op_call *call);

#endif
