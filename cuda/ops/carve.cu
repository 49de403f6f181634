// SPDX-License-Identifier: Apache-2.0
/* Seams are found on the luma alone, strip by strip (strip.cuh says what that is, and which methods
 * there are); then the pixels follow at once. Pixels go from the input to the output in the first
 * phase and grow there in place in those after it, so that they need no scratch. Only where the
 * seams are shown, which has the input's size, an image of its own is carved along.
 *
 * Scratch, bytes a pixel: luma 1, seams up to 2, their bits 3/16, the method's (tiles.cuh: 3.4,
 * with masks 2.6; both directions 7 to 10, and 4 for origins); masks 1 or 2; seams shown in several
 * phases: the pixel itself and 4. */
#include "pipeline/ops/carve.h"

#include "cuda/ops/carve/planes.cuh"
#include "cuda/ops/carve/show.cuh"
#include "cuda/ops/carve/tiles.cuh"

/* ---- methods */

struct method {
    size_t (*scratch)(const struct cuda_context *context, const struct carve_strip *strip);
    enum status (*run)(const struct cuda_context *context, const struct carve_strip *strip,
                       struct failure *failure);
};

/* The quickest for STRIP, of which pointers need only be NULL or not. */
static struct method choose(const struct cuda_context *context, const struct carve_strip *strip) {
    (void)context;
    (void)strip;
    return { carve_tiles_scratch, carve_tiles };
}

/* ---- the way of one image */

/* Before a phase, or behind the last one. */
struct leg {
    uint32_t width, height;
    struct carve_phase phase;
};

/* Everything of one call. Memory is NULL while it is only counted. */
struct course {
    const struct cuda_context *context;
    const struct op_call *call;
    struct failure *failure;
    uint32_t goal_width, goal_height;
    bool masked, shows; /* the seams */
    int phases;
    uint32_t total, done; /* seams */
    struct cuda_watch *watch;

    struct image now;      /* the image as far as it has come; from the first phase on in TO */
    struct image to;       /* as large as it gets */
    struct plane kept;     /* marks of `now` from the second phase on */
    uint8_t *luma, *marks; /* of a strip */
    uint32_t *origins;     /* of `now`, where it is shown or both directions shrink */
    uint32_t origin_stride;
    uint16_t *seams;
    struct lines lines;
    void *scratch; /* the method's */
};

static bool next_phase(const struct course *course, struct leg *leg) {
    return carve_next(leg->width, leg->height, course->goal_width, course->goal_height,
                      &leg->phase);
}

static struct leg behind(const struct leg *leg) {
    const int32_t sign = leg->phase.grow ? 1 : -1;
    return { leg->width + sign * leg->phase.columns, leg->height + sign * leg->phase.rows, {} };
}

static bool is_both(const struct leg *leg) {
    return leg->phase.columns && leg->phase.rows;
}

/* Horizontal seams alone. */
static bool is_turned(const struct leg *leg) {
    return !leg->phase.columns;
}

static uint32_t round16(uint32_t n) {
    return (n + 15) / 16 * 16;
}

/* The strip of one phase; memory as far as the course has it. */
static struct carve_strip strip_of(const struct course *course, const struct leg *leg) {
    const bool turned = is_turned(leg);
    struct carve_strip strip = {};
    strip.width = turned ? leg->height : leg->width;
    strip.height = turned ? leg->width : leg->height;
    strip.columns = turned ? leg->phase.rows : leg->phase.columns;
    strip.rows = turned ? 0 : leg->phase.rows;
    strip.energy = (int)course->call->params->number[CARVE_ENERGY];
    strip.luma = course->luma;
    strip.luma_stride = round16(strip.width);
    strip.marks = course->masked ? course->marks : NULL;
    strip.origins = strip.rows ? course->origins : NULL;
    strip.origin_stride = strip.rows ? course->origin_stride : 0;
    strip.seams = strip.rows ? NULL : course->seams;
    strip.scratch = course->scratch;
    strip.watch = course->watch;
    strip.done = course->done;
    return strip;
}

static struct lines lines_of(const struct course *course, const struct carve_strip *strip,
                             bool turned) {
    struct lines lines = course->lines;
    lines.words = (strip->width + 31) / 32;
    lines.count = strip->height;
    lines.length = strip->width;
    lines.turned = turned;
    return lines;
}

