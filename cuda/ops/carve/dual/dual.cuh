// SPDX-License-Identifier: Apache-2.0
/* dual.cuh - seam carving without masks, both directions weighed against each other, in one
 * launch for all steps of a search. dual/args.cuh says how.
 */
#ifndef BURIN_CARVE_DUAL_DUAL_CUH
#define BURIN_CARVE_DUAL_DUAL_CUH

#include "cuda/ops/carve/cluster/cluster.cuh"
#include "cuda/ops/carve/dual/blocks.cuh"
#include "cuda/ops/carve/dual/origins.cuh"

struct dual_planes {
    CUtensorMap axes[2];
};

/* Blocks: four clusters of sweepers, four traceback blocks, bands. */
template <int LANE>
static __global__ void __launch_bounds__(BLOCK_THREADS, 1)
    dual_kernel(const __grid_constant__ struct dual_args dual,
                const __grid_constant__ struct dual_planes planes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const uint32_t block = blockIdx.x, quarter = block / dual.axes[0].cluster;
    const uint32_t first = 4 * dual.axes[0].cluster;
    const uint32_t across = dual.axes[0].dual.across;
    const uint32_t band = block - first - 4;
    if (quarter < 4)
        sweep_block<LANE>(dual.axes[quarter / 2], planes.axes[quarter / 2], (int)(quarter % 2));
    else if (block < first + 4)
        dual_trace_block(dual, (block - first) / 2, (int)((block - first) % 2));
    else if (band < dual.axes[0].dual.bands)
        dual_band_block(dual, band >= across, band >= across ? band - across : band);
#endif
}

typedef void (*dual_kernel_pointer)(struct dual_args dual, struct dual_planes planes);

static inline dual_kernel_pointer dual_kernel_of(const struct cluster_args *args) {
    return lane_columns(args) == 6 ? (dual_kernel_pointer)dual_kernel<6>
                                   : (dual_kernel_pointer)dual_kernel<8>;
}

/* ---- the shape */

/* axes: their jobs and places; the launch is as the first one says. */
struct dual_plan {
    struct dual_args args;
    struct cluster_plan axes[2];
    size_t bytes, cleared_from, cleared; /* of scratch */
};

/* Columns of a band block's and a traceback block's tables: the width that the shared memory's job says it has, which
 * is the image's and a column more for every seam of the other axis. */
static inline uint32_t dual_columns(const struct cluster_args *args) {
    return args->width + args->seams - args->dual.goes;
}

/* A sweeper's columns as for the longer row of the two; blocks of each cluster as many, with at most
 * WARPS sweepers if 16 will do. */
static inline bool dual_plan_sweepers(struct dual_plan *plan, uint32_t warps) {
    struct cluster_args *down = &plan->axes[0].args, *across = &plan->axes[1].args;
    const uint32_t widest = down->width > across->width ? down->width : across->width;
    plan_sweep_columns(down, widest);
    plan_sweep_columns(across, widest);
    const uint32_t most = down->sweepers > across->sweepers ? down->sweepers : across->sweepers;
    uint32_t cluster = 1;
    while (cluster < CLUSTER_BLOCKS_MAX && warps * cluster < most) cluster *= 2;
    for (int axis = 0; axis < 2; axis++) {
        struct cluster_args *args = &plan->axes[axis].args;
        args->cluster = cluster;
        args->block_sweepers = (args->sweepers + cluster - 1) / cluster;
        if (args->block_sweepers > BLOCK_SWEEPERS_MAX) return false;
    }
    return true;
}

/* Where a block's own things lie in shared memory; false where they do not fit. */
static inline bool dual_shared_layout(struct dual_plan *plan, uint32_t most) {
    struct dual_args *dual = &plan->args;
    const uint32_t round = 16, widest = plan->axes[0].args.width > plan->axes[1].args.width
                                            ? plan->axes[0].args.width
                                            : plan->axes[1].args.width;
    uint32_t bytes = 0;
    for (int axis = 0; axis < 2; axis++) {
        const struct cluster_args *args = &plan->axes[axis].args;
        const uint32_t mine =
            band_bytes(dual_columns(args), 0, args->band_steps, args->reach, false);
        bytes = mine > bytes ? mine : bytes;
    }
    dual->behind = (bytes + round - 1) / round * round;
    dual->path = dual->behind + 2 * ((widest + round) / round * round);
    dual->shared = (most - (uint32_t)sizeof(struct dual_shared)) / round * round;
    return dual->path + 2 * ((widest + round) / round * round) <= dual->shared;
}

