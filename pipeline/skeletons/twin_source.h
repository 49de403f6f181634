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

#include <stdio.h>

char *twin_source(const struct user_file *file);

/* The user's text alone, as a part of any source that defines BURIN_INLINE: what stands before a
 * function that is put into its caller. An R2S of T and E without a type is there for 8 bits, and
 * once more, under another name, for 16. */
void twin_source_put_user_text(FILE *out, const struct user_file *file);

/* The name there of OP's function for images of DEPTH bits. */
void twin_source_function(const struct user_op *op, int depth, char *name, size_t size);

/* Whether OP has a loop for images of DEPTH bits. */
bool twin_source_has(const struct user_op *op, int depth);

/* What an R2S of DEPTH reduces to, an R2V counts in. */
enum scalar_type twin_source_result(const struct user_op *op, int depth);

#endif
