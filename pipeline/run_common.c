// SPDX-License-Identifier: Apache-2.0
#include "pipeline/run_common.h"

#include "pipeline/run_layout.h"

void run_common_find(struct run_tree *tree) {
    const struct run_part *trunk = &tree->parts[0];
    const struct plan *branches[PLAN_BRANCHES_MAX] = { NULL };
    for (int p = 1; p < tree->part_count; p++) branches[p - 1] = tree->parts[p].plan;
    for (int i = 0; i < tree->count; i++)
        plan_common_find(&trunk->items[i].shared, branches, tree->part_count - 1,
                         &trunk->items[i].shapes[trunk->plan->count]);
}

int run_common_count(const struct run_tree *tree) {
    int count = 0;
    for (int i = 0; i < tree->count; i++) count += tree->parts[0].items[i].shared.branches != 0;
    return count;
}

size_t run_common_bytes(const struct run_tree *tree) {
    size_t bytes = 0;
    for (int i = 0; i < tree->count; i++) {
        const struct plan_common *shared = &tree->parts[0].items[i].shared;
        if (shared->branches) bytes += run_layout_aligned(image_bytes(&shared->image));
    }
    return bytes;
}

void run_common_place(struct run_tree *tree, uint8_t *base) {
    for (int i = 0; i < tree->count; i++) {
        struct plan_common *shared = &tree->parts[0].items[i].shared;
        shared->image.pixels = base;
        if (shared->branches) base += run_layout_aligned(image_bytes(&shared->image));
    }
}

/* As the first branch that it serves would call it, for another result. */
static struct op_call call_of(const struct run_tree *tree, int i) {
    const struct run_item *trunk = &tree->parts[0].items[i];
    int branch = 0;
    while (!plan_common_serves(&trunk->shared, branch)) branch++;
    struct op_call call = run_make_call(&tree->parts[1 + branch], 0, i);
    call.params = &trunk->shared.params;
    call.in = trunk->shapes[tree->parts[0].plan->count];
    call.out = trunk->shared.image;
    call.common = (struct image){ 0 };
    call.progress = trunk->progress;
    call.failure = &tree->parts[0].items[i].failure;
    return call;
}

int run_common_calls(const struct run_tree *tree, struct op_call *calls) {
    int count = 0;
    for (int i = 0; i < tree->count; i++)
        if (tree->parts[0].items[i].shared.branches) calls[count++] = call_of(tree, i);
    return count;
}

enum status run_common(struct lane *lane, const struct run_tree *tree, uint32_t step,
                       struct failure *failure) {
    struct op_call calls[RUN_BATCH_MAX];
    const size_t images = run_common_bytes(tree);
    const int count = run_common_calls(tree, calls);
    if (!count) return STATUS_OK;
    for (int i = 0; i < count; i++) progress_step(calls[i].progress, step);
    calls[0].scratch = lane->work + images;
    calls[0].scratch_bytes = lane->work_bytes - images;
    const enum status status = lane->driver->run(lane, calls[0].op, calls, count);
    for (int i = 0; status && i < count; i++)
        if (calls[i].failure->status) *failure = *calls[i].failure;
    return status;
}
