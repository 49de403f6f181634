// SPDX-License-Identifier: Apache-2.0
/* extract.h - which part of the image extract takes.
 *
 * Used by:  extract, on both devices.
 */
#ifndef BURIN_OPS_EXTRACT_H
#define BURIN_OPS_EXTRACT_H

#include "pipeline/ops/rectangle.h"

/* Places in the parameter list. */
enum { EXTRACT_LEFT, EXTRACT_TOP, EXTRACT_WIDTH, EXTRACT_HEIGHT };

static inline struct rectangle extract_rectangle(const struct op_call *call) {
    const long *number = call->params->number;
    const struct rectangle from = { (uint32_t)number[EXTRACT_LEFT], (uint32_t)number[EXTRACT_TOP] };
    return from;
}

#endif
