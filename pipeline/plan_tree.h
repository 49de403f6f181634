// SPDX-License-Identifier: Apache-2.0
/* plan_tree.h - a plan with branches: a trunk of steps, and branches that each begin with the image
 * that the trunk makes. The trunk, and every branch, may have no steps.
 *
 * A tree crosses from process to process as plain data, without a pointer.
 *
 * Used by:  request/submit.c makes it, executor.c and batch.c run it, http/handle_status.c.
 * Owns:     nothing.
 * Fails:    STATUS_BAD_PARAM; plan_tree_unpack: STATUS_INTERNAL for damaged data.
 * Threads:  any.
 * Limits:   PLAN_BRANCHES_MAX branches, PLAN_DATA_MAX bytes of data; PLAN_STEPS_MAX steps on each
 *           way, the trunk's among them.
 */
#ifndef BURIN_PLAN_TREE_H
#define BURIN_PLAN_TREE_H

#include "pipeline/plan.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PLAN_BRANCHES_MAX = 32, PLAN_PARTS_MAX = 1 + PLAN_BRANCHES_MAX, PLAN_DATA_MAX = 2048 };

struct plan_tree {
    int count;                         /* of parts, 1 at least */
    struct plan parts[PLAN_PARTS_MAX]; /* the trunk, then the branches */
};

/* A tree as plain data. Operators are numbers: their places in the set that the plan was made
 * of. Parameters at their default are left out, so equal trees have equal bytes. */
struct plan_data {
    uint32_t length; /* bytes in use; 0: there is no tree */
    uint8_t bytes[PLAN_DATA_MAX];
};

/* STATUS_BAD_PARAM if DATA is too small. */
enum status plan_tree_pack(const struct plan_tree *tree, struct plan_data *data,
                           struct failure *failure);

/* OPS: the set that the tree was made of, or one with the same operators in the same order; NULL:
 * this process's registry. */
enum status plan_tree_unpack(struct plan_tree *tree, const struct op_set *ops,
                             const struct plan_data *data, struct failure *failure);

static inline bool plan_data_is_same(const struct plan_data *a, const struct plan_data *b) {
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* Every way through it has as many steps as a plan may have. */
enum status plan_tree_check(const struct plan_tree *tree, struct failure *failure);

/* Step INDEX of all, counted through the parts one after the other; NULL: there are fewer. */
const struct step *plan_tree_step(const struct plan_tree *tree, uint32_t index);

/* How many steps there are before those of part PART. */
uint32_t plan_tree_steps_before(const struct plan_tree *tree, int part);

/* What the progress counts: the unit of the first operator that tells any, else "steps". */
const char *plan_tree_unit(const struct plan_tree *tree);

/* The part whose steps get the images beside the input: the trunk, or else the first branch that
 * takes any; then all of them do. -1: none. */
int plan_tree_aux_part(const struct plan_tree *tree);

bool plan_tree_has_user_operators(const struct plan_tree *tree);

/* ---- work that branches have in common: those that begin with the same operator may be served by
 * one more call of it a tree, made once, from whose image each makes its own */

struct plan_common {
    uint32_t branches;    /* bit b: branch b's first step is served; 0: there is nothing */
    const struct op *op;  /* theirs */
    struct params params; /* of the call */
    struct image image;   /* that it makes: shape alone */
};

/* COUNT branches begin with IN, the trunk's result; each plan accepts it (plan_shapes). */
void plan_common_find(struct plan_common *common, const struct plan *const *branches, int count,
                      const struct image *in);

static inline bool plan_common_serves(const struct plan_common *common, int branch) {
    return common->branches >> branch & 1;
}

#ifdef __cplusplus
}
#endif
#endif
