// SPDX-License-Identifier: Apache-2.0
/* fast_both.cuh - seam carving without masks, both directions weighed against each other, in one
 * launch for all steps of a strip. fast_both_job.cuh says how.
 */
#ifndef BURIN_CARVE_FAST_BOTH_CUH
#define BURIN_CARVE_FAST_BOTH_CUH

#include "cuda/ops/carve/fast.cuh"
#include "cuda/ops/carve/fast_both_ends.cuh"
#include "cuda/ops/carve/fast_both_roles.cuh"

struct both_planes {
    CUtensorMap ways[2];
};

/* Blocks: four clusters of leaders, four resolvers, bands. */
template <int LANE>
static __global__ void __launch_bounds__(FAST_THREADS, 1)
    carve_both_seams(const __grid_constant__ struct both_job both,
                     const __grid_constant__ struct both_planes planes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const uint32_t block = blockIdx.x, quarter = block / both.ways[0].cluster;
    const uint32_t first = 4 * both.ways[0].cluster;
    const uint32_t across = both.ways[0].weighing.across;
    const uint32_t band = block - first - 4;
    if (quarter < 4)
        lead_block<LANE>(both.ways[quarter / 2], planes.ways[quarter / 2], (int)(quarter % 2));
    else if (block < first + 4)
        both_resolve(both, (block - first) / 2, (int)((block - first) % 2));
    else if (band < both.ways[0].weighing.bands)
        both_follow(both, band >= across, band >= across ? band - across : band);
#endif
}

typedef void (*both_kernel)(struct both_job both, struct both_planes planes);

static inline both_kernel both_kernel_of(const struct fast_job *job) {
    return fast_lane(job) == 6 ? (both_kernel)carve_both_seams<6>
                               : (both_kernel)carve_both_seams<8>;
}

/* ---- the shape */

/* ways: their jobs and places; the launch is as the first one says. */
struct both_plan {
    struct both_job job;
    struct fast_plan ways[2];
    size_t bytes, cleared_from, cleared; /* of scratch */
};

/* Columns of a follower's and a resolver's tables: the width that the desk's job says it has, which
 * is the image's and a column more for every seam of the other way. */
static inline uint32_t both_columns(const struct fast_job *job) {
    return job->width + job->seams - job->weighing.goes;
}

/* A leader's columns as for the longer row of the two; blocks of each cluster as many, with at most
 * WARPS leaders if 16 will do. */
static inline bool both_lead_shape(struct both_plan *plan, uint32_t warps) {
    struct fast_job *down = &plan->ways[0].job, *across = &plan->ways[1].job;
    const uint32_t widest = down->width > across->width ? down->width : across->width;
    fast_lead_columns(down, widest);
    fast_lead_columns(across, widest);
    const uint32_t most = down->leaders > across->leaders ? down->leaders : across->leaders;
    uint32_t cluster = 1;
    while (cluster < FAST_CLUSTER_MAX && warps * cluster < most) cluster *= 2;
    for (int way = 0; way < 2; way++) {
        struct fast_job *job = &plan->ways[way].job;
        job->cluster = cluster;
        job->block_leaders = (job->leaders + cluster - 1) / cluster;
        if (job->block_leaders > FAST_WARPS_MAX) return false;
    }
    return true;
}

/* Where a block's own things lie in shared memory; false where they do not fit. */
static inline bool both_share(struct both_plan *plan, uint32_t most) {
    struct both_job *both = &plan->job;
    const uint32_t round = 16, widest = plan->ways[0].job.width > plan->ways[1].job.width
                                            ? plan->ways[0].job.width
                                            : plan->ways[1].job.width;
    uint32_t bytes = 0;
    for (int way = 0; way < 2; way++) {
        const struct fast_job *job = &plan->ways[way].job;
        const uint32_t mine =
            follow_bytes(both_columns(job), 0, job->band_steps, job->reach, false);
        bytes = mine > bytes ? mine : bytes;
    }
    both->behind = (bytes + round - 1) / round * round;
    both->path = both->behind + 2 * ((widest + round) / round * round);
    both->desk = (most - (uint32_t)sizeof(struct both_desk)) / round * round;
    return both->path + 2 * ((widest + round) / round * round) <= both->desk;
}

