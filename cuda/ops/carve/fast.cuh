// SPDX-License-Identifier: Apache-2.0
/* fast.cuh - seam carving without masks, one direction, in one launch for all seams of a strip.
 *
 * fast_job.cuh says how. Needs clusters of blocks (compute capability 9.0) and as many
 * multiprocessors at once as the shape has blocks; carve_fast_fits says whether there are.
 */
#ifndef BURIN_CARVE_FAST_CUH
#define BURIN_CARVE_FAST_CUH

#include "cuda/check.cuh"
#include "cuda/ops/carve/fast_follow.cuh"
#include "cuda/ops/carve/fast_lead.cuh"
#include "cuda/ops/carve/fast_resolve.cuh"

#include <string.h>

/* LANE: columns of a leader's lane. */
template <int LANE>
static __global__ void __launch_bounds__(FAST_THREADS, 1)
    carve_fast_seams(const __grid_constant__ struct fast_job job,
                     const __grid_constant__ CUtensorMap plane) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const uint32_t block = blockIdx.x, others = 2 * job.cluster;
    const uint32_t bands = job.halves[0].bands + job.halves[1].bands;
    if (block < others)
        lead_block<LANE>(job, plane, block >= job.cluster);
    else if (block < others + 2)
        resolve_block(job, (int)(block - others));
    else if (block < others + 2 + bands)
        follow_block(job, block - others - 2);
#endif
}

/* ---- the shape: who does what, and where it lies */

struct fast_plan {
    struct fast_job job;
    uint32_t blocks, shared_bytes;
    size_t bytes, cleared_from, cleared; /* of scratch; that must be 0 at the start */
};

static inline size_t fast_take(size_t *bytes, size_t size) {
    const size_t at = *bytes;
    *bytes += (size + 255) / 256 * 256;
    return at;
}

/* Scratch from BASE on, which may be NULL while it is only measured. */
static inline void fast_place(struct fast_plan *plan, uint8_t *base) {
    struct fast_job *job = &plan->job;
    const uint32_t bands = job->halves[0].bands + job->halves[1].bands;
    size_t bytes = 0;
    job->energy_stride = (FAST_PAD + job->width + FAST_PAD_RIGHT + 63) / 64 * 64;
    job->cost_stride = (job->leaders * job->own + 63) / 64 * 64;
    job->jump_stride = (job->width + 63) / 64 * 64;
    job->energies = (uint16_t *)(base + fast_take(&bytes, 2ull * job->height * job->energy_stride));
    job->energies += FAST_PAD;
    plan->cleared_from = bytes;
    for (int half = 0; half < 2; half++) {
        const size_t rows = job->halves[half].steps + 1;
        job->halves[half].costs =
            (uint32_t *)(base + fast_take(&bytes, 4 * rows * job->cost_stride));
    }
    job->jumps = (uint32_t *)(base + fast_take(&bytes, 4ull * bands * job->jump_stride));
    job->meets = (uint32_t *)(base + fast_take(&bytes, 8));
    job->begun = (uint32_t *)(base + fast_take(&bytes, 4ull * bands));
    job->entries = (uint32_t *)(base + fast_take(&bytes, 4ull * bands));
    job->ready = (uint32_t *)(base + fast_take(&bytes, 4ull * bands));
    job->crossings = (uint32_t *)(base + fast_take(&bytes, 4ull * job->height));
    job->decision = (uint32_t *)(base + fast_take(&bytes, 4));
    plan->cleared = bytes - plan->cleared_from;
    plan->bytes = bytes;
}

/* Columns of a leader's lane. */
static inline uint32_t fast_lane(const struct fast_job *job) {
    return (job->own + 2 * job->halo) / 32;
}

typedef void (*fast_kernel)(struct fast_job job, CUtensorMap plane);

static inline fast_kernel fast_kernel_of(const struct fast_job *job) {
    return fast_lane(job) == 6 ? (fast_kernel)carve_fast_seams<6>
                               : (fast_kernel)carve_fast_seams<8>;
}

/* Columns of a leader: 6 a lane make a row quickest; where 4 warps a block are not enough for the
 * width, 8, and wider ones a narrower halo. */
static inline void fast_lead_columns(struct fast_job *job, uint32_t widest) {
    const uint32_t lane = widest <= 6144 ? 6 : 8;
    job->halo = lane == 6 ? 48 : widest <= 8192 ? 64 : 32;
    job->own = 32 * lane - 2 * job->halo;
    job->leaders = (job->width + job->own - 1) / job->own;
}

/* As many blocks as leave 2 warps to a block, since shuffles and energies of all warps of a block
 * go one way; at most 16. */
