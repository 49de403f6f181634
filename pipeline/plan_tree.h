// SPDX-License-Identifier: Apache-2.0
/* plan_tree.h - a plan with branches: a trunk of steps, and branches that each begin with the image
 * that the trunk makes. The trunk and every branch may have no steps.
 *
 * A tree passes from process to process as plain data, without a pointer.
 *
 * Used by:  request/submit.c makes it, executor.c and batch.c run it; http/handle_status.c.
 * Owns:     nothing; operators belong to their set.
 * Fails:    STATUS_BAD_PARAM; plan_tree_unpack: STATUS_INTERNAL for damaged data.
 * Threads:  any.
 * Limits:   PLAN_BRANCHES_MAX branches, PLAN_DATA_MAX bytes of data; PLAN_STEPS_MAX steps in
 *           the trunk and any one branch together.
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
    int count;                         /* parts, at least 1 */
    struct plan parts[PLAN_PARTS_MAX]; /* the trunk, then the branches */
};

/* A tree as plain data. An operator is a number: its index in the set that the plan was made from.
 * Parameters at their default are left out, so equal trees have equal bytes. */
struct plan_data {
    uint32_t length; /* bytes in use; 0: there is no tree */
    uint8_t bytes[PLAN_DATA_MAX];
};

/* STATUS_BAD_PARAM if DATA is too small. */
enum status plan_tree_pack(const struct plan_tree *tree, struct plan_data *data,
                           struct failure *failure);

/* OPS is the set that the tree was made from, or one with the same operators in the same order;
 * NULL: this process's registry. */
enum status plan_tree_unpack(struct plan_tree *tree, const struct op_set *ops,
                             const struct plan_data *data, struct failure *failure);

static inline bool plan_data_is_same(const struct plan_data *a, const struct plan_data *b) {
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* STATUS_BAD_PARAM if the trunk and a branch have more than PLAN_STEPS_MAX steps together. */
enum status plan_tree_check(const struct plan_tree *tree, struct failure *failure);

/* Step INDEX, counted through all parts in order; NULL: there are fewer steps. */
const struct step *plan_tree_step(const struct plan_tree *tree, uint32_t index);

/* Whether the size of the image that step S of PART gets is known before the plan runs; of its
 * result, with S the number of steps or more. */
bool plan_tree_knows_size(const struct plan_tree *tree, int part, int s);

/* The unit of the tree's progress: that of the first operator that has one, else "steps". */
const char *plan_tree_unit(const struct plan_tree *tree);

/* The part whose steps get the request's further images: the first that needs one, else the first
 * that takes any. If it is a branch, all branches get them (plan_leaves_aux). -1: none. */
int plan_tree_aux_part(const struct plan_tree *tree);

/* plan_aux_complete for all parts. GIVEN: the images that this part gets, and all branches if it is
 * one. */
enum status plan_tree_aux_complete(const struct plan_tree *tree, uint32_t given,
                                   struct failure *failure);

/* The refusal of the image NAME, which no step of that part takes. TREE may be NULL. */
enum status plan_tree_refuse_aux(const struct plan_tree *tree, const char *name,
                                 struct failure *failure);

bool plan_tree_has_user_operators(const struct plan_tree *tree);

/* STATUS_TOO_LARGE if PIXELS, of all results or of all FRAMES of one, are more than PIXELS_MAX.
 * COUNT: of these, for the message; 0: not known. */
enum status plan_tree_check_pixels(uint64_t pixels, uint64_t pixels_max, uint32_t count,
                                   bool frames, struct failure *failure);

/* ---- work that branches share: one further call of the operator that several branches begin with,
 * made once a tree; each such branch makes its own image from the result of that call */

struct plan_common {
    uint32_t branches;    /* bit b: the call serves branch b's first step; 0: there is no call */
    const struct op *op;  /* of the call and of the steps */
    struct params params; /* of the call */
    struct image image;   /* the call's result: shape alone */
};

/* COUNT branches begin with IN, the trunk's result; plan_shapes has accepted IN for each. Bit p of
 * AUX: their first steps get the further image at place p. */
void plan_common_find(struct plan_common *common, const struct plan *const *branches, int count,
                      const struct image *in, uint32_t aux);

static inline bool plan_common_serves(const struct plan_common *common, int branch) {
    return common->branches >> branch & 1;
}

#ifdef __cplusplus
}
#endif
#endif
