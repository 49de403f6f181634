// SPDX-License-Identifier: Apache-2.0
/* How it works. Inputs of a batch, then the images beside them, lie one behind the other in
 * host_in; results, then the values that steps tell, in host_out: so each way is one copy. The
 * first step reads `in`, the last that makes an image writes `out`; what is between goes back and
 * forth between two halves of `work`, behind which lies the scratch of whichever step is running.
 * A step that tells values makes no image: the next one reads what it read. Where every step does,
 * the result is the input as it still lies in host_in, and values alone come back. A step that is
 * fused with the next one makes no image either: a kernel hands it on in registers. Which steps are
 * is decided by run_reserve, and holds for every run of that batch. */
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

/* The last step that makes an image; -1: none does. */
static int last_maker(const struct plan *plan) {
    int s = plan->count - 1;
    while (s >= 0 && plan->steps[s].op->values) s--;
    return s;
}

static bool is_fused(const struct lane *lane, int s) {
    return lane->fused >> s & 1;
}

/* Whether step S writes an image. */
static bool makes_image(const struct lane *lane, const struct plan *plan, int s) {
    return !plan->steps[s].op->values && !is_fused(lane, s);
}

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

/* Bytes of the results, those that the lane does not have already. */
static size_t result_bytes(const struct plan *plan, const struct run_item *items, int count) {
    return last_maker(plan) < 0 ? 0 : level_bytes(items, count, plan->count);
}

static size_t all_values_bytes(const struct plan *plan, const struct run_item *items, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        for (int s = 0; s < plan->count; s++)
            bytes += aligned(values_bytes(&items[i].values[s].shape));
    return bytes;
}

static size_t out_bytes(const struct plan *plan, const struct run_item *items, int count) {
    return result_bytes(plan, items, count) + all_values_bytes(plan, items, count);
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
    size_t half[2]; /* bytes: steps that make an image use them in turn */
    size_t scratch;
};

/* Which half of `work` gets the image of step INDEX, which makes one. */
static int half_of(const struct lane *lane, const struct plan *plan, int index) {
    int half = 0;
    for (int s = 0; s < index; s++) half ^= makes_image(lane, plan, s);
    return half;
}

static struct layout layout_of(struct lane *lane, const struct plan *plan, struct run_item *items,
                               int count) {
    struct layout layout = { { 0, 0 }, 0 };
    struct op_call calls[RUN_BATCH_MAX];
    for (int s = 0; s < plan->count; s++) {
        const int half = half_of(lane, plan, s);
        const bool kept = makes_image(lane, plan, s) && s != last_maker(plan);
        const size_t bytes = kept ? level_bytes(items, count, s + 1) : 0;
        if (bytes > layout.half[half]) layout.half[half] = bytes;
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

/* Behind the results, which begin at BASE. */
static void place_values(const struct plan *plan, struct run_item *items, int count,
                         uint8_t *base) {
    base += result_bytes(plan, items, count);
    for (int i = 0; i < count; i++)
        for (int s = 0; s < plan->count; s++) {
            struct values *values = &items[i].values[s];
            values->numbers = values->shape.type ? base : NULL;
            base += aligned(values_bytes(&values->shape));
        }
}

/* Host memory: pixels of inputs and results, and values. */
static void place_all(struct lane *lane, const struct plan *plan, struct run_item *items,
                      int count) {
    place(items, count, lane->host_in, 0);
    place_aux(items, count, lane->host_in);
    if (last_maker(plan) < 0)
        place(items, count, lane->host_in, plan->count);
    else
        place(items, count, lane->host_out, plan->count);
    place_values(plan, items, count, lane->host_out);
    for (int i = 0; i < count; i++) {
        items[i].in = items[i].shapes[0];
        items[i].out = items[i].shapes[plan->count];
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
        for (int s = 0; s < plan->count; s++)
            items[i].values[s].shape = plan_step_values(plan, s, items[i].shapes);
    }
    fuse_steps(lane, plan, items);
    const struct layout layout = layout_of(lane, plan, items, count);
    const size_t work = layout.half[0] + layout.half[1] + aligned(layout.scratch);
    const struct lane_need need = {
        .in = in_bytes(items, count),
        .work = work,
        .out = out_bytes(plan, items, count),
    };
    status = lane->driver->reserve(lane, &need, failure);
    if (status) return status;
    lane->work_bytes = need.work;
    place_all(lane, plan, items, count);
    return STATUS_OK;
}

/* Where step S puts its images, or passes them on. */
static void place_step(struct lane *lane, const struct plan *plan, int s, struct run_item *items,
                       int count, const struct layout *layout) {
    uint8_t *half[2] = { lane->work, lane->work + layout->half[0] };
    if (makes_image(lane, plan, s))
        place(items, count, s == last_maker(plan) ? lane->out : half[half_of(lane, plan, s)],
              s + 1);
    else
        for (int i = 0; i < count; i++) items[i].shapes[s + 1].pixels = items[i].shapes[s].pixels;
}

/* CALLS are those of step S: they do the steps before as well that are fused with it, which are put
 * into BEFORE. */
static void fuse_calls(const struct lane *lane, const struct plan *plan, int s,
                       const struct run_item *items, int count, struct op_call *calls,
                       struct op_call before[PLAN_STEPS_MAX]) {
    int first = s;
    while (first > 0 && is_fused(lane, first - 1)) first--;
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
                            struct run_item *items, int count, const struct layout *layout) {
    struct op_call calls[RUN_BATCH_MAX], before[PLAN_STEPS_MAX];
    const size_t images = layout->half[0] + layout->half[1];
    if (s == 0) place(items, count, lane->in, 0);
    if (s == 0) place_aux(items, count, lane->in);
    place_step(lane, plan, s, items, count, layout);
    make_calls(plan, s, items, count, calls);
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
    const struct layout layout = layout_of(lane, plan, items, count);
    enum status status = lane->driver->upload(lane, in_bytes(items, count), failure);
    for (int s = 0; !status && s < plan->count; s++) {
        if (is_fused(lane, s)) continue;
        status = run_step(lane, plan, s, items, count, &layout);
        for (int i = 0; status && i < count; i++)
            if (items[i].failure.status) *failure = items[i].failure;
    }
    return status ? status : lane->driver->download(lane, out_bytes(plan, items, count), failure);
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