/* ---- memory */

/* The most that any phase wants. */
struct wants {
    size_t plane, seams, words, method;
    uint32_t width, height; /* of the images from the second phase on */
    bool both;
};

static void want(size_t *most, size_t bytes) {
    if (bytes > *most) *most = bytes;
}

static struct wants wants_of(struct course *course) {
    struct wants wants = {};
    struct leg leg = { course->call->in.width, course->call->in.height, {} };
    course->phases = 0;
    for (; next_phase(course, &leg); leg = behind(&leg), course->phases++) {
        /* Any pointer that is not NULL stands for memory to come. */
        static uint8_t some;
        struct course counted = *course;
        counted.luma = counted.marks = &some;
        const struct carve_strip strip = strip_of(&counted, &leg);
        const size_t across = (size_t)round16(leg.width) * leg.height;
        const size_t turned = (size_t)round16(leg.height) * leg.width;
        course->total += leg.phase.columns + leg.phase.rows;
        wants.both |= is_both(&leg);
        want(&wants.plane, (across > turned ? across : turned) + 16);
        want(&wants.method, choose(course->context, &strip).scratch(course->context, &strip));
        if (is_both(&leg)) continue;
        want(&wants.seams, sizeof(uint16_t) * (size_t)strip.columns * strip.height);
        want(&wants.words, (size_t)(strip.width + 31) / 32 * strip.height);
        if (course->phases == 0) continue;
        if (leg.width > wants.width) wants.width = leg.width;
        if (leg.height > wants.height) wants.height = leg.height;
    }
    return wants;
}

static uint8_t *take(uint8_t *base, size_t *bytes, size_t more) {
    const size_t at = *bytes;
    *bytes += (more + 255) / 256 * 256;
    return base ? base + at : NULL;
}

/* Marks, and where seams are shown pixels and origins, of several phases. */
static void place_images(struct course *course, const struct wants *wants, uint8_t *base,
                         size_t *bytes) {
    const struct image *in = &course->call->in;
    const size_t pixels = (size_t)wants->width * wants->height;
    course->to = course->call->out;
    if (course->masked && pixels) {
        course->kept.stride = round16(wants->width);
        course->kept.bytes = take(base, bytes, (size_t)course->kept.stride * wants->height);
    }
    if (course->shows && pixels) {
        course->to = *in;
        course->to.stride = wants->width * image_pixel_bytes(in);
        course->to.pixels = take(base, bytes, course->to.stride * wants->height);
    }
    if ((course->shows && pixels) || wants->both) {
        const size_t number = wants->both ? (size_t)image_pixels(in) : pixels;
        course->origin_stride = wants->both ? in->width : wants->width;
        course->origins = (uint32_t *)take(base, bytes, sizeof(uint32_t) * number);
    }
}

/* Lays all of it out from BASE on; NULL: only counts. */
static size_t place(struct course *course, uint8_t *base) {
    const struct wants wants = wants_of(course);
    size_t bytes = 0;
    if (course->phases == 0) /* energies may be shown */
        course->luma =
            take(base, &bytes, (size_t)round16(course->call->in.width) * course->call->in.height);
    if (course->phases == 0) return bytes;
    course->luma = take(base, &bytes, wants.plane);
    if (course->masked) course->marks = take(base, &bytes, wants.plane);
    course->seams = (uint16_t *)take(base, &bytes, wants.seams);
    course->lines.bits = (uint32_t *)take(base, &bytes, sizeof(uint32_t) * wants.words);
    course->lines.ranks = (uint16_t *)take(base, &bytes, sizeof(uint16_t) * wants.words);
    place_images(course, &wants, base, &bytes);
    course->scratch = take(base, &bytes, wants.method);
    return bytes;
}

/* The size to carve to. Of a result it is the output's. */
static void set_goal(struct course *course) {
    const struct op_call *call = course->call;
    const long *number = call->params->number;
    course->goal_width = call->out.width;
    course->goal_height = call->out.height;
    if (!course->shows) return;
    course->goal_width =
        (uint32_t)(number[CARVE_WIDTH] ? number[CARVE_WIDTH] : call->in.width + number[CARVE_DX]);
    course->goal_height = (uint32_t)(number[CARVE_HEIGHT] ? number[CARVE_HEIGHT]
                                                          : call->in.height + number[CARVE_DY]);
}

