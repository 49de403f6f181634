// SPDX-License-Identifier: Apache-2.0
/* op_set.h - operators that a plan may have: those that the program was built with, and others
 * that were added to the set behind them.
 *
 * Used by:  registry.c, for the operators of this process; the daemon's front, which has one set
 *           for the requests under way and another for those that come after a reload.
 * Owns:     nothing: an added record must stay as long as the set.
 * Fails:    op_set_add returns false.
 * Threads:  any, once nobody adds to the set any more.
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
    int added_count; /* 0: the built-in ones alone */
};

/* false where there is an operator of that name, or no room. */
bool op_set_add(struct op_set *set, const struct op *op);

int op_set_count(const struct op_set *set);
const struct op *op_set_at(const struct op_set *set, int index); /* NULL: there are not so many */
bool op_set_is_added(const struct op_set *set, const struct op *op);
const struct op *op_set_find(const struct op_set *set, const char *name); /* NULL: none */

/* The name nearest to NAME, for messages; NULL where none is near. */
const char *op_set_nearest(const struct op_set *set, const char *name);

#ifdef __cplusplus
}
#endif
#endif
