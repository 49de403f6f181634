// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ops/carve/phases.h"

#include "pipeline/ops/carve/map_fill.h"
#include "pipeline/ops/carve/picture.h"

/* Is there a phase behind PHASE of a picture of WIDTH x HEIGHT? */
static bool is_last(const struct carve_context *context, const struct carve_phase *phase,
                    uint32_t width, uint32_t height) {
    struct carve_phase next;
    carve_phase_advance(phase, &width, &height);
    return !carve_next(width, height, context->goal_width, context->goal_height, &next);
}

static enum status find_seams(struct carve_context *context, const struct carve_phase *phase) {
    const int64_t start = clock_ns();
    enum status status = phase->columns ? carve_fill_map(context, &context->upright) : STATUS_OK;
    if (!status && phase->rows) status = carve_fill_map(context, &context->turned);
    context->ns[CARVE_AT_ENERGY] += clock_ns() - start;
    if (status) return status;
    struct seam_search search = {
        .upright = phase->columns ? &context->upright : NULL,
        .turned = phase->rows ? &context->turned : NULL,
        .columns = phase->columns,
        .rows = phase->rows,
        .seams = context->seams,
        .red = context->drawn ? &context->call->out : NULL,
        .pool = context->call->pool,
        .progress = context->call->progress,
        .done = context->done,
        .total = context->total,
    };
    status = seam_search_run(&search);
    context->done = search.done;
    for (int i = 0; i < CARVE_TIMES; i++) context->ns[i] += search.ns[i];
    return status;
}

static enum status run_phase(struct carve_context *context, const struct carve_phase *phase) {
    uint32_t width = context->now.width, height = context->now.height;
    carve_context_lay(context, phase, width, height);
    enum status status = find_seams(context, phase);
    if (status) return status;
    if (is_last(context, phase, width, height)) {
        context->work.pixels = NULL;
        context->later_marks.pixels = context->later_ids.pixels = NULL;
    }
    const int64_t start = clock_ns();
    status = carve_picture_change(context, phase);
    context->ns[CARVE_AT_REMOVE] += clock_ns() - start;
    carve_phase_advance(phase, &width, &height);
    context->now = *carve_picture(context);
    context->now.width = width;
    context->now.height = height;
    context->marks = context->later_marks;
    context->ids = context->later_ids;
    return status;
}

enum status carve_phases_run(struct carve_context *context) {
    static const char *const names[] = { "energy", "seam", "trace", "remove" };
    struct carve_phase phase;
    enum status status = STATUS_OK;
    if (!context->drawn && !context->total) return carve_picture_copy(context);
    while (!status && carve_next(context->now.width, context->now.height, context->goal_width,
                                 context->goal_height, &phase))
        status = run_phase(context, &phase);
    for (int i = 0; i < CARVE_TIMES; i++)
        timing_span(context->call->timing, names[i], 1, ns_to_ms(context->ns[i]));
    return status;
}
