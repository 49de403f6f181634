// SPDX-License-Identifier: Apache-2.0
/* How it works. Memory that is copied is contiguous, so that each direction is one copy. `in` holds
 * the images that the caller decodes, the further images (`aux`) and the tables of profiles, then
 * the images that the device decodes; `out` holds the results that the caller reads, the values
 * that steps report, then the results that stay on the device. host_in and host_out are the copied
 * parts of both. The images between the first step and the last alternate between two halves of
 * `work`; the scratch of the running step lies behind the halves. Before the first step all of
 * `work` belongs to the decoder, after the last to the encoder.
 * While branches run, the results of the call that they share lie in front of the halves.
 * In a tree the trunk's result lies in `out` too, or is the input; the branches' results follow it,
 * with each part's values behind its results. Parts use `work` one after the other.
 * A step that reports values makes no image: the next step reads the same image. If every step
 * reports values the result is the input: in host_in, or in `out` if the device decoded it and the
 * caller wants its pixels. */
#include "pipeline/run_layout.h"

#include <string.h>

enum { ALIGN = 256 };

static size_t aligned(size_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

int run_last_maker(const struct plan *plan) {
    int s = plan->count - 1;
    while (s >= 0 && plan->steps[s].op->values) s--;
    return s;
}

/* True if step S writes an image. */
static bool makes_image(const struct run_part *part, int s) {
    return !part->plan->steps[s].op->values && !run_is_fused(part, s);
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* ---- bytes */

static size_t shape_bytes(const struct run_item *item, int step) {
    return aligned(image_bytes(&item->shapes[step]));
}

/* Bytes of the images after STEP steps, all items. */
static size_t level_bytes(const struct run_part *part, int count, int step) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += shape_bytes(&part->items[i], step);
    return bytes;
}

static size_t aux_bytes(const struct run_item *items, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        for (int p = 0; p < OP_AUX_MAX; p++) bytes += aligned(image_bytes(&items[i].aux[p]));
        bytes += aligned(image_bytes(&items[i].table));
    }
    return bytes;
}

size_t run_uploaded_bytes(const struct run_tree *tree) {
    const struct run_item *items = tree->parts[0].items;
    size_t bytes = aux_bytes(items, tree->count);
    for (int i = 0; i < tree->count; i++)
        if (!run_is_file(&items[i])) bytes += shape_bytes(&items[i], 0);
    return bytes;
}

/* True if the device decodes ITEM straight into `out`, since its image is the result. */
static bool is_passed_on(const struct plan *plan, const struct run_item *item) {
    return run_is_file(item) && run_wants_pixels(item) && run_last_maker(plan) < 0;
}

bool run_inputs_are_results(const struct run_tree *tree) {
    bool any = false;
    for (int i = 0; i < tree->count; i++)
        any |= is_passed_on(tree->parts[0].plan, &tree->parts[0].items[i]);
    return any;
}

/* True if `out` holds the result of ITEM. */
static bool has_result(const struct plan *plan, const struct run_item *item) {
    return run_last_maker(plan) >= 0 || is_passed_on(plan, item);
}

/* Bytes of the part's results that are downloaded, or of the others. */
static size_t result_bytes(const struct run_part *part, int count, bool downloaded) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        if (has_result(part->plan, &part->items[i]) &&
            run_wants_pixels(&part->items[i]) == downloaded)
            bytes += shape_bytes(&part->items[i], part->plan->count);
    return bytes;
}

static size_t all_values_bytes(const struct run_part *part, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        for (int s = 0; s < part->plan->count; s++)
            bytes += aligned(values_bytes(&part->items[i].values[s].shape));
    return bytes;
}

/* Bytes of results and values of the parts before PART that are downloaded. */
static size_t downloaded_before(const struct run_tree *tree, int part) {
    size_t bytes = 0;
    for (int p = 0; p < part; p++)
        bytes += result_bytes(&tree->parts[p], tree->count, true) +
                 all_values_bytes(&tree->parts[p], tree->count);
    return bytes;
}

/* Bytes of results of the parts before PART that stay on the device. */
static size_t kept_before(const struct run_tree *tree, int part) {
    size_t bytes = 0;
    for (int p = 0; p < part; p++) bytes += result_bytes(&tree->parts[p], tree->count, false);
    return bytes;
}

