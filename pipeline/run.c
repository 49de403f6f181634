// SPDX-License-Identifier: Apache-2.0
/* How it works. Memory is laid out by run_layout.c. Which steps are fused - a kernel of a later one
 * does them, and their images are never written - is decided by run_reserve, and holds for every
 * run of that batch. run_batch queues everything on the lane and waits once, in `finish`, when each
 * file's verdict is known: an item that the device's codec refused is told apart, and nothing else
 * of the batch suffers. Files larger than asked are made again behind that (run_fit.h). */
#include "pipeline/run.h"
#include "pipeline/run_fit.h"
#include "pipeline/run_layout.h"

#include <assert.h>
#include <stddef.h>

static void fuse_steps(struct lane *lane, const struct plan *plan, const struct run_item *items) {
    const struct op *ops[PLAN_STEPS_MAX];
    lane->fused = 0;
    if (!lane->driver->chain) return;
    for (int s = 0; s < plan->count; s++) ops[s] = plan->steps[s].op;
    for (int s = 0, length; s < plan->count; s += length) {
        bool ready = false;
        length = lane->driver->chain(lane, ops + s, plan->count - s, &items[0].shapes[s], &ready);
        for (int k = s; ready && k < s + length - 1; k++) lane->fused |= UINT32_C(1) << k;
    }
}

struct waiting {
    const struct run_item *items;
    int count;
};

/* Whoever is over ends the wait of all: the others then try without it. */
static enum status check_waiting(const void *context) {
    const struct waiting *waiting = context;
    enum status status = STATUS_OK;
    for (int i = 0; i < waiting->count && !status; i++)
        status = progress_state(waiting->items[i].progress);
    return status;
}

enum status run_reserve(struct lane *lane, const struct plan *plan, struct run_item *items,
                        int count, uint64_t pixels_max, struct failure *failure) {
    assert(count > 0 && count <= RUN_BATCH_MAX);
    enum status status;
    for (int i = 0; i < count; i++) {
        assert(items[i].in.channels == items[0].in.channels &&
               items[i].in.depth == items[0].in.depth);
        assert(lane->driver->codec || (!items[i].jpeg && items[i].want != RUN_FILE));
        status = plan_shapes(plan, &items[i].in, pixels_max, items[i].shapes, failure);
        if (status) return status;
        for (int s = 0; s < plan->count; s++)
            items[i].values[s].shape = plan_step_values(plan, s, items[i].shapes);
        items[i].file.image = items[i].shapes[plan->count];
        items[i].file.length = 0;
        items[i].refused = false;
        items[i].failure = (struct failure){ .status = STATUS_OK }; /* it may run a second time */
    }
    fuse_steps(lane, plan, items);
    const struct waiting waiting = { items, count };
    struct lane_need need = run_layout_need(lane, plan, items, count);
    need.wait = (struct lane_wait){ check_waiting, &waiting };
    status = lane->driver->reserve(lane, &need, failure);
    if (status) return status;
    lane->work_bytes = need.work;
    run_place_host(lane, plan, items, count);
    return STATUS_OK;
}

/* ---- steps */

/* CALLS are those of step S: they do the steps before as well that are fused with it, which are put
 * into BEFORE. */
static void fuse_calls(const struct lane *lane, const struct plan *plan, int s,
                       const struct run_item *items, int count, struct op_call *calls,
                       struct op_call before[PLAN_STEPS_MAX]) {
    int first = s;
    while (first > 0 && run_is_fused(lane, first - 1)) first--;
    for (int k = first; k < s; k++)
        before[k] = (struct op_call){ .op = plan->steps[k].op,
                                      .params = &plan->steps[k].params,
                                      .before = k > first ? &before[k - 1] : NULL };
    for (int i = 0; i < count && first < s; i++) {
        calls[i].in = items[i].shapes[first];
        calls[i].before = &before[s - 1];
    }
}

static enum status run_step(struct lane *lane, const struct plan *plan, int s,
                            struct run_item *items, int count, const struct run_layout *layout) {
    struct op_call calls[RUN_BATCH_MAX], before[PLAN_STEPS_MAX];
    const size_t images = layout->half[0] + layout->half[1];
    run_place_step(lane, plan, s, items, count, layout);
    run_make_calls(plan, s, items, count, calls);
    fuse_calls(lane, plan, s, items, count, calls, before);
    for (int i = 0; i < count; i++) {
        progress_step(items[i].progress, (uint32_t)s);
        if (items[i].values[s].numbers) /* the same place of the device's memory */
            calls[i].values = lane->out + ((uint8_t *)items[i].values[s].numbers - lane->host_out);
    }
    calls[0].scratch = lane->work + images;
    calls[0].scratch_bytes = lane->work_bytes - images;
    return lane->driver->run(lane, plan->steps[s].op, calls, count);
}

static enum status run_steps(struct lane *lane, const struct plan *plan, struct run_item *items,
                             int count, struct failure *failure) {
    const struct run_layout layout = run_layout_of(lane, plan, items, count);
    enum status status = STATUS_OK;
    for (int s = 0; !status && s < plan->count; s++) {
        if (run_is_fused(lane, s)) continue;
        status = run_step(lane, plan, s, items, count, &layout);
        for (int i = 0; status && i < count; i++)
            if (items[i].failure.status) *failure = items[i].failure;
    }
    return status;
}

/* ---- files */

