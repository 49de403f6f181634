// SPDX-License-Identifier: Apache-2.0
/* laws.h - tries whether a reduction may be done in any order, as R2S does it: f(f(a, b), c) is
 * f(a, f(b, c)), and f(a, b) is f(b, a).
 *
 * Used by:  command_check.c, in a process of its own: the operator may crash or never end.
 * Threads:  any; no state.
 * Limits:   LAWS_TRIES random numbers a depth, with the default parameters. Only numbers that
 *           samples give, alone or reduced, are tried.
 */
#ifndef BURIN_LAWS_H
#define BURIN_LAWS_H

#include "pipeline/skeletons/user_op.h"

enum { LAWS_TRIES = 3000, LAWS_TEXT_MAX = 400 };

/* Whether a counterexample was found for OP, which is compiled; TEXT gets a sentence with it. */
bool laws_broken(const struct user_op *op, char text[LAWS_TEXT_MAX]);

#endif
