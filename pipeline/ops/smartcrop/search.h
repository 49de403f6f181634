// SPDX-License-Identifier: Apache-2.0
/* search.h - the part of an image that smartcrop keeps, found on the CPU.
 *
 * Used by:  ops/smartcrop.c.
 * Owns:     nothing; the scratch, smartcrop_search_bytes of it, is the caller's.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE from progress_check.
 * Threads:  a call belongs to one, which shares it out by its pool.
 */
#ifndef BURIN_OPS_SMARTCROP_SEARCH_H
#define BURIN_OPS_SMARTCROP_SEARCH_H

#include "pipeline/op.h"
#include "pipeline/ops/smartcrop.h"

size_t smartcrop_search_bytes(const struct image *in);

/* The part that is as large as CALL's output. */
enum status smartcrop_search(const struct op_call *call, struct smartcrop_part *best);

#endif