/* Bands of the ways, STEPS each, in BLOCKS blocks; false where it does not go. */
static inline bool both_band_shape(struct both_plan *plan, const uint32_t steps[2],
                                   uint32_t blocks) {
    uint32_t bands = 0;
    for (int way = 0; way < 2; way++) {
        struct fast_job *job = &plan->ways[way].job;
        fast_band_shape(job, steps[way]);
        if (job->halves[0].bands > FAST_BANDS_MAX) return false;
        bands += job->halves[0].bands + job->halves[1].bands;
    }
    const struct fast_half *across = plan->ways[0].job.halves;
    for (struct fast_plan &way : plan->ways) {
        way.job.weighing.bands = bands;
        way.job.weighing.across = across[0].bands + across[1].bands;
    }
    return bands <= blocks;
}

/* The bands that are done soonest: of the fewest pixels, in the way that has more of them; none of
 * more than HIGHEST steps. */
static inline bool both_bands_choose(struct both_plan *plan, uint32_t highest, uint32_t blocks,
                                     uint32_t most) {
    uint32_t steps[2], best[2] = {}, least = UINT32_MAX;
    for (steps[0] = 1; steps[0] <= highest; steps[0]++)
        for (steps[1] = 1; steps[1] <= highest; steps[1]++) {
            const uint32_t down = steps[0] * plan->ways[0].job.width;
            const uint32_t across = steps[1] * plan->ways[1].job.width;
            const uint32_t larger = down > across ? down : across;
            if (larger >= least || !both_band_shape(plan, steps, blocks)) continue;
            least = larger, best[0] = steps[0], best[1] = steps[1];
        }
    return least < UINT32_MAX && both_band_shape(plan, best, blocks) && both_share(plan, most);
}

/* What the resolvers gather, in as much shared memory. */
static inline void both_maps_shape(struct fast_job *job, uint32_t most) {
    struct fast_job widest = *job;
    widest.width = both_columns(job);
    fast_maps_shape(&widest, most);
    job->window_bands = widest.window_bands, job->direct_bands = widest.direct_bands;
}

/* Leaders a block, if clusters of at most 16 will do, and steps a band at most. */
struct both_try {
    uint32_t warps, highest;
};

/* All that does not depend on where scratch is; false where the strip does not fit so. */
static inline bool both_shape_make(struct both_plan *plan, const struct cuda_context *context,
                                   const struct both_try *one) {
    struct fast_plan *launch = &plan->ways[0];
    const uint32_t most = (uint32_t)context->shared_bytes;
    if (!both_lead_shape(plan, one->warps)) return false;
    const uint32_t cluster = launch->job.cluster, leaders = 4 * cluster;
    for (int way = 0; way < 2; way++) {
        struct fast_job *job = &plan->ways[way].job;
        job->slots = FAST_SLOTS_MAX;
        while (job->slots > 2 && fast_lead_bytes(job, job->slots) > most) job->slots--;
        if (fast_lead_bytes(job, job->slots) > most || job->slots <= job->halo / FAST_STEP)
            return false;
    }
    launch->shared_bytes = most, launch->blocks = cluster;
    const uint32_t others = (uint32_t)(context->multiprocessors - context->multiprocessors / 8);
    const uint32_t fits = fast_room_found(launch, (const void *)both_kernel_of(&launch->job));
    const uint32_t room = (fits < others ? fits : others) / cluster * cluster;
    if (room < leaders + 4 || !both_bands_choose(plan, one->highest, room - leaders - 4, most))
        return false;
    const uint32_t blocks = leaders + 4 + launch->job.weighing.bands;
    launch->blocks = (blocks + cluster - 1) / cluster * cluster;
    for (int way = 0; way < 2; way++) {
        both_maps_shape(&plan->ways[way].job, plan->job.desk);
        fast_late_shape(&plan->ways[way].job);
    }
    return true;
}

