// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan_common.h"

static const struct op *first_op(const struct plan *plan) {
    return plan->count ? plan->steps[0].op : NULL;
}

/* The first operator that has something to have in common; NULL: none does. */
static const struct op *sharing_op(const struct plan *const *branches, int count) {
    for (int b = 0; b < count; b++) {
        const struct op *op = first_op(branches[b]);
        if (op && op->common) return op;
    }
    return NULL;
}

void plan_common_find(struct plan_common *common, const struct plan *const *branches, int count,
                      const struct image *in) {
    const struct params *calls[PLAN_BRANCHES_MAX];
    *common = (struct plan_common){ .op = count > 1 ? sharing_op(branches, count) : NULL };
    if (!common->op) return;
    for (int b = 0; b < count; b++)
        calls[b] = first_op(branches[b]) == common->op ? &branches[b]->steps[0].params : NULL;
    const uint32_t served = common->op->common(calls, count, in, &common->params);
    if (served && !common->op->size(&common->params, in, &common->image, NULL))
        common->branches = served;
}
