// SPDX-License-Identifier: Apache-2.0
/* run_find.h - what steps cut off an image (op.finder), found before the plan runs.
 *
 * Used by:  run.c.
 * Owns:     nothing.
 * Fails:    an item whose plan refuses the new shape, or whose further image does not fit it, fails
 *           alone: it goes through the batch uncut.
 * Threads:  the lane's.
 */
#ifndef BURIN_RUN_FIND_H
#define BURIN_RUN_FIND_H

#include "pipeline/run.h"

/* The steps that lead to one step's finder, and that; it reports values, and makes no result. */
struct run_finding {
    struct run_tree tree; /* the trunk, and the branch that has the step */
    struct plan plan;
    int part, step;
};

/* Forgets what was found, except the cuts that the items were given. */
void run_find_begin(struct run_tree *tree);

/* Fills in FINDING for the first step whose cut is not known; false: all are. */
bool run_find_next(const struct run_tree *tree, struct run_finding *finding);

/* While a finding is laid out or runs, no item wants a result. WANTS: of all parts in turn. */
void run_find_hide(const struct run_tree *tree, enum run_result wants[RUN_BATCH_MAX]);
void run_find_show(const struct run_tree *tree, const enum run_result wants[RUN_BATCH_MAX]);

/* Takes what FINDING, which has run, found for the items of TREE, and sets their new shapes. */
void run_find_take(const struct lane *lane, struct run_tree *tree,
                   const struct run_finding *finding);

/* Writes the cuts where the steps' values are, on the host. */
void run_find_report(const struct run_tree *tree);

#endif
