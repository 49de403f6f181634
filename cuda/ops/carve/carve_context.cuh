// SPDX-License-Identifier: Apache-2.0
/* carve_context.cuh - one image on its way through carve.cu: its phases and its memory.
 *
 * Used by:  carve.cu and abreast.cuh, for counting scratch and for running.
 * Owns:     nothing. Memory is the call's scratch, or NULL while it is only counted.
 * Limits:   16 bytes a pixel, 18 with rmask, and a little (carve.cu); PHASES_MAX phases.
 *
 * How it works: lay_out_all() goes through the phases once, lets method.cuh choose for each, and
 * lays out the most that any of them needs. lay_out() does the same in the memory that was counted,
 * and falls back to any_gpu where the device now gives another answer. How many seams a phase takes
 * that clears is known only after it: its memory is the most that may be, and the phases behind it
 * are found then.
 */
#ifndef BURIN_CARVE_CARVE_CONTEXT_CUH
#define BURIN_CARVE_CARVE_CONTEXT_CUH

#include "cuda/ops/carve/apply.cuh"
#include "cuda/ops/carve/byte_plane.cuh"
#include "cuda/ops/carve/method.cuh"
#include "cuda/ops/carve/seam_mask.cuh"
#include "cuda/ops/carve/seam_search.cuh"

#include <assert.h>

/* ---- the way of one image */

/* The sizes before a phase, or after the last one. */
struct phase {
    uint32_t width, height;
    struct carve_phase seams;
};

struct carve_context {
    const struct cuda_context *context;
    const struct op_call *call;
    struct failure *failure;
    struct launch_queue queue; /* the context's stream and failure */
    uint32_t goal_width, goal_height;
    int masks;                /* as in seam_search */
    bool masked, shows;       /* `shows`: the seams */
    bool maps;                /* the map of seams in place of the picture, of one phase */
    bool abreast;             /* one of many images at once: one_block/one_block.cuh */
    bool clears;              /* the first phase may clear */
    struct carve_phase clear; /* the one that does; no seams: none, or not yet known */
    uint32_t *facts;          /* where `masked`: enum clearing_fact */
    int phases;
    struct carve_limits limits;
    enum carve_method methods[PHASES_MAX]; /* chosen when memory was laid out */
    bool timed; /* no phase begins with any_gpu or weighed, which do not measure their parts */
    uint32_t total, done; /* seams */
    struct kernel_progress *progress;

    struct background under;
    struct image now;      /* the image at its present stage; after the first phase in `to` */
    struct image to;       /* at its largest */
    struct image kept;     /* marks of `now` from the second phase on: one channel */
    uint8_t *luma, *marks; /* of a search */
    uint32_t *origins;     /* where both directions shrink */
    uint32_t origin_stride;
    struct origin_map origin_map; /* counts finished phases; has room for the lines of all */
    uint8_t *bits;                /* of all phases' masks */
    size_t bits_most;

    /* Each phase's own memory: its seams and the method's scratch. The first phase's lies where the
     * images of later phases will be: they do not exist before its seams have become lines. */
    uint8_t *first, *later;
    size_t first_most, later_most; /* their bytes */
};

/* Facts that the device finds out and the host waits for. */
enum clearing_fact { MOST_IN_ROW, MOST_IN_COLUMN, SEAMS_TAKEN, CLEARING_FACTS };

static bool next_phase(const struct carve_context *carve, struct phase *phase) {
    return carve_next(phase->width, phase->height, carve->goal_width, carve->goal_height,
                      &phase->seams);
}