/* Bands of the axes, STEPS each, in BLOCKS blocks; false where it does not go. */
static inline bool dual_plan_bands(struct dual_plan *plan, const uint32_t steps[2],
                                   uint32_t blocks) {
    uint32_t bands = 0;
    for (int axis = 0; axis < 2; axis++) {
        struct cluster_args *args = &plan->axes[axis].args;
        plan_bands(args, steps[axis]);
        if (args->halves[0].bands > BANDS_MAX) return false;
        bands += args->halves[0].bands + args->halves[1].bands;
    }
    const struct cluster_half *across = plan->axes[0].args.halves;
    for (struct cluster_plan &axis : plan->axes) {
        axis.args.dual.bands = bands;
        axis.args.dual.across = across[0].bands + across[1].bands;
    }
    return bands <= blocks;
}

/* The bands that are done soonest: of the fewest pixels, in the axis that has more of them; none of
 * more than HIGHEST steps. */
static inline bool dual_choose_bands(struct dual_plan *plan, uint32_t highest, uint32_t blocks,
                                     uint32_t most) {
    uint32_t steps[2], best[2] = {}, least = UINT32_MAX;
    for (steps[0] = 1; steps[0] <= highest; steps[0]++)
        for (steps[1] = 1; steps[1] <= highest; steps[1]++) {
            const uint32_t down = steps[0] * plan->axes[0].args.width;
            const uint32_t across = steps[1] * plan->axes[1].args.width;
            const uint32_t larger = down > across ? down : across;
            if (larger >= least || !dual_plan_bands(plan, steps, blocks)) continue;
            least = larger, best[0] = steps[0], best[1] = steps[1];
        }
    return least < UINT32_MAX && dual_plan_bands(plan, best, blocks) &&
           dual_shared_layout(plan, most);
}

/* What the traceback blocks gather, in as much shared memory. */
static inline void dual_plan_maps(struct cluster_args *args, uint32_t most) {
    struct cluster_args widest = *args;
    widest.width = dual_columns(args);
    plan_maps(&widest, most);
    args->window_bands = widest.window_bands, args->direct_bands = widest.direct_bands;
}

/* Sweepers a block, if clusters of at most 16 will do, and steps a band at most. */
struct dual_attempt {
    uint32_t warps, highest;
};

/* All that does not depend on where scratch is; false where the search does not fit so. */
static inline bool dual_plan_shape(struct dual_plan *plan, const struct cuda_context *context,
                                   const struct dual_attempt *one) {
    struct cluster_plan *launch = &plan->axes[0];
    const uint32_t most = (uint32_t)context->shared_bytes;
    if (!dual_plan_sweepers(plan, one->warps)) return false;
    const uint32_t cluster = launch->args.cluster, sweepers = 4 * cluster;
    for (int axis = 0; axis < 2; axis++) {
        struct cluster_args *args = &plan->axes[axis].args;
        args->stages = STAGES_MAX;
        while (args->stages > 2 && sweep_bytes(args, args->stages) > most) args->stages--;
        if (sweep_bytes(args, args->stages) > most || args->stages <= args->halo / STEP_ROWS)
            return false;
    }
    launch->shared_bytes = most, launch->blocks = cluster;
    const uint32_t others = (uint32_t)(context->multiprocessors - context->multiprocessors / 8);
    const uint32_t fits =
        cluster_resident_asked(launch, (const void *)dual_kernel_of(&launch->args));
    const uint32_t room = (fits < others ? fits : others) / cluster * cluster;
    if (room < sweepers + 4 || !dual_choose_bands(plan, one->highest, room - sweepers - 4, most))
        return false;
    const uint32_t blocks = sweepers + 4 + launch->args.dual.bands;
    launch->blocks = (blocks + cluster - 1) / cluster * cluster;
    for (int axis = 0; axis < 2; axis++) {
        dual_plan_maps(&plan->axes[axis].args, plan->args.shared);
        plan_late_bands(&plan->axes[axis].args);
    }
    return true;
}

