// SPDX-License-Identifier: Apache-2.0
/* How it works. What is copied lies together, so that each way is one copy. `in` holds the images
 * that the caller decodes, the images beside them, then those that the device decodes itself;
 * `out` the results that the caller reads, the values that steps tell, then the results that stay
 * on the device. host_in and host_out are the copied parts of both. What is between the first step
 * and the last goes back and forth between two halves of `work`, behind which lies the scratch of
 * whichever step is running; before the first step all of `work` is the decoder's, behind the last
 * the encoder's.
 * A step that tells values makes no image: the next one reads what it read. Where every step does,
 * the result is the input: as it still lies in host_in, or, decoded by the device, in `out`, if the
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

/* Whether step S writes an image. */
static bool makes_image(const struct lane *lane, const struct plan *plan, int s) {
    return !plan->steps[s].op->values && !run_is_fused(lane, s);
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* ---- bytes */

static size_t shape_bytes(const struct run_item *item, int step) {
    return aligned(image_bytes(&item->shapes[step]));
}

/* Bytes of the images after STEP steps, all items. */
static size_t level_bytes(const struct run_item *items, int count, int step) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += shape_bytes(&items[i], step);
    return bytes;
}

static size_t aux_bytes(const struct run_item *items, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        for (int p = 0; p < OP_AUX_MAX; p++) bytes += aligned(image_bytes(&items[i].aux[p]));
    return bytes;
}

size_t run_uploaded_bytes(const struct run_item *items, int count) {
    size_t bytes = aux_bytes(items, count);
    for (int i = 0; i < count; i++)
        if (!items[i].jpeg) bytes += shape_bytes(&items[i], 0);
    return bytes;
}

/* Whether the image of ITEM is decoded into `out`, since it is the result. */
static bool is_passed_on(const struct plan *plan, const struct run_item *item) {
    return item->jpeg && item->want == RUN_PIXELS && run_last_maker(plan) < 0;
}

/* Whether `out` holds the result of ITEM. */
static bool has_result(const struct plan *plan, const struct run_item *item) {
    return run_last_maker(plan) >= 0 || is_passed_on(plan, item);
}

/* Of the results that are downloaded, or of those that are not. */
static size_t result_bytes(const struct plan *plan, const struct run_item *items, int count,
                           bool downloaded) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        if (has_result(plan, &items[i]) && (items[i].want == RUN_PIXELS) == downloaded)
            bytes += shape_bytes(&items[i], plan->count);
    return bytes;
}

static size_t all_values_bytes(const struct plan *plan, const struct run_item *items, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        for (int s = 0; s < plan->count; s++)
            bytes += aligned(values_bytes(&items[i].values[s].shape));
    return bytes;
}

size_t run_downloaded_bytes(const struct plan *plan, const struct run_item *items, int count) {
    return result_bytes(plan, items, count, true) + all_values_bytes(plan, items, count);
}

/* The decoder and the encoder are not at work at the same time. */
static size_t codec_bytes(const struct run_item *items, int count) {
    size_t decode = 0, encode = 0;
    for (int i = 0; i < count; i++) {
        if (items[i].jpeg) decode += items[i].decode_bytes;
        if (items[i].want == RUN_FILE) encode += items[i].encode_bytes;
    }
    return larger(decode, encode);
}

/* ---- the steps' memory */