static inline void fast_lead_shape(struct fast_job *job) {
    fast_lead_columns(job, job->width);
    job->cluster = 1;
    while (job->cluster < FAST_CLUSTER_MAX && 2 * job->cluster < job->leaders) job->cluster *= 2;
    job->block_leaders = (job->leaders + job->cluster - 1) / job->cluster;
}

static inline void fast_band_shape(struct fast_job *job, uint32_t band_steps) {
    job->band_steps = band_steps;
    uint32_t first = 0;
    for (int half = 0; half < 2; half++) {
        struct fast_half *mine = &job->halves[half];
        fast_halve(*mine, half, job->height, band_steps);
        mine->first_band = first;
        mine->first_row = half == 0 ? 0 : job->halves[0].rows;
        first += mine->bands;
    }
}

/* Which bands are late: where a band has several steps, and more tiles a step than warps, these
 * would still be at the first one, all columns of it, when the halves meet. */
static inline void fast_late_shape(struct fast_job *job) {
    const bool slow = job->band_steps > 1 && job->width > TILE_OWN * FAST_THREADS / 32;
    job->late_bands = slow ? FAST_LATE_BANDS : 0;
}

/* What the resolvers gather, in MOST bytes of shared memory. */
static inline void fast_maps_shape(struct fast_job *job, uint32_t most) {
    const uint32_t rows = FAST_STEP * job->band_steps, bands = job->halves[0].bands;
    job->window_bands = job->direct_bands = 0;
    while (resolve_bytes(job->width, bands - job->direct_bands, job->window_bands, rows) > most)
        if (job->window_bands < bands)
            job->window_bands++;
        else
            job->direct_bands++;
}

static inline uint32_t fast_lead_bytes(const struct fast_job *job, uint32_t slots) {
    return LEAD_RING + slots * job->block_leaders * FAST_STEP * 2 * 32 * fast_lane(job);
}

static inline cudaLaunchConfig_t
fast_launch(const struct fast_plan *plan, cudaLaunchAttribute attributes[2], cudaStream_t stream) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(plan->blocks);
    config.blockDim = dim3(FAST_THREADS);
    config.dynamicSmemBytes = plan->shared_bytes;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = 2;
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim.x = plan->job.cluster;
    attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
    attributes[1].id = cudaLaunchAttributeCooperative;
    attributes[1].val.cooperative = 1;
    return config;
}

/* Blocks of KERNEL that run at the same time on the present device, with the plan's cluster and
 * shared memory; the kernel is told what it may ask for. */
static inline uint32_t fast_room_found(const struct fast_plan *plan, const void *kernel) {
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = fast_launch(plan, attributes, 0);
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
    return (uint32_t)clusters * plan->job.cluster;
}

/* The same, asked for once a device, kernel and cluster size: everything else is the device's. Any
 * thread; two that are first at once find the same. */
static inline uint32_t fast_room(const struct fast_plan *plan) {
    enum { DEVICES = 64 };
    static uint32_t rooms[DEVICES][2][FAST_CLUSTER_MAX + 1]; /* + 1; 0: not asked yet */
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess || device >= DEVICES)
        return fast_room_found(plan, (const void *)fast_kernel_of(&plan->job));
    uint32_t *room = &rooms[device][fast_lane(&plan->job) == 8][plan->job.cluster];
    uint32_t found = __atomic_load_n(room, __ATOMIC_ACQUIRE);
    if (!found) {
        found = fast_room_found(plan, (const void *)fast_kernel_of(&plan->job)) + 1;
        __atomic_store_n(room, found, __ATOMIC_RELEASE);
    }
    return found - 1;
}

