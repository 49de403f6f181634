// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan_tree.h"

#include <string.h>

enum status plan_tree_parse(struct plan_tree *tree, const char *text, struct failure *failure) {
    return plan_tree_parse_of(tree, NULL, text, failure);
}

enum status plan_tree_check(const struct plan_tree *tree, struct failure *failure) {
    for (int p = 1; p < tree->count; p++)
        if (tree->parts[0].count + tree->parts[p].count > PLAN_STEPS_MAX)
            return fail(failure, STATUS_BAD_PARAM,
                        "a pipeline takes at most %d steps; those that all outputs have and those "
                        "of one of them are %d",
                        PLAN_STEPS_MAX, tree->parts[0].count + tree->parts[p].count);
    return STATUS_OK;
}

enum status plan_tree_parse_of(struct plan_tree *tree, const struct op_set *ops, const char *text,
                               struct failure *failure) {
    char copy[PLAN_TEXT_MAX];
    const size_t length = strnlen(text, sizeof copy);
    tree->count = 0;
    if (length == sizeof copy)
        return fail(failure, STATUS_BAD_PARAM, "a pipeline's text takes at most %d characters",
                    PLAN_TEXT_MAX - 1);
    memcpy(copy, text, length + 1);
    for (char *part = copy; part;) {
        char *end = strchr(part, *PLAN_TREE_BAR);
        if (end) *end++ = '\0';
        if (tree->count == PLAN_PARTS_MAX)
            return fail(failure, STATUS_BAD_PARAM, "a pipeline has at most %d branches",
                        PLAN_BRANCHES_MAX);
        struct plan *plan = &tree->parts[tree->count++];
        const enum status status = plan_parse_of(plan, ops, part, failure);
        if (status) return status;
        part = end;
    }
    return plan_tree_check(tree, failure);
}

enum status plan_tree_print(const struct plan_tree *tree, char *text, size_t size,
                            struct failure *failure) {
    const size_t whole = size;
    for (int p = 0; p < tree->count; p++) {
        const bool fits = !p || size > 1;
        if (p && fits) {
            memcpy(text, PLAN_TREE_BAR, sizeof PLAN_TREE_BAR);
            text++, size--;
        }
        if (!fits || plan_print(&tree->parts[p], text, size, failure))
            return fail(failure, STATUS_BAD_PARAM,
                        "the text of all steps together is longer than %zu characters", whole - 1);
        const size_t length = strlen(text);
        text += length, size -= length;
    }
    return STATUS_OK;
}

const struct step *plan_tree_step(const struct plan_tree *tree, uint32_t index) {
    for (int p = 0; p < tree->count; p++) {
        const uint32_t count = (uint32_t)tree->parts[p].count;
        if (index < count) return &tree->parts[p].steps[index];
        index -= count;
    }
    return NULL;
}

uint32_t plan_tree_steps_before(const struct plan_tree *tree, int part) {
    uint32_t steps = 0;
    for (int p = 0; p < part; p++) steps += (uint32_t)tree->parts[p].count;
    return steps;
}

const char *plan_tree_unit(const struct plan_tree *tree) {
    const struct step *step;
    for (uint32_t i = 0; (step = plan_tree_step(tree, i)); i++)
        if (step->op->unit) return step->op->unit;
    return "steps";
}

int plan_tree_aux_part(const struct plan_tree *tree) {
    for (int p = 0; p < tree->count; p++)
        if (plan_aux_step(&tree->parts[p]) >= 0) return p;
    return -1;
}

bool plan_tree_has_user_operators(const struct plan_tree *tree) {
    bool any = false;
    for (int p = 0; p < tree->count; p++) any |= plan_has_user_operators(&tree->parts[p]);
    return any;
}

/* ---- what branches have in common */

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
