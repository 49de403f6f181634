// SPDX-License-Identifier: Apache-2.0
/* twin_source.h - the C source of a user file's CPU twin.
 *
 * The prelude, the user's text with its lines' numbers kept, and behind it a loop for each operator
 * and depth: `burin_<name>_<depth>_rows`, of an R2S `burin_<name>_<depth>_merge` too.
 *
 * Used by:  twin.c, `burin convert`.
 * Owns:     the caller frees the text.
 * Fails:    NULL without memory.
 * Threads:  any; no state.
 */
#ifndef BURIN_TWIN_SOURCE_H
#define BURIN_TWIN_SOURCE_H

#include "pipeline/skeletons/user_op.h"

char *twin_source(const struct user_file *file);

/* Whether OP has a loop for images of DEPTH bits. */
bool twin_source_has(const struct user_op *op, int depth);

/* What an R2S of DEPTH reduces to, an R2V counts in. */
enum scalar_type twin_source_result(const struct user_op *op, int depth);

#endif
