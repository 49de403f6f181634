// SPDX-License-Identifier: Apache-2.0
/* dual.cuh - the dual method: both directions weighed, no masks, one launch for all steps.
 *
 * Used by:  method.cuh.
 * Fails:    as launch_kernel.cuh says: *fits is false where the blocks do not fit at once.
 * Limits:   compute capability 9.0; what dual/plan.cuh takes.
 */
#ifndef BURIN_CARVE_DUAL_DUAL_CUH
#define BURIN_CARVE_DUAL_DUAL_CUH

#include "cuda/ops/carve/cluster/cluster.cuh"
#include "cuda/ops/carve/dual/blocks.cuh"
#include "cuda/ops/carve/dual/origins.cuh"
#include "cuda/ops/carve/dual/plan.cuh"

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
                                      const struct dual_plan *plan, bool *fits,
                                      struct failure *failure) {
    struct dual_planes planes;
    enum status status = describe_energies(&planes.axes[0], &plan->args.axes[0], failure);
    if (!status) status = describe_energies(&planes.axes[1], &plan->args.axes[1], failure);
    if (status) return status;
    return launch_clusters(context, dual_kernel_of(&plan->args.axes[0]), plan->axes[0], fits,
                           failure, plan->args, planes);
}

/* Takes the seams out, with scratch from SCRATCH on, for which the plan was made. */
static inline enum status dual_queue(const struct cuda_context *context,
                                     const struct dual_plan *plan, uint8_t *scratch, bool *fits,
                                     struct failure *failure) {
    const struct cluster_args *args = &plan->args.axes[0];
    enum status status = dual_prepare(context, plan, scratch, failure);
    if (!status) status = dual_launch(context, plan, fits, failure);
    if (status || !*fits) return status;
    const uint32_t each = 32 * ORIGIN_PIXELS, left = args->width - args->dual.goes;
    const uint32_t rows = args->height - (args->seams - args->dual.goes);
    const uint32_t warps = rows * ((left + each - 1) / each);
    dual_origins_kernel<<<(warps + 7) / 8, 256, 0, context->stream>>>(plan->args);
    CUDA_LAUNCHED(failure);
    return STATUS_OK;
}

#endif
