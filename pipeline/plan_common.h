// SPDX-License-Identifier: Apache-2.0
/* plan_common.h - work that branches of one tree have in common: those that begin with the same
 * operator may be served by one more call of it, made once, from whose image each makes its own.
 *
 * Used by:  run_common.c does it; work.c predicts what it takes.
 * Owns:     nothing; plain data.
 * Threads:  any.
 * Limits:   PLAN_BRANCHES_MAX branches; one such call a tree.
 */
#ifndef BURIN_PLAN_COMMON_H
#define BURIN_PLAN_COMMON_H

#include "pipeline/plan_tree.h"

#ifdef __cplusplus
extern "C" {
#endif

struct plan_common {
    uint32_t branches;    /* bit b: branch b's first step is served; 0: there is nothing */
    const struct op *op;  /* theirs */
    struct params params; /* of the call */
    struct image image;   /* that it makes: shape alone */
};

/* Of COUNT branches that begin with IN, the trunk's result; each plan accepts it (plan_shapes). */
void plan_common_find(struct plan_common *common, const struct plan *const *branches, int count,
                      const struct image *in);

static inline bool plan_common_serves(const struct plan_common *common, int branch) {
    return common->branches >> branch & 1;
}

#ifdef __cplusplus
}
#endif
#endif
