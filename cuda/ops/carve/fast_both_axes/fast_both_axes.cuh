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
#ifndef BURIN_CARVE_FAST_BOTH_AXES_CUH
#define BURIN_CARVE_FAST_BOTH_AXES_CUH

#include "cuda/ops/carve/fast_both_axes/blocks.cuh"
#include "cuda/ops/carve/fast_both_axes/plan.cuh"
#include "cuda/ops/carve/fast_one_axis/fast_one_axis.cuh"

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
