// SPDX-License-Identifier: Apache-2.0
/* plan.cuh - the number of blocks and warps for each part of the fast one-axis method, and their
 * memory; the host's part, without CUDA calls.
 *
 * Used by:  fast_one_axis.cuh; fast_both_axes.cuh makes one for each axis; method.cuh to
 *           choose.
 * Fails:    one_axis_plan_make returns false for a search that the method does not take.
 * Threads:  any.
 * Limits:   one direction; sides up to FAST_WIDTH_MAX; compute capability 9.0; as many blocks as
 *           limits->resident says are resident at once. Masks: energies below KEY_LOW, half a
 *           path up to KEY_MOST; gradient up to 2348 rows, sobel3 up to 1838.
 *
 * How it works: sweepers get as few columns as 16 blocks allow, bands as few steps as the remaining
 * blocks allow; stages and maps fill the rest of shared memory.
 */
#ifndef BURIN_CARVE_FAST_ONE_AXIS_PLAN_CUH
#define BURIN_CARVE_FAST_ONE_AXIS_PLAN_CUH

#include "cuda/cooperative.cuh"
#include "cuda/ops/carve/fast_one_axis/band.cuh"
#include "cuda/ops/carve/fast_one_axis/energy_pipeline.cuh"
#include "cuda/ops/carve/fast_one_axis/traceback.cuh"
#include "cuda/ops/carve/seam_search.cuh"

#include <string.h>

/* ---- the device's part in the choice of a method. Plans ask the device nothing, so that the
 * choice made when memory is counted is made again when it is used, and a test can name any device.
 * */

/* Kernels whose blocks must all be resident at once, in clusters: by the method and the columns of
 * a sweeper's lane. */
enum fast_kernel_id {
    ONE_AXIS_LANE_6,
    ONE_AXIS_LANE_8,
    ONE_AXIS_LANE_6_MASKED,
    ONE_AXIS_LANE_8_MASKED,
    BOTH_AXES_LANE_6,
    BOTH_AXES_LANE_8,
    FAST_KERNELS
};

struct carve_limits {
    int capability; /* 90 for 9.0 */
    uint32_t multiprocessors;
    uint32_t shared_bytes; /* that a block may have */
    /* Returns how many blocks of KERNEL are resident at once, each with all of shared_bytes, in
     * clusters of CLUSTER; 0: none, or the device gave no answer. */
    uint32_t (*resident)(const struct carve_limits *limits, enum fast_kernel_id kernel,
                         uint32_t cluster);
    int one_block; /* the same as capability, for one_block; 0: its kernel is empty here */
};

/* Multiprocessors that one search may take. */
static inline uint32_t limits_share(const struct carve_limits *limits) {
    return cooperative_share(limits->multiprocessors);
}

/* ---- the plan */

struct one_axis_plan {
    struct axis_args args;
    struct key_part keys; /* masks: 0 without masks */
    enum fast_kernel_id kernel;
    uint32_t cluster, blocks, shared_bytes;
    size_t bytes, cleared_from, cleared; /* of scratch; of those that are zeroed first */
};

static inline void one_axis_layout(struct one_axis_plan *plan, struct arena *arena) {
    struct axis_args *args = &plan->args;
    const uint32_t bands = args->halves[0].bands + args->halves[1].bands;
    args->energy_stride = (ENERGY_PAD + args->width + ENERGY_PAD_RIGHT + 63) / 64 * 64;
    args->cost_stride = (args->sweepers * args->own + 63) / 64 * 64;
    args->jump_stride = (args->width + 63) / 64 * 64;
    args->energies = arena_take<uint16_t>(arena, (size_t)args->height * args->energy_stride);
    args->energies += ENERGY_PAD;
    plan->cleared_from = arena->bytes;
    for (struct axis_half &half : args->halves)
        half.costs = arena_take<uint32_t>(arena, (size_t)(half.steps + 1) * args->cost_stride);
    args->jumps = arena_take<uint32_t>(arena, (size_t)bands * args->jump_stride);
    args->meets = arena_take<uint32_t>(arena, 2);
    args->begun = arena_take<uint32_t>(arena, bands);
    args->entries = arena_take<uint32_t>(arena, bands);
    args->ready = arena_take<uint32_t>(arena, bands);
    args->crossings = arena_take<uint32_t>(arena, args->height);
    args->decision = arena_take<uint32_t>(arena, 1);
    plan->cleared = arena->bytes - plan->cleared_from;
    plan->bytes = arena->bytes;
}

