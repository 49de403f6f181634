// SPDX-License-Identifier: Apache-2.0
/* fast_both_axes.cuh - both directions weighed, no masks, compute capability 9.0: one launch for
 * all steps.
 *
 * Used by:  method.cuh.
 * Fails:    as fast_one_axis.cuh says: *fits is false where the blocks do not fit at once.
 * Limits:   compute capability 9.0; what fast_both_axes/plan.cuh takes.
 *
 * How it works. First the energies of the image and of its transpose are computed. Then one kernel
 * runs all steps, its blocks divided between both directions (blocks.cuh). At the end the origins
 * of the remaining pixels give the image.
 */
#ifndef BURIN_CARVE_DUAL_DUAL_CUH
#define BURIN_CARVE_DUAL_DUAL_CUH

#include "cuda/ops/carve/cluster/cluster.cuh"
#include "cuda/ops/carve/dual/blocks.cuh"
#include "cuda/ops/carve/dual/plan.cuh"

/* Energies of both planes, which are filled with energy_outside() before. A thread has 8 pixels of
 * an image's column, which are 8 of a row in the other plane. */
static __global__ void dual_energy_kernel(const __grid_constant__ struct dual_args dual) {
    const struct cluster_args &across = dual.axes[0], &turned = dual.axes[1];
    const uint32_t width = across.width, height = across.height, groups = (height + 7) / 8;
    const struct luma_plane luma = { dual.luma[0], dual.luma_stride, (int)width, (int)height };
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
static __global__ void dual_origins_kernel(const __grid_constant__ struct dual_args dual) {
    const struct cluster_args &args = dual.axes[0];
    const uint32_t width = args.width - args.dual.goes;
    const uint32_t height = args.height - (args.seams - args.dual.goes);
    const uint32_t each = 32 * ORIGIN_PIXELS, parts = (width + each - 1) / each;
    const uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, row = warp / parts;
    const uint32_t first = warp % parts * each + threadIdx.x % 32;
    if (*dual.made != args.seams || row >= height) return;
    struct origin_walk walk = {};
    for (int k = 0; k < ORIGIN_PIXELS; k++) {
        walk.x[k] = min(first + 32 * (uint32_t)k, width - 1);
        walk.y[k] = row;
    }
    walk.width = width, walk.height = height;
    walk.seam = dual.seams + ((uint64_t)args.width * args.height - (uint64_t)width * height);
    for (uint32_t step = args.seams, down = args.dual.goes; step; step--) {
        const uint32_t verdict = step > 1 ? __ldg(args.dual.verdicts + step - 2) : 0;
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
    uint32_t *to = dual.origins + (uint64_t)row * dual.origin_stride;
    for (uint32_t k = 0; k < ORIGIN_PIXELS; k++)
        if (first + 32 * k < width) to[first + 32 * k] = walk.y[k] * dual.origin_stride + walk.x[k];
}

struct dual_planes {
    CUtensorMap axes[2];
};

/* Blocks: four clusters of sweepers, four traceback blocks, then bands. */
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

static inline enum status dual_prepare(const struct cuda_context *context,
                                       const struct dual_plan *plan, uint8_t *scratch,
                                       struct failure *failure) {
    const unsigned blocks = 4 * (unsigned)context->multiprocessors;
    for (const struct cluster_plan &axis : plan->axes) {
        const struct cluster_args *args = &axis.args;
        CUDA_TRY(failure,
                 cudaMemsetAsync(scratch + axis.cleared_from, 0, axis.cleared, context->stream));
        CUDA_TRY(failure,
                 cudaMemsetAsync(args->energies - ENERGY_PAD,
                                 (int)(energy_outside(args->energy) & 0xff),
                                 (size_t)2 * args->height * args->energy_stride, context->stream));
    }
    CUDA_TRY(failure,
             cudaMemsetAsync(scratch + plan->cleared_from, 0, plan->cleared, context->stream));
    dual_energy_kernel<<<blocks, 256, 0, context->stream>>>(plan->args);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

/* SCRATCH: as large as the plan says. */
static inline enum status dual_queue(const struct cuda_context *context,
                                     const struct dual_plan *plan, uint8_t *scratch, bool *fits,
                                     struct failure *failure) {
    const struct cluster_args *args = &plan->args.axes[0];
    dual_kernel_pointer kernel = dual_kernel<8>;
    struct dual_planes planes;
    enum status status = dual_prepare(context, plan, scratch, failure);
    for (int axis = 0; !status && axis < 2; axis++)
        status = describe_energies(&planes.axes[axis], &plan->args.axes[axis], failure);
    if (plan->kernel == DUAL_LANE_6) kernel = dual_kernel<6>;
    if (!status)
        status = launch_clusters(context, kernel, plan->axes[0], fits, failure, plan->args, planes);
    if (status || !*fits) return status;
    const uint32_t each = 32 * ORIGIN_PIXELS, left = args->width - args->dual.goes;
    const uint32_t rows = args->height - (args->seams - args->dual.goes);
    const uint32_t warps = rows * ((left + each - 1) / each);
    dual_origins_kernel<<<(warps + 7) / 8, 256, 0, context->stream>>>(plan->args);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

#endif
