// SPDX-License-Identifier: Apache-2.0
/* refusals.h - constructs that an operator's source may not contain.
 *
 * Used by:  reader.c.
 * Owns:     nothing.
 * Fails:    mistakes go into the diagnostics.
 * Threads:  any; no state.
 */
#ifndef BURIN_REFUSALS_H
#define BURIN_REFUSALS_H

#include "pipeline/skeletons/declarations.h"

/* Checks preprocessor lines, reserved words, names. */
void refusals_in_tokens(const struct tokens *tokens, struct diagnostics *diagnostics);

/* Checks variables that keep a state, prototypes without a function, recursion, calls of missing
 * functions. */
void refusals_in_declarations(const struct tokens *tokens, const struct declarations *declarations,
                              struct diagnostics *diagnostics);

#endif
