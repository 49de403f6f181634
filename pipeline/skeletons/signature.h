// SPDX-License-Identifier: Apache-2.0
/* signature.h - checks that a function has the form of its directive.
 *
 * Used by:  reader.c.
 * Owns:     nothing.
 * Fails:    mistakes go into the diagnostics; false.
 * Threads:  any; no state.
 */
#ifndef BURIN_SIGNATURE_H
#define BURIN_SIGNATURE_H

#include "pipeline/skeletons/user_op.h"

/* Reads FUNCTION, which follows OP's directive, and OP's map; FILE has all structs. Fills in OP's
 * skeleton, depth, window, result, generic, parameters, given, uses_position, and what the map
 * and the function take. */
bool signature_read(const struct user_file *file, const struct declaration *directive,
                    const struct declaration *function, struct user_op *op,
                    struct diagnostics *diagnostics);

/* Returns the form: "static S name(S pixel, int index[, int width...][, params])". */
const char *signature_form(enum skeleton skeleton);

#endif
