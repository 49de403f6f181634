// SPDX-License-Identifier: Apache-2.0
/* abreast.cuh - images of a batch that are carved abreast, each by a block or two.
 *
 * Used by:  carve.cu, before it carves the others one by one.
 * Owns:     nothing: memory is a part of the batch's scratch for each image.
 * Fails:    as check.cuh says.
 * Threads:  the lane's.
 * Limits:   images that one_block/one_block.cuh takes in each of their phases.
 *
 * How it works: the images go from phase to phase together. Each phase is a launch that fills all
 * planes, one that finds all seams, one that makes the masks, and one for each way in which pixels
 * follow them. The host waits where masks decide how it goes on: before and after a phase that
 * clears, and after one with both masks, which may find that an image is to be carved alone.
 */
#ifndef BURIN_CARVE_ABREAST_CUH
#define BURIN_CARVE_ABREAST_CUH

#include "cuda/ops/carve/carve_context.cuh"
#include "cuda/ops/carve/clearing.cuh"
#include "cuda/ops/carve/one_block/flag_plane.cuh"

enum { ABREAST_FACTS = CUDA_BATCH_MAX * CLEARING_FACTS };

/* One image of those. */
struct one_abreast {
    struct carve_context carve;
    struct phase phase;
    int number;           /* in the batch */
    bool more;            /* the phase is one to run */
    bool refused;         /* nothing would be left of it */
    clearing_facts facts; /* as read last */
};

/* The bits of enum pixel_flag and of seam_search.masks. */
static_assert(FLAG_KEPT == 1 << CARVE_KEEP && FLAG_STAYS == 1 << CARVE_REMOVE, "masks' bits");

/* Lays out in the memory from BASE on, NULL where it is only counted; returns its bytes. 0: the
 * image goes its own way. */
static inline size_t lay_out_abreast(const struct cuda_context *context, const struct op_call *call,
                                     struct carve_context *carve, uint8_t *base) {
    if (call->common.width || call->params->number[CARVE_SHOW] != CARVE_SHOW_RESULT ||
        carve_check_masks(call, NULL))
        return 0;
    *carve = context_of(context, call);
    carve->abreast = true;
    const struct needs needs = needs_at_most(carve);
    return needs.first && !needs.alone ? lay_out_all(carve, base) : 0;
}

/* An image on blocks of its own takes longer than one on all of the GPU, but hardly longer with a
 * hundred others. From this number on they are quicker together, measured on an H200 by gradient
 * with sides of 320 to 3840; where the other way is any_gpu, from two on. By sobel3 and sobel5 the
 * number is 1.5 and 2 times as high: an estimate, since a row has 1.8 and 2.5 times as many
 * instructions, while the other way takes up to 7 % longer. */
static inline int least_abreast(const struct one_abreast *all, int count) {
    static const uint32_t halves[] = { 2, 3, 4 }; /* by energy */
    uint32_t least = 2;
    if (all[0].carve.limits.one_block < 90) return (int)least;
    for (int i = 0; i < count; i++) {
        struct phase phase;
        const bool known = first_phase(&all[i].carve, &phase); /* else rmask gives its direction */
        const uint32_t columns = !known              ? max(phase.width, phase.height)
                                 : is_turned(&phase) ? phase.height
                                                     : phase.width;
        const uint32_t by_gradient = 3 + (3 * block_warps(columns) + 3) / 4;
        const uint32_t own = halves[all[i].carve.call->params->number[CARVE_ENERGY]];
        least = max(least, by_gradient * own / 2);
    }
    return (int)least;
}

/* ---- masks decide how it goes on */

/* The facts of all images lie in the order of ALL. */
static inline enum status read_all_facts(const struct cuda_context *context,
                                         struct one_abreast *all, int count,
                                         struct failure *failure) {
    clearing_facts facts[CUDA_BATCH_MAX];
    const enum status status = read_facts(context, all[0].carve.facts, facts, count, failure);
    for (int i = 0; i < count && !status; i++) memcpy(all[i].facts, facts[i], sizeof facts[i]);
    return status;
}

/* Lets an image be carved alone, from its beginning. */
static inline enum status leave_abreast(struct one_abreast *one) {
    struct kernel_progress *const progress = one->carve.progress;
    one->more = one->carve.abreast = false;
    if (progress)
        CUDA_TRY(one->carve.failure, cudaMemsetAsync(&progress->total, 0, sizeof progress->total,
                                                     one->carve.context->stream));
    return STATUS_OK;
}

