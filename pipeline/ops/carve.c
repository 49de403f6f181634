// SPDX-License-Identifier: Apache-2.0
/* How it works. Seam carving: content-aware change of size (definition.h defines what is computed).
 *
 * This file has the record, the checks and the phases; pipeline/ops/carve/ does the work. A phase
 * fills energy maps (context.c, which also lays out all memory), finds seams in them
 * (seam_search.c, row by row through dp_row.c), and then changes the pixels (picture.c).
 */
#include "pipeline/ops/carve/definition.h"

#include "pipeline/band.h"
#include "pipeline/op.h"
#include "pipeline/ops/carve/context.h"
#include "pipeline/ops/carve/picture.h"
#include "pipeline/ops/carve/retarget.h"
#include "pipeline/sample.h"

static const struct param params[] = {
    [CARVE_WIDTH] = { .name = "width",
                      .summary = "Width to carve to; unchanged if not given",
                      .unit = "pixels",
                      .type = PARAM_INT,
                      .share = SHARE_OF_WIDTH,
                      .min = 1,
                      .max = IMAGE_SIDE_MAX },
    [CARVE_HEIGHT] = { .name = "height",
                       .summary = "Height to carve to; unchanged if not given",
                       .unit = "pixels",
                       .type = PARAM_INT,
                       .share = SHARE_OF_HEIGHT,
                       .min = 1,
                       .max = IMAGE_SIDE_MAX },
    [CARVE_DX] = { .name = "dx",
                   .summary = "Change of the width, in place of width",
                   .unit = "pixels",
                   .type = PARAM_INT,
                   .share = SHARE_OF_WIDTH,
                   .min = 1 - IMAGE_SIDE_MAX,
                   .max = IMAGE_SIDE_MAX - 1 },
    [CARVE_DY] = { .name = "dy",
                   .summary = "Change of the height, in place of height",
                   .unit = "pixels",
                   .type = PARAM_INT,
                   .share = SHARE_OF_HEIGHT,
                   .min = 1 - IMAGE_SIDE_MAX,
                   .max = IMAGE_SIDE_MAX - 1 },
    [CARVE_ENERGY] = { .name = "energy",
                       .summary = "What seams avoid: differences to neighbours, the length of "
                                  "a Sobel gradient, or the edges that a removal makes",
                       .type = PARAM_CHOICE,
                       .choices = { "gradient", "sobel3", "sobel5", "forward" } },
    [CARVE_SHOW] = { .name = "show",
                     .summary = "The carved image, the seams in red on the input, the input's "
                                "energy, or a map in 16-bit gray: the number of the seam through "
                                "each pixel, 0 where none goes",
                     .type = PARAM_CHOICE,
                     .choices = { "result", "seams", "energy", "map" } },
    [CARVE_BACKGROUND] = BACKGROUND_PARAM(BACKGROUND_LAID),
    [CARVE_RIGIDITY] = { .name = "rigidity",
                         .summary = "What each step of a seam to the side costs more, so that "
                                    "seams run straighter",
                         .unit = "energy",
                         .type = PARAM_INT,
                         .min = 0,
                         .max = CARVE_RIGIDITY_MAX },
    [CARVE_SOFT] = { .name = "soft",
                     .summary = "Masks weigh by their gray: the lighter, the more seams avoid "
                                "what mask shows, and seek what rmask shows; nothing is cleared",
                     .type = PARAM_BOOL },
    { .name = NULL },
};

/* ---- sizes */

/* One side of the image: its two places in the parameter list, present length and wanted length. */
struct side {
    int target, change;
    const char *what;
    uint32_t now, goal;
};

static enum status find_goal(const struct params *values, struct side *side,
                             struct failure *failure) {
    const long target = values->number[side->target], change = values->number[side->change];
    const uint32_t both = 1u << side->target | 1u << side->change;
    const char *name = params[side->change].name, *other = params[side->target].name;
    if ((target && change) || (values->given & both) == both)
        return fail(failure, STATUS_BAD_PARAM, "carve takes %s or %s, not both", other, name);
    const long goal = target ? target : (long)side->now + change;
    if (goal < 1 || goal > IMAGE_SIDE_MAX)
        return fail(failure, STATUS_BAD_PARAM,
                    "carve: %s must be %ld..%ld for an image %u pixel%s %s, not %ld", name,
                    1 - (long)side->now, IMAGE_SIDE_MAX - (long)side->now, side->now,
                    side->now == 1 ? "" : "s", side->what, change);
    side->goal = (uint32_t)goal;
    return STATUS_OK;
}