/* Scratch from BASE on, which may be NULL while it is only measured. Tagged memory of both ways,
 * and what is between, is cleared. */
static inline void both_place(struct both_plan *plan, uint8_t *base) {
    struct both_job *both = &plan->job;
    const struct fast_job *job = &plan->ways[0].job;
    const uint32_t left = job->width - job->weighing.goes;
    const uint32_t after = job->height - (job->seams - job->weighing.goes);
    const uint64_t taken = (uint64_t)job->width * job->height - (uint64_t)left * after;
    size_t bytes = 0;
    for (int way = 0; way < 2; way++) {
        fast_place(&plan->ways[way], base + bytes);
        plan->ways[way].cleared_from += bytes;
        bytes += plan->ways[way].bytes;
    }
    plan->cleared_from = bytes;
    uint32_t *verdicts = (uint32_t *)(base + fast_take(&bytes, 4ull * job->seams));
    const uint32_t flags = job->weighing.bands + WEIGH_RESOLVERS;
    uint32_t *ready = (uint32_t *)(base + fast_take(&bytes, 4ull * flags));
    for (int way = 0; way < 2; way++)
        both->crossings[way] =
            (uint32_t *)(base + fast_take(&bytes, 4ull * plan->ways[way].job.height));
    both->settled = (uint32_t *)(base + fast_take(&bytes, 4ull * job->weighing.bands));
    both->totals = (uint32_t *)(base + fast_take(&bytes, 8));
    both->made = (uint32_t *)(base + fast_take(&bytes, 4));
    plan->cleared = bytes - plan->cleared_from;
    both->luma[1] = base + fast_take(&bytes, (uint64_t)both->luma_stride * job->height + 32);
    both->seams = (uint16_t *)(base + fast_take(&bytes, 2 * taken));
    for (int way = 0; way < 2; way++) {
        plan->ways[way].job.weighing.verdicts = verdicts;
        plan->ways[way].job.weighing.ready = ready;
        plan->ways[way].job.ready = ready + (way ? job->weighing.across : 0);
        both->ways[way] = plan->ways[way].job;
    }
    plan->bytes = bytes;
}

/* Sides that stay two rows long have two halves at every step. */
static inline bool both_takes(const struct cuda_context *context, const struct carve_strip *strip) {
    static const uint32_t energy_most[] = { 690, 1140, CARVE_ENERGY_MAX };
    const uint32_t longer = strip->width > strip->height ? strip->width : strip->height;
    return context->capability >= 90 && strip->columns && strip->rows && !strip->marks &&
           (uintptr_t)strip->luma % 16 == 0 && strip->luma_stride % 16 == 0 &&
           longer <= FAST_WIDTH_MAX && strip->columns + 2 <= strip->width &&
           strip->rows + 2 <= strip->height &&
           (uint64_t)(longer / 2 + 1) * energy_most[strip->energy] <= TILE_COST_MAX;
}

/* The ways' jobs, as far as the strip alone tells. */
static inline void both_jobs_make(struct both_plan *plan, const struct carve_strip *strip) {
    struct both_job *both = &plan->job;
    for (uint32_t way = 0; way < 2; way++) {
        struct fast_job *job = &plan->ways[way].job;
        job->width = way ? strip->height : strip->width;
        job->height = way ? strip->width : strip->height;
        job->seams = strip->columns + strip->rows;
        job->energy = strip->energy, job->reach = carve_reach(strip->energy);
        job->weighing.way = way, job->weighing.goes = way ? strip->rows : strip->columns;
    }
    both->luma[0] = strip->luma, both->luma_stride = strip->luma_stride;
    both->longer = strip->width > strip->height;
    both->origins = strip->origins, both->origin_stride = strip->origin_stride;
    both->watch = strip->watch, both->done = strip->done;
}

/* False where the strip does not fit. Rows are quickest with few warps a block, bands with few
 * rows: large images need the blocks for them. */