/* Begins the phases, of which the first may clear. An image that it leaves nothing of fails. */
static inline enum status begin_phases(const struct cuda_context *context, struct one_abreast *all,
                                       int count, struct failure *failure) {
    const struct launch_queue queue = { context->stream, failure };
    struct count_args counts[CUDA_BATCH_MAX];
    int clearing = 0;
    bool masked = false;
    for (int i = 0; i < count; i++) {
        struct carve_context *carve = &all[i].carve;
        masked |= carve->masked;
        carve->now = carve->call->in;
        carve->progress = kernel_progress_add(context, carve->call, NULL);
        all[i].more = first_phase(carve, &all[i].phase);
        if (carve->clears) counts[clearing++] = { carve->call->aux[CARVE_REMOVE], carve->facts };
    }
    enum status status = masked ? clear_facts(queue, all[0].carve.facts, count) : STATUS_OK;
    if (status || !clearing) return status;
    status = count_marked(queue, counts, clearing);
    if (!status) status = read_all_facts(context, all, count, failure);
    for (int i = 0; i < count && !status; i++) {
        struct phase *const phase = &all[i].phase;
        if (!all[i].carve.clears) continue;
        all[i].refused = plan_clearing(&all[i].carve, phase, all[i].facts) != STATUS_OK;
        all[i].more = !all[i].refused && (phase->seams.clears || next_phase(&all[i].carve, phase));
        if (!all[i].carve.abreast) status = leave_abreast(&all[i]);
    }
    return status;
}

/* Whether only the search itself knows how it ends. */
static inline bool decides(const struct one_abreast *one) {
    return one->more && (one->phase.seams.clears || one->carve.masks == (FLAG_KEPT | FLAG_STAYS));
}

/* Waits for the searches that decide, and goes by what they found. */
static inline enum status read_decisions(const struct cuda_context *context,
                                         struct one_abreast *all, int count,
                                         struct failure *failure) {
    bool any = false;
    for (int i = 0; i < count; i++) any |= decides(&all[i]);
    enum status status = any ? read_all_facts(context, all, count, failure) : STATUS_OK;
    for (int i = 0; i < count && !status; i++) {
        struct carve_context *carve = &all[i].carve;
        const uint32_t taken = all[i].facts[SEAMS_TAKEN];
        if (!decides(&all[i])) continue;
        if (taken == SEARCH_WALLED)
            carve->abreast = false;
        else if (all[i].phase.seams.clears)
            all[i].refused = finish_clearing(carve, &all[i].phase, taken) != STATUS_OK;
        if (all[i].refused) all[i].more = false;
        if (!carve->abreast) status = leave_abreast(&all[i]);
    }
    return status;
}

/* ---- a phase */

/* The launches of a phase for the images that have one. */
struct phase_batch {
    struct block_search searches[CUDA_BATCH_MAX];
    struct fill_args fills[2 * CUDA_BATCH_MAX];
    struct flag_args flags[CUDA_BATCH_MAX];
    int searched, filled, flagged;
};

static inline void add_search(struct phase_batch *batch, const struct one_abreast *one) {
    const struct carve_context *carve = &one->carve;
    const struct phase *phase = &one->phase;
    const struct seam_search search = search_of(carve, phase);
    uint8_t *const memory = (uint8_t *)search.scratch;
    const enum search_kind kind = search_kind_of(&search);
    const struct block_shape shape = block_shape_of(search.width, search.height, kind);
    const uint32_t masks = (uint32_t)carve->masks;
    const struct image marks = marks_of(carve, phase);
    struct fill_args luma = { phase->width,    phase->height,    block_plane(memory, shape, 0),
                              shape.pitch,     is_turned(phase), carve->now,
                              carve->progress, carve->total };
    struct fill_args fresh = { phase->width, phase->height, marks.pixels, (uint32_t)marks.stride };
    fresh.keep = carve->call->aux[CARVE_KEEP], fresh.remove = carve->call->aux[CARVE_REMOVE];
    luma.under = carve->under;
    luma.border = (uint32_t)carve_reach(search.energy);
    batch->fills[batch->filled++] = luma;
    if (masks && !carve->done) batch->fills[batch->filled++] = fresh;
    if (masks) batch->flags[batch->flagged++] = { marks, luma.turned, masks, luma.to, shape };
    batch->searches[batch->searched++] =
        block_search_of(&search, memory, masks, carve->facts + SEAMS_TAKEN);
}

/* CROWD: images under way, these included. *FITS: the GPU did not refuse the launch. */
static inline enum status find_all_seams(const struct cuda_context *context,
                                         struct one_abreast *all, int count, int crowd, bool *fits,
                                         struct failure *failure) {
    const struct launch_queue queue = { context->stream, failure };
    struct phase_batch batch = {};
    for (int i = 0; i < count; i++)
        if (all[i].more) add_search(&batch, &all[i]);
    enum status status = one_block_prepare(context, failure); /* takes no turn: may load kernels */
    if (!status) status = fill_planes(queue, batch.fills, batch.filled);
    if (!status) status = fill_flag_planes(queue, batch.flags, batch.flagged);
    if (status) return status;
    cudaError_t error;
    const cudaStream_t stream =
        cooperative_lane_begin_many(context->cooperative, context->stream, &error);
    CUDA_TRY(failure, error);
    error = one_block_launch_all(context, stream, all[0].carve.limits.one_block, batch.searches,
                                 batch.searched, crowd);
    const cudaError_t ended =
        cooperative_lane_end_many(context->cooperative, context->stream, batch.searched);
    *fits = !is_cluster_refusal(error);
    if (!*fits) cudaGetLastError(); /* so that the next check does not see it */
    if (!*fits) return STATUS_OK;
    CUDA_TRY(failure, error);
    CUDA_TRY(failure, ended);
    cuda_record_kernel(context, "seams");
    return read_decisions(context, all, count, failure);
}