static struct course course_make(const struct cuda_context *context, const struct op_call *call) {
    struct course course = {};
    course.context = context;
    course.call = call;
    course.failure = call->failure;
    course.shows = call->params->number[CARVE_SHOW] == CARVE_SHOW_SEAMS;
    course.masked = call->parts[CARVE_KEEP].width || call->parts[CARVE_REMOVE].width;
    set_goal(&course);
    return course;
}

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
        job.keep = course->call->parts[CARVE_KEEP];
        job.remove = course->call->parts[CARVE_REMOVE];
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
                              struct lines *lines) {
    const struct carve_strip strip = strip_of(course, leg);
    enum status status = fill_strip(course, leg, &strip);
    if (!status)
        status = choose(course->context, &strip).run(course->context, &strip, course->failure);
    cuda_mark(course->context, "seams");
    *lines = lines_of(course, &strip, is_turned(leg));
    const struct mark_job job = { *lines, course->seams, strip.columns };
    if (status || is_both(leg)) return status;
    return mark_lines(course->context->stream, job, course->failure);
}

static enum status paint_phase(const struct course *course, const struct leg *leg,
                               const struct lines *lines) {
    const bool both = is_both(leg);
    const struct leg after = behind(leg);
    struct paint_job job = {};
    job.lines = *lines;
    job.width = both ? after.width : leg->width;
    job.height = both ? after.height : leg->height;
    job.origins = both || course->done ? course->origins : NULL;
    job.origin_stride = course->origin_stride;
    job.in = course->call->in;
    job.out = course->call->out;
    return paint_seams(course->context->stream, job, both, course->failure);
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

static enum status move_origins(const struct course *course, const struct leg *leg,
                                const struct lines *lines) {
    struct move_job job = {};
    job.lines = *lines;
    job.from = course->done ? (const uint8_t *)course->origins : NULL;
    job.to = (uint8_t *)course->origins;
    job.from_stride = job.to_stride = sizeof(uint32_t) * (size_t)course->origin_stride;
    job.numbered = course->call->in.width;
    return move_one(course, leg, movers_make<uint32_t, 1>(), &job);
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

/* What is to follow the seams: the pixels, unless nobody looks at them any more; origins and marks,
 * if there is another phase. */
static enum status follow(struct course *course, const struct leg *leg, const struct lines *lines,
                          bool last) {
    if (last && course->shows) return STATUS_OK;
    if (is_both(leg)) return gather(course, leg);
    enum status status = move_pixels(course, leg, lines);
    if (!status && !last && course->shows) status = move_origins(course, leg, lines);
    if (!status && !last && course->masked) status = move_marks(course, leg, lines);
    return status;
}

static enum status run_phase(struct course *course, struct leg *leg) {
    const struct leg after = behind(leg);
    const bool last = after.width == course->goal_width && after.height == course->goal_height;
    struct lines lines;
    enum status status = find_seams(course, leg, &lines);
    if (!status && course->shows) status = paint_phase(course, leg, &lines);
    if (!status) status = follow(course, leg, &lines, last);
    cuda_mark(course->context, "pixels");
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

static enum status check_parts(const struct op_call *call, struct failure *failure) {
    for (int i = 0; i < OP_PARTS_MAX; i++) {
        const struct image *part = &call->parts[i];
        if (part->width && (part->width != call->in.width || part->height != call->in.height))
            return fail(failure, STATUS_CORRUPT,
                        "the mask is %u x %u, the image %u x %u: they must be alike", part->width,
                        part->height, call->in.width, call->in.height);
    }
    return STATUS_OK;
}

static enum status run_one(const struct cuda_context *context, const struct op_call *call,
                           void *scratch, struct failure *failure) {
    const enum status status = check_parts(call, failure);
    if (status) return status;
    struct course course = course_make(context, call);
    course.failure = failure;
    place(&course, (uint8_t *)scratch);
    if (call->params->number[CARVE_SHOW] == CARVE_SHOW_ENERGY) return show_energy(&course);
    if (course.phases) course.watch = cuda_watch(context, call, NULL);
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
