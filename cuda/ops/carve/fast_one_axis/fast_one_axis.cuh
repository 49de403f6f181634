// SPDX-License-Identifier: Apache-2.0
/* fast_one_axis.cuh - one direction, compute capability 9.0: one launch for all seams.
 *
 * Used by:  method.cuh.
 * Fails:    as check.cuh says. Blocks that do not fit the device at once are no failure: *fits is
 *           false then, nothing was queued, and the caller takes another method.
 * Limits:   compute capability 9.0; what fast_one_axis/plan.cuh takes.
 *
 * How it works: args.cuh explains the parts, plan.cuh chooses their number.
 */
#ifndef BURIN_CARVE_FAST_ONE_AXIS_CUH
#define BURIN_CARVE_FAST_ONE_AXIS_CUH

#include "cuda/cooperative.cuh"
#include "cuda/cuda_op.h"
#include "cuda/ops/carve/fast_one_axis/plan.cuh"
#include "cuda/ops/carve/fast_one_axis/sweep.cuh"
#include "cuda/ops/carve/launch_kernel.cuh"

DEVICE uint32_t key_flags(const struct axis_args &, int, int) {
    return 0;
}

/* Beside the image both, so that a key is more there than any pixel's. */
DEVICE uint32_t key_flags(const struct masked_args &args, int x, int y) {
    if (x < 0 || x >= (int)args.width) return KEY_FLAGS;
    const uint32_t mark = args.marks[(uint64_t)y * args.luma_stride + x];
    const uint32_t kept = mark & 1, stays = ~mark >> 1 & 1;
    if (!(args.masks & 2)) return kept ? KEY_LOW : 0;
    return (stays ? KEY_LOW : 0) | (kept ? KEY_HIGH : 0);
}

/* The first energies of a search: the whole plane with its borders, a block a row. */
template <class ARGS>
static __global__ void energy_plane_kernel(const __grid_constant__ ARGS args) {
    const struct luma_plane luma = { args.luma, args.luma_stride, (int)args.width,
                                     (int)args.height };
    const int end = (int)args.energy_stride - ENERGY_PAD;
    for (uint32_t y = blockIdx.x; y < args.height; y += gridDim.x)
        for (int x = (int)threadIdx.x - ENERGY_PAD; x < end; x += (int)blockDim.x)
            energy_row(args, y)[x] =
                (x < 0 || x >= (int)args.width ? (uint16_t)energy_outside(args.energy)
                                               : energy_at(luma, args.energy, x, (int)y)) |
                key_flags(args, x, (int)y);
}

/* LANE: columns of a sweeper's lane. */
template <int LANE, class ARGS>
static __global__ void __launch_bounds__(BLOCK_THREADS, 1)
    one_axis_kernel(const __grid_constant__ ARGS args, const __grid_constant__ CUtensorMap plane) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const uint32_t block = blockIdx.x, others = 2 * args.cluster;
    const uint32_t bands = args.halves[0].bands + args.halves[1].bands;
    if (block < others)
        sweep_block<LANE>(args, plane, block >= args.cluster);
    else if (block < others + 2)
        trace_block(args, (int)(block - others));
    else if (block < others + 2 + bands)
        band_block(args, block - others - 2);
#endif
}

/* ---- the method. Under MPS and MIG fewer multiprocessors may be available than counted; the
 * driver refuses such a launch, and the context is unharmed. */

/* Describes the plane of energies to the copy engine: pairs of columns, boxes of a sweeper's
 * columns and a step's rows; rows after the last read as 0. */
static inline enum status describe_energies(CUtensorMap *plane, const struct axis_args *args,
                                            struct failure *failure) {
    const cuuint64_t sizes[] = { args->energy_stride / 2, args->height };
    const cuuint64_t strides[] = { 2ull * args->energy_stride };
    const cuuint32_t box[] = { 16 * lane_columns(args), STEP_ROWS }, every[] = { 1, 1 };
    cudaDriverEntryPointQueryResult found;
    void *entry = NULL;
#if CUDART_VERSION >= 12050
    CUDA_TRY(failure, cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000,
                                                       cudaEnableDefault, &found));
#else
    CUDA_TRY(failure,
             cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &entry, cudaEnableDefault, &found));
#endif
    if (!entry ||
        ((decltype(cuTensorMapEncodeTiled) *)entry)(
            plane, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, args->energies - ENERGY_PAD, sizes, strides,
            box, every, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
            CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        return fail(failure, STATUS_DEVICE, "the driver cannot describe a plane of energies");
    return STATUS_OK;
}

static inline bool is_cluster_refusal(cudaError_t error) {
    return is_refusal(error) || error == cudaErrorInvalidClusterSize ||
           error == cudaErrorLaunchOutOfResources;
}

template <class... PARAMS>
static enum status launch_clusters(const struct cuda_context *context, void (*kernel)(PARAMS...),
                                   const struct one_axis_plan &plan, bool *fits,
                                   struct failure *failure, PARAMS... params) {
    const unsigned most = context->cooperative_blocks_max;
    *fits = !most || plan.blocks <= most;
    if (!*fits) return STATUS_OK;
    cudaLaunchAttribute attributes[2];
    cudaError_t error;
    const cudaStream_t stream = cooperative_lane_begin_long(context->cooperative, context->stream,
                                                            (const void *)kernel, &error);
    CUDA_TRY(failure, error);
    const cudaLaunchConfig_t config = cluster_config(plan.blocks, BLOCK_THREADS, plan.args.cluster,
                                                     plan.shared_bytes, attributes, stream);
    error = cudaLaunchKernelEx(&config, kernel, params...);
    const cudaError_t ended = cooperative_lane_end_long(context->cooperative, context->stream);
    *fits = !is_cluster_refusal(error);
    if (*fits && error) return cuda_fail(failure, error, "cudaLaunchKernelEx", __FILE__, __LINE__);
    if (error) cudaGetLastError(); /* so that the next check does not see the refusal */
    CUDA_TRY(failure, ended);
    return STATUS_OK;
}

template <class ARGS>
static enum status one_axis_launch(const struct cuda_context *context,
                                   const struct one_axis_plan *plan, const ARGS &args, bool *fits,
                                   struct failure *failure) {
    const bool wide = lane_columns(&args) == 8;
    void (*const kernel)(ARGS, CUtensorMap) =
        wide ? one_axis_kernel<8, ARGS> : one_axis_kernel<6, ARGS>;
    CUtensorMap plane;
    const enum status status = describe_energies(&plane, &args, failure);
    if (status) return status;
    energy_plane_kernel<<<4 * context->multiprocessors, 256, 0, context->stream>>>(args);
    CUDA_LAUNCHED(failure);
    return launch_clusters(context, kernel, *plan, fits, failure, ARGS(args), plane);
}

/* SCRATCH: as large as the plan says. */
static inline enum status one_axis_queue(const struct cuda_context *context,
                                         const struct one_axis_plan *plan, uint8_t *scratch,
                                         bool *fits, struct failure *failure) {
    CUDA_TRY(failure,
             cudaMemsetAsync(scratch + plan->cleared_from, 0, plan->cleared, context->stream));
    return plan->keys.masks ? one_axis_launch(context, plan, masked_args{ plan->args, plan->keys },
                                              fits, failure)
                            : one_axis_launch(context, plan, plan->args, fits, failure);
}

#endif
