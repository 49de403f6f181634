// SPDX-License-Identifier: Apache-2.0
/* How it works. All items of a batch have the same steps, so they are at the same finding. Cuts are
 * found one after the other, in the order of parts and steps, because each may change what the next
 * finder sees; steps in front of a finder run again afterwards. */
#include "pipeline/run_find.h"

#include <string.h>

void run_find_begin(struct run_tree *tree) {
    for (int p = 0; p < tree->part_count; p++)
        for (int i = 0; i < tree->count; i++) {
            struct run_item *item = &tree->parts[p].items[i];
            item->found = item->given ? UINT32_MAX : 0;
            memset(item->cuts, 0, sizeof item->cuts);
            if (item->given) memcpy(item->cuts, item->given, sizeof item->cuts);
        }
}

bool run_find_next(const struct run_tree *tree, struct run_finding *finding) {
    for (int p = 0; p < tree->part_count; p++) {
        const struct run_part *part = &tree->parts[p];
        int s = plan_finder_step(part->plan, 0);
        while (s >= 0 && part->items[0].found >> s & 1) s = plan_finder_step(part->plan, s + 1);
        if (s < 0) continue;
        plan_find(&finding->plan, part->plan, s);
        finding->part = p;
        finding->step = s;
        finding->tree.count = tree->count;
        finding->tree.part_count = p ? 2 : 1;
        finding->tree.parts[0] = tree->parts[0];
        finding->tree.parts[p > 0] = (struct run_part){ &finding->plan, part->items, 0 };
        return true;
    }
    return false;
}

void run_find_hide(const struct run_tree *tree, enum run_result wants[RUN_BATCH_MAX]) {
    for (int p = 0; p < tree->part_count; p++)
        for (int i = 0; i < tree->count; i++) {
            wants[p * tree->count + i] = tree->parts[p].items[i].want;
            tree->parts[p].items[i].want = RUN_NOTHING;
        }
}

void run_find_show(const struct run_tree *tree, const enum run_result wants[RUN_BATCH_MAX]) {
    for (int p = 0; p < tree->part_count; p++)
        for (int i = 0; i < tree->count; i++)
            tree->parts[p].items[i].want = wants[p * tree->count + i];
}

/* The front's limit (request/submit.c) for all results of item I, whose sizes are known now. The
 * trunk is wanted for branches that pass its image on, too. */
static enum status check_sum(const struct run_tree *tree, int i, struct failure *failure) {
    const struct run_item *trunk = &tree->parts[0].items[i];
    uint64_t pixels = 0;
    for (int p = 0; p < tree->part_count; p++) {
        const struct run_part *part = &tree->parts[p];
        if (p ? run_last_maker(part->plan) >= 0 : trunk->want != RUN_NOTHING)
            pixels += image_pixels(&part->items[i].shapes[part->plan->count]);
    }
    if (tree->part_count == 1) return STATUS_OK;
    return plan_tree_check_pixels(pixels, trunk->pixels_max, 0, false, failure);
}

/* Sets the shapes of item I of all parts. */
static enum status shape_item(struct run_tree *tree, int i, struct failure *failure) {
    const struct run_part *trunk = &tree->parts[0];
    const struct run_item *first = &trunk->items[i];
    enum status status = STATUS_OK;
    for (int p = 0; p < tree->part_count && !status; p++) {
        const struct plan *plan = tree->parts[p].plan;
        struct run_item *item = &tree->parts[p].items[i];
        const struct image *in = p ? &first->shapes[trunk->plan->count] : &first->in;
        const bool takes_aux =
            plan_aux_step(plan) >= 0 && (p == 0 || plan_leaves_aux(trunk->plan, plan));
        status = plan_shapes_cut(plan, in, first->pixels_max, item->cuts, item->shapes, failure);
        for (int a = 0; a < OP_AUX_MAX && takes_aux && !status; a++)
            if (plan_aux_is_for(plan, a, &first->aux[a]))
                status = plan_aux_fits(plan, plan_aux_at(plan, a)->name, &first->aux[a],
                                       item->shapes, failure);
    }
    return status ? status : check_sum(tree, i, failure);
}

/* The file of ITEM, of a new shape, may be one that the device's codec does not take. */
static void size_file(const struct lane *lane, struct run_item *item, const struct plan *plan) {
    if (!run_wants_file(item)) return;
    item->file.image = item->shapes[plan->count];
    item->encode_bytes = lane->driver->codec->encode_bytes(&item->file);
    item->refused |= !item->encode_bytes;
}

void run_find_take(const struct lane *lane, struct run_tree *tree,
                   const struct run_finding *finding) {
    const struct run_part *part = &tree->parts[finding->part];
    for (int i = 0; i < tree->count; i++) {
        struct run_item *first = &tree->parts[0].items[i], *item = &part->items[i];
        struct cut *cut = &item->cuts[finding->step];
        struct failure failure;
        item->found |= UINT32_C(1) << finding->step;
        if (first->refused || first->failure.status || item->failure.status) continue;
        memcpy(cut, item->values[finding->step].numbers, sizeof *cut);
        if (!cut_leaves(cut, &item->shapes[finding->step])) *cut = (struct cut){ 0 };
        if (!shape_item(tree, i, &failure)) continue;
        first->failure = failure;
        *cut = (struct cut){ 0 };
        shape_item(tree, i, &failure); /* it was accepted before */
    }
    for (int p = 0; p < tree->part_count; p++)
        for (int i = 0; i < tree->count; i++)
            size_file(lane, &tree->parts[p].items[i], tree->parts[p].plan);
}

void run_find_report(const struct run_tree *tree) {
    for (int p = 0; p < tree->part_count; p++) {
        const struct run_part *part = &tree->parts[p];
        for (int s = plan_finder_step(part->plan, 0); s >= 0;
             s = plan_finder_step(part->plan, s + 1))
            for (int i = 0; i < tree->count; i++)
                memcpy(part->items[i].values[s].numbers, &part->items[i].cuts[s],
                       sizeof(struct cut));
    }
}