static enum status find_goals(const struct params *values, const struct image *in,
                              struct side sides[2], struct failure *failure) {
    sides[0] = (struct side){ CARVE_WIDTH, CARVE_DX, "wide", in->width, 0 };
    sides[1] = (struct side){ CARVE_HEIGHT, CARVE_DY, "high", in->height, 0 };
    const enum status status = find_goal(values, &sides[0], failure);
    return status ? status : find_goal(values, &sides[1], failure);
}

/* While a picture grows, seams are found in pictures that no limit of pixels covers, so show=seams
 * is allowed for moderate growth only. */
enum { DRAWN_GROWTH_MAX = 2, DRAWN_PIXELS_MIN = 1 << 20 };

static enum status check_drawn(const struct image *in, const struct side sides[2],
                               struct failure *failure) {
    const uint64_t pixels = (uint64_t)sides[0].goal * sides[1].goal;
    if (pixels <= DRAWN_PIXELS_MIN || pixels <= DRAWN_GROWTH_MAX * image_pixels(in))
        return STATUS_OK;
    return fail(
        failure, STATUS_TOO_LARGE,
        "carve: with show=seams width, height, dx and dy may ask for at most %d times as many "
        "pixels, or %d in all; %u x %u to %u x %u is more",
        DRAWN_GROWTH_MAX, DRAWN_PIXELS_MIN, in->width, in->height, sides[0].goal, sides[1].goal);
}

static uint32_t seams_of(const struct side *side) {
    return carve_apart(side->goal, side->now);
}

/* A map holds the seams of one phase. */
static enum status check_map(const struct side sides[2], struct failure *failure) {
    if (seams_of(&sides[0]) && seams_of(&sides[1]))
        return fail(failure, STATUS_BAD_PARAM,
                    "carve: with show=map one direction only: change the width or the height, a "
                    "map for each");
    for (int i = 0; i < 2; i++) {
        const uint32_t most = carve_grow_most(sides[i].now);
        if (sides[i].goal > sides[i].now && seams_of(&sides[i]) > most)
            return fail(failure, STATUS_BAD_PARAM,
                        "carve: with show=map an image %u pixel%s %s can grow by at most %u, not "
                        "%u: a map holds what is inserted at once",
                        sides[i].now, sides[i].now == 1 ? "" : "s", sides[i].what, most,
                        seams_of(&sides[i]));
    }
    return STATUS_OK;
}

static enum status carve_size(const struct params *values, const struct image *in,
                              struct image *out, struct failure *failure) {
    struct side sides[2];
    const enum status status = find_goals(values, in, sides, failure);
    if (status) return status;
    const unsigned alpha = image_has_alpha(in);
    switch (values->number[CARVE_SHOW]) {
    case CARVE_SHOW_SEAMS:
        *out = image_shape(in->width, in->height, 3 + alpha, in->depth);
        return check_drawn(in, sides, failure);
    case CARVE_SHOW_ENERGY:
        *out = image_shape(in->width, in->height, 1 + alpha, in->depth);
        return STATUS_OK;
    case CARVE_SHOW_MAP:
        *out = image_shape(in->width, in->height, 1, 16);
        return check_map(sides, failure);
    default:
        *out = image_shape(sides[0].goal, sides[1].goal, in->channels, in->depth);
        return STATUS_OK;
    }
}

/* A weighed seam takes three times as long on a core, and more on a GPU. */
static uint32_t passes_of_seam(const struct params *values) {
    enum { WEIGHED_PASSES = 4 };
    return carve_is_weighed(values, true) ? WEIGHED_PASSES : 1;
}

/* One pass for each seam, which is searched in the whole picture. */
static uint32_t carve_passes(const struct params *values, const struct image *in) {
    struct side sides[2];
    uint32_t seams = 0;
    if (values->number[CARVE_SHOW] == CARVE_SHOW_ENERGY || find_goals(values, in, sides, NULL))
        return 1;
    for (int i = 0; i < 2; i++) seams += seams_of(&sides[i]);
    return seams ? seams * passes_of_seam(values) : 1;
}

/* The width of what rmask marks is not known yet. A quarter of the shorter side, removed and put
 * back, is within four times of most objects' and of the most possible. */
