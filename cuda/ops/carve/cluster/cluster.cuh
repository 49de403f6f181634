// SPDX-License-Identifier: Apache-2.0
/* cluster.cuh - seam carving without masks, one direction, in one launch for all seams of a search.
 *
 * cluster_args.cuh says how. Needs clusters of blocks (compute capability 9.0) and as many
 * multiprocessors at once as the shape has blocks; cluster_fits says whether there are.
 */
#ifndef BURIN_CARVE_CLUSTER_CLUSTER_CUH
#define BURIN_CARVE_CLUSTER_CLUSTER_CUH

#include "cuda/check.cuh"
#include "cuda/ops/carve/cluster/band.cuh"
#include "cuda/ops/carve/cluster/sweep.cuh"
#include "cuda/ops/carve/cluster/traceback.cuh"

#include <string.h>

/* LANE: columns of a sweeper's lane. */
template <int LANE>
static __global__ void __launch_bounds__(BLOCK_THREADS, 1)
    cluster_kernel(const __grid_constant__ struct cluster_args args,
                   const __grid_constant__ CUtensorMap plane) {
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

/* ---- the shape: who does what, and where it lies */

struct cluster_plan {
    struct cluster_args args;
    uint32_t blocks, shared_bytes;
    size_t bytes, cleared_from, cleared; /* of scratch; that must be 0 at the start */
};

static inline size_t cluster_take(size_t *bytes, size_t size) {
    const size_t at = *bytes;
    *bytes += (size + 255) / 256 * 256;
    return at;
}

/* Scratch from BASE on, which may be NULL while it is only measured. */
static inline void cluster_layout(struct cluster_plan *plan, uint8_t *base) {
    struct cluster_args *args = &plan->args;
    const uint32_t bands = args->halves[0].bands + args->halves[1].bands;
    size_t bytes = 0;
    args->energy_stride = (ENERGY_PAD + args->width + ENERGY_PAD_RIGHT + 63) / 64 * 64;
    args->cost_stride = (args->sweepers * args->own + 63) / 64 * 64;
    args->jump_stride = (args->width + 63) / 64 * 64;
    args->energies =
        (uint16_t *)(base + cluster_take(&bytes, 2ull * args->height * args->energy_stride));
    args->energies += ENERGY_PAD;
    plan->cleared_from = bytes;
    for (int half = 0; half < 2; half++) {
        const size_t rows = args->halves[half].steps + 1;
        args->halves[half].costs =
            (uint32_t *)(base + cluster_take(&bytes, 4 * rows * args->cost_stride));
    }
    args->jumps = (uint32_t *)(base + cluster_take(&bytes, 4ull * bands * args->jump_stride));
    args->meets = (uint32_t *)(base + cluster_take(&bytes, 8));
    args->begun = (uint32_t *)(base + cluster_take(&bytes, 4ull * bands));
    args->entries = (uint32_t *)(base + cluster_take(&bytes, 4ull * bands));
    args->ready = (uint32_t *)(base + cluster_take(&bytes, 4ull * bands));
    args->crossings = (uint32_t *)(base + cluster_take(&bytes, 4ull * args->height));
    args->decision = (uint32_t *)(base + cluster_take(&bytes, 4));
    plan->cleared = bytes - plan->cleared_from;
    plan->bytes = bytes;
}

/* Columns of a sweeper's lane. */
static inline uint32_t lane_columns(const struct cluster_args *args) {
    return (args->own + 2 * args->halo) / 32;
}

typedef void (*cluster_kernel_pointer)(struct cluster_args args, CUtensorMap plane);

static inline cluster_kernel_pointer cluster_kernel_of(const struct cluster_args *args) {
    return lane_columns(args) == 6 ? (cluster_kernel_pointer)cluster_kernel<6>
                                   : (cluster_kernel_pointer)cluster_kernel<8>;
}

/* Columns of a sweeper: 6 a lane make a row quickest; where 4 warps a block are not enough for the
 * width, 8, and wider ones a narrower halo. */
static inline void plan_sweep_columns(struct cluster_args *args, uint32_t widest) {
    const uint32_t lane = widest <= 6144 ? 6 : 8;
    args->halo = lane == 6 ? 48 : widest <= 8192 ? 64 : 32;
    args->own = 32 * lane - 2 * args->halo;
    args->sweepers = (args->width + args->own - 1) / args->own;
}

/* As many blocks as leave 2 warps to a block, since shuffles and energies of all warps of a block
 * go one way; at most 16. */
static inline void plan_sweepers(struct cluster_args *args) {
    plan_sweep_columns(args, args->width);
    args->cluster = 1;
    while (args->cluster < CLUSTER_BLOCKS_MAX && 2 * args->cluster < args->sweepers)
        args->cluster *= 2;
    args->block_sweepers = (args->sweepers + args->cluster - 1) / args->cluster;
}

static inline void plan_bands(struct cluster_args *args, uint32_t band_steps) {
    args->band_steps = band_steps;
    uint32_t first = 0;
    for (int half = 0; half < 2; half++) {
        struct cluster_half *mine = &args->halves[half];
        halve(*mine, half, args->height, band_steps);
        mine->first_band = first;
        mine->first_row = half == 0 ? 0 : args->halves[0].rows;
        first += mine->bands;
    }
}

/* Which bands are late: where a band has several steps, and more tiles a step than warps, these
 * would still be at the first one, all columns of it, when the halves meet. */
static inline void plan_late_bands(struct cluster_args *args) {
    const bool slow = args->band_steps > 1 && args->width > TILE_OWN * BLOCK_THREADS / 32;
    args->late_bands = slow ? LATE_BANDS : 0;
}

/* What the traceback blocks gather, in MOST bytes of shared memory. */
static inline void plan_maps(struct cluster_args *args, uint32_t most) {
    const uint32_t rows = STEP_ROWS * args->band_steps, bands = args->halves[0].bands;
    args->window_bands = args->direct_bands = 0;
    while (trace_bytes(args->width, bands - args->direct_bands, args->window_bands, rows) > most)
        if (args->window_bands < bands)
            args->window_bands++;
        else
            args->direct_bands++;
}

static inline uint32_t sweep_bytes(const struct cluster_args *args, uint32_t stages) {
    return SWEEP_STAGES + stages * args->block_sweepers * STEP_ROWS * 2 * 32 * lane_columns(args);
}

static inline cudaLaunchConfig_t cluster_launch_config(const struct cluster_plan *plan,
                                                       cudaLaunchAttribute attributes[2],
                                                       cudaStream_t stream) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(plan->blocks);
    config.blockDim = dim3(BLOCK_THREADS);
    config.dynamicSmemBytes = plan->shared_bytes;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = 2;
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim.x = plan->args.cluster;
    attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
    attributes[1].id = cudaLaunchAttributeCooperative;
    attributes[1].val.cooperative = 1;
    return config;
}