size_t run_downloaded_bytes(const struct run_tree *tree) {
    return downloaded_before(tree, tree->part_count);
}

/* The larger of both: the decoder and the encoder never run at the same time. */
static size_t codec_bytes(const struct run_tree *tree) {
    size_t decode = 0, encode = 0;
    for (int i = 0; i < tree->count; i++)
        if (run_is_file(&tree->parts[0].items[i])) decode += tree->parts[0].items[i].decode_bytes;
    for (int p = 0; p < tree->part_count; p++)
        for (int i = 0; i < tree->count; i++)
            if (run_wants_file(&tree->parts[p].items[i]))
                encode += tree->parts[p].items[i].encode_bytes;
    return larger(decode, encode);
}

/* ---- calls */

static struct op_call make_call(const struct run_part *part, int s, int i) {
    const struct step *step = &part->plan->steps[s];
    struct run_item *item = &part->items[i];
    struct op_call call = {
        .op = step->op,
        .params = &step->params,
        .in = item->shapes[s],
        .out = item->shapes[s + 1],
        .progress = item->progress,
        .failure = &item->failure,
    };
    if (s == 0) call.common = item->common;
    if (s == 0 && step->op->by_profile) call.table = item->table;
    call.cut = item->cuts[s];
    /* Only an item that has failed has a mask of another size (run_find.h). */
    for (int a = 0; a < OP_AUX_MAX && s == plan_aux_step(part->plan); a++)
        if (plan_aux_is_for(part->plan, a, &item->aux[a]) &&
            !plan_aux_fits(part->plan, plan_aux_at(part->plan, a)->name, &item->aux[a],
                           item->shapes, NULL))
            call.aux[a] = item->aux[a];
    return call;
}

void run_make_calls(const struct run_part *part, int s, int count, struct op_call *calls) {
    for (int i = 0; i < count; i++) calls[i] = make_call(part, s, i);
}

/* ---- the call that branches share */

void run_common_find(struct run_tree *tree) {
    const struct run_part *trunk = &tree->parts[0];
    const struct plan *branches[PLAN_BRANCHES_MAX] = { NULL };
    for (int p = 1; p < tree->part_count; p++) branches[p - 1] = tree->parts[p].plan;
    const bool has_aux = plan_aux_step(trunk->plan) < 0;
    for (int i = 0; i < tree->count; i++) {
        struct run_item *item = &trunk->items[i];
        uint32_t aux = 0;
        for (int a = 0; has_aux && a < OP_AUX_MAX; a++) aux |= (item->aux[a].width > 0) << a;
        plan_common_find(&item->shared, branches, tree->part_count - 1,
                         &item->shapes[trunk->plan->count], aux);
    }
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
        if (shared->branches) bytes += aligned(image_bytes(&shared->image));
    }
    return bytes;
}

void run_common_place(struct run_tree *tree, uint8_t *base) {
    for (int i = 0; i < tree->count; i++) {
        struct plan_common *shared = &tree->parts[0].items[i].shared;
        shared->image.pixels = base;
        if (shared->branches) base += aligned(image_bytes(&shared->image));
    }
}

/* The call of the first branch that it serves, with shared parameters and result. */
static struct op_call common_call(const struct run_tree *tree, int i) {
    const struct run_item *trunk = &tree->parts[0].items[i];
    int branch = 0;
    while (!plan_common_serves(&trunk->shared, branch)) branch++;
    struct op_call call = make_call(&tree->parts[1 + branch], 0, i);
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
        if (tree->parts[0].items[i].shared.branches) calls[count++] = common_call(tree, i);
    return count;
}

/* ---- areas of `work` */

/* The half of `work` that step S, which makes an image, writes to. */
static int half_of(const struct run_part *part, int s) {
    int half = 0;
    for (int k = 0; k < s; k++) half ^= makes_image(part, k);
    return half;
}

