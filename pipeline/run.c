// SPDX-License-Identifier: Apache-2.0
/* How it works. run_layout.c lays out memory. run_reserve decides which steps are fused - a kernel
 * of a later step does them as well, and their images are never written - for every run of the
 * batch. run_batch queues everything on the lane and waits once, in `finish`; then each file's
 * verdict is known: an item that the device's codec refused is marked, and no other item of the
 * batch is affected. A plan is the trunk of a tree without branches. The parts of a tree run one
 * after the other, then all their files are encoded together.
 * Where a step's shape depends on the pixels, the batch runs several times: first the steps up to
 * that one's finder, of which only the values come back; memory is laid out anew for what they
 * mean, and the decoded images stay where they are (run_find.h). */
#include "pipeline/run.h"
#include "pipeline/run_find.h"
#include "pipeline/run_fit.h"
#include "pipeline/run_layout.h"

#include <assert.h>
#include <stddef.h>

static void fuse_steps(struct lane *lane, const struct run_part *part) {
    const struct plan *plan = part->plan;
    const struct op *ops[PLAN_STEPS_MAX];
    uint32_t *fused = &part->items[0].fused;
    *fused = 0;
    if (!lane->driver->chain) return;
    for (int s = 0; s < plan->count; s++) ops[s] = plan->steps[s].op;
    for (int s = 0, length; s < plan->count; s += length) {
        bool ready = false;
        length =
            lane->driver->chain(lane, ops + s, plan->count - s, &part->items[0].shapes[s], &ready);
        for (int k = s; ready && k < s + length - 1; k++) *fused |= UINT32_C(1) << k;
    }
}

struct waiting {
    const struct run_item *items;
    int count;
};

/* An item that is cancelled or past its deadline ends the wait of all; the others try again without
 * it. */
static enum status check_waiting(const void *context) {
    const struct waiting *waiting = context;
    enum status status = STATUS_OK;
    for (int i = 0; i < waiting->count && !status; i++)
        status = progress_state(waiting->items[i].progress);
    return status;
}

/* Sets shapes and values of ITEM, whose input is IN; may run more than once. */
static enum status begin_item(const struct plan *plan, struct run_item *item,
                              const struct image *in, struct failure *failure) {
    const enum status status = item->shaped ? STATUS_OK
                                            : plan_shapes_cut(plan, in, item->pixels_max,
                                                              item->cuts, item->shapes, failure);
    if (status) return status;
    for (int s = 0; s < plan->count; s++)
        item->values[s].shape = plan_step_values(plan, s, item->shapes);
    item->file.image = item->shapes[plan->count];
    item->file.length = 0;
    return STATUS_OK;
}

static enum status begin_part(struct lane *lane, struct run_tree *tree, int p,
                              struct failure *failure) {
    const struct run_part *trunk = &tree->parts[0];
    struct run_part *part = &tree->parts[p];
    for (int i = 0; i < tree->count; i++) {
        struct run_item *item = &part->items[i];
        const struct image *in = p ? &trunk->items[i].shapes[trunk->plan->count] : &item->in;
        assert(lane->driver->codec || (!run_is_file(item) && !run_wants_file(item)));
        assert(!p || item->want == RUN_NOTHING || run_last_maker(part->plan) >= 0);
        const enum status status = begin_item(part->plan, item, in, failure);
        if (status) return status;
    }
    if (p)
        run_place_branch(tree, p);
    else
        run_common_find(tree);
    fuse_steps(lane, part);
    return STATUS_OK;
}

/* Lays out the memory of TREE. */
static enum status lay_out(struct lane *lane, struct run_tree *tree, struct lane_need *need,
                           struct failure *failure) {
    enum status status = STATUS_OK;
    for (int p = 0; !status && p < tree->part_count; p++)
        status = begin_part(lane, tree, p, failure);
    if (!status) *need = run_layout_need(lane, tree);
    return status;
}

/* Reserves memory for the next run of TREE's steps, with KEEP for one that goes on with the decoded
 * images. The first has room for the whole plan too, as if nothing were cut off. */