/* Blocks of KERNEL that run at the same time on the present device, with the plan's cluster and
 * shared memory; the kernel is told what it may ask for. */
static inline uint32_t cluster_resident_asked(const struct cluster_plan *plan, const void *kernel) {
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = cluster_launch_config(plan, attributes, 0);
    struct cudaFuncAttributes facts;
    int clusters = 0;
    config.numAttrs = 1;
    /* Made from the code of an older generation the kernel is empty. */
    if (cudaFuncGetAttributes(&facts, kernel) != cudaSuccess || facts.ptxVersion < 90 ||
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)plan->shared_bytes) != cudaSuccess ||
        cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) !=
            cudaSuccess ||
        cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) != cudaSuccess) {
        cudaGetLastError();
        return 0;
    }
    return (uint32_t)clusters * plan->args.cluster;
}

/* The same, asked for once a device, kernel and cluster size: everything else is the device's. Any
 * thread; two that are first at once find the same. */
static inline uint32_t cluster_resident(const struct cluster_plan *plan) {
    enum { DEVICES = 64 };
    static uint32_t rooms[DEVICES][2][CLUSTER_BLOCKS_MAX + 1]; /* + 1; 0: not asked yet */
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess || device >= DEVICES)
        return cluster_resident_asked(plan, (const void *)cluster_kernel_of(&plan->args));
    uint32_t *room = &rooms[device][lane_columns(&plan->args) == 8][plan->args.cluster];
    uint32_t found = __atomic_load_n(room, __ATOMIC_ACQUIRE);
    if (!found) {
        found = cluster_resident_asked(plan, (const void *)cluster_kernel_of(&plan->args)) + 1;
        __atomic_store_n(room, found, __ATOMIC_RELEASE);
    }
    return found - 1;
}

