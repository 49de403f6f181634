// SPDX-License-Identifier: Apache-2.0
/* verdict.cuh - the dual method: which axis gave the seam of a step, told to all blocks.
 *
 * Used by:  energy_pipeline.cuh and all files of dual/.
 *
 * A verdict says which axis's seam goes, as the number of vertical seams gone by then. There is a
 * word for every step, written once: whoever is late still finds it.
 */
#ifndef BURIN_CARVE_CLUSTER_VERDICT_CUH
#define BURIN_CARVE_CLUSTER_VERDICT_CUH

#include "cuda/ops/carve/cluster/args.cuh"

static const uint32_t VERDICT_THERE = 1u << 31;
static const uint32_t VERDICT_LAST = 1u << 30; /* the search ends with this step */
static const uint32_t VERDICT_COUNT = (1u << 30) - 1;

enum { DUAL_TRACERS = 4 }; /* of both axes; their flags come behind those of the bands */

/* The image as an axis sees it at a step. */
struct axis_shape {
    uint32_t width, height;
    bool over; /* nothing is left for the axis to do */
};

/* Rows and bands of a half of HEIGHT rows. */
static __host__ __device__ __forceinline__ void halve(struct cluster_half &half, int number,
                                                      uint32_t height, uint32_t band_steps) {
    half.rows = number == 0 ? (height - 1) / 2 + 1 : height / 2;
    half.steps = (half.rows + STEP_ROWS - 1) / STEP_ROWS;
    half.bands = (half.steps + band_steps - 1) / band_steps;
}

/* Before step STEP, VERDICT being that of the one before, or 0. JOB is as the host made it. */
DEVICE struct axis_shape axis_shape_at(const struct cluster_args &args, uint32_t step,
                                       uint32_t verdict) {
    const uint32_t down = verdict & VERDICT_COUNT, own = args.dual.axis ? step - down : down;
    return { args.width - own, args.height - (step - own),
             own == args.dual.goes || (verdict & VERDICT_LAST) };
}

DEVICE uint32_t wait_verdict(const struct cluster_args &args, uint32_t step) {
    uint32_t word = load_relaxed(args.dual.verdicts + step);
    for (uint32_t spins = 0; !word; spins++) {
        word = load_relaxed(args.dual.verdicts + step);
        if (spins == SPIN_LIMIT) SPIN_STUCK(STUCK_VERDICT);
    }
    return word;
}

/* Whether the axis's own seam went at the step of VERDICT, BEFORE being the verdict before that, or
 * 0. */
DEVICE bool verdict_is_own(const struct cluster_args &args, uint32_t before, uint32_t verdict) {
    const uint32_t turned = (verdict & VERDICT_COUNT) == (before & VERDICT_COUNT);
    return turned == args.dual.axis;
}

/* A warp, until the flags TOLD from FROM to before END are COUNT or more; those who have left told
 * the most that there is. What they wrote before is then seen by the warp. */
DEVICE void wait_told(const struct cluster_args &args, const uint32_t *told, uint32_t from,
                      uint32_t end, uint32_t count) {
#pragma unroll 1
    for (uint32_t i = from + thread_index() % 32; i < end; i += 32)
        spin_until(STUCK_PEERS, [&] { return load_acquire(told + i) >= count; });
    __syncwarp();
}

/* A warp, until all bands and traceback blocks of both axes are ready for step STEP. */
DEVICE void wait_ready(const struct cluster_args &args, uint32_t step) {
    wait_told(args, args.dual.ready, 0, args.dual.bands + DUAL_TRACERS, step);
}

#endif