void run_make_calls(const struct plan *plan, int index, struct run_item *items, int count,
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

/* Which half of `work` gets the image of step INDEX, which makes one. */
static int half_of(const struct lane *lane, const struct plan *plan, int index) {
    int half = 0;
    for (int s = 0; s < index; s++) half ^= makes_image(lane, plan, s);
    return half;
}

struct run_layout run_layout_of(struct lane *lane, const struct plan *plan, struct run_item *items,
                                int count) {
    struct run_layout layout = { { 0, 0 }, 0 };
    struct op_call calls[RUN_BATCH_MAX];
    for (int s = 0; s < plan->count; s++) {
        const int half = half_of(lane, plan, s);
        const bool kept = makes_image(lane, plan, s) && s != run_last_maker(plan);
        const size_t bytes = kept ? level_bytes(items, count, s + 1) : 0;
        if (bytes > layout.half[half]) layout.half[half] = bytes;
        run_make_calls(plan, s, items, count, calls);
        const size_t scratch = lane->driver->scratch(lane, plan->steps[s].op, calls, count);
        if (scratch > layout.scratch) layout.scratch = scratch;
    }
    return layout;
}

struct lane_need run_layout_need(struct lane *lane, const struct plan *plan, struct run_item *items,
                                 int count) {
    const struct run_layout layout = run_layout_of(lane, plan, items, count);
    const size_t steps = layout.half[0] + layout.half[1] + aligned(layout.scratch);
    struct lane_need need = { .in = run_uploaded_bytes(items, count),
                              .work = larger(steps, codec_bytes(items, count)),
                              .out = run_downloaded_bytes(plan, items, count) };
    for (int i = 0; i < count; i++)
        if (items[i].jpeg && !is_passed_on(plan, &items[i]))
            need.device_in += shape_bytes(&items[i], 0);
    need.device_out = result_bytes(plan, items, count, false);
    need.in += need.device_in;
    need.out += need.device_out;
    return need;
}

/* ---- places */

static void place_level(struct run_item *items, int count, uint8_t *base, int step) {
    for (int i = 0; i < count; i++) {
        items[i].shapes[step].pixels = base;
        base += shape_bytes(&items[i], step);
    }
}

/* From BASE on, which is the host's or the device's. Those that are passed on lie elsewhere. */
static void place_inputs(const struct plan *plan, struct run_item *items, int count,
                         uint8_t *base) {
    for (int i = 0; i < count; i++)
        if (!items[i].jpeg) {
            items[i].shapes[0].pixels = base;
            base += shape_bytes(&items[i], 0);
        }
    for (int i = 0; i < count; i++)
        for (int p = 0; p < OP_AUX_MAX; p++) {
            items[i].aux[p].pixels = base;
            base += aligned(image_bytes(&items[i].aux[p]));
        }
    for (int i = 0; i < count; i++)
        if (items[i].jpeg && !is_passed_on(plan, &items[i])) {
            items[i].shapes[0].pixels = base;
            base += shape_bytes(&items[i], 0);
        }
}

/* Likewise those that `out` holds, as the images after STEP steps. */
static void place_results(const struct plan *plan, struct run_item *items, int count, uint8_t *base,
                          int step) {
    uint8_t *read = base, *kept = base + run_downloaded_bytes(plan, items, count);
    for (int i = 0; i < count; i++) {
        if (!has_result(plan, &items[i])) continue;
        uint8_t **next = items[i].want == RUN_PIXELS ? &read : &kept;
        items[i].shapes[step].pixels = *next;
        *next += shape_bytes(&items[i], step);
    }
}

/* Behind the results that are downloaded, which begin at BASE. */
static void place_values(const struct plan *plan, struct run_item *items, int count,
                         uint8_t *base) {
    base += result_bytes(plan, items, count, true);
    for (int i = 0; i < count; i++)
        for (int s = 0; s < plan->count; s++) {
            struct values *values = &items[i].values[s];
            values->numbers = values->shape.type ? base : NULL;
            base += aligned(values_bytes(&values->shape));
        }
}

void run_place_host(struct lane *lane, const struct plan *plan, struct run_item *items, int count) {
    const int last = plan->count;
    place_inputs(plan, items, count, lane->host_in);
    for (int i = 0; i < count; i++) {
        items[i].in = items[i].shapes[0];
        if (items[i].jpeg) items[i].in.pixels = NULL;
        items[i].shapes[last].pixels = items[i].in.pixels;
    }
    place_results(plan, items, count, lane->host_out, last);
    place_values(plan, items, count, lane->host_out);
    for (int i = 0; i < count; i++) {
        items[i].out = items[i].shapes[last];
        if (items[i].want != RUN_PIXELS) items[i].out.pixels = NULL;
    }
}

void run_place_inputs(struct lane *lane, const struct plan *plan, struct run_item *items,
                      int count) {
    place_inputs(plan, items, count, lane->in);
    if (run_last_maker(plan) < 0) place_results(plan, items, count, lane->out, 0);
}

void run_place_step(struct lane *lane, const struct plan *plan, int s, struct run_item *items,
                    int count, const struct run_layout *layout) {
    uint8_t *half[2] = { lane->work, lane->work + layout->half[0] };
    if (makes_image(lane, plan, s) && s == run_last_maker(plan))
        place_results(plan, items, count, lane->out, s + 1);
    else if (makes_image(lane, plan, s))
        place_level(items, count, half[half_of(lane, plan, s)], s + 1);
    else
        for (int i = 0; i < count; i++) items[i].shapes[s + 1].pixels = items[i].shapes[s].pixels;
}