static inline uint32_t lane_columns(const struct axis_args *args) {
    return (args->own + 2 * args->halo) / 32;
}

/* Columns of a sweeper: with 6 a lane a row is quickest; where 4 warps a block do not cover the
 * width, 8, with a narrower halo if it is wider still. */
static inline void plan_sweep_columns(struct axis_args *args, uint32_t widest) {
    const uint32_t lane = widest <= 6144 ? 6 : 8;
    args->halo = lane == 6 ? 48 : widest <= 8192 ? 64 : 32;
    args->own = 32 * lane - 2 * args->halo;
    args->sweepers = (args->width + args->own - 1) / args->own;
}

/* Blocks of a half's cluster: at most WARPS sweepers of MOST each, if 16 blocks are enough. */
static inline uint32_t plan_cluster(uint32_t most, uint32_t warps) {
    uint32_t cluster = 1;
    while (cluster < CLUSTER_BLOCKS_MAX && warps * cluster < most) cluster *= 2;
    return cluster;
}

static inline void plan_sweepers(struct axis_args *args, uint32_t cluster) {
    args->cluster = cluster;
    args->block_sweepers = (args->sweepers + cluster - 1) / cluster;
}

static inline uint32_t sweep_bytes(const struct axis_args *args) {
    return SWEEP_STAGES +
           args->stages * args->block_sweepers * STEP_ROWS * 2 * 32 * lane_columns(args);
}

/* Takes as many stages as MOST bytes of shared memory hold; false where those are too few for
 * sweepers to go from one exchange to the next without waiting for energies. */
static inline bool plan_stages(struct axis_args *args, uint32_t most) {
    args->stages = STAGES_MAX;
    while (args->stages > 2 && sweep_bytes(args) > most) args->stages--;
    return args->block_sweepers <= BLOCK_SWEEPERS_MAX && sweep_bytes(args) <= most &&
           args->stages > args->halo / STEP_ROWS;
}

static inline void plan_bands(struct axis_args *args, uint32_t band_steps) {
    args->band_steps = band_steps;
    uint32_t first = 0;
    for (int half = 0; half < 2; half++) {
        struct axis_half *of = &args->halves[half];
        halve(*of, half, args->height, band_steps);
        of->first_band = first;
        of->first_row = half == 0 ? 0 : args->halves[0].rows;
        first += of->bands;
    }
}

/* Chooses the late bands: where a band has several steps, and a step more tiles than the block has
 * warps, these bands would still be at their first step, with all columns, when the halves meet. */
static inline void plan_late_bands(struct axis_args *args) {
    const bool slow = args->band_steps > 1 && args->width > TILE_OWN * BLOCK_THREADS / 32;
    args->late_bands = slow ? LATE_BANDS : 0;
}

static inline void plan_maps(struct axis_args *args, uint32_t most) {
    const uint32_t rows = STEP_ROWS * args->band_steps, bands = args->halves[0].bands;
    args->window_bands = args->direct_bands = 0;
    while (trace_bytes(args->width, bands - args->direct_bands, args->window_bands, rows) > most)
        if (args->window_bands < bands)
            args->window_bands++;
        else
            args->direct_bands++;
}

static inline uint32_t plan_room(const struct carve_limits *limits, enum fast_kernel_id kernel,
                                 uint32_t cluster) {
    const uint32_t resident = limits->resident(limits, kernel, cluster);
    const uint32_t share = limits_share(limits);
    return resident < share ? resident : share;
}

static inline uint32_t energy_most(int energy) {
    static const uint32_t most[] = { 690, 1140, CARVE_ENERGY_MAX };
    return most[energy];
}

/* Whether both fast methods accept a search whose longest side is LONGEST and whose paths have at
 * most ROWS rows. */