/* What the device's codec is given, and which items it came from. */
struct files {
    int decoding_count, encoding_count;
    struct run_item *decoded[RUN_BATCH_MAX], *encoded[RUN_BATCH_MAX];
    struct lane_decoding decodings[RUN_BATCH_MAX];
    struct lane_encoding encodings[RUN_BATCH_MAX];
};

static enum status decode_files(struct lane *lane, struct run_item *items, int count,
                                struct files *files, struct failure *failure) {
    for (int i = 0; i < count; i++) {
        if (!items[i].jpeg) continue;
        files->decodings[files->decoding_count] =
            (struct lane_decoding){ .jpeg = items[i].jpeg, .into = items[i].shapes[0] };
        files->decoded[files->decoding_count++] = &items[i];
    }
    if (!files->decoding_count) return STATUS_OK;
    return lane->driver->codec->decode(lane, files->decodings, files->decoding_count, failure);
}

static enum status encode_files(struct lane *lane, const struct plan *plan, struct run_item *items,
                                int count, struct files *files, struct failure *failure) {
    for (int i = 0; i < count; i++) {
        if (items[i].want != RUN_FILE) continue;
        struct lane_encoding *encoding = &files->encodings[files->encoding_count];
        *encoding = items[i].file;
        encoding->image = items[i].shapes[plan->count];
        encoding->length = 0;
        files->encoded[files->encoding_count++] = &items[i];
    }
    if (!files->encoding_count) return STATUS_OK;
    return lane->driver->codec->encode(lane, files->encodings, files->encoding_count, failure);
}

/* The verdicts, which `finish` has told. */
static void judge_files(const struct files *files) {
    for (int i = 0; i < files->decoding_count; i++)
        files->decoded[i]->refused |= files->decodings[i].refused;
    for (int i = 0; i < files->encoding_count; i++) {
        files->encoded[i]->file.length = files->encodings[i].length;
        files->encoded[i]->refused |= !files->encodings[i].length;
    }
}

/* ---- all of it */

static enum status queue_batch(struct lane *lane, const struct plan *plan, struct run_item *items,
                               int count, struct files *files, struct failure *failure) {
    const size_t down = run_downloaded_bytes(plan, items, count);
    run_place_inputs(lane, plan, items, count);
    enum status status = lane->driver->upload(lane, run_uploaded_bytes(items, count), failure);
    if (!status) status = decode_files(lane, items, count, files, failure);
    if (!status) status = run_steps(lane, plan, items, count, failure);
    if (!status) status = encode_files(lane, plan, items, count, files, failure);
    return status ? status : lane->driver->download(lane, down, failure);
}

/* Every item carries the batch's times: it waited for all of it. What the device decoded or encoded
 * is told where that was done for this item; else the caller did it, and tells it. */
static void tell_times(const struct run_item *item, const struct lane_times *times,
                       const struct timing *spans) {
    struct timing *timing = item->timing;
    if (!timing) return;
    if (item->jpeg) timing->stage_ms[STAGE_DECODE] += times->decode_ms; /* beside other images */
    timing->stage_ms[STAGE_UPLOAD] = times->upload_ms;
    timing->stage_ms[STAGE_COMPUTE] = times->compute_ms;
    timing->stage_ms[STAGE_DOWNLOAD] = times->download_ms;
    if (item->want == RUN_FILE) timing->stage_ms[STAGE_ENCODE] = times->encode_ms;
    for (int k = 0; k < spans->span_count; k++) {
        const struct span *span = &spans->spans[k];
        if (span->level == SPAN_DECODE && !item->jpeg) continue;
        if (span->level == SPAN_ENCODE && item->want != RUN_FILE) continue;
        timing_span(timing, span->name, span->level, span->ms);
    }
}

static bool has_files(const struct run_item *items, int count) {
    bool any = false;
    for (int i = 0; i < count; i++) any |= items[i].jpeg || items[i].want == RUN_FILE;
    return any;
}

/* Items that were stopped fail on their own; the batch only where none is left. */
static enum status all_failed(const struct run_item *items, int count, struct failure *failure) {
    for (int i = 0; i < count; i++)
        if (!items[i].failure.status) return STATUS_OK;
    *failure = items[0].failure;
    return failure->status;
}

enum status run_batch(struct lane *lane, const struct plan *plan, struct run_item *items, int count,
                      struct failure *failure) {
    struct failure ignored;
    if (!failure) failure = &ignored;
    failure->status = STATUS_OK;
    failure->message[0] = 0;
    if (plan->count == 0 && !has_files(items, count)) return STATUS_OK;
    struct files files;
    files.decoding_count = files.encoding_count = 0;
    enum status status = queue_batch(lane, plan, items, count, &files, failure);
    struct lane_times times = { 0 };
    struct timing spans = { .span_count = 0 };
    const enum status finished = lane->driver->finish(lane, &times, &spans, failure);
    enum status all = STATUS_OK;
    if (!status) status = finished;
    if (!status) {
        judge_files(&files);
        all = all_failed(items, count, failure);
        if (!all) status = run_fit(lane, plan, items, count, &times, failure);
    }
    if (status && !failure->status)
        fail(failure, status,
             status == STATUS_CANCELLED  ? "the client disconnected"
             : status == STATUS_DEADLINE ? "not done within the time allowed"
                                         : "the device failed");
    for (int i = 0; status && i < count; i++)
        if (!items[i].failure.status) items[i].failure = *failure;
    for (int i = 0; !status && i < count; i++) tell_times(&items[i], &times, &spans);
    return status ? status : all;
}
