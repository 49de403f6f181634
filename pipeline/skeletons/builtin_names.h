// SPDX-License-Identifier: Apache-2.0
/* builtin_names.h - the functions that every user operator may call, on the CPU and on a GPU.
 *
 * Used by:  refusals.c; tests call each of them.
 * Threads:  any; no state.
 */
#ifndef BURIN_BUILTIN_NAMES_H
#define BURIN_BUILTIN_NAMES_H

#include "pipeline/skeletons/tokens.h"

/* NULL ends the list. */
extern const char *const builtin_names[];

bool builtin_is_function(const struct token *name);

/* The one whose name is nearest to NAME, for messages; NULL: none is near. */
const char *builtin_nearest(const char *name);

#endif
