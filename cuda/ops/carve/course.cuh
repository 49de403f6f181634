// SPDX-License-Identifier: Apache-2.0
/* course.cuh - the way of one image through carve.cu: its phases, their strips and its memory. */
#ifndef BURIN_CARVE_COURSE_CUH
#define BURIN_CARVE_COURSE_CUH

#include "cuda/ops/carve/fast_both.cuh"
#include "cuda/ops/carve/past.cuh"
#include "cuda/ops/carve/planes.cuh"
#include "cuda/ops/carve/tiles.cuh"

/* ---- methods */

struct method {
    size_t (*scratch)(const struct cuda_context *context, const struct carve_strip *strip);
    enum status (*run)(const struct cuda_context *context, const struct carve_strip *strip,
                       struct failure *failure);
};

/* The quickest for STRIP, of which pointers need only be NULL or not. */
static struct method choose(const struct cuda_context *context, const struct carve_strip *strip) {
    if (carve_fast_fits(context, strip)) return { carve_fast_scratch, carve_fast };
    if (carve_both_fits(context, strip)) return { carve_both_scratch, carve_both };
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
    bool quick;           /* all of them go the fast way, which tells where its time goes */
    uint32_t total, done; /* seams */
    struct cuda_watch *watch;

    struct image now;      /* the image as far as it has come; from the first phase on in TO */
    struct image to;       /* as large as it gets */
    struct plane kept;     /* marks of `now` from the second phase on */
    uint8_t *luma, *marks; /* of a strip */
    uint32_t *origins;     /* where both directions shrink */
    uint32_t origin_stride;
    struct past past; /* counts the phases that are done; the lines of those to come have room */

    /* What a phase has for itself: its seams, and behind them the method's scratch. The first one
     * has it where the images of later ones will be: until its seams are lines, there are none. */
    uint8_t *first, *later;
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

static size_t round256(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static size_t seams_bytes(const struct carve_strip *strip) {
    if (strip->rows) return 0;
    return round256(sizeof(uint16_t) * (size_t)strip->columns * strip->height);
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
    uint8_t *const own = course->done ? course->later : course->first;
    strip.seams = strip.rows ? NULL : (uint16_t *)own;
    strip.scratch = own ? own + seams_bytes(&strip) : NULL;
    strip.watch = course->watch;
    strip.done = course->done;
    return strip;
}

/* Without memory. */
static struct lines lines_of(const struct carve_strip *strip, bool turned) {
    struct lines lines = {};
    lines.words = (strip->width + 31) / 32;
    lines.count = strip->height;
    lines.length = strip->width;
    lines.turned = turned;
    return lines;
}

/* ---- memory */

/* The most that any phase wants. */
struct wants {
    size_t plane, first, later;
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
    course->quick = true;
    for (; next_phase(course, &leg); leg = behind(&leg), course->phases++) {
        /* Stands for memory to come, which is aligned likewise. */
        alignas(256) static uint8_t some[1];
        struct course counted = *course;
        counted.luma = counted.marks = some;
        const struct carve_strip strip = strip_of(&counted, &leg);
        const size_t across = (size_t)round16(leg.width) * leg.height;
        const size_t turned = (size_t)round16(leg.height) * leg.width;
        course->total += leg.phase.columns + leg.phase.rows;
        wants.both |= is_both(&leg);
        want(&wants.plane, (across > turned ? across : turned) + 16);
        const struct method method = choose(course->context, &strip);
        want(course->phases ? &wants.later : &wants.first,
             seams_bytes(&strip) + method.scratch(course->context, &strip));
        course->quick = course->quick && method.run != carve_tiles;
        if (is_both(&leg)) continue;
        course->past.phases[course->phases] = { lines_of(&strip, is_turned(&leg)), leg.phase.grow };
        if (course->phases == 0) continue;
        if (leg.width > wants.width) wants.width = leg.width;
        if (leg.height > wants.height) wants.height = leg.height;
    }
    return wants;
}

static uint8_t *take(uint8_t *base, size_t *bytes, size_t more) {
    const size_t at = *bytes;
    *bytes += round256(more);
    return base ? base + at : NULL;
}

/* Marks, and where seams are shown pixels, of several phases. */
static void place_images(struct course *course, const struct wants *wants, uint8_t *base,
                         size_t *bytes) {
    const struct image *in = &course->call->in;
    course->to = course->call->out;
    if (!wants->width) return;
    if (course->masked) {
        course->kept.stride = round16(wants->width);
        course->kept.bytes = take(base, bytes, (size_t)course->kept.stride * wants->height);
    }
    if (course->shows) {
        course->to = *in;
        course->to.stride = wants->width * image_pixel_bytes(in);
        course->to.pixels = take(base, bytes, course->to.stride * wants->height);
    }
}

static void place_origins(struct course *course, uint8_t *base, size_t *bytes) {
    const struct image *in = &course->call->in;
    course->origin_stride = in->width;
    course->origins = (uint32_t *)take(base, bytes, sizeof(uint32_t) * (size_t)image_pixels(in));
}

static void place_lines(struct course *course, uint8_t *base, size_t *bytes) {
    for (int i = 0; i < course->phases; i++) {
        struct lines *lines = &course->past.phases[i].lines;
        const size_t words = (size_t)lines->words * lines->count;
        lines->bits = (uint32_t *)take(base, bytes, sizeof(uint32_t) * words);
        lines->ranks = (uint16_t *)take(base, bytes, sizeof(uint16_t) * words);
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
    place_lines(course, base, &bytes);
    if (wants.both) place_origins(course, base, &bytes);
    const size_t first = bytes;
    course->first = take(base, &bytes, 0);
    place_images(course, &wants, base, &bytes);
    course->later = take(base, &bytes, wants.later);
    want(&bytes, first + round256(wants.first));
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
    course.masked = call->aux[CARVE_KEEP].width || call->aux[CARVE_REMOVE].width;
    set_goal(&course);
    return course;
}

#endif
