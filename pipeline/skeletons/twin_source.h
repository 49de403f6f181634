// SPDX-License-Identifier: Apache-2.0
/* twin_source.h - the C source of a user file's CPU twin.
 *
 * The prelude, the user's text, and behind it a loop for each operator and depth:
 * `burin_<name>_<depth>_rows`, and of an R2S `burin_<name>_<depth>_merge` too.
 *
 * Used by:  twin_library.c, convert.c.
 * Owns:     the caller frees the text.
 * Fails:    NULL without memory.
 * Threads:  any; no state.
 */
#ifndef BURIN_TWIN_SOURCE_H
#define BURIN_TWIN_SOURCE_H

#include "pipeline/skeletons/user_op.h"

#include <stdio.h>

char *twin_source(const struct user_file *file);

/* The loops alone; LINES: with #line before each skeleton. */
void twin_source_loops(FILE *out, const struct user_file *file, bool lines);

#endif