/* False where the search does not fit. */
static inline bool cluster_plan_make(struct cluster_plan *plan, const struct cuda_context *context,
                                     const struct seam_search *search, uint8_t *scratch) {
    struct cluster_args *args = &plan->args;
    memset(plan, 0, sizeof *plan);
    if (context->capability < 90 || search->rows || search->marks) return false;
    if ((uintptr_t)search->luma % 16 || search->luma_stride % 16) return false;
    if (search->width > CLUSTER_WIDTH_MAX || search->height < 2 || search->columns >= search->width)
        return false;
    static const uint32_t energy_most[] = { 690, 1140, CARVE_ENERGY_MAX };
    if ((uint64_t)(search->height / 2 + 1) * energy_most[search->energy] > TILE_COST_MAX)
        return false;
    args->width = search->width, args->height = search->height, args->seams = search->columns;
    args->energy = search->energy, args->reach = carve_reach(search->energy);
    args->luma = search->luma, args->luma_stride = search->luma_stride;
    args->seam_columns = search->seams;
    args->progress = search->progress, args->done = search->done;
    plan_sweepers(args);
    const uint32_t most = (uint32_t)context->shared_bytes;
    if (args->block_sweepers > BLOCK_SWEEPERS_MAX) return false;
    args->stages = STAGES_MAX;
    while (args->stages > 2 && sweep_bytes(args, args->stages) > most) args->stages--;
    /* From one exchange to the next nobody should wait for energies. */
    if (sweep_bytes(args, args->stages) > most || args->stages <= args->halo / STEP_ROWS)
        return false;
    plan->shared_bytes = most;
    plan->blocks = args->cluster;
    /* Some are left to other lanes. */
    const uint32_t others = (uint32_t)(context->multiprocessors - context->multiprocessors / 8);
    const uint32_t fits = cluster_resident(plan), room = fits < others ? fits : others;
    for (uint32_t steps = 1; steps <= BAND_STEPS_MAX; steps++) {
        plan_bands(args, steps);
        const uint32_t blocks =
            2 * args->cluster + 2 + args->halves[0].bands + args->halves[1].bands;
        plan->blocks = (blocks + args->cluster - 1) / args->cluster * args->cluster;
        if (plan->blocks > room || args->halves[0].bands > BANDS_MAX) continue;
        args->thin = band_bytes(args->width, args->luma_stride, steps, args->reach, false) > most;
        if (band_bytes(args->width, args->luma_stride, steps, args->reach, args->thin) > most)
            return false;
        plan_maps(args, most);
        plan_late_bands(args);
        cluster_layout(plan, scratch);
        return true;
    }
    return false;
}

/* ---- the method */

static inline bool cluster_fits(const struct cuda_context *context,
                                const struct seam_search *search) {
    struct cluster_plan plan;
    return cluster_plan_make(&plan, context, search, NULL);
}

static inline size_t cluster_scratch(const struct cuda_context *context,
                                     const struct seam_search *search) {
    struct cluster_plan plan;
    return cluster_plan_make(&plan, context, search, NULL) ? plan.bytes : 0;
}

/* What the copy engine has to know of the plane of energies: pairs of columns, boxes of a sweeper's
 * columns and a step's rows; rows behind the last are read as 0. */
static inline enum status describe_energies(CUtensorMap *plane, const struct cluster_args *args,
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

static inline enum status cluster_launch(const struct cuda_context *context,
                                         const struct cluster_plan *plan, struct failure *failure) {
    cudaLaunchAttribute attributes[2];
    const cudaLaunchConfig_t config = cluster_launch_config(plan, attributes, context->stream);
    CUtensorMap plane;
    const enum status status = describe_energies(&plane, &plan->args, failure);
    if (status != STATUS_OK) return status;
    CUDA_TRY(failure,
             cudaLaunchKernelEx(&config, cluster_kernel_of(&plan->args), plan->args, plane));
    return STATUS_OK;
}

static inline enum status cluster_queue(const struct cuda_context *context,
                                        const struct cluster_plan *plan, uint8_t *scratch,
                                        struct failure *failure) {
    CUDA_TRY(failure,
             cudaMemsetAsync(scratch + plan->cleared_from, 0, plan->cleared, context->stream));
    energy_plane_kernel<<<4 * context->multiprocessors, 256, 0, context->stream>>>(plan->args);
    CUDA_LAUNCHED(failure);
    return cluster_launch(context, plan, failure);
}

static inline enum status cluster_run(const struct cuda_context *context,
                                      const struct seam_search *search, struct failure *failure) {
    struct cluster_plan plan;
    if (!search->columns) return STATUS_OK;
    if (!cluster_plan_make(&plan, context, search, (uint8_t *)search->scratch))
        return fail(failure, STATUS_INTERNAL, "a strip that the fast method cannot carve");
    return cluster_queue(context, &plan, (uint8_t *)search->scratch, failure);
}

#endif
