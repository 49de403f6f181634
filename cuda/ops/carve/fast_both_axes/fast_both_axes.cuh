// SPDX-License-Identifier: Apache-2.0
/* fast_both_axes.cuh - both directions weighed, no masks, compute capability 9.0: one launch for
 * all steps.
 *
 * Used by:  method.cuh.
 * Fails:    as fast_one_axis.cuh says: *fits is false where the blocks do not fit at once.
 *           both_axes_plan_make returns false for a search that the method does not take.
 * Limits:   no masks, both directions; both sides up to FAST_WIDTH_MAX, and 2 of each stay;
 *           compute capability 9.0; blocks as limits->resident says.
 *
 * How it works. First the energies of the image and of its transpose are computed. Then one kernel
 * runs all steps, its blocks divided between both directions (blocks.cuh). At the end the origins
 * of the remaining pixels give the image.
 */
#ifndef BURIN_CARVE_FAST_BOTH_AXES_CUH
#define BURIN_CARVE_FAST_BOTH_AXES_CUH

#include "cuda/ops/carve/fast_both_axes/args.cuh"
#include "cuda/ops/carve/fast_both_axes/blocks.cuh"
#include "cuda/ops/carve/fast_one_axis/fast_one_axis.cuh"
#include "cuda/ops/carve/fast_one_axis/plan.cuh"

/* ---- the plan: blocks and memory
 *
 * A one_axis_plan for each axis, with sweepers of the same shape, since one kernel runs both; three
 * attempts, from many blocks for sweepers to many for bands. */

/* `axes`: their arguments and memory; the launch follows the first one. */
struct both_axes_plan {
    struct both_args args;
    struct one_axis_plan axes[2];
    enum fast_kernel_id kernel;
    uint32_t cluster;
    size_t bytes, cleared_from, cleared; /* of scratch */
};

/* Columns of a band or traceback block's tables: the width in the arguments in shared memory, which
 * is the image's and a column more for every seam of the other axis. */
static inline uint32_t both_columns(const struct axis_args *args) {
    return args->width + args->seams - args->both.goes;
}

/* Places in a block's shared memory; false where it is too small. */
static inline bool both_shared_layout(struct both_axes_plan *plan, uint32_t most) {
    struct both_args *both = &plan->args;
    const uint32_t round = 16, widest = plan->axes[0].args.width > plan->axes[1].args.width
                                            ? plan->axes[0].args.width
                                            : plan->axes[1].args.width;
    uint32_t bytes = 0;
    for (int axis = 0; axis < 2; axis++) {
        const struct axis_args *args = &plan->axes[axis].args;
        const uint32_t needed =
            band_bytes(both_columns(args), 0, args->band_steps, args->reach, false);
        bytes = needed > bytes ? needed : bytes;
    }
    both->behind = (bytes + round - 1) / round * round;
    both->path = both->behind + 2 * ((widest + round) / round * round);
    both->shared = (most - (uint32_t)sizeof(struct both_shared)) / round * round;
    return both->path + 2 * ((widest + round) / round * round) <= both->shared;
}

/* Bands of the axes, STEPS each, in BLOCKS blocks; false where they do not fit. */
static inline bool both_plan_bands(struct both_axes_plan *plan, const uint32_t steps[2],
                                   uint32_t blocks) {
    uint32_t bands = 0;
    for (int axis = 0; axis < 2; axis++) {
        struct axis_args *args = &plan->axes[axis].args;
        plan_bands(args, steps[axis]);
        if (args->halves[0].bands > BANDS_MAX) return false;
        bands += args->halves[0].bands + args->halves[1].bands;
    }
    const struct axis_half *across = plan->axes[0].args.halves;
    for (struct one_axis_plan &axis : plan->axes) {
        axis.args.both.bands = bands;
        axis.args.both.across = across[0].bands + across[1].bands;
    }
    return bands <= blocks;
}

/* Chooses the bands that are done soonest, those with the fewest pixels in the axis that has more
 * of them; none with more than HIGHEST steps. */
