// SPDX-License-Identifier: Apache-2.0
/* registry.h - the operators of this process: those that it was built with, and those that users
 * add at start.
 *
 * Those that it was built with (builtin_ops.h) come first; added ones stand behind them in the
 * order in which they were added.
 *
 * Used by:  plan.c, and whoever lists operators. The daemon's front adds none here: its users'
 *           operators change while it runs (op_set.h, server/generation.h).
 * Owns:     nothing: an added record must stay as long as the process.
 * Fails:    registry_add returns false.
 * Threads:  any once the process has started its threads: registry_add before that alone.
 * Limits:   REGISTRY_ADDED_MAX.
 */
#ifndef BURIN_REGISTRY_H
#define BURIN_REGISTRY_H

#include "pipeline/op_set.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { REGISTRY_ADDED_MAX = OP_SET_ADDED_MAX };

int registry_count(void);
const struct op *registry_at(int index);

/* All of them. */
const struct op_set *registry_set(void);

/* false where there is an operator of that name, or no room. */
bool registry_add(const struct op *op);

/* OP was added, as a user's are. */
bool registry_is_added(const struct op *op);

/* NULL when there is none of that name. */
const struct op *registry_find(const char *name);

/* NAME as an operator's record has it that takes an image of that name beside its input; NULL: none
 * does. */
const char *registry_aux(const char *name);

/* The name nearest to NAME, for messages; NULL where none is near. */
const char *registry_nearest(const char *name);

#ifdef __cplusplus
}
#endif
#endif