/* Pixels follow the seams; marks too, if another phase comes. */
static inline enum status apply_all_seams(const struct cuda_context *context,
                                          struct one_abreast *all, int count,
                                          struct failure *failure) {
    const struct launch_queue queue = { context->stream, failure };
    const struct image gray = image_shape(0, 0, 1, 8);
    struct mask_args masks[CUDA_BATCH_MAX];
    struct apply_args pixels[CUDA_BATCH_MAX], marks[CUDA_BATCH_MAX];
    int found = 0, marked = 0;
    for (int i = 0; i < count; i++) {
        struct carve_context *carve = &all[i].carve;
        struct phase *const phase = &all[i].phase;
        if (!all[i].more) continue;
        if (phase->seams.columns || phase->seams.rows) {
            const struct seam_search search = search_of(carve, phase);
            const struct image before = marks_of(carve, phase);
            masks[found] = { present_mask(carve), search.seams, search.columns };
            pixels[found++] = apply_args_of(carve, phase, carve->now, carve->to, false);
            marks[marked] = apply_args_of(carve, phase, before, carve->kept, true);
            end_phase(carve, phase);
        }
        all[i].more = next_phase(carve, phase);
        if (all[i].more && carve->masked && carve->done) marked++;
    }
    enum status status = make_masks(queue, masks, found);
    if (!status) status = apply_masks(queue, all[0].carve.call->in, pixels, found);
    if (!status) status = apply_masks(queue, gray, marks, marked);
    cuda_record_kernel(context, "pixels");
    return status;
}

/* Takes all images from phase to phase together. *FITS is false, and nothing was done, if the GPU
 * refused the first launch. */
static inline enum status run_abreast(const struct cuda_context *context, struct one_abreast *all,
                                      int count, int crowd, bool *fits, struct failure *failure) {
    enum status status = begin_phases(context, all, count, failure);
    bool more = false, first = true;
    for (int i = 0; i < count; i++) more |= all[i].more;
    while (more && !status) {
        status = find_all_seams(context, all, count, crowd, fits, failure);
        if (!status && !*fits && !first)
            return fail(failure, STATUS_INTERNAL, "the GPU refused a phase of carving");
        for (int i = 0; i < count && !status && !*fits; i++) status = leave_abreast(&all[i]);
        if (status || !*fits) return status;
        status = apply_all_seams(context, all, count, failure);
        first = false;
        more = false;
        for (int i = 0; i < count; i++) more |= all[i].more;
    }
    for (int i = 0; i < count && !status; i++) {
        const struct carve_context *carve = &all[i].carve;
        if (carve->abreast && !all[i].refused && !carve->done) status = copy_image(carve);
    }
    return status;
}

/* Carves the images that go abreast, if that pays. *LEFT gets bit i of every image i that is not
 * carved yet. */
static inline enum status run_some_abreast(const struct cuda_context *context,
                                           struct op_call *calls, int count, uint64_t *left) {
    struct one_abreast *const all = (struct one_abreast *)calloc((size_t)count, sizeof *all);
    struct arena arena = { (uint8_t *)calls[0].scratch, 0 };
    enum status status = STATUS_OK;
    int found = 0, crowd = 0;
    *left = ~UINT64_C(0);
    uint32_t *const facts = arena_take<uint32_t>(&arena, ABREAST_FACTS);
    for (int i = 0; i < count && all; i++) {
        struct carve_context *carve = &all[found].carve;
        const size_t its = lay_out_abreast(context, &calls[i], carve, arena.base + arena.bytes);
        if (!its || arena.bytes + its > calls[0].scratch_bytes) continue;
        arena.bytes += its;
        carve->facts = facts + found * CLEARING_FACTS;
        carve->queue.failure = carve->failure = calls[0].failure;
        all[found++].number = i;
    }
    if (found &&
        cooperative_lane_enter(context->cooperative, found, least_abreast(all, found), &crowd)) {
        bool fits = true;
        status = run_abreast(context, all, found, crowd, &fits, calls[0].failure);
        for (int i = 0; i < found && fits; i++)
            if (all[i].carve.abreast) *left &= ~(UINT64_C(1) << all[i].number);
    }
    free(all);
    return status;
}

#endif
