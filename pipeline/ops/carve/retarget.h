// SPDX-License-Identifier: Apache-2.0
/* retarget.h - makes one width of a picture from its map of seams, without carving.
 *
 * Used by:  ops/carve.c, for calls that a shared map serves (op.common).
 * Owns:     nothing.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE; the output is then unusable.
 * Threads:  shares rows among the pool's.
 */
#ifndef BURIN_CARVE_RETARGET_H
#define BURIN_CARVE_RETARGET_H

#include "pipeline/op.h"

/* Runs CALL, whose `common` is a map of at least as many vertical seams as the width changes by. */
enum status carve_retarget(const struct op_call *call);

#endif