static inline bool fast_accepts(const struct carve_limits *limits, const struct seam_search *search,
                                uint32_t longest, uint32_t rows) {
    return limits->capability >= 90 && (uintptr_t)search->luma % 16 == 0 &&
           search->luma_stride % 16 == 0 && longest <= FAST_WIDTH_MAX &&
           (uint64_t)(rows / 2 + 1) * energy_most(search->energy) <= TILE_COST_MAX;
}

/* Chooses the weights of a key's flags. They are coarse, and a flag weighs itself too. With both
 * masks a search may be left unfinished. */
static inline bool plan_keys(struct key_part *keys, const struct seam_search *search) {
    const uint64_t rows = (search->height - 1) / 2 + 1, energy = energy_most(search->energy);
    const uint64_t low = energy * rows / (1 << 16) + 1, weight = (low << 16) + KEY_LOW;
    const uint64_t most = rows * (energy + weight), high = most / (1 << 24) + 1;
    const bool both = search->masks == 3;
    if (!search->marks) return true;
    if (energy >= KEY_LOW || most > KEY_MOST || !search->masks || (both && !search->taken))
        return false;
    *keys = { search->marks, search->masks };
    keys->weights = (uint32_t)(low << 16 | (both ? high << 8 : 0));
    keys->low = (uint32_t)weight, keys->per_low = (uint32_t)((UINT64_C(1) << 32) / weight);
    keys->most = (uint32_t)most;
    keys->least = search->least, keys->taken = search->taken, keys->clears = search->clears;
    return true;
}

/* Bands of STEPS steps: 1 where they fit, 0 where fewer or more blocks are needed, -1 where no
 * number of steps fits. */
static inline int one_axis_try_bands(struct one_axis_plan *plan, uint32_t steps, uint32_t room) {
    struct axis_args *args = &plan->args;
    const uint32_t most = plan->shared_bytes, cluster = args->cluster;
    plan_bands(args, steps);
    const uint32_t blocks = 2 * cluster + 2 + args->halves[0].bands + args->halves[1].bands;
    plan->blocks = (blocks + cluster - 1) / cluster * cluster;
    if (plan->blocks > room || args->halves[0].bands > BANDS_MAX) return 0;
    args->thin = band_bytes(args->width, args->luma_stride, steps, args->reach, false) > most;
    const uint32_t bytes =
        band_bytes(args->width, args->luma_stride, steps, args->reach, args->thin);
    return bytes > most ? -1 : 1;
}

/* SCRATCH: NULL where it is only measured. */
static inline bool one_axis_plan_make(struct one_axis_plan *plan, const struct carve_limits *limits,
                                      const struct seam_search *search, uint8_t *scratch) {
    struct axis_args *args = &plan->args;
    struct arena arena = { scratch, 0 };
    memset(plan, 0, sizeof *plan);
    if (!fast_accepts(limits, search, search->width, search->height) || search->rows ||
        search->height < 2 || search->columns > search->width - !search->clears ||
        !plan_keys(&plan->keys, search))
        return false;
    args->width = search->width, args->height = search->height, args->seams = search->columns;
    args->energy = search->energy, args->reach = carve_reach(search->energy);
    args->luma = search->luma, args->luma_stride = search->luma_stride;
    args->seam_columns = search->seams;
    args->progress = search->progress, args->done = search->done;
    plan_sweep_columns(args, args->width);
    /* 2 warps a block, since shuffles and energies of a block's warps share one path. */
    plan_sweepers(args, plan_cluster(args->sweepers, 2));
    plan->shared_bytes = limits->shared_bytes;
    if (!plan_stages(args, plan->shared_bytes)) return false;
    const int first = plan->keys.masks ? ONE_AXIS_LANE_6_MASKED : ONE_AXIS_LANE_6;
    plan->kernel = (enum fast_kernel_id)(first + (lane_columns(args) == 8));
    plan->cluster = args->cluster;
    const uint32_t room = plan_room(limits, plan->kernel, plan->cluster);
    int fits = 0;
    for (uint32_t steps = 1; !fits && steps <= BAND_STEPS_MAX; steps++)
        fits = one_axis_try_bands(plan, steps, room);
    if (fits <= 0) return false;
    plan_maps(args, plan->shared_bytes);
    plan_late_bands(args);
    one_axis_layout(plan, &arena);
    return true;
}

#endif
