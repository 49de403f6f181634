// SPDX-License-Identifier: Apache-2.0
/* op_set.h - operators that a plan may use: the built-in ones, then those added to the set.
 *
 * Used by:  registry.c, for the operators of this process; the daemon's front, which has one set
 *           for running requests and a second one for requests after a reload.
 * Owns:     nothing; an added record must live as long as the set.
 * Fails:    op_set_add returns false.
 * Threads:  any, once the set is complete.
 * Limits:   OP_SET_ADDED_MAX.
 */
#ifndef BURIN_OP_SET_H
#define BURIN_OP_SET_H

#include "pipeline/op.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { OP_SET_ADDED_MAX = 256 };

struct op_set {
    const struct op *added[OP_SET_ADDED_MAX];
    int added_count; /* 0: only the built-in operators */
};

/* Returns false if the name is taken or the set is full. */
bool op_set_add(struct op_set *set, const struct op *op);

int op_set_count(const struct op_set *set);
const struct op *op_set_at(const struct op_set *set, int index); /* NULL: INDEX is too large */
bool op_set_is_added(const struct op_set *set, const struct op *op);
const struct op *op_set_find(const struct op_set *set, const char *name); /* NULL: none */

/* Returns the name most similar to NAME, for messages; NULL where none is. */
const char *op_set_nearest(const struct op_set *set, const char *name);

#ifdef __cplusplus
}
#endif
#endif