static uint32_t carve_aux_passes(const struct params *values, const struct image *in, int place) {
    struct side sides[2];
    if (place != CARVE_REMOVE || values->number[CARVE_SOFT] ||
        values->number[CARVE_SHOW] > CARVE_SHOW_SEAMS || find_goals(values, in, sides, NULL) ||
        !carve_may_clear(in, sides[0].goal, sides[1].goal))
        return 0;
    return 2 * ((in->width < in->height ? in->width : in->height) / 4 + 1) * passes_of_seam(values);
}

/* ---- several widths */

/* Returns the number of a map's seams that make the width; 0: a map does not serve this call. */
static uint32_t mapped_seams(const struct params *values, const struct image *in) {
    struct side sides[2];
    if (values->number[CARVE_SHOW] != CARVE_SHOW_RESULT || find_goals(values, in, sides, NULL) ||
        check_map(sides, NULL))
        return 0;
    return seams_of(&sides[0]);
}

/* The parameters that decide which seams are found, beside their number. */
static const int of_seams[] = { CARVE_ENERGY, CARVE_BACKGROUND, CARVE_RIGIDITY, CARVE_SOFT };

/* Whether both look for the same seams. */
static bool is_alike(const struct params *a, const struct params *b) {
    for (size_t i = 0; i < sizeof of_seams / sizeof *of_seams; i++)
        if (a->number[of_seams[i]] != b->number[of_seams[i]]) return false;
    return true;
}

/* Asks for one map, of the most seams that any width needs, for all widths with the energy, the
 * background and so on of the first. */
static uint32_t carve_common(const struct params *const *calls, int count, const struct image *in,
                             uint32_t aux, struct params *map) {
    uint32_t most = 0, served = 0;
    params_init(map, params);
    map->number[CARVE_SHOW] = CARVE_SHOW_MAP;
    for (int i = 0; i < count; i++) {
        const uint32_t seams = calls[i] ? mapped_seams(calls[i], in) : 0;
        if (!seams || (served && !is_alike(calls[i], map))) continue;
        /* A map knows no clearing. */
        if (aux >> CARVE_REMOVE & 1 && !calls[i]->number[CARVE_SOFT]) continue;
        for (size_t p = 0; p < sizeof of_seams / sizeof *of_seams; p++)
            map->number[of_seams[p]] = calls[i]->number[of_seams[p]];
        served |= UINT32_C(1) << i;
        most = seams > most ? seams : most;
    }
    map->number[CARVE_DX] = most < in->width ? -(long)most : (long)most;
    return served & (served - 1) ? served : 0;
}

/* ---- show=energy: the picture's energies as gray, without carving */

static void draw_rows(const struct carve_context *context, const struct energy_map *map,
                      uint32_t first, uint32_t end) {
    const struct image *in = &context->call->in, *out = &context->call->out;
    uint16_t energies[ENERGY_MAP_RUN + ENERGY_SLACK];
    for (uint32_t y = first; y < end; y++)
        for (uint32_t x = 0; x < in->width; x++) {
            if (x % ENERGY_MAP_RUN == 0)
                energy_map_compute(map, y, x,
                                   in->width - x < ENERGY_MAP_RUN ? in->width - x : ENERGY_MAP_RUN,
                                   energies);
            const uint32_t energy = energies[x % ENERGY_MAP_RUN];
            const uint32_t shown = (energy < 255 ? energy : 255) * (out->depth == 16 ? 257 : 1);
            sample_put(image_row(out, y), (size_t)x * out->channels, out->depth, shown);
            if (image_has_alpha(out))
                sample_put(
                    image_row(out, y), (size_t)x * 2 + 1, out->depth,
                    sample_get(image_row(in, y), (size_t)(x + 1) * in->channels - 1, in->depth));
        }
}

static size_t lay_view(struct carve_context *context) {
    context->arena.used = 0;
    context->upright = carve_context_map(context, false);
    energy_map_lay(&context->upright, &context->arena, context->now.width, context->now.height,
                   false);
    return context->arena.used;
}

static enum status draw_view(struct carve_context *context) {
    const int64_t start = clock_ns();
    lay_view(context);
    enum status status = carve_fill_map(context, &context->upright);
    if (!status) status = carve_rows(context, &context->upright, context->now.height, draw_rows);
    timing_span(context->call->timing, "energy", 1, ns_to_ms(clock_ns() - start));
    return status;
}

/* ---- phases */