static inline bool both_choose_bands(struct both_axes_plan *plan, uint32_t highest, uint32_t blocks,
                                     uint32_t most) {
    uint32_t steps[2], best[2] = {}, least = UINT32_MAX;
    for (steps[0] = 1; steps[0] <= highest; steps[0]++)
        for (steps[1] = 1; steps[1] <= highest; steps[1]++) {
            const uint32_t down = steps[0] * plan->axes[0].args.width;
            const uint32_t across = steps[1] * plan->axes[1].args.width;
            const uint32_t larger = down > across ? down : across;
            if (larger >= least || !both_plan_bands(plan, steps, blocks)) continue;
            least = larger, best[0] = steps[0], best[1] = steps[1];
        }
    return least < UINT32_MAX && both_plan_bands(plan, best, blocks) &&
           both_shared_layout(plan, most);
}

/* Sweepers a block, if clusters of at most 16 are enough, and the most steps of a band. */
struct both_attempt {
    uint32_t warps, highest;
};

static inline bool both_plan_shape(struct both_axes_plan *plan, const struct carve_limits *limits,
                                   const struct both_attempt *one) {
    struct one_axis_plan *launch = &plan->axes[0];
    const uint32_t most = launch->shared_bytes = limits->shared_bytes;
    /* Sweepers have the columns for the longer row of the two; both clusters have the same number
     * of blocks. */
    struct axis_args *down = &plan->axes[0].args, *across = &plan->axes[1].args;
    const uint32_t widest = down->width > across->width ? down->width : across->width;
    plan_sweep_columns(down, widest);
    plan_sweep_columns(across, widest);
    const uint32_t sweepers_most =
        down->sweepers > across->sweepers ? down->sweepers : across->sweepers;
    for (struct one_axis_plan &axis : plan->axes)
        plan_sweepers(&axis.args, plan_cluster(sweepers_most, one->warps));
    for (struct one_axis_plan &axis : plan->axes)
        if (!plan_stages(&axis.args, most)) return false;
    const uint32_t cluster = plan->cluster = launch->args.cluster, sweepers = 4 * cluster;
    plan->kernel = lane_columns(&launch->args) == 6 ? BOTH_AXES_LANE_6 : BOTH_AXES_LANE_8;
    const uint32_t room = plan_room(limits, plan->kernel, cluster) / cluster * cluster;
    if (room < sweepers + 4 || !both_choose_bands(plan, one->highest, room - sweepers - 4, most))
        return false;
    const uint32_t blocks = sweepers + 4 + launch->args.both.bands;
    launch->blocks = (blocks + cluster - 1) / cluster * cluster;
    for (struct one_axis_plan &axis : plan->axes) {
        struct axis_args wide = axis.args;
        wide.width = both_columns(&axis.args);
        plan_maps(&wide, plan->args.shared);
        axis.args.window_bands = wide.window_bands, axis.args.direct_bands = wide.direct_bands;
        plan_late_bands(&axis.args);
    }
    return true;
}

/* Takes scratch from ARENA. Tagged memory of both axes is cleared, with what lies between. */
static inline void both_layout(struct both_axes_plan *plan, struct arena *arena) {
    struct both_args *both = &plan->args;
    const struct axis_args *args = &plan->axes[0].args;
    const uint32_t left = args->width - args->both.goes;
    const uint32_t after = args->height - (args->seams - args->both.goes);
    for (struct one_axis_plan &axis : plan->axes) one_axis_layout(&axis, arena);
    plan->cleared_from = arena->bytes;
    uint32_t *verdicts = arena_take<uint32_t>(arena, args->seams);
    uint32_t *ready = arena_take<uint32_t>(arena, args->both.bands + BOTH_TRACERS);
    for (int axis = 0; axis < 2; axis++)
        both->crossings[axis] = arena_take<uint32_t>(arena, plan->axes[axis].args.height);
    both->settled = arena_take<uint32_t>(arena, args->both.bands);
    both->totals = arena_take<uint32_t>(arena, 2);
    both->made = arena_take<uint32_t>(arena, 1);
    plan->cleared = arena->bytes - plan->cleared_from;
    both->luma[1] = arena_take<uint8_t>(arena, (size_t)both->luma_stride * args->height + 32);
    both->seams =
        arena_take<uint16_t>(arena, (size_t)args->width * args->height - (size_t)left * after);
    for (int axis = 0; axis < 2; axis++) {
        plan->axes[axis].args.both.verdicts = verdicts;
        plan->axes[axis].args.both.ready = ready;
        plan->axes[axis].args.ready = ready + (axis ? args->both.across : 0);
        both->axes[axis] = plan->axes[axis].args;
    }
    plan->bytes = arena->bytes;
}

