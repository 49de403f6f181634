// SPDX-License-Identifier: Apache-2.0
/* refusals.h - what may not stand in an operator's source, whatever it would mean.
 *
 * Used by:  the reader of users' operators.
 * Owns:     nothing.
 * Fails:    mistakes go into the diagnostics.
 * Threads:  any; no state.
 */
#ifndef BURIN_REFUSALS_H
#define BURIN_REFUSALS_H

#include "pipeline/skeletons/declarations.h"

/* Preprocessor lines, reserved words, names. */
void refusals_in_tokens(const struct tokens *tokens, struct diagnostics *diagnostics);

/* Variables that keep a state, prototypes without a function, recursion, calls of functions that
 * are not there. */
void refusals_in_declarations(const struct tokens *tokens, const struct declarations *declarations,
                              struct diagnostics *diagnostics);

#endif
