// SPDX-License-Identifier: Apache-2.0
/* Seams are found on the luma alone, strip by strip (strip.cuh says what that is, and which methods
 * there are); then the pixels follow at once. Pixels go from the input to the output in the first
 * phase and grow there in place in those after it, so that they need no scratch. Only where the
 * seams are shown, which has the input's size, an image of its own is carved along.
 *
 * Scratch: at most 16 bytes a pixel of the input or, where that has more, of what is carved to;
 * where a side of the input, or of what it grows to, is under 800 pixels, 384 KiB on top; where one
 * is under 480, 1280 bytes for every row and column of both too. What it is, bytes a pixel: luma 1,
 * seams up to 2, all phases' bits up to 3/4, the method's (tiles.cuh: 3.4, with masks 2.6; both
 * directions 7 to 10, fast_both.cuh no more, and 4 for origins); masks 1 or 2; seams shown in
 * several phases: the pixel itself. */
#include "pipeline/ops/carve.h"

#include "cuda/ops/carve/course.cuh"
#include "cuda/ops/carve/show.cuh"

/* ---- one phase */

/* Marks of the image that the phase begins with, into TO. */
static enum status fill_marks(const struct course *course, const struct leg *leg, struct plane to,
                              bool turned) {
    struct fill_job job = {};
    job.width = leg->width;
    job.height = leg->height;
    job.to = to;
    job.turned = turned;
    if (course->done) {
        job.from = course->kept;
    } else {
        job.keep = course->call->aux[CARVE_KEEP];
        job.remove = course->call->aux[CARVE_REMOVE];
    }
    return fill_plane(course->context->stream, job, course->failure);
}

static enum status fill_strip(const struct course *course, const struct leg *leg,
                              const struct carve_strip *strip) {
    struct fill_job job = {};
    job.image = course->now;
    job.width = leg->width;
    job.height = leg->height;
    job.to = { strip->luma, strip->luma_stride };
    job.turned = is_turned(leg);
    job.watch = course->watch;
    job.total = course->total;
    const enum status status = fill_plane(course->context->stream, job, course->failure);
    if (status || !course->masked) return status;
    return fill_marks(course, leg, { strip->marks, strip->luma_stride }, job.turned);
}

static enum status find_seams(const struct course *course, const struct leg *leg,
                              const struct lines *lines) {
    const struct carve_strip strip = strip_of(course, leg);
    enum status status = fill_strip(course, leg, &strip);
    if (!status)
        status = choose(course->context, &strip).run(course->context, &strip, course->failure);
    cuda_mark(course->context, course->quick && course->watch ? NULL : "seams");
    if (status || is_both(leg)) return status;
    const struct mark_job job = { *lines, strip.seams, strip.columns };
    return mark_lines(course->context->stream, job, course->failure);
}

static enum status restore_left(const struct course *course, const struct leg *leg) {
    const struct leg after = behind(leg);
    struct restore_job job = {};
    job.width = after.width;
    job.height = after.height;
    job.origins = course->origins;
    job.origin_stride = course->origin_stride;
    job.in = course->call->in;
    job.out = course->call->out;
    return restore_pixels(course->context->stream, job, course->failure);
}

static enum status paint_phase(const struct course *course, const struct leg *leg,
                               const struct lines *lines) {
    if (is_both(leg)) return restore_left(course, leg);
    struct paint_job job = {};
    job.lines = *lines;
    job.width = leg->width;
    job.height = leg->height;
    job.past = course->past;
    job.out = course->call->out;
    return paint_seams(course->context->stream, job, course->failure);
}

static enum status move_one(const struct course *course, const struct leg *leg,
                            const struct movers &movers, struct move_job *job) {
    const struct leg after = behind(leg);
    job->width = leg->width;
    job->height = leg->height;
    job->length = job->lines.turned ? after.height : after.width;
    return leg->phase.grow ? grow_pixels(course->context->stream, movers, *job, course->failure)
                           : shrink_pixels(course->context->stream, movers, *job, course->failure);
}

static enum status move_pixels(struct course *course, const struct leg *leg,
                               const struct lines *lines) {
    const struct image *now = &course->now;
    struct move_job job = {};
    job.lines = *lines;
    job.from = now->pixels;
    job.from_stride = now->stride;
    job.to = course->to.pixels;
    job.to_stride = course->to.stride;
    const struct movers movers =
        now->depth == 8 ? movers_of<uint8_t>(now->channels) : movers_of<uint16_t>(now->channels);
    return move_one(course, leg, movers, &job);
}

/* In the first phase marks come fresh from the masks: where it shrinks, through the strip's plane,
 * which is free by now. */
static enum status move_marks(const struct course *course, const struct leg *leg,
                              const struct lines *lines) {
    struct plane from = course->kept;
    if (!leg->phase.grow) from = { course->marks, round16(leg->width) };
    enum status status = STATUS_OK;
    if (!course->done) status = fill_marks(course, leg, from, false);
    if (status) return status;
    struct move_job job = {};
    job.lines = *lines;
    job.from = from.bytes;
    job.from_stride = from.stride;
    job.to = course->kept.bytes;
    job.to_stride = course->kept.stride;
    job.copies = true;
    return move_one(course, leg, movers_make<uint8_t, 1>(), &job);
}