/* Scratch from BASE on, which may be NULL while it is only measured. Tagged memory of both axes,
 * and what is between, is cleared. */
static inline void dual_layout(struct dual_plan *plan, uint8_t *base) {
    struct dual_args *dual = &plan->args;
    const struct cluster_args *args = &plan->axes[0].args;
    const uint32_t left = args->width - args->dual.goes;
    const uint32_t after = args->height - (args->seams - args->dual.goes);
    const uint64_t taken = (uint64_t)args->width * args->height - (uint64_t)left * after;
    size_t bytes = 0;
    for (int axis = 0; axis < 2; axis++) {
        cluster_layout(&plan->axes[axis], base + bytes);
        plan->axes[axis].cleared_from += bytes;
        bytes += plan->axes[axis].bytes;
    }
    plan->cleared_from = bytes;
    uint32_t *verdicts = (uint32_t *)(base + cluster_take(&bytes, 4ull * args->seams));
    const uint32_t flags = args->dual.bands + DUAL_TRACERS;
    uint32_t *ready = (uint32_t *)(base + cluster_take(&bytes, 4ull * flags));
    for (int axis = 0; axis < 2; axis++)
        dual->crossings[axis] =
            (uint32_t *)(base + cluster_take(&bytes, 4ull * plan->axes[axis].args.height));
    dual->settled = (uint32_t *)(base + cluster_take(&bytes, 4ull * args->dual.bands));
    dual->totals = (uint32_t *)(base + cluster_take(&bytes, 8));
    dual->made = (uint32_t *)(base + cluster_take(&bytes, 4));
    plan->cleared = bytes - plan->cleared_from;
    dual->luma[1] = base + cluster_take(&bytes, (uint64_t)dual->luma_stride * args->height + 32);
    dual->seams = (uint16_t *)(base + cluster_take(&bytes, 2 * taken));
    for (int axis = 0; axis < 2; axis++) {
        plan->axes[axis].args.dual.verdicts = verdicts;
        plan->axes[axis].args.dual.ready = ready;
        plan->axes[axis].args.ready = ready + (axis ? args->dual.across : 0);
        dual->axes[axis] = plan->axes[axis].args;
    }
    plan->bytes = bytes;
}

/* Sides that stay two rows long have two halves at every step. */
static inline bool dual_accepts(const struct cuda_context *context,
                                const struct seam_search *search) {
    static const uint32_t energy_most[] = { 690, 1140, CARVE_ENERGY_MAX };
    const uint32_t longer = search->width > search->height ? search->width : search->height;
    return context->capability >= 90 && search->columns && search->rows && !search->marks &&
           (uintptr_t)search->luma % 16 == 0 && search->luma_stride % 16 == 0 &&
           longer <= CLUSTER_WIDTH_MAX && search->columns + 2 <= search->width &&
           search->rows + 2 <= search->height &&
           (uint64_t)(longer / 2 + 1) * energy_most[search->energy] <= TILE_COST_MAX;
}

/* The axes' jobs, as far as the search alone tells. */
static inline void dual_args_make(struct dual_plan *plan, const struct seam_search *search) {
    struct dual_args *dual = &plan->args;
    for (uint32_t axis = 0; axis < 2; axis++) {
        struct cluster_args *args = &plan->axes[axis].args;
        args->width = axis ? search->height : search->width;
        args->height = axis ? search->width : search->height;
        args->seams = search->columns + search->rows;
        args->energy = search->energy, args->reach = carve_reach(search->energy);
        args->dual.axis = axis, args->dual.goes = axis ? search->rows : search->columns;
    }
    dual->luma[0] = search->luma, dual->luma_stride = search->luma_stride;
    dual->longer = search->width > search->height;
    dual->origins = search->origins, dual->origin_stride = search->origin_stride;
    dual->progress = search->progress, dual->done = search->done;
}