static enum status find_seams(struct carve_context *context, struct carve_phase *phase) {
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
        .clears = phase->clears,
        .least = phase->least,
        .seams = context->seams,
        .red = context->drawn ? &context->call->out : NULL,
        .pool = context->call->pool,
        .progress = context->call->progress,
        .done = context->done,
        .total = context->total,
    };
    status = seam_search_run(&search);
    context->done = search.done;
    if (phase->clears) *(phase->columns ? &phase->columns : &phase->rows) = search.taken;
    for (int i = 0; i < CARVE_TIMES; i++) context->ns[i] += search.ns[i];
    return status;
}

static enum status refuse_clearing(const struct op_call *call) {
    return fail(call->failure, STATUS_MISMATCH, CARVE_NOT_CLEARED);
}

static enum status run_phase(struct carve_context *context, struct carve_phase *phase) {
    uint32_t width = context->now.width, height = context->now.height;
    struct carve_phase next;
    carve_context_lay(context, phase, width, height);
    enum status status = find_seams(context, phase);
    if (status || !(phase->columns || phase->rows)) return status;
    carve_phase_advance(phase, &width, &height);
    if (!width || !height) return refuse_clearing(context->call);
    if (!carve_next(width, height, context->goal_width, context->goal_height, &next)) {
        context->work.pixels = NULL; /* no later phase needs them */
        context->later_marks.pixels = context->later_ids.pixels = NULL;
    }
    const int64_t start = clock_ns();
    status = carve_picture_change(context, phase);
    context->ns[CARVE_AT_REMOVE] += clock_ns() - start;
    context->now = *carve_picture(context);
    context->now.width = width;
    context->now.height = height;
    context->marks = context->later_marks;
    context->ids = context->later_ids;
    return status;
}

/* ---- clearing: rmask without what shrinking would take anyway */

/* COUNTS has room for a number a column. */
static void count_marked(const struct image *mask, uint32_t *counts, uint32_t most[2]) {
    memset(counts, 0, mask->width * sizeof *counts);
    most[0] = most[1] = 0;
    for (uint32_t y = 0; y < mask->height; y++) {
        const uint8_t *row = image_row(mask, y);
        uint32_t count = 0;
        for (uint32_t x = 0; x < mask->width; x++) {
            const uint32_t marked = row[x] >= CARVE_MASK_LEVEL;
            count += marked;
            counts[x] += marked;
        }
        if (count > most[0]) most[0] = count;
    }
    for (uint32_t x = 0; x < mask->width; x++)
        if (counts[x] > most[1]) most[1] = counts[x];
}

/* The total is a guess: a line with the most marked pixels needs as many seams, or more. */
static enum status run_clearing(struct carve_context *context) {
    const struct op_call *call = context->call;
    const struct image *in = &call->in;
    struct carve_phase phase;
    uint32_t most[2];
    count_marked(&call->aux[CARVE_REMOVE], call->scratch, most);
    if (!carve_clear(in->width, in->height, context->goal_width, context->goal_height, most,
                     &phase))
        return refuse_clearing(call);
    if (phase.clears) {
        const bool across = phase.rows > 0;
        const uint32_t guess = most[across] > phase.least ? most[across] : phase.least;
        context->total = guess + carve_context_seams(context, in->width - (across ? 0 : guess),
                                                     in->height - (across ? guess : 0));
        const enum status status = run_phase(context, &phase);
        if (status) return status;
        context->total =
            context->done + carve_context_seams(context, context->now.width, context->now.height);
    } else if (most[0]) {
        return STATUS_OK;
    }
    if (!call->aux[CARVE_KEEP].width) context->plain = true, context->later_marks.pixels = NULL;
    return STATUS_OK;
}

/* For show=seams `out` already holds the picture. */
static enum status run_phases(struct carve_context *context) {
    static const char *const names[] = { "energy", "seam", "trace", "remove" };
    struct carve_phase phase;
    enum status status = context->clears ? run_clearing(context) : STATUS_OK;
    while (!status && carve_next(context->now.width, context->now.height, context->goal_width,
                                 context->goal_height, &phase))
        status = run_phase(context, &phase);
    if (!status && !context->drawn && !context->done) return carve_picture_copy(context);
    for (int i = 0; i < CARVE_TIMES; i++)
        timing_span(context->call->timing, names[i], 1, ns_to_ms(context->ns[i]));
    return status;
}

/* ---- run */