/* False where the search does not fit. Rows are quickest with few warps a block, bands with few
 * rows: large images need the blocks for bands. SCRATCH may be NULL where it is only measured. */
static inline bool both_axes_plan_make(struct both_axes_plan *plan,
                                       const struct carve_limits *limits,
                                       const struct seam_search *search, uint8_t *scratch) {
    static const struct both_attempt attempts[] = { { 5, 7 },
                                                    { BLOCK_SWEEPERS_MAX, 7 },
                                                    { BLOCK_SWEEPERS_MAX, BAND_STEPS_MAX } };
    struct arena arena = { scratch, 0 };
    memset(plan, 0, sizeof *plan);
    /* Sides that keep two rows have two halves at every step. */
    const uint32_t longer = search->width > search->height ? search->width : search->height;
    if (!fast_accepts(limits, search, longer, longer) || search->marks || !search->columns ||
        !search->rows || search->columns + 2 > search->width || search->rows + 2 > search->height)
        return false;
    struct both_args *both = &plan->args;
    for (uint32_t axis = 0; axis < 2; axis++) {
        struct axis_args *args = &plan->axes[axis].args;
        args->width = axis ? search->height : search->width;
        args->height = axis ? search->width : search->height;
        args->seams = search->columns + search->rows;
        args->energy = search->energy, args->reach = carve_reach(search->energy);
        args->both.axis = axis, args->both.goes = axis ? search->rows : search->columns;
    }
    both->luma[0] = search->luma, both->luma_stride = search->luma_stride;
    both->longer = search->width > search->height;
    both->origins = search->origins, both->origin_stride = search->origin_stride;
    both->progress = search->progress, both->done = search->done;
    for (const struct both_attempt &one : attempts)
        if (both_plan_shape(plan, limits, &one)) {
            both_layout(plan, &arena);
            return true;
        }
    return false;
}

/* Energies of both planes, which are filled with energy_outside() before. A thread has 8 pixels of
 * an image's column, which are 8 of a row in the other plane. */
static __global__ void both_energy_kernel(const __grid_constant__ struct both_args both) {
    const struct axis_args &across = both.axes[0], &turned = both.axes[1];
    const uint32_t width = across.width, height = across.height, groups = (height + 7) / 8;
    const struct luma_plane luma = { both.luma[0], both.luma_stride, (int)width, (int)height };
    for (uint32_t y = 8 * blockIdx.x; y < 8 * groups; y += 8 * gridDim.x)
        for (uint32_t x = threadIdx.x; x < width; x += blockDim.x) {
            uint32_t energies[8];
#pragma unroll
            for (uint32_t k = 0; k < 8; k++) {
                energies[k] = energy_outside(across.energy);
                if (y + k >= height) continue;
                energies[k] = energy_at(luma, across.energy, (int)x, (int)(y + k));
                energy_row(across, y + k)[x] = (uint16_t)energies[k];
            }
            *(uint4 *)(energy_row(turned, x) + y) =
                make_uint4(energies[0] | energies[1] << 16, energies[2] | energies[3] << 16,
                           energies[4] | energies[5] << 16, energies[6] | energies[7] << 16);
        }
}

enum { ORIGIN_PIXELS = 4 }; /* of a thread */

/* The places, one step earlier, of the pixels in a part of a row. */
struct origin_walk {
    uint32_t x[ORIGIN_PIXELS], y[ORIGIN_PIXELS];
    uint32_t width, height;
    const uint16_t *seam; /* the last one that is undone */
};

/* Every remaining pixel goes back through all steps to its origin; a warp has a part of a row. A
 * stopped search has no use for origins. */