struct run_layout run_layout_of(struct lane *lane, const struct run_tree *tree, int p) {
    const struct run_part *part = &tree->parts[p];
    const struct plan *plan = part->plan;
    const int count = tree->count;
    struct run_layout layout = { p ? run_common_bytes(tree) : 0, { 0, 0 }, 0 };
    struct op_call calls[RUN_BATCH_MAX];
    for (int s = 0; s < plan->count; s++) {
        const int half = half_of(part, s);
        const bool kept = makes_image(part, s) && s != run_last_maker(plan);
        const size_t bytes = kept ? level_bytes(part, count, s + 1) : 0;
        if (bytes > layout.half[half]) layout.half[half] = bytes;
        run_make_calls(part, s, count, calls);
        const size_t scratch = lane->driver->scratch(lane, plan->steps[s].op, calls, count);
        if (scratch > layout.scratch) layout.scratch = scratch;
    }
    return layout;
}

static size_t common_bytes(struct lane *lane, const struct run_tree *tree) {
    struct op_call calls[RUN_BATCH_MAX];
    const int count = run_common_calls(tree, calls);
    return !count ? 0
                  : run_common_bytes(tree) +
                        aligned(lane->driver->scratch(lane, calls[0].op, calls, count));
}

static size_t steps_bytes(struct lane *lane, const struct run_tree *tree) {
    size_t most = common_bytes(lane, tree);
    for (int p = 0; p < tree->part_count; p++) {
        const struct run_layout layout = run_layout_of(lane, tree, p);
        most = larger(most, run_layout_images(&layout) + aligned(layout.scratch));
    }
    return most;
}

struct lane_need run_layout_need(struct lane *lane, const struct run_tree *tree) {
    const struct run_part *trunk = &tree->parts[0];
    struct lane_need need = { .in = run_uploaded_bytes(tree),
                              .work = larger(steps_bytes(lane, tree), codec_bytes(tree)),
                              .out = run_downloaded_bytes(tree) };
    for (int i = 0; i < tree->count; i++) need.codec += trunk->items[i].codec_bytes;
    for (int p = 0; p < tree->part_count; p++)
        for (int i = 0; i < tree->count; i++)
            for (int s = 0; s <= tree->parts[p].plan->count; s++)
                need.image = larger(need.image, image_bytes(&tree->parts[p].items[i].shapes[s]));
    for (int i = 0; i < tree->count; i++)
        if (run_is_file(&trunk->items[i]) && !is_passed_on(trunk->plan, &trunk->items[i]))
            need.device_in += shape_bytes(&trunk->items[i], 0);
    need.device_out = kept_before(tree, tree->part_count);
    need.in += need.device_in;
    need.out += need.device_out;
    return need;
}

void run_layout_join(struct lane_need *need, const struct lane_need *more) {
    const size_t out = larger(need->out - need->device_out, more->out - more->device_out);
    need->in = larger(need->in, more->in); /* the same but for what the device decodes */
    need->device_in = larger(need->device_in, more->device_in);
    need->work = larger(need->work, more->work);
    need->device_out = larger(need->device_out, more->device_out);
    need->out = out + need->device_out;
}

/* ---- places */

static void place_level(const struct run_part *part, int count, uint8_t *base, int step) {
    for (int i = 0; i < count; i++) {
        part->items[i].shapes[step].pixels = base;
        base += shape_bytes(&part->items[i], step);
    }
}

/* Places the trunk's inputs from BASE on, host or device; inputs that are results lie in `out`. */
static void place_inputs(const struct run_part *trunk, int count, uint8_t *base) {
    struct run_item *items = trunk->items;
    for (int i = 0; i < count; i++)
        if (!run_is_file(&items[i])) {
            items[i].shapes[0].pixels = base;
            base += shape_bytes(&items[i], 0);
        }
    for (int i = 0; i < count; i++) {
        for (int p = 0; p < OP_AUX_MAX; p++) {
            items[i].aux[p].pixels = base;
            base += aligned(image_bytes(&items[i].aux[p]));
        }
        items[i].table.pixels = base;
        base += aligned(image_bytes(&items[i].table));
    }
    for (int i = 0; i < count; i++)
        if (run_is_file(&items[i]) && !is_passed_on(trunk->plan, &items[i])) {
            items[i].shapes[0].pixels = base;
            base += shape_bytes(&items[i], 0);
        }
}

