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
 * follow them.
 */
#ifndef BURIN_CARVE_ABREAST_CUH
#define BURIN_CARVE_ABREAST_CUH

#include "cuda/ops/carve/carve_context.cuh"

/* One image of those. */
struct one_abreast {
    struct carve_context carve;
    struct phase phase;
    bool more; /* the phase is one to run */
};

/* Lays out in the memory from BASE on, NULL where it is only counted; returns its bytes. 0: the
 * image goes its own way. */
static inline size_t lay_out_abreast(const struct cuda_context *context, const struct op_call *call,
                                     struct carve_context *carve, uint8_t *base) {
    if (call->common.width || call->params->number[CARVE_SHOW] != CARVE_SHOW_RESULT) return 0;
    *carve = context_of(context, call);
    carve->abreast = true;
    if (carve->masked || !needs_of(carve).first) return 0;
    for (int i = 0; i < carve->phases; i++)
        if (carve->methods[i] != METHOD_ONE_BLOCK) return 0;
    return lay_out_all(carve, base);
}

/* An image on blocks of its own takes longer than one on all of the GPU, but hardly longer with a
 * hundred others. From this number on they are quicker together, measured on an H200 with sides of
 * 320 to 3840; where the other way is any_gpu, from two on. */
static inline int least_abreast(const struct one_abreast *all, int count) {
    uint32_t warps = 0;
    for (int i = 0; i < count; i++) {
        struct phase phase;
        first_phase(&all[i].carve, &phase);
        warps = max(warps, block_warps(is_turned(&phase) ? phase.height : phase.width));
    }
    return all[0].carve.limits.one_block < 90 ? 2 : (int)(3 + (3 * warps + 3) / 4);
}

/* CROWD: images under way, these included. *FITS: the GPU did not refuse the launch. */
static inline enum status find_all_seams(const struct cuda_context *context,
                                         struct one_abreast *all, int count, int crowd, bool *fits,
                                         struct failure *failure) {
    const struct launch_queue queue = { context->stream, failure };
    struct block_search searches[CUDA_BATCH_MAX];
    struct fill_args fills[CUDA_BATCH_MAX];
    struct mask_args masks[CUDA_BATCH_MAX];
    int found = 0;
    for (int i = 0; i < count; i++) {
        const struct carve_context *carve = &all[i].carve;
        const struct phase *phase = &all[i].phase;
        if (!all[i].more) continue;
        const struct seam_search search = search_of(carve, phase);
        uint8_t *const memory = (uint8_t *)search.scratch;
        const struct block_shape shape = block_shape_of(search.width, search.height);
        fills[found] = { phase->width,    phase->height,    block_plane(memory, shape, 0),
                         shape.stride,    is_turned(phase), carve->now,
                         carve->progress, carve->total };
        fills[found].under = carve->under;
        fills[found].border = 1;
        masks[found] = { present_mask(carve), search.seams, search.columns };
        searches[found++] = block_search_of(&search, memory);
    }
    enum status status =
        one_block_prepare(context, failure); /* takes no turn: it may load kernels */
    if (!status) status = fill_planes(queue, fills, found);
    if (status) return status;
    cudaError_t error;
    const cudaStream_t stream =
        cooperative_lane_begin_many(context->cooperative, context->stream, &error);
    CUDA_TRY(failure, error);
    error = one_block_launch_all(context, stream, all[0].carve.limits.one_block, searches, found,
                                 crowd);
    const cudaError_t ended =
        cooperative_lane_end_many(context->cooperative, context->stream, found);
    *fits = !is_cluster_refusal(error);
    if (!*fits) cudaGetLastError(); /* so that the next check does not see it */
    if (!*fits) return STATUS_OK;
    CUDA_TRY(failure, error);
    CUDA_TRY(failure, ended);
    cuda_record_kernel(context, "seams");
    return make_masks(queue, masks, found);
}

static inline enum status apply_all_seams(const struct cuda_context *context,
                                          struct one_abreast *all, int count,
                                          struct failure *failure) {
    struct apply_args args[CUDA_BATCH_MAX];
    int found = 0;
    for (int i = 0; i < count; i++) {
        struct carve_context *carve = &all[i].carve;
        if (!all[i].more) continue;
        args[found++] = apply_args_of(carve, &all[i].phase, carve->now, carve->to, false);
        end_phase(carve, &all[i].phase);
        all[i].more = next_phase(carve, &all[i].phase);
    }
    const enum status status =
        apply_masks({ context->stream, failure }, all[0].carve.call->in, args, found);
    cuda_record_kernel(context, "pixels");
    return status;
}

/* Takes all images from phase to phase together. *FITS is false, and nothing was done, if the GPU
 * refused the first launch. */
static inline enum status run_abreast(const struct cuda_context *context, struct one_abreast *all,
                                      int count, int crowd, bool *fits, struct failure *failure) {
    enum status status = STATUS_OK;
    bool more = count > 0, first = true;
    for (int i = 0; i < count; i++) {
        struct carve_context *carve = &all[i].carve;
        carve->now = carve->call->in;
        carve->progress = kernel_progress_add(context, carve->call, NULL);
        all[i].more = first_phase(carve, &all[i].phase);
    }
    while (more && !status) {
        status = find_all_seams(context, all, count, crowd, fits, failure);
        if (!status && !*fits)
            return first ? STATUS_OK
                         : fail(failure, STATUS_INTERNAL, "the GPU refused a phase of carving");
        if (!status) status = apply_all_seams(context, all, count, failure);
        first = false;
        more = false;
        for (int i = 0; i < count; i++) more |= all[i].more;
    }
    return status;
}

/* Carves the images that go abreast, if that pays. *LEFT gets bit i of every image i that is not
 * carved yet. */
static inline enum status run_some_abreast(const struct cuda_context *context,
                                           struct op_call *calls, int count, uint64_t *left) {
    struct one_abreast *const all = (struct one_abreast *)calloc((size_t)count, sizeof *all);
    enum status status = STATUS_OK;
    size_t bytes = 0;
    uint64_t others = ~UINT64_C(0);
    int found = 0, crowd = 0;
    *left = others;
    for (int i = 0; i < count && all; i++) {
        const size_t its = lay_out_abreast(context, &calls[i], &all[found].carve,
                                           (uint8_t *)calls[0].scratch + bytes);
        if (!its || bytes + its > calls[0].scratch_bytes) continue;
        bytes += its;
        others &= ~(UINT64_C(1) << i);
        found++;
    }
    if (found &&
        cooperative_lane_enter(context->cooperative, found, least_abreast(all, found), &crowd)) {
        bool fits = true;
        status = run_abreast(context, all, found, crowd, &fits, calls[0].failure);
        if (fits) *left = others;
    }
    free(all);
    return status;
}

#endif