static enum status begin_context(struct carve_context *context, const struct op_call *call,
                                 void *memory) {
    struct side sides[2];
    const enum status status = find_goals(call->params, &call->in, sides, call->failure);
    if (!status) carve_context_begin(context, call, sides[0].goal, sides[1].goal, memory);
    return status;
}

static size_t carve_scratch(const struct op_call *call) {
    struct carve_context context;
    if (call->common.width || begin_context(&context, call, NULL)) return 0;
    return call->params->number[CARVE_SHOW] == CARVE_SHOW_ENERGY ? lay_view(&context)
                                                                 : carve_context_bytes(&context);
}

/* Copies a row of the input as RGB; seams are drawn on it. */
static inline void colour_row(const uint8_t *in, uint8_t *out, uint32_t width, unsigned channels,
                              unsigned depth) {
    const unsigned colours = channels < 3 ? 1 : 3, alpha = channels - colours;
    for (size_t x = 0; x < width; x++) {
        for (unsigned c = 0; c < 3; c++)
            sample_put(out, x * (3 + alpha) + c, depth,
                       sample_get(in, x * channels + (colours == 3 ? c : 0), depth));
        if (alpha) sample_put(out, x * 4 + 3, depth, sample_get(in, x * channels + colours, depth));
    }
}

static void colour_band(void *argument, int index) {
    const struct op_call *call = argument;
    const struct band band = band_of(call->in.height, index, pool_threads(call->pool));
    for (uint32_t y = band.first; y < band.end && !progress_check(call->progress); y++)
        SPECIALISE(call->in.channels, call->in.depth, colour_row, image_row(&call->in, y),
                   image_row(&call->out, y), call->in.width);
}

static enum status carve_run(struct op_call *call) {
    struct carve_context context;
    enum status status = carve_check_masks(call, call->failure);
    if (!status && call->common.width) return carve_retarget(call);
    if (!status) status = begin_context(&context, call, call->scratch);
    if (status) return status;
    if (call->params->number[CARVE_SHOW] == CARVE_SHOW_ENERGY) return draw_view(&context);
    if (context.drawn) pool_run(call->pool, colour_band, call, pool_threads(call->pool));
    progress_report(call->progress, 0, context.total);
    status = run_phases(&context);
    return status ? status : progress_check(call->progress);
}

/* The length of the longest seams on the way to OUT. Where no side shrinks, what rmask marks
 * decides the direction of the first ones. */
static uint32_t longest_seam(const struct image *in, const struct image *out, bool removes) {
    const bool any = removes && out->width >= in->width && out->height >= in->height;
    const bool wider = any || out->width != in->width, higher = any || out->height != in->height;
    const uint32_t height = in->height > out->height ? in->height : out->height;
    const uint32_t width = in->width > out->width ? in->width : out->width;
    const uint32_t down = wider || !higher ? height : 0, across = higher || !wider ? width : 0;
    return down > across ? down : across;
}

/* One direction at a time; with masks by gradient; nothing weighed. */
static bool carve_abreast(const struct params *values, const struct image *in,
                          const struct image *out, uint32_t aux) {
    const bool removes = aux >> CARVE_REMOVE & 1;
    const bool gradient = values->number[CARVE_ENERGY] == CARVE_GRADIENT;
    if (carve_is_weighed(values, aux != 0)) return false;
    if (aux && (!gradient || longest_seam(in, out, removes) > CARVE_ABREAST_MASKED)) return false;
    return values->number[CARVE_SHOW] == CARVE_SHOW_RESULT && in->width > 3 && in->height > 3 &&
           in->width <= CARVE_ABREAST_SIDE && in->height <= CARVE_ABREAST_SIDE &&
           (out->width >= in->width || out->height >= in->height);
}

const struct op op_carve = {
    .name = "carve",
    .title = "Content-aware resize",
    .group = OP_SIZE,
    .summary = "Seam carving: changes the size where it is seen least",
    .unit = "seams",
    .params = params,
    .aux = { { "mask", "What is white in it is kept, as large as the image; alpha is ignored" },
             { "rmask",
               "What is white in it is removed first; without a size as much is put back; as large "
               "as the image, alpha is ignored" } },
    .widths = true,
    .not_with_widths = "show",
    .size = carve_size,
    .passes = carve_passes,
    .aux_passes = carve_aux_passes,
    .common = carve_common,
    .abreast = carve_abreast,
    .scratch = carve_scratch,
    .run = carve_run,
};