/* False where the search does not fit. Rows are quickest with few warps a block, bands with few
 * rows: large images need the blocks for them. */
static inline bool dual_plan_make(struct dual_plan *plan, const struct cuda_context *context,
                                  const struct seam_search *search, uint8_t *scratch) {
    static const struct dual_attempt tries[] = { { 5, 7 },
                                                 { BLOCK_SWEEPERS_MAX, 7 },
                                                 { BLOCK_SWEEPERS_MAX, BAND_STEPS_MAX } };
    memset(plan, 0, sizeof *plan);
    if (!dual_accepts(context, search)) return false;
    dual_args_make(plan, search);
    for (const struct dual_attempt &one : tries)
        if (dual_plan_shape(plan, context, &one)) {
            dual_layout(plan, scratch);
            return true;
        }
    return false;
}

/* ---- the method */

static inline bool dual_fits(const struct cuda_context *context, const struct seam_search *search) {
    struct dual_plan plan;
    return dual_plan_make(&plan, context, search, NULL);
}

static inline size_t dual_scratch(const struct cuda_context *context,
                                  const struct seam_search *search) {
    struct dual_plan plan;
    return dual_plan_make(&plan, context, search, NULL) ? plan.bytes : 0;
}

/* Memory as the first step needs it. */
static inline enum status dual_prepare(const struct cuda_context *context,
                                       const struct dual_plan *plan, uint8_t *scratch,
                                       struct failure *failure) {
    const unsigned blocks = 4 * (unsigned)context->multiprocessors;
    for (const struct cluster_plan &axis : plan->axes) {
        const struct cluster_args *args = &axis.args;
        CUDA_TRY(failure,
                 cudaMemsetAsync(scratch + axis.cleared_from, 0, axis.cleared, context->stream));
        dual_fill_kernel<<<blocks, 256, 0, context->stream>>>(
            (uint32_t *)(args->energies - ENERGY_PAD),
            (uint64_t)args->height * args->energy_stride / 2,
            energy_outside(args->energy) * 0x10001);
        CUDA_LAUNCHED(failure);
    }
    CUDA_TRY(failure,
             cudaMemsetAsync(scratch + plan->cleared_from, 0, plan->cleared, context->stream));
    dual_energy_kernel<<<blocks, 256, 0, context->stream>>>(plan->args);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

static inline enum status dual_launch(const struct cuda_context *context,
                                      const struct dual_plan *plan, struct failure *failure) {
    cudaLaunchAttribute attributes[2];
    const cudaLaunchConfig_t config =
        cluster_launch_config(&plan->axes[0], attributes, context->stream);
    struct dual_planes planes;
    enum status status = describe_energies(&planes.axes[0], &plan->args.axes[0], failure);
    if (!status) status = describe_energies(&planes.axes[1], &plan->args.axes[1], failure);
    if (status) return status;
    CUDA_TRY(failure,
             cudaLaunchKernelEx(&config, dual_kernel_of(&plan->args.axes[0]), plan->args, planes));
    return STATUS_OK;
}

static inline enum status dual_queue(const struct cuda_context *context,
                                     const struct dual_plan *plan, uint8_t *scratch,
                                     struct failure *failure) {
    const struct cluster_args *args = &plan->args.axes[0];
    enum status status = dual_prepare(context, plan, scratch, failure);
    if (!status) status = dual_launch(context, plan, failure);
    if (status) return status;
    const uint32_t each = 32 * ORIGIN_PIXELS, left = args->width - args->dual.goes;
    const uint32_t rows = args->height - (args->seams - args->dual.goes);
    const uint32_t warps = rows * ((left + each - 1) / each);
    dual_origins_kernel<<<(warps + 7) / 8, 256, 0, context->stream>>>(plan->args);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

static inline enum status dual_run(const struct cuda_context *context,
                                   const struct seam_search *search, struct failure *failure) {
    struct dual_plan plan;
    if (!dual_plan_make(&plan, context, search, (uint8_t *)search->scratch))
        return fail(failure, STATUS_INTERNAL, "a strip that the fast method cannot weigh");
    return dual_queue(context, &plan, (uint8_t *)search->scratch, failure);
}

#endif