static __global__ void both_origins_kernel(const __grid_constant__ struct both_args both) {
    const struct axis_args &args = both.axes[0];
    const uint32_t width = args.width - args.both.goes;
    const uint32_t height = args.height - (args.seams - args.both.goes);
    const uint32_t each = 32 * ORIGIN_PIXELS, parts = (width + each - 1) / each;
    const uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, row = warp / parts;
    const uint32_t first = warp % parts * each + threadIdx.x % 32;
    if (*both.made != args.seams || row >= height) return;
    struct origin_walk walk = {};
    for (int k = 0; k < ORIGIN_PIXELS; k++) {
        walk.x[k] = min(first + 32 * (uint32_t)k, width - 1);
        walk.y[k] = row;
    }
    walk.width = width, walk.height = height;
    walk.seam = both.seams + ((uint64_t)args.width * args.height - (uint64_t)width * height);
    for (uint32_t step = args.seams, down = args.both.goes; step; step--) {
        const uint32_t verdict = step > 1 ? __ldg(args.both.verdicts + step - 2) : 0;
        const uint32_t before = verdict & VERDICT_COUNT;
        const bool turned = before == down;
        walk.seam -= turned ? walk.width : walk.height;
#pragma unroll
        for (int k = 0; k < ORIGIN_PIXELS; k++)
            if (turned)
                walk.y[k] += walk.y[k] >= __ldg(walk.seam + walk.x[k]);
            else
                walk.x[k] += walk.x[k] >= __ldg(walk.seam + walk.y[k]);
        turned ? walk.height++ : walk.width++;
        down = before;
    }
    uint32_t *to = both.origins + (uint64_t)row * both.origin_stride;
    for (uint32_t k = 0; k < ORIGIN_PIXELS; k++)
        if (first + 32 * k < width) to[first + 32 * k] = walk.y[k] * both.origin_stride + walk.x[k];
}

struct both_planes {
    CUtensorMap axes[2];
};

/* Blocks: four clusters of sweepers, four traceback blocks, then bands. */
template <int LANE>
static __global__ void __launch_bounds__(BLOCK_THREADS, 1)
    both_axes_kernel(const __grid_constant__ struct both_args both,
                     const __grid_constant__ struct both_planes planes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const uint32_t block = blockIdx.x, quarter = block / both.axes[0].cluster;
    const uint32_t first = 4 * both.axes[0].cluster;
    const uint32_t across = both.axes[0].both.across;
    const uint32_t band = block - first - 4;
    if (quarter < 4)
        sweep_block<LANE>(both.axes[quarter / 2], planes.axes[quarter / 2], (int)(quarter % 2));
    else if (block < first + 4)
        both_trace_block(both, (block - first) / 2, (int)((block - first) % 2));
    else if (band < both.axes[0].both.bands)
        both_band_block(both, band >= across, band >= across ? band - across : band);
#endif
}

typedef void (*both_axes_kernel_pointer)(struct both_args both, struct both_planes planes);

static inline enum status both_prepare(const struct cuda_context *context,
                                       const struct both_axes_plan *plan, uint8_t *scratch,
                                       struct failure *failure) {
    const unsigned blocks = 4 * (unsigned)context->multiprocessors;
    for (const struct one_axis_plan &axis : plan->axes) {
        const struct axis_args *args = &axis.args;
        CUDA_TRY(failure,
                 cudaMemsetAsync(scratch + axis.cleared_from, 0, axis.cleared, context->stream));
        CUDA_TRY(failure,
                 cudaMemsetAsync(args->energies - ENERGY_PAD,
                                 (int)(energy_outside(args->energy) & 0xff),
                                 (size_t)2 * args->height * args->energy_stride, context->stream));
    }
    CUDA_TRY(failure,
             cudaMemsetAsync(scratch + plan->cleared_from, 0, plan->cleared, context->stream));
    both_energy_kernel<<<blocks, 256, 0, context->stream>>>(plan->args);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

/* SCRATCH: as large as the plan says. */
static inline enum status both_axes_queue(const struct cuda_context *context,
                                          const struct both_axes_plan *plan, uint8_t *scratch,
                                          bool *fits, struct failure *failure) {
    const struct axis_args *args = &plan->args.axes[0];
    both_axes_kernel_pointer kernel = both_axes_kernel<8>;
    struct both_planes planes;
    enum status status = both_prepare(context, plan, scratch, failure);
    for (int axis = 0; !status && axis < 2; axis++)
        status = describe_energies(&planes.axes[axis], &plan->args.axes[axis], failure);
    if (plan->kernel == BOTH_AXES_LANE_6) kernel = both_axes_kernel<6>;
    if (!status)
        status = launch_clusters(context, kernel, plan->axes[0], fits, failure, plan->args, planes);
    if (status || !*fits) return status;
    const uint32_t each = 32 * ORIGIN_PIXELS, left = args->width - args->both.goes;
    const uint32_t rows = args->height - (args->seams - args->both.goes);
    const uint32_t warps = rows * ((left + each - 1) / each);
    both_origins_kernel<<<(warps + 7) / 8, 256, 0, context->stream>>>(plan->args);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

#endif
