// SPDX-License-Identifier: Apache-2.0
/* plan_tree.h - a plan that goes on in several ways: a trunk, and branches that each begin with
 * what the trunk makes of the image.
 *
 *     grayscale|edge|brightness:shift=9;threshold     one step, then two ways
 *     |edge                                           the image as it came, and its edges
 *
 * Used by:  executor.c and batch.c (from a job's text), handle_progress.c.
 * Owns:     nothing.
 * Fails:    STATUS_BAD_PARAM, as plan_parse.
 * Threads:  any.
 * Limits:   PLAN_BRANCHES_MAX branches, PLAN_TEXT_MAX bytes of text in all; PLAN_STEPS_MAX steps on
 *           each way, the trunk's among them.
 */
#ifndef BURIN_PLAN_TREE_H
#define BURIN_PLAN_TREE_H

#include "pipeline/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLAN_BRANCHES_MAX = 32, PLAN_PARTS_MAX = 1 + PLAN_BRANCHES_MAX };

/* Between the parts of a text. */
#define PLAN_TREE_BAR "|"

struct plan_tree {
    int count;                         /* of parts, 1 at least */
    struct plan parts[PLAN_PARTS_MAX]; /* the trunk, then the branches */
};

enum status plan_tree_parse(struct plan_tree *tree, const char *text, struct failure *failure);

/* The same of OPS. */
enum status plan_tree_parse_of(struct plan_tree *tree, const struct op_set *ops, const char *text,
                               struct failure *failure);

/* Every way through it has as many steps as a plan may have. */
enum status plan_tree_check(const struct plan_tree *tree, struct failure *failure);

/* The text that plan_tree_parse reads back; STATUS_BAD_PARAM where TEXT is too small. */
enum status plan_tree_print(const struct plan_tree *tree, char *text, size_t size,
                            struct failure *failure);

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