/* Places the results of part P that `out` holds, as the images after STEP steps. */
static void place_results(const struct run_tree *tree, int p, uint8_t *base, int step) {
    const struct run_part *part = &tree->parts[p];
    uint8_t *read = base + downloaded_before(tree, p);
    uint8_t *kept = base + run_downloaded_bytes(tree) + kept_before(tree, p);
    for (int i = 0; i < tree->count; i++) {
        struct run_item *item = &part->items[i];
        if (!has_result(part->plan, item)) continue;
        uint8_t **next = run_wants_pixels(item) ? &read : &kept;
        item->shapes[step].pixels = *next;
        *next += shape_bytes(item, step);
    }
}

/* Places the values of part P, behind its results that are downloaded. */
static void place_values(const struct run_tree *tree, int p, uint8_t *base) {
    const struct run_part *part = &tree->parts[p];
    base += downloaded_before(tree, p) + result_bytes(part, tree->count, true);
    for (int i = 0; i < tree->count; i++)
        for (int s = 0; s < part->plan->count; s++) {
            struct values *values = &part->items[i].values[s];
            values->numbers = values->shape.type ? base : NULL;
            base += aligned(values_bytes(&values->shape));
        }
}

void run_place_host(struct lane *lane, struct run_tree *tree) {
    const struct run_part *trunk = &tree->parts[0];
    place_inputs(trunk, tree->count, lane->host_in);
    for (int i = 0; i < tree->count; i++) {
        struct run_item *item = &trunk->items[i];
        item->in = item->shapes[0];
        if (run_is_file(item)) item->in.pixels = NULL;
        item->shapes[trunk->plan->count].pixels = item->in.pixels;
    }
    for (int p = 0; p < tree->part_count; p++) {
        const struct run_part *part = &tree->parts[p];
        const int last = part->plan->count;
        for (int i = 0; p > 0 && i < tree->count; i++) {
            part->items[i].in = trunk->items[i].out;
            /* The result too, if the branch makes no image. */
            part->items[i].shapes[last].pixels = trunk->items[i].out.pixels;
        }
        place_results(tree, p, lane->host_out, last);
        place_values(tree, p, lane->host_out);
        for (int i = 0; i < tree->count; i++) {
            part->items[i].out = part->items[i].shapes[last];
            if (!run_wants_pixels(&part->items[i])) part->items[i].out.pixels = NULL;
        }
    }
}

void run_place_inputs(struct lane *lane, struct run_tree *tree) {
    place_inputs(&tree->parts[0], tree->count, lane->in);
    if (run_last_maker(tree->parts[0].plan) < 0) place_results(tree, 0, lane->out, 0);
}

void run_place_step(struct lane *lane, struct run_tree *tree, int p, int s,
                    const struct run_layout *layout) {
    const struct run_part *part = &tree->parts[p];
    uint8_t *first = lane->work + layout->common;
    uint8_t *half[2] = { first, first + layout->half[0] };
    if (makes_image(part, s) && s == run_last_maker(part->plan))
        place_results(tree, p, lane->out, s + 1);
    else if (makes_image(part, s))
        place_level(part, tree->count, half[half_of(part, s)], s + 1);
    else
        for (int i = 0; i < tree->count; i++)
            part->items[i].shapes[s + 1].pixels = part->items[i].shapes[s].pixels;
}

void run_place_branch(struct run_tree *tree, int p) {
    const struct run_part *trunk = &tree->parts[0], *part = &tree->parts[p];
    const bool has_aux = plan_leaves_aux(trunk->plan, part->plan);
    for (int i = 0; i < tree->count; i++) {
        struct run_item *item = &part->items[i];
        const struct plan_common *shared = &trunk->items[i].shared;
        item->shapes[0] = trunk->items[i].shapes[trunk->plan->count];
        item->common =
            plan_common_serves(shared, p - 1) ? shared->image : (struct image){ .width = 0 };
        if (!trunk->plan->count) item->table = trunk->items[i].table; /* the first step of all */
        if (has_aux) memcpy(item->aux, trunk->items[i].aux, sizeof item->aux);
    }
}
