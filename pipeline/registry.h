// SPDX-License-Identifier: Apache-2.0
/* registry.h - the operators of this process: the built-in ones (builtin_ops.h), then those that
 * users add at start, in the order of their addition.
 *
 * Used by:  plan.c and code that lists operators. The daemon's front adds none here, because its
 *           users' operators change while it runs (op_set.h, server/generation.h).
 * Owns:     nothing; an added record must live as long as the process.
 * Fails:    registry_add returns false.
 * Threads:  any; registry_add only before threads start.
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

const struct op_set *registry_set(void);

/* Returns false if the name is taken or the registry is full. */
bool registry_add(const struct op *op);

/* Whether OP is a user's, not built in. */
bool registry_is_added(const struct op *op);

const struct op *registry_find(const char *name);

/* Returns NAME, as a string of an operator's record, if an operator takes an extra image of that
 * name; else NULL. */
const char *registry_aux(const char *name);

/* Returns the name most similar to NAME, for messages; NULL where none is. */
const char *registry_nearest(const char *name);

#ifdef __cplusplus
}
#endif
#endif