static inline bool both_plan_make(struct both_plan *plan, const struct cuda_context *context,
                                  const struct carve_strip *strip, uint8_t *scratch) {
    static const struct both_try tries[] = { { 5, 7 },
                                             { FAST_WARPS_MAX, 7 },
                                             { FAST_WARPS_MAX, FAST_BAND_STEPS_MAX } };
    memset(plan, 0, sizeof *plan);
    if (!both_takes(context, strip)) return false;
    both_jobs_make(plan, strip);
    for (const struct both_try &one : tries)
        if (both_shape_make(plan, context, &one)) {
            both_place(plan, scratch);
            return true;
        }
    return false;
}

/* ---- the method */

static inline bool carve_both_fits(const struct cuda_context *context,
                                   const struct carve_strip *strip) {
    struct both_plan plan;
    return both_plan_make(&plan, context, strip, NULL);
}

static inline size_t carve_both_scratch(const struct cuda_context *context,
                                        const struct carve_strip *strip) {
    struct both_plan plan;
    return both_plan_make(&plan, context, strip, NULL) ? plan.bytes : 0;
}

/* Memory as the first step needs it. */
static inline enum status both_prepare(const struct cuda_context *context,
                                       const struct both_plan *plan, uint8_t *scratch,
                                       struct failure *failure) {
    const unsigned blocks = 4 * (unsigned)context->multiprocessors;
    for (const struct fast_plan &way : plan->ways) {
        const struct fast_job *job = &way.job;
        CUDA_TRY(failure,
                 cudaMemsetAsync(scratch + way.cleared_from, 0, way.cleared, context->stream));
        carve_both_outside<<<blocks, 256, 0, context->stream>>>(
            (uint32_t *)(job->energies - FAST_PAD), (uint64_t)job->height * job->energy_stride / 2,
            fast_outside(job->energy) * 0x10001);
        CUDA_LAUNCHED(failure);
    }
    CUDA_TRY(failure,
             cudaMemsetAsync(scratch + plan->cleared_from, 0, plan->cleared, context->stream));
    carve_both_energy<<<blocks, 256, 0, context->stream>>>(plan->job);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

static inline enum status both_start(const struct cuda_context *context,
                                     const struct both_plan *plan, struct failure *failure) {
    cudaLaunchAttribute attributes[2];
    const cudaLaunchConfig_t config = fast_launch(&plan->ways[0], attributes, context->stream);
    struct both_planes planes;
    enum status status = fast_describe(&planes.ways[0], &plan->job.ways[0], failure);
    if (!status) status = fast_describe(&planes.ways[1], &plan->job.ways[1], failure);
    if (status) return status;
    CUDA_TRY(failure,
             cudaLaunchKernelEx(&config, both_kernel_of(&plan->job.ways[0]), plan->job, planes));
    return STATUS_OK;
}

static inline enum status both_queue(const struct cuda_context *context,
                                     const struct both_plan *plan, uint8_t *scratch,
                                     struct failure *failure) {
    const struct fast_job *job = &plan->job.ways[0];
    enum status status = both_prepare(context, plan, scratch, failure);
    if (!status) status = both_start(context, plan, failure);
    if (status) return status;
    const uint32_t each = 32 * ORIGIN_PIXELS, left = job->width - job->weighing.goes;
    const uint32_t rows = job->height - (job->seams - job->weighing.goes);
    const uint32_t warps = rows * ((left + each - 1) / each);
    carve_both_origins<<<(warps + 7) / 8, 256, 0, context->stream>>>(plan->job);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

static inline enum status carve_both(const struct cuda_context *context,
                                     const struct carve_strip *strip, struct failure *failure) {
    struct both_plan plan;
    if (!both_plan_make(&plan, context, strip, (uint8_t *)strip->scratch))
        return fail(failure, STATUS_INTERNAL, "a strip that the fast method cannot weigh");
    return both_queue(context, &plan, (uint8_t *)strip->scratch, failure);
}

#endif