/* False where the strip does not fit. */
static inline bool fast_plan_make(struct fast_plan *plan, const struct cuda_context *context,
                                  const struct carve_strip *strip, uint8_t *scratch) {
    struct fast_job *job = &plan->job;
    memset(plan, 0, sizeof *plan);
    if (context->capability < 90 || strip->rows || strip->marks) return false;
    if ((uintptr_t)strip->luma % 16 || strip->luma_stride % 16) return false;
    if (strip->width > FAST_WIDTH_MAX || strip->height < 2 || strip->columns >= strip->width)
        return false;
    static const uint32_t energy_most[] = { 690, 1140, CARVE_ENERGY_MAX };
    if ((uint64_t)(strip->height / 2 + 1) * energy_most[strip->energy] > TILE_COST_MAX)
        return false;
    job->width = strip->width, job->height = strip->height, job->seams = strip->columns;
    job->energy = strip->energy, job->reach = carve_reach(strip->energy);
    job->luma = strip->luma, job->luma_stride = strip->luma_stride;
    job->seam_columns = strip->seams;
    job->watch = strip->watch, job->done = strip->done;
    fast_lead_shape(job);
    const uint32_t most = (uint32_t)context->shared_bytes;
    if (job->block_leaders > FAST_WARPS_MAX) return false;
    job->slots = FAST_SLOTS_MAX;
    while (job->slots > 2 && fast_lead_bytes(job, job->slots) > most) job->slots--;
    /* From one exchange to the next nobody should wait for energies. */
    if (fast_lead_bytes(job, job->slots) > most || job->slots <= job->halo / FAST_STEP)
        return false;
    plan->shared_bytes = most;
    plan->blocks = job->cluster;
    /* Some are left to other lanes. */
    const uint32_t others = (uint32_t)(context->multiprocessors - context->multiprocessors / 8);
    const uint32_t fits = fast_room(plan), room = fits < others ? fits : others;
    for (uint32_t steps = 1; steps <= FAST_BAND_STEPS_MAX; steps++) {
        fast_band_shape(job, steps);
        const uint32_t blocks = 2 * job->cluster + 2 + job->halves[0].bands + job->halves[1].bands;
        plan->blocks = (blocks + job->cluster - 1) / job->cluster * job->cluster;
        if (plan->blocks > room || job->halves[0].bands > FAST_BANDS_MAX) continue;
        job->thin = follow_bytes(job->width, job->luma_stride, steps, job->reach, false) > most;
        if (follow_bytes(job->width, job->luma_stride, steps, job->reach, job->thin) > most)
            return false;
        fast_maps_shape(job, most);
        fast_late_shape(job);
        fast_place(plan, scratch);
        return true;
    }
    return false;
}

/* ---- the method */

static inline bool carve_fast_fits(const struct cuda_context *context,
                                   const struct carve_strip *strip) {
    struct fast_plan plan;
    return fast_plan_make(&plan, context, strip, NULL);
}

static inline size_t carve_fast_scratch(const struct cuda_context *context,
                                        const struct carve_strip *strip) {
    struct fast_plan plan;
    return fast_plan_make(&plan, context, strip, NULL) ? plan.bytes : 0;
}

/* What the copy engine has to know of the plane of energies: pairs of columns, boxes of a leader's
 * columns and a step's rows; rows behind the last are read as 0. */
static inline enum status fast_describe(CUtensorMap *plane, const struct fast_job *job,
                                        struct failure *failure) {
    const cuuint64_t sizes[] = { job->energy_stride / 2, job->height };
    const cuuint64_t strides[] = { 2ull * job->energy_stride };
    const cuuint32_t box[] = { 16 * fast_lane(job), FAST_STEP }, every[] = { 1, 1 };
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
            plane, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, job->energies - FAST_PAD, sizes, strides, box,
            every, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
            CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        return fail(failure, STATUS_DEVICE, "the driver cannot describe a plane of energies");
    return STATUS_OK;
}

static inline enum status fast_start(const struct cuda_context *context,
                                     const struct fast_plan *plan, struct failure *failure) {
    cudaLaunchAttribute attributes[2];
    const cudaLaunchConfig_t config = fast_launch(plan, attributes, context->stream);
    CUtensorMap plane;
    const enum status status = fast_describe(&plane, &plan->job, failure);
    if (status != STATUS_OK) return status;
    CUDA_TRY(failure, cudaLaunchKernelEx(&config, fast_kernel_of(&plan->job), plan->job, plane));
    return STATUS_OK;
}

static inline enum status fast_queue(const struct cuda_context *context,
                                     const struct fast_plan *plan, uint8_t *scratch,
                                     struct failure *failure) {
    CUDA_TRY(failure,
             cudaMemsetAsync(scratch + plan->cleared_from, 0, plan->cleared, context->stream));
    carve_fast_energy<<<4 * context->multiprocessors, 256, 0, context->stream>>>(plan->job);
    CUDA_LAUNCHED(failure);
    return fast_start(context, plan, failure);
}

static inline enum status carve_fast(const struct cuda_context *context,
                                     const struct carve_strip *strip, struct failure *failure) {
    struct fast_plan plan;
    if (!strip->columns) return STATUS_OK;
    if (!fast_plan_make(&plan, context, strip, (uint8_t *)strip->scratch))
        return fail(failure, STATUS_INTERNAL, "a strip that the fast method cannot carve");
    return fast_queue(context, &plan, (uint8_t *)strip->scratch, failure);
}

#endif