static bool first_phase(const struct carve_context *carve, struct phase *phase) {
    *phase = { carve->call->in.width, carve->call->in.height, carve->clear };
    return carve->clear.columns || carve->clear.rows || next_phase(carve, phase);
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

static bool is_turned(const struct phase *phase) {
    return !phase->seams.columns;
}

static uint32_t round16(uint32_t n) {
    return (n + 15) / 16 * 16;
}

/* Seams come first, then the method's scratch. */
static void lay_out_search(struct seam_search *search, struct arena *arena) {
    if (!search->rows)
        search->seams = arena_take<uint16_t>(arena, (size_t)search->columns * search->height);
    search->scratch = arena_take<uint8_t>(arena, 0);
}

static struct seam_search search_of(const struct carve_context *carve, const struct phase *phase) {
    const bool turned = is_turned(phase);
    struct seam_search search = {};
    search.width = turned ? phase->height : phase->width;
    search.height = turned ? phase->width : phase->height;
    search.columns = turned ? phase->seams.rows : phase->seams.columns;
    search.rows = turned ? 0 : phase->seams.rows;
    search.energy = (int)carve->call->params->number[CARVE_ENERGY];
    search.rigidity = (uint32_t)carve->call->params->number[CARVE_RIGIDITY];
    search.weighed = carve_is_weighed(carve->call->params, carve->masked);
    search.soft = carve_is_soft(carve->call->params, carve->masked);
    search.luma = carve->luma;
    search.luma_stride = round16(search.width);
    search.marks = carve->masked ? carve->marks : NULL;
    search.masks = carve->masks;
    search.origins = search.rows ? carve->origins : NULL;
    search.origin_stride = search.rows ? carve->origin_stride : 0;
    search.progress = carve->progress;
    search.done = carve->done;
    search.least = phase->seams.least;
    search.clears = phase->seams.clears;
    search.taken = search.clears || carve->masks == 3 ? carve->facts + SEAMS_TAKEN : NULL;
    struct arena own = { carve->done ? carve->later : carve->first, 0 };
    lay_out_search(&search, &own);
    return search;
}

static struct seam_mask present_mask(const struct carve_context *carve) {
    return carve->origin_map.phases[carve->origin_map.count].mask;
}

/* COPIES: see apply_args. */
static inline struct apply_args apply_args_of(const struct carve_context *carve,
                                              const struct phase *phase, const struct image &from,
                                              const struct image &to, bool copies) {
    const struct phase after = behind(phase);
    const struct seam_mask mask = present_mask(carve);
    return { mask,      from.pixels,  to.pixels,     from.stride,
             to.stride, phase->width, phase->height, mask.turned ? after.height : after.width,
             copies };
}

/* The marks of the image that the phase begins with; the first one's are yet to be filled. */
static inline struct image marks_of(const struct carve_context *carve, const struct phase *phase) {
    if (carve->done) return carve->kept;
    return { carve->marks, round16(phase->width), phase->width, phase->height, 1, 8 };
}

static inline void end_phase(struct carve_context *carve, struct phase *phase) {
    const struct phase after = behind(phase);
    carve->origin_map.count++;
    carve->done += phase->seams.columns + phase->seams.rows;
    carve->now = carve->to;
    carve->now.width = carve->kept.width = after.width;
    carve->now.height = carve->kept.height = after.height;
    *phase = after;
}

/* ---- memory */

/* The most that any phase needs; the masks' bits of all. */
struct needs {
    size_t plane, first, later, bits;
    uint32_t width, height; /* of the images after the first phase */
    bool both;
    bool alone; /* one_block does not take some phase */
};

static void raise_to(size_t *most, size_t bytes) {
    if (bytes > *most) *most = bytes;
}

static struct seam_mask mask_of(const struct phase *phase) {
    const bool turned = is_turned(phase);
    const uint32_t length = turned ? phase->height : phase->width;
    return {
        NULL, NULL, (length + 31) / 32, turned ? phase->width : phase->height, length, turned
    };
}

static void lay_out_mask(struct seam_mask *mask, struct arena *arena) {
    const size_t words = (size_t)mask->words * mask->count;
    mask->bits = arena_take<uint32_t>(arena, words);
    mask->ranks = arena_take<uint16_t>(arena, words);
}

/* Raises *MOST to the bytes of a search for the phase's seams. */
static enum carve_method raise_for_search(const struct carve_context *carve,
                                          const struct phase *phase, struct needs *needs,
                                          size_t *most) {
    /* an address with the alignment of real memory */
    alignas(256) static uint8_t some[1];
    struct carve_context counted = *carve;
    counted.luma = counted.marks = some;
    counted.facts = (uint32_t *)some;
    struct seam_search search = search_of(&counted, phase);
    struct arena own = {};
    const size_t across = (size_t)round16(phase->width) * phase->height;
    const size_t turned = (size_t)round16(phase->height) * phase->width;
    raise_to(&needs->plane, (across > turned ? across : turned) + 16);
    const bool abreast =
        carve->abreast && !search.weighed && one_block_takes(carve->limits.one_block, &search);
    const struct method_choice choice =
        abreast ? method_choice{ METHOD_ONE_BLOCK, block_search_bytes(search.width, search.height,
                                                                      search_kind_of(&search)) }
                : method_choose(&carve->limits, &search);
    needs->alone |= !abreast;
    lay_out_search(&search, &own);
    raise_to(most, own.bytes + choice.scratch);
    return choice.method;
}

static struct needs needs_of(struct carve_context *carve) {
    struct needs needs = {};
    struct arena bits = {};
    struct phase phase;
    carve->phases = 0;
    carve->total = 0;
    carve->timed = !carve->clears;
    for (bool more = first_phase(carve, &phase); more; more = next_phase(carve, &phase)) {
        struct origin_phase *const own = &carve->origin_map.phases[carve->phases];
        const enum carve_method method =
            raise_for_search(carve, &phase, &needs, carve->phases ? &needs.later : &needs.first);
        carve->total += phase.seams.columns + phase.seams.rows;
        needs.both |= is_both(&phase);
        carve->methods[carve->phases] = method;
        carve->timed = carve->timed && method != METHOD_ANY_GPU && method != METHOD_WEIGHED;
        if (!is_both(&phase)) {
            *own = { mask_of(&phase), phase.seams.grow };
            lay_out_mask(&own->mask, &bits);
            if (carve->phases && phase.width > needs.width) needs.width = phase.width;
            if (carve->phases && phase.height > needs.height) needs.height = phase.height;
        }
        carve->phases++;
        phase = behind(&phase);
    }
    needs.bits = bits.bytes;
    return needs;
}

/* Words of the masks of a line of all phases that make it grow to GOAL: their lengths add up to
 * less than 3 * GOAL and 3 for each of the PHASES_MAX / 2; each phase may have one word more. */
static size_t grown_words(uint32_t goal) {
    return (3 * (size_t)goal + 2 * PHASES_MAX) / 32 + PHASES_MAX / 2;
}

/* After a phase that clears the picture may grow from any size: raises NEEDS to the most. */
static void raise_for_clearing(const struct carve_context *carve, struct needs *needs) {
    const struct image *in = &carve->call->in;
    const uint32_t width = carve->goal_width, height = carve->goal_height;
    struct arena bits[2] = {};
    for (int turned = 0; turned < 2; turned++) {
        /* A side that shrinks alone gives the direction. */
        if (turned ? width < in->width && height == in->height
                   : height < in->height && width == in->width)
            continue;
        struct phase clear = { in->width, in->height, {} }, grow = { width, height, {} };
        (turned ? clear.seams.rows : clear.seams.columns) = turned ? in->height : in->width;
        (turned ? grow.seams.rows : grow.seams.columns) = carve_grow_bound(turned ? height : width);
        clear.seams.clears = grow.seams.grow = true;
        raise_for_search(carve, &clear, needs, &needs->first);
        raise_for_search(carve, &grow, needs, &needs->later);
        struct seam_mask mask = mask_of(&clear);
        lay_out_mask(&mask, &bits[turned]);
    }
    raise_to(&needs->first, needs->later);
    const size_t words = grown_words(width) * height + grown_words(height) * width;
    raise_to(&needs->bits, (bits[0].bytes > bits[1].bytes ? bits[0].bytes : bits[1].bytes) +
                               6 * words + PHASES_MAX * 2 * 256);
    needs->width = width, needs->height = height;
}

static void lay_out_images(struct carve_context *carve, const struct needs *needs,
                           struct arena *arena) {
    const struct image *in = &carve->call->in;
    carve->to = carve->call->out;
    if (!needs->width) return;
    if (carve->masked) {
        const size_t stride = round16(needs->width);
        carve->kept = { arena_take<uint8_t>(arena, stride * needs->height), stride, 0, 0, 1, 8 };
    }
    if (carve->shows) {
        carve->to = *in;
        carve->to.stride = needs->width * image_pixel_bytes(in);
        carve->to.pixels = arena_take<uint8_t>(arena, carve->to.stride * needs->height);
    }
}

static void lay_out_masks(struct carve_context *carve) {
    struct arena arena = { carve->bits, 0 };
    for (int i = 0; i < carve->phases; i++) lay_out_mask(&carve->origin_map.phases[i].mask, &arena);
    assert(arena.bytes <= carve->bits_most);
}

/* Lays out the masks of the phases anew, now that the first one is PHASE and takes COUNT seams. */
static inline void clear_by(struct carve_context *carve, const struct carve_phase *phase,
                            uint32_t count) {
    carve->clear = *phase;
    (phase->columns ? carve->clear.columns : carve->clear.rows) = count;
    const struct needs needs = needs_of(carve);
    carve->abreast &= !needs.alone;
    if (!carve->abreast && (needs.first > carve->first_most || needs.later > carve->later_most)) {
        carve->limits.capability = 0; /* as lay_out() */
        needs_of(carve);
    }
    lay_out_masks(carve);
}

/* The most that may be needed. */
static struct needs needs_at_most(struct carve_context *carve) {
    struct needs needs = needs_of(carve);
    if (carve->clears) raise_for_clearing(carve, &needs);
    return needs;
}

/* BASE: NULL where memory is only counted. */
static size_t lay_out_all(struct carve_context *carve, uint8_t *base) {
    const struct image *in = &carve->call->in;
    struct needs needs = needs_at_most(carve);
    struct arena arena = { base, 0 };
    /* Without a phase energies may be shown; one_block has planes of its own. */
    if (!needs.plane) needs.plane = (size_t)round16(in->width) * in->height;
    carve->luma = arena_take<uint8_t>(&arena, carve->abreast ? 0 : needs.plane);
    if (!needs.first) return arena.bytes;
    if (carve->masked) carve->marks = arena_take<uint8_t>(&arena, needs.plane);
    if (carve->masked && !carve->abreast)
        carve->facts = arena_take<uint32_t>(&arena, CLEARING_FACTS);
    carve->bits = arena_take<uint8_t>(&arena, needs.bits);
    carve->bits_most = needs.bits;
    lay_out_masks(carve);
    carve->origin_stride = in->width;
    if (needs.both) carve->origins = arena_take<uint32_t>(&arena, (size_t)image_pixels(in));
    struct arena first = arena; /* later images lie over the first phase's memory */
    carve->first = arena_take<uint8_t>(&first, needs.first);
    lay_out_images(carve, &needs, &arena);
    carve->later = arena_take<uint8_t>(&arena, needs.later);
    carve->first_most = needs.first, carve->later_most = needs.later;
    return first.bytes > arena.bytes ? first.bytes : arena.bytes;
}

/* Lays out in the BYTES from BASE on, which were counted with the device's answers at that time.
 * Where the present choice needs more, all phases use any_gpu, for which there is always enough. */
static void lay_out(struct carve_context *carve, uint8_t *base, size_t bytes) {
    if (lay_out_all(carve, base) <= bytes) return;
    carve->limits.capability = 0;
    lay_out_all(carve, base);
}

static inline enum status copy_image(const struct carve_context *carve) {
    const struct image *in = &carve->call->in, *out = &carve->call->out;
    CUDA_TRY(carve->failure, cudaMemcpy2DAsync(out->pixels, out->stride, in->pixels, in->stride,
                                               image_row_bytes(in), in->height,
                                               cudaMemcpyDeviceToDevice, carve->context->stream));
    return STATUS_OK;
}

static struct carve_context context_of(const struct cuda_context *context,
                                       const struct op_call *call) {
    struct carve_context carve = {};
    carve.context = context;
    carve.call = call;
    carve.failure = call->failure;
    carve.queue = { context->stream, call->failure };
    carve.limits = limits_of(context);
    carve.shows = call->params->number[CARVE_SHOW] == CARVE_SHOW_SEAMS;
    carve.maps = call->params->number[CARVE_SHOW] == CARVE_SHOW_MAP;
    carve.masks = (call->aux[CARVE_KEEP].width ? 1 : 0) | (call->aux[CARVE_REMOVE].width ? 2 : 0);
    carve.masked = carve.masks != 0;
    carve.goal_width = call->out.width;
    carve.goal_height = call->out.height;
    carve.under =
        background_of(call->params->number[CARVE_BACKGROUND], call->in.channels, call->in.depth);
    if (carve.shows || carve.maps) {
        const long *number = call->params->number;
        const long width = number[CARVE_WIDTH], height = number[CARVE_HEIGHT];
        carve.goal_width = (uint32_t)(width ? width : call->in.width + number[CARVE_DX]);
        carve.goal_height = (uint32_t)(height ? height : call->in.height + number[CARVE_DY]);
    }
    carve.clears = call->aux[CARVE_REMOVE].width &&
                   call->params->number[CARVE_SHOW] <= CARVE_SHOW_SEAMS &&
                   !call->params->number[CARVE_SOFT] &&
                   carve_may_clear(&call->in, carve.goal_width, carve.goal_height);
    return carve;
}

#endif
