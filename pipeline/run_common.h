// SPDX-License-Identifier: Apache-2.0
/* run_common.h - the one call that branches have in common (plan_tree.h), for each item of a
 * batch: it runs between the trunk and the first branch, and its images lie at the beginning of
 * `work` until the last branch is done.
 *
 * Used by:  run.c, run_layout.c.
 * Owns:     nothing; the trunk's items have its parameters and its images.
 * Fails:    as the operator.
 * Threads:  the lane's.
 */
#ifndef BURIN_RUN_COMMON_H
#define BURIN_RUN_COMMON_H

#include "pipeline/run.h"

/* Once the trunk's shapes are known. */
void run_common_find(struct run_tree *tree);

/* How many items have such a call. */
int run_common_count(const struct run_tree *tree);

/* Bytes of all its images; from BASE on they are placed. */
size_t run_common_bytes(const struct run_tree *tree);
void run_common_place(struct run_tree *tree, uint8_t *base);

/* Its calls, one an item that has one: shapes and params set. The branches are placed. */
int run_common_calls(const struct run_tree *tree, struct op_call *calls);

/* Runs it, if there is any; its images and the branches are placed. STEP: for the progress. */
enum status run_common(struct lane *lane, const struct run_tree *tree, uint32_t step,
                       struct failure *failure);

#endif
