// SPDX-License-Identifier: Apache-2.0
/* signature.h - whether a function has the form that its directive asks for.
 *
 * Used by:  reader.c.
 * Owns:     nothing.
 * Fails:    mistakes go into the diagnostics; false.
 * Threads:  any; no state.
 */
#ifndef BURIN_SIGNATURE_H
#define BURIN_SIGNATURE_H

#include "pipeline/skeletons/user_op.h"

/* FUNCTION stands behind OP's directive; FILE has all structs. Fills in OP's depth, window, result,
 * generic, parameters and uses_position. */
bool signature_read(const struct user_file *file, const struct declaration *directive,
                    const struct declaration *function, struct user_op *op,
                    struct diagnostics *diagnostics);

/* The form itself: "static S name(S pixel, int index[, params])". */
const char *signature_form(enum skeleton skeleton);

#endif