static enum status gather(const struct course *course, const struct leg *leg) {
    const struct image *in = &course->call->in, *out = &course->call->out;
    const struct movers movers =
        in->depth == 8 ? movers_of<uint8_t>(in->channels) : movers_of<uint16_t>(in->channels);
    const struct leg after = behind(leg);
    const struct gather_job job = {
        course->origins, course->origin_stride, in->pixels,   out->pixels, in->stride,
        out->stride,     after.width,           after.height, in->width,   in->height
    };
    return gather_pixels(course->context->stream, movers, job, course->failure);
}

/* What is to follow the seams: the pixels, unless nobody looks at them any more; marks, if there is
 * another phase. */
static enum status follow(struct course *course, const struct leg *leg, const struct lines *lines,
                          bool last) {
    if (last && course->shows) return STATUS_OK;
    if (is_both(leg)) return gather(course, leg);
    enum status status = move_pixels(course, leg, lines);
    if (!status && !last && course->masked) status = move_marks(course, leg, lines);
    return status;
}

static enum status run_phase(struct course *course, struct leg *leg) {
    const struct leg after = behind(leg);
    const bool last = after.width == course->goal_width && after.height == course->goal_height;
    const struct lines *lines = &course->past.phases[course->past.count].lines;
    enum status status = find_seams(course, leg, lines);
    if (!status && course->shows) status = paint_phase(course, leg, lines);
    if (!status) status = follow(course, leg, lines, last);
    cuda_mark(course->context, "pixels");
    course->past.count++;
    course->done += leg->phase.columns + leg->phase.rows;
    course->now = course->to;
    course->now.width = after.width;
    course->now.height = after.height;
    *leg = after;
    return status;
}

/* ---- one image */

static enum status show(const struct course *course, enum show_what what) {
    struct show_job job = {};
    job.in = course->call->in;
    job.out = course->call->out;
    job.what = what;
    job.energy = (int)course->call->params->number[CARVE_ENERGY];
    job.luma = { course->luma, round16(job.in.width) };
    return show_image(course->context->stream, job, course->failure);
}

static enum status show_energy(const struct course *course) {
    struct fill_job job = {};
    job.image = course->call->in;
    job.width = job.image.width;
    job.height = job.image.height;
    job.to = { course->luma, round16(job.width) };
    const enum status status = fill_plane(course->context->stream, job, course->failure);
    if (status) return status;
    const enum status shown = show(course, SHOW_ENERGY);
    cuda_mark(course->context, "energy");
    return shown;
}

static enum status copy(const struct course *course) {
    const struct image *in = &course->call->in, *out = &course->call->out;
    CUDA_TRY(course->failure, cudaMemcpy2DAsync(out->pixels, out->stride, in->pixels, in->stride,
                                                image_row_bytes(in), in->height,
                                                cudaMemcpyDeviceToDevice, course->context->stream));
    return STATUS_OK;
}

static enum status carve(struct course *course) {
    struct leg leg = { course->call->in.width, course->call->in.height, {} };
    enum status status = STATUS_OK;
    course->now = course->call->in;
    next_phase(course, &leg);
    if (course->shows) status = show(course, is_both(&leg) ? SHOW_RED : SHOW_INPUT);
    if (!status && course->phases == 0 && !course->shows) status = copy(course);
    while (!status && next_phase(course, &leg)) status = run_phase(course, &leg);
    return status;
}

static enum status check_masks(const struct op_call *call, struct failure *failure) {
    for (int i = 0; i < OP_AUX_MAX; i++) {
        const struct image *mask = &call->aux[i];
        if (mask->width && (mask->width != call->in.width || mask->height != call->in.height))
            return fail(failure, STATUS_MISMATCH,
                        "the mask is %u x %u, the image %u x %u: they must have the same size",
                        mask->width, mask->height, call->in.width, call->in.height);
    }
    return STATUS_OK;
}

static enum status run_one(const struct cuda_context *context, const struct op_call *call,
                           void *scratch, struct failure *failure) {
    const enum status status = check_masks(call, failure);
    if (status) return status;
    struct course course = course_make(context, call);
    course.failure = failure;
    place(&course, (uint8_t *)scratch);
    if (call->params->number[CARVE_SHOW] == CARVE_SHOW_ENERGY) return show_energy(&course);
    static const char *const quick[] = { "seam", "trace", "remove", NULL }; /* as SPAN_SEAM... */
    if (course.phases) course.watch = cuda_watch(context, call, course.quick ? quick : NULL);
    return carve(&course);
}

/* ---- the twin */

static size_t scratch(const struct cuda_context *context, const struct op_call *calls, int count) {
    size_t most = 0;
    for (int i = 0; i < count; i++) {
        struct course course = course_make(context, &calls[i]);
        want(&most, place(&course, NULL));
    }
    return most;
}

static enum status run(const struct cuda_context *context, struct op_call *calls, int count) {
    enum status status = STATUS_OK;
    for (int i = 0; i < count && !status; i++)
        status = run_one(context, &calls[i], calls[0].scratch, calls[0].failure);
    return status;
}

extern "C" const struct cuda_op cuda_op_carve = { scratch, run };