static enum status reserve(struct lane *lane, struct run_tree *tree, bool keep,
                           struct failure *failure) {
    const struct waiting waiting = { tree->parts[0].items, tree->count };
    struct run_tree *next = tree;
    struct run_finding finding;
    enum run_result wants[RUN_BATCH_MAX];
    struct lane_need need = { 0 };
    enum status status = keep ? STATUS_OK : lay_out(lane, tree, &need, failure);
    const bool finds = run_find_next(tree, &finding);
    if (finds) next = &finding.tree;
    if (finds) run_find_hide(next, wants);
    if (!status && (finds || keep)) {
        const struct lane_need whole = need;
        status = lay_out(lane, next, &need, failure);
        if (!status) run_layout_join(&need, &whole);
    }
    need.wait = (struct lane_wait){ check_waiting, &waiting };
    need.keep = keep;
    if (!status) status = lane->driver->reserve(lane, &need, failure);
    if (!status) {
        lane->work_bytes = need.work;
        run_place_host(lane, next);
    }
    if (finds) run_find_show(next, wants);
    return status;
}

enum status run_reserve_tree(struct lane *lane, struct run_tree *tree, uint64_t pixels_max,
                             struct failure *failure) {
    const struct run_item *items = tree->parts[0].items;
    assert(tree->count > 0 && tree->count * tree->part_count <= RUN_BATCH_MAX);
    for (int i = 0; i < tree->count; i++)
        assert(items[i].in.channels == items[0].in.channels &&
               items[i].in.depth == items[0].in.depth);
    for (int p = 0; p < tree->part_count; p++)
        for (int i = 0; i < tree->count; i++) {
            struct run_item *item = &tree->parts[p].items[i];
            item->refused = false;
            item->failure = (struct failure){ .status = STATUS_OK };
            const uint64_t own = item->own_pixels_max;
            item->pixels_max = own && own < pixels_max ? own : pixels_max;
        }
    run_find_begin(tree);
    return reserve(lane, tree, false, failure);
}

/* ---- steps */

/* Makes CALLS, the calls of step S, do the fused steps before it as well: BEFORE gets these. */
static void fuse_calls(const struct run_part *part, int s, int count, struct op_call *calls,
                       struct op_call before[PLAN_STEPS_MAX]) {
    const struct plan *plan = part->plan;
    int first = s;
    while (first > 0 && run_is_fused(part, first - 1)) first--;
    for (int k = first; k < s; k++)
        before[k] = (struct op_call){ .op = plan->steps[k].op,
                                      .params = &plan->steps[k].params,
                                      .before = k > first ? &before[k - 1] : NULL };
    for (int i = 0; i < count && first < s; i++) {
        calls[i].in = part->items[i].shapes[first];
        calls[i].before = &before[s - 1];
    }
}

static uint32_t steps_before(const struct run_tree *tree, int p) {
    uint32_t steps = 0;
    for (int k = 0; k < p; k++) steps += (uint32_t)tree->parts[k].plan->count;
    return steps;
}

static enum status run_step(struct lane *lane, struct run_tree *tree, int p, int s,
                            const struct run_layout *layout) {
    const struct run_part *part = &tree->parts[p];
    struct op_call calls[RUN_BATCH_MAX], before[PLAN_STEPS_MAX];
    const size_t images = run_layout_images(layout);
    run_place_step(lane, tree, p, s, layout);
    run_make_calls(part, s, tree->count, calls);
    fuse_calls(part, s, tree->count, calls, before);
    for (int i = 0; i < tree->count; i++) {
        const struct run_item *item = &part->items[i];
        progress_step(item->progress, steps_before(tree, p) + (uint32_t)s);
        if (item->values[s].numbers) /* the same place of the device's memory */
            calls[i].values = lane->out + ((uint8_t *)item->values[s].numbers - lane->host_out);
    }
    calls[0].scratch = lane->work + images;
    calls[0].scratch_bytes = lane->work_bytes - images;
    return lane->driver->run(lane, part->plan->steps[s].op, calls, tree->count);
}

static enum status run_steps(struct lane *lane, struct run_tree *tree, int p,
                             struct failure *failure) {
    const struct run_part *part = &tree->parts[p];
    const struct run_layout layout = run_layout_of(lane, tree, p);
    enum status status = STATUS_OK;
    for (int s = 0; !status && s < part->plan->count; s++) {
        if (run_is_fused(part, s)) continue;
        status = run_step(lane, tree, p, s, &layout);
        for (int i = 0; status && i < tree->count; i++)
            if (part->items[i].failure.status) *failure = part->items[i].failure;
    }
    return status;
}

