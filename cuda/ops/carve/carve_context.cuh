// SPDX-License-Identifier: Apache-2.0
/* carve_context.cuh - the way of one image through carve.cu: its phases, their searches and its memory. */
#ifndef BURIN_CARVE_CARVE_CONTEXT_CUH
#define BURIN_CARVE_CARVE_CONTEXT_CUH

#include "cuda/ops/carve/byte_plane.cuh"
#include "cuda/ops/carve/dual/dual.cuh"
#include "cuda/ops/carve/grid/grid.cuh"
#include "cuda/ops/carve/origin_map.cuh"

/* ---- methods */

struct method {
    size_t (*scratch)(const struct cuda_context *context, const struct seam_search *search);
    enum status (*run)(const struct cuda_context *context, const struct seam_search *search,
                       struct failure *failure);
};

/* The quickest for SEARCH, of which pointers need only be NULL or not. */
static struct method choose(const struct cuda_context *context, const struct seam_search *search) {
    if (cluster_fits(context, search)) return { cluster_scratch, cluster_run };
    if (dual_fits(context, search)) return { dual_scratch, dual_run };
    return { grid_scratch, grid_run };
}

/* ---- the way of one image */

/* Before a phase, or behind the last one. */
struct phase {
    uint32_t width, height;
    struct carve_phase seams;
};

/* Everything of one call. Memory is NULL while it is only counted. */
struct carve_context {
    const struct cuda_context *context;
    const struct op_call *call;
    struct failure *failure;
    uint32_t goal_width, goal_height;
    bool masked, shows; /* the seams */
    int phases;
    bool timed;           /* all of them go the cluster method, which tells where its time goes */
    uint32_t total, done; /* seams */
    struct kernel_progress *progress;

    struct image now;       /* the image as far as it has come; from the first phase on in TO */
    struct image to;        /* as large as it gets */
    struct byte_plane kept; /* marks of `now` from the second phase on */
    uint8_t *luma, *marks;  /* of a search */
    uint32_t *origins;      /* where both directions shrink */
    uint32_t origin_stride;
    struct origin_map
        origin_map; /* counts the phases that are done; the lines of those to come have room */

    /* What a phase has for itself: its seams, and behind them the method's scratch. The first one
     * has it where the images of later ones will be: until its seams are lines, there are none. */
    uint8_t *first, *later;
};

static bool next_phase(const struct carve_context *carve, struct phase *phase) {
    return carve_next(phase->width, phase->height, carve->goal_width, carve->goal_height,
                      &phase->seams);
}

static struct phase behind(const struct phase *phase) {
    const int32_t sign = phase->seams.grow ? 1 : -1;
    return { phase->width + sign * phase->seams.columns,
             phase->height + sign * phase->seams.rows,
             {} };
}

static bool is_both(const struct phase *phase) {
    return phase->seams.columns && phase->seams.rows;
}

/* Horizontal seams alone. */
static bool is_turned(const struct phase *phase) {
    return !phase->seams.columns;
}

static uint32_t round16(uint32_t n) {
    return (n + 15) / 16 * 16;
}

