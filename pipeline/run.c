// SPDX-License-Identifier: Apache-2.0
/* How it works. Inputs of a batch, then the images beside them, lie one behind the other in
 * host_in, results in host_out, so that each way is one copy. The first step reads `in`, the last
 * writes `out`; what is between goes back and forth between two halves of `work`, behind which lies
 * the scratch of whichever step is running. */
#include "pipeline/run.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum { ALIGN = 256 };

static size_t aligned(size_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Bytes of the images after STEP steps, all items. */
static size_t level_bytes(const struct run_item *items, int count, int step) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += aligned(image_bytes(&items[i].shapes[step]));
    return bytes;
}

static size_t aux_bytes(const struct run_item *items, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        for (int p = 0; p < OP_AUX_MAX; p++) bytes += aligned(image_bytes(&items[i].aux[p]));
    return bytes;
}

static size_t in_bytes(const struct run_item *items, int count) {
    return level_bytes(items, count, 0) + aux_bytes(items, count);
}

/* One operator's calls, shapes and params set. Pixels are placed by the caller. */
static void make_calls(const struct plan *plan, int index, struct run_item *items, int count,
                       struct op_call *calls) {
    const bool takes_aux = index == plan_aux_step(plan);
    for (int i = 0; i < count; i++) {
        calls[i] = (struct op_call){
            .op = plan->steps[index].op,
            .params = &plan->steps[index].params,
            .in = items[i].shapes[index],
            .out = items[i].shapes[index + 1],
            .progress = items[i].progress,
            .failure = &items[i].failure,
        };
        if (takes_aux) memcpy(calls[i].aux, items[i].aux, sizeof calls[i].aux);
    }
}

/* Where the two halves of `work` and the scratch begin. */
struct layout {
    size_t half[2]; /* bytes of images after odd and after even steps */
    size_t scratch;
};

static struct layout layout_of(struct lane *lane, const struct plan *plan, struct run_item *items,
                               int count) {
    struct layout layout = { { 0, 0 }, 0 };
    struct op_call calls[RUN_BATCH_MAX];
    for (int s = 0; s < plan->count; s++) {
        const size_t bytes = s + 1 < plan->count ? level_bytes(items, count, s + 1) : 0;
        if (bytes > layout.half[s % 2]) layout.half[s % 2] = bytes;
        make_calls(plan, s, items, count, calls);
        const size_t scratch = lane->driver->scratch(lane, plan->steps[s].op, calls, count);
        if (scratch > layout.scratch) layout.scratch = scratch;
    }
    return layout;
}

static void place(struct run_item *items, int count, uint8_t *base, int step) {
    for (int i = 0; i < count; i++) {
        items[i].shapes[step].pixels = base;
        base += aligned(image_bytes(&items[i].shapes[step]));
    }
}

/* Behind the inputs, which begin at BASE. */
static void place_aux(struct run_item *items, int count, uint8_t *base) {
    base += level_bytes(items, count, 0);
    for (int i = 0; i < count; i++)
        for (int p = 0; p < OP_AUX_MAX; p++) {
            items[i].aux[p].pixels = base;
            base += aligned(image_bytes(&items[i].aux[p]));
        }
}

enum status run_reserve(struct lane *lane, const struct plan *plan, struct run_item *items,
                        int count, uint64_t pixels_max, struct failure *failure) {
    assert(count > 0 && count <= RUN_BATCH_MAX);
    enum status status;
    for (int i = 0; i < count; i++) {
        assert(items[i].in.channels == items[0].in.channels &&
               items[i].in.depth == items[0].in.depth);
        status = plan_shapes(plan, &items[i].in, pixels_max, items[i].shapes, failure);
        if (status) return status;
    }
    const struct layout layout = layout_of(lane, plan, items, count);
    const size_t work = layout.half[0] + layout.half[1] + aligned(layout.scratch);
    const struct lane_need need = {
        .in = in_bytes(items, count),
        .work = work,
        .out = level_bytes(items, count, plan->count),
    };
    status = lane->driver->reserve(lane, &need, failure);
    if (status) return status;
    lane->work_bytes = need.work;
    place(items, count, lane->host_in, 0);
    place_aux(items, count, lane->host_in);
    place(items, count, lane->host_out, plan->count);
    for (int i = 0; i < count; i++) {
        items[i].in = items[i].shapes[0];
        items[i].out = items[i].shapes[plan->count];
    }
    if (plan->count == 0)
        for (int i = 0; i < count; i++) items[i].in.pixels = items[i].out.pixels;
    return STATUS_OK;
}

static enum status run_step(struct lane *lane, const struct plan *plan, int s,
                            struct run_item *items, int count, const struct layout *layout) {
    struct op_call calls[RUN_BATCH_MAX];
    uint8_t *half[2] = { lane->work, lane->work + layout->half[0] };
    if (s == 0) place(items, count, lane->in, 0);
    if (s == 0) place_aux(items, count, lane->in);
    place(items, count, s + 1 == plan->count ? lane->out : half[s % 2], s + 1);
    make_calls(plan, s, items, count, calls);
    for (int i = 0; i < count; i++) progress_step(items[i].progress, (uint32_t)s);
    calls[0].scratch = half[1] + layout->half[1];
    calls[0].scratch_bytes = lane->work_bytes - layout->half[0] - layout->half[1];
    return lane->driver->run(lane, plan->steps[s].op, calls, count);
}

static enum status run_steps(struct lane *lane, const struct plan *plan, struct run_item *items,
                             int count, struct failure *failure) {
    const struct layout layout = layout_of(lane, plan, items, count);
    enum status status = lane->driver->upload(lane, in_bytes(items, count), failure);
    for (int s = 0; !status && s < plan->count; s++) {
        status = run_step(lane, plan, s, items, count, &layout);
        for (int i = 0; status && i < count; i++)
            if (items[i].failure.status) *failure = items[i].failure;
    }
    return status ? status
                  : lane->driver->download(lane, level_bytes(items, count, plan->count), failure);
}

/* Every item carries the batch's times: it waited for all of it. */
static void tell_times(struct run_item *items, int count, const struct lane_times *times,
                       const struct timing *spans) {
    for (int i = 0; i < count; i++) {
        struct timing *timing = items[i].timing;
        if (!timing) continue;
        timing->stage_ms[STAGE_UPLOAD] = times->upload_ms;
        timing->stage_ms[STAGE_COMPUTE] = times->compute_ms;
        timing->stage_ms[STAGE_DOWNLOAD] = times->download_ms;
        for (int k = 0; k < spans->span_count; k++)
            timing_span(timing, spans->spans[k].name, spans->spans[k].level, spans->spans[k].ms);
    }
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
    if (plan->count == 0) return STATUS_OK;
    enum status status = run_steps(lane, plan, items, count, failure);
    struct lane_times times = { 0 };
    struct timing spans = { .span_count = 0 };
    const enum status finished = lane->driver->finish(lane, &times, &spans, failure);
    if (!status) status = finished;
    if (status && !failure->status)
        fail(failure, status,
             status == STATUS_CANCELLED  ? "the client disconnected"
             : status == STATUS_DEADLINE ? "not done within the time allowed"
                                         : "the device failed");
    for (int i = 0; status && i < count; i++)
        if (!items[i].failure.status) items[i].failure = *failure;
    if (!status) tell_times(items, count, &times, &spans);
    return status ? status : all_failed(items, count, failure);
}