/* Makes the call that branches share, if there is one. Its images and the branches are placed; STEP
 * is the progress's step during the call. */
static enum status run_common(struct lane *lane, const struct run_tree *tree, uint32_t step,
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

static enum status run_parts(struct lane *lane, struct run_tree *tree, struct failure *failure) {
    enum status status = run_steps(lane, tree, 0, failure);
    run_common_place(tree, lane->work);
    for (int p = 1; p < tree->part_count; p++) run_place_branch(tree, p);
    if (!status) status = run_common(lane, tree, steps_before(tree, 1), failure);
    for (int p = 1; !status && p < tree->part_count; p++)
        status = run_steps(lane, tree, p, failure);
    return status;
}

/* ---- files */

/* The work of the device's codec, and the items that it belongs to. */
struct files {
    int decoding_count, encoding_count;
    struct run_item *decoded[RUN_BATCH_MAX], *encoded[RUN_BATCH_MAX];
    struct lane_decoding decodings[RUN_BATCH_MAX];
    struct lane_encoding encodings[RUN_BATCH_MAX];
};

static enum status decode_files(struct lane *lane, const struct run_tree *tree, struct files *files,
                                struct failure *failure) {
    struct run_item *items = tree->parts[0].items;
    for (int i = 0; i < tree->count; i++) {
        if (!run_is_file(&items[i])) continue;
        files->decodings[files->decoding_count] =
            (struct lane_decoding){ .jpeg = items[i].jpeg,
                                    .heic = items[i].heic,
                                    .progress = items[i].progress,
                                    .into = items[i].shapes[0] };
        files->decoded[files->decoding_count++] = &items[i];
    }
    if (!files->decoding_count) return STATUS_OK;
    const enum status status =
        lane->driver->codec->decode(lane, files->decodings, files->decoding_count, failure);
    struct timing *timing = files->decoded[0]->timing; /* a HEIC is alone */
    if (timing) timing->stage_ms[STAGE_QUEUE] += files->decodings[0].queue_ms;
    return status;
}

static void add_encodings(const struct run_part *part, int count, struct files *files) {
    for (int i = 0; i < count; i++) {
        struct run_item *item = &part->items[i];
        if (!run_wants_file(item) || !item->encode_bytes) continue;
        struct lane_encoding *encoding = &files->encodings[files->encoding_count];
        *encoding = item->file;
        encoding->image = item->shapes[part->plan->count];
        encoding->length = 0;
        files->encoded[files->encoding_count++] = item;
    }
}

static enum status encode_files(struct lane *lane, const struct run_tree *tree, struct files *files,
                                struct failure *failure) {
    for (int p = 0; p < tree->part_count; p++) add_encodings(&tree->parts[p], tree->count, files);
    if (!files->encoding_count) return STATUS_OK;
    return lane->driver->codec->encode(lane, files->encodings, files->encoding_count, failure);
}

/* Copies the verdicts of `finish` to the items. */
static void judge_files(const struct files *files) {
    for (int i = 0; i < files->decoding_count; i++)
        files->decoded[i]->refused |= files->decodings[i].refused;
    for (int i = 0; i < files->encoding_count; i++) {
        files->encoded[i]->file.length = files->encodings[i].length;
        files->encoded[i]->refused |= !files->encodings[i].length;
    }
}

/* ---- times */

/* True if item I of the trunk or of a branch becomes a file. */
static bool any_file(const struct run_tree *tree, int i) {
    bool any = false;
    for (int p = 0; p < tree->part_count; p++) any |= run_wants_file(&tree->parts[p].items[i]);
    return any;
}

/* Adds the batch's times to item I, which waited for the whole batch. Decode and encode only if the
 * device did them for this item; else the caller did them, and times them. */
static void set_times(const struct run_tree *tree, int i, const struct lane_times *times,
                      const struct timing *spans) {
    const struct run_item *item = &tree->parts[0].items[i];
    struct timing *timing = item->timing;
    const bool file = any_file(tree, i);
    if (!timing) return;
    if (run_is_file(item))
        timing->stage_ms[STAGE_DECODE] += times->decode_ms; /* together with other images */
    timing->stage_ms[STAGE_UPLOAD] = times->upload_ms;
    timing->stage_ms[STAGE_COMPUTE] = times->compute_ms;
    timing->stage_ms[STAGE_DOWNLOAD] = times->download_ms;
    if (file) timing->stage_ms[STAGE_ENCODE] = times->encode_ms;
    for (int k = 0; k < spans->span_count; k++) {
        const struct span *span = &spans->spans[k];
        if (span->level == SPAN_DECODE && !run_is_file(item)) continue;
        if (span->level == SPAN_ENCODE && !file) continue;
        timing_span(timing, span->name, span->level, span->ms);
    }
}

static int calls_of(const struct run_part *part) {
    int calls = 0;
    for (int s = 0; s < part->plan->count; s++) calls += !run_is_fused(part, s);
    return calls;
}

/* Sums the next LEFT operators from span *K on; below 0: the spans had no room for all of them. */
static double sum_operators(const struct timing *spans, int *k, int left) {
    double ms = 0;
    for (; left; ++*k) {
        if (*k >= spans->span_count) return -1;
        if (spans->spans[*k].level != SPAN_OPERATOR) continue;
        ms += spans->spans[*k].ms;
        left--;
    }
    return ms;
}

/* Sets every part's compute time. Each call has one span, or one for each item. The call that
 * branches share counts as the trunk's. If there was no room for all spans, the times of the last
 * parts are not known. */
static void set_part_times(struct run_tree *tree, const struct timing *spans) {
    const int shared = run_common_count(tree);
    int calls = shared > 0, operators = 0, k = 0;
    for (int p = 0; p < tree->part_count; p++) calls += calls_of(&tree->parts[p]);
    for (int s = 0; s < spans->span_count; s++) operators += spans->spans[s].level == SPAN_OPERATOR;
    const bool each = operators > calls;
    for (int p = 0; p < tree->part_count; p++) {
        const int own = calls_of(&tree->parts[p]) * (each ? tree->count : 1);
        const int more = p ? 0 : each ? shared : shared > 0;
        tree->parts[p].compute_ms = sum_operators(spans, &k, own + more);
    }
}

/* ---- all of it */

/* DECODED: the inputs are on the device already. */
static enum status queue_batch(struct lane *lane, struct run_tree *tree, bool decoded,
                               struct files *files, struct failure *failure) {
    run_place_inputs(lane, tree);
    enum status status =
        lane->driver->upload(lane, decoded ? 0 : run_uploaded_bytes(tree), failure);
    if (!status && !decoded) status = decode_files(lane, tree, files, failure);
    const bool still = !status && files->decoding_count && files->decodings[0].heic;
    if (still && files->decodings[0].refused) return STATUS_OK; /* nothing is left to do */
    if (!status) status = run_parts(lane, tree, failure);
    if (!status) status = encode_files(lane, tree, files, failure);
    return status ? status : lane->driver->download(lane, run_downloaded_bytes(tree), failure);
}

/* True if there is nothing to do: the results are the inputs. */
static bool is_empty(const struct run_tree *tree) {
    if (tree->part_count > 1 || tree->parts[0].plan->count) return false;
    bool any = false;
    for (int i = 0; i < tree->count; i++)
        any |= run_is_file(&tree->parts[0].items[i]) || any_file(tree, i);
    return !any;
}

/* The trunk's item gets the refusal and the first failure of its branches. */
static void join_verdicts(struct run_tree *tree) {
    for (int i = 0; i < tree->count; i++) {
        struct run_item *item = &tree->parts[0].items[i];
        for (int p = 1; p < tree->part_count; p++) {
            const struct run_item *other = &tree->parts[p].items[i];
            item->refused |= other->refused;
            if (!item->failure.status) item->failure = other->failure;
        }
    }
}

/* The batch fails only if every item has failed. */
static enum status all_failed(const struct run_tree *tree, struct failure *failure) {
    const struct run_item *items = tree->parts[0].items;
    for (int i = 0; i < tree->count; i++)
        if (!items[i].failure.status) return STATUS_OK;
    *failure = items[0].failure;
    return failure->status;
}

static void fail_all(struct run_tree *tree, enum status status, struct failure *failure) {
    if (!failure->status)
        fail(failure, status,
             status == STATUS_CANCELLED  ? "the client disconnected"
             : status == STATUS_DEADLINE ? "not done within the time allowed"
                                         : "the device failed");
    for (int i = 0; i < tree->count; i++) {
        struct run_item *item = &tree->parts[0].items[i];
        if (!item->failure.status) item->failure = *failure;
    }
}

static void add_times(struct lane_times *all, const struct lane_times *one) {
    all->upload_ms += one->upload_ms;
    all->decode_ms += one->decode_ms;
    all->compute_ms += one->compute_ms;
    all->encode_ms += one->encode_ms;
    all->download_ms += one->download_ms;
}

/* Runs TREE's steps once; *ALL: the status where every item has failed. Adds to TIMES. */
static enum status run_once(struct lane *lane, struct run_tree *tree, bool decoded,
                            struct lane_times *times, struct timing *spans, enum status *all,
                            struct failure *failure) {
    struct files files;
    struct lane_times once = { 0 };
    files.decoding_count = files.encoding_count = 0;
    enum status status = queue_batch(lane, tree, decoded, &files, failure);
    const enum status finished = lane->driver->finish(lane, &once, spans, failure);
    add_times(times, &once);
    if (!status) status = finished;
    if (!status) judge_files(&files);
    join_verdicts(tree);
    *all = status ? status : all_failed(tree, failure);
    return status;
}

/* Finds all that is cut off, and reserves memory for the plan. *DECODED: see queue_batch(). */
static enum status find_cuts(struct lane *lane, struct run_tree *tree, bool *decoded,
                             struct lane_times *times, struct timing *spans, enum status *all,
                             struct failure *failure) {
    struct run_finding finding;
    enum run_result wants[RUN_BATCH_MAX];
    enum status status = STATUS_OK;
    while (!status && !*all && run_find_next(tree, &finding)) {
        run_find_hide(&finding.tree, wants);
        status = run_once(lane, &finding.tree, *decoded, times, spans, all, failure);
        run_find_show(&finding.tree, wants);
        if (!status) run_find_take(lane, tree, &finding);
        if (!status && !*all) *all = all_failed(tree, failure);
        if (!status && !*all) status = reserve(lane, tree, true, failure);
        *decoded = true;
    }
    return status;
}

enum status run_batch_tree(struct lane *lane, struct run_tree *tree, struct failure *failure) {
    struct failure ignored;
    if (!failure) failure = &ignored;
    *failure = (struct failure){ .status = STATUS_OK };
    if (is_empty(tree)) return STATUS_OK;
    struct lane_times times = { 0 };
    struct timing before = { .span_count = 0 }, spans = { .span_count = 0 };
    enum status all = STATUS_OK;
    bool decoded = false;
    enum status status = find_cuts(lane, tree, &decoded, &times, &before, &all, failure);
    decoded &= !run_inputs_are_results(tree);
    if (!status && !all) status = run_once(lane, tree, decoded, &times, &spans, &all, failure);
    if (!status && !all) status = run_fit(lane, tree, &times, failure);
    join_verdicts(tree);
    if (status) return fail_all(tree, status, failure), status;
    if (!all) run_find_report(tree);
    set_part_times(tree, &spans);
    for (int k = 0; k < spans.span_count; k++)
        timing_span(&before, spans.spans[k].name, spans.spans[k].level, spans.spans[k].ms);
    for (int i = 0; i < tree->count; i++) set_times(tree, i, &times, &before);
    return all;
}

/* ---- one plan */

static struct run_tree trunk_of(const struct plan *plan, struct run_item *items, int count) {
    struct run_tree tree;
    tree.count = count;
    tree.part_count = 1;
    tree.parts[0] = (struct run_part){ .plan = plan, .items = items };
    return tree;
}

enum status run_reserve(struct lane *lane, const struct plan *plan, struct run_item *items,
                        int count, uint64_t pixels_max, struct failure *failure) {
    struct run_tree tree = trunk_of(plan, items, count);
    return run_reserve_tree(lane, &tree, pixels_max, failure);
}

enum status run_batch(struct lane *lane, const struct plan *plan, struct run_item *items, int count,
                      struct failure *failure) {
    struct run_tree tree = trunk_of(plan, items, count);
    return run_batch_tree(lane, &tree, failure);
}