static size_t round256(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static size_t seams_bytes(const struct seam_search *search) {
    if (search->rows) return 0;
    return round256(sizeof(uint16_t) * (size_t)search->columns * search->height);
}

/* The search of one phase; memory as far as the context has it. */
static struct seam_search search_of(const struct carve_context *carve, const struct phase *phase) {
    const bool turned = is_turned(phase);
    struct seam_search search = {};
    search.width = turned ? phase->height : phase->width;
    search.height = turned ? phase->width : phase->height;
    search.columns = turned ? phase->seams.rows : phase->seams.columns;
    search.rows = turned ? 0 : phase->seams.rows;
    search.energy = (int)carve->call->params->number[CARVE_ENERGY];
    search.luma = carve->luma;
    search.luma_stride = round16(search.width);
    search.marks = carve->masked ? carve->marks : NULL;
    search.origins = search.rows ? carve->origins : NULL;
    search.origin_stride = search.rows ? carve->origin_stride : 0;
    uint8_t *const own = carve->done ? carve->later : carve->first;
    search.seams = search.rows ? NULL : (uint16_t *)own;
    search.scratch = own ? own + seams_bytes(&search) : NULL;
    search.progress = carve->progress;
    search.done = carve->done;
    return search;
}

/* Without memory. */
static struct seam_mask mask_of(const struct seam_search *search, bool turned) {
    struct seam_mask mask = {};
    mask.words = (search->width + 31) / 32;
    mask.count = search->height;
    mask.length = search->width;
    mask.turned = turned;
    return mask;
}

/* ---- memory */

/* The most that any phase wants. */
struct needs {
    size_t plane, first, later;
    uint32_t width, height; /* of the images from the second phase on */
    bool both;
};

static void raise_to(size_t *most, size_t bytes) {
    if (bytes > *most) *most = bytes;
}

static struct needs needs_of(struct carve_context *carve) {
    struct needs needs = {};
    struct phase phase = { carve->call->in.width, carve->call->in.height, {} };
    carve->phases = 0;
    carve->timed = true;
    for (; next_phase(carve, &phase); phase = behind(&phase), carve->phases++) {
        /* Stands for memory to come, which is aligned likewise. */
        alignas(256) static uint8_t some[1];
        struct carve_context counted = *carve;
        counted.luma = counted.marks = some;
        const struct seam_search search = search_of(&counted, &phase);
        const size_t across = (size_t)round16(phase.width) * phase.height;
        const size_t turned = (size_t)round16(phase.height) * phase.width;
        carve->total += phase.seams.columns + phase.seams.rows;
        needs.both |= is_both(&phase);
        raise_to(&needs.plane, (across > turned ? across : turned) + 16);
        const struct method method = choose(carve->context, &search);
        raise_to(carve->phases ? &needs.later : &needs.first,
                 seams_bytes(&search) + method.scratch(carve->context, &search));
        carve->timed = carve->timed && method.run != grid_run;
        if (is_both(&phase)) continue;
        carve->origin_map.phases[carve->phases] = { mask_of(&search, is_turned(&phase)),
                                                    phase.seams.grow };
        if (carve->phases == 0) continue;
        if (phase.width > needs.width) needs.width = phase.width;
        if (phase.height > needs.height) needs.height = phase.height;
    }
    return needs;
}

static uint8_t *take(uint8_t *base, size_t *bytes, size_t more) {
    const size_t at = *bytes;
    *bytes += round256(more);
    return base ? base + at : NULL;
}

/* Marks, and where seams are shown pixels, of several phases. */
static void lay_out_images(struct carve_context *carve, const struct needs *needs, uint8_t *base,
                           size_t *bytes) {
    const struct image *in = &carve->call->in;
    carve->to = carve->call->out;
    if (!needs->width) return;
    if (carve->masked) {
        carve->kept.stride = round16(needs->width);
        carve->kept.bytes = take(base, bytes, (size_t)carve->kept.stride * needs->height);
    }
    if (carve->shows) {
        carve->to = *in;
        carve->to.stride = needs->width * image_pixel_bytes(in);
        carve->to.pixels = take(base, bytes, carve->to.stride * needs->height);
    }
}

static void lay_out_origins(struct carve_context *carve, uint8_t *base, size_t *bytes) {
    const struct image *in = &carve->call->in;
    carve->origin_stride = in->width;
    carve->origins = (uint32_t *)take(base, bytes, sizeof(uint32_t) * (size_t)image_pixels(in));
}

static void lay_out_masks(struct carve_context *carve, uint8_t *base, size_t *bytes) {
    for (int i = 0; i < carve->phases; i++) {
        struct seam_mask *mask = &carve->origin_map.phases[i].mask;
        const size_t words = (size_t)mask->words * mask->count;
        mask->bits = (uint32_t *)take(base, bytes, sizeof(uint32_t) * words);
        mask->ranks = (uint16_t *)take(base, bytes, sizeof(uint16_t) * words);
    }
}

/* Lays all of it out from BASE on; NULL: only counts. */
static size_t lay_out(struct carve_context *carve, uint8_t *base) {
    const struct needs needs = needs_of(carve);
    size_t bytes = 0;
    if (carve->phases == 0) /* energies may be shown */
        carve->luma =
            take(base, &bytes, (size_t)round16(carve->call->in.width) * carve->call->in.height);
    if (carve->phases == 0) return bytes;
    carve->luma = take(base, &bytes, needs.plane);
    if (carve->masked) carve->marks = take(base, &bytes, needs.plane);
    lay_out_masks(carve, base, &bytes);
    if (needs.both) lay_out_origins(carve, base, &bytes);
    const size_t first = bytes;
    carve->first = take(base, &bytes, 0);
    lay_out_images(carve, &needs, base, &bytes);
    carve->later = take(base, &bytes, needs.later);
    raise_to(&bytes, first + round256(needs.first));
    return bytes;
}

/* The size to carve to. Of a result it is the output's. */
static void set_goal(struct carve_context *carve) {
    const struct op_call *call = carve->call;
    const long *number = call->params->number;
    carve->goal_width = call->out.width;
    carve->goal_height = call->out.height;
    if (!carve->shows) return;
    carve->goal_width =
        (uint32_t)(number[CARVE_WIDTH] ? number[CARVE_WIDTH] : call->in.width + number[CARVE_DX]);
    carve->goal_height = (uint32_t)(number[CARVE_HEIGHT] ? number[CARVE_HEIGHT]
                                                         : call->in.height + number[CARVE_DY]);
}

static struct carve_context context_of(const struct cuda_context *context,
                                       const struct op_call *call) {
    struct carve_context carve = {};
    carve.context = context;
    carve.call = call;
    carve.failure = call->failure;
    carve.shows = call->params->number[CARVE_SHOW] == CARVE_SHOW_SEAMS;
    carve.masked = call->parts[CARVE_KEEP].width || call->parts[CARVE_REMOVE].width;
    set_goal(&carve);
    return carve;
}

#endif
