// SPDX-License-Identifier: Apache-2.0
/* method.cuh - chooses the method that removes the seams of a search, and runs it.
 *
 * Used by:  carve_context.cuh chooses once a phase; carve.cu runs the choice.
 * Fails:    as check.cuh says. A fast method whose blocks the device does not hold at once gives
 *           way to any_gpu, which runs with any number of blocks.
 * Threads:  any.
 *
 * How it works: the choice is a function of carve_limits and of the search (carve.cu has the
 * table). Scratch is always enough for any_gpu too, which can take over at the last moment. The
 * only question to the device is how many blocks of a kernel are resident at once: an answer is
 * kept for the life of the process, a question that failed is asked again.
 */
#ifndef BURIN_CARVE_METHOD_CUH
#define BURIN_CARVE_METHOD_CUH

#include "cuda/ops/carve/cluster/cluster.cuh"
#include "cuda/ops/carve/dual/dual.cuh"
#include "cuda/ops/carve/grid/grid.cuh"

/* ---- resident blocks */

/* False where there is no answer at present. */
typedef bool (*residency_question)(const void *argument, uint32_t *blocks);

/* Returns the kept answer, or asks QUESTION and keeps the answer in *KEPT (+ 1; 0: unknown) unless
 * the question fails. Two threads that ask at once find the same. */
static inline uint32_t residency_find(uint32_t *kept, residency_question question,
                                      const void *argument) {
    uint32_t blocks = __atomic_load_n(kept, __ATOMIC_ACQUIRE);
    if (blocks) return blocks - 1;
    if (!question(argument, &blocks)) return 0;
    __atomic_store_n(kept, blocks + 1, __ATOMIC_RELEASE);
    return blocks;
}

struct residency_launch {
    const void *kernel;
    uint32_t cluster, shared_bytes;
};

static inline bool residency_ask(const void *argument, uint32_t *blocks) {
    const struct residency_launch *launch = (const struct residency_launch *)argument;
    const void *const kernel = launch->kernel;
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = cluster_config(launch->cluster, BLOCK_THREADS, launch->cluster,
                                               launch->shared_bytes, attributes, 0);
    struct cudaFuncAttributes facts;
    int clusters = 0;
    config.numAttrs = 1;
    cudaError_t error = cudaFuncGetAttributes(&facts, kernel);
    /* Compiled for an older generation the kernel is empty. */
    const bool empty = !error && facts.ptxVersion < 90;
    if (!error && !empty)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)launch->shared_bytes);
    if (!error && !empty)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (!error && !empty) error = cudaOccupancyMaxActiveClusters(&clusters, kernel, &config);
    if (error) cudaGetLastError();
    *blocks = (uint32_t)clusters * launch->cluster;
    return !error;
}

/* NULL for a device whose number is too large. */
static inline uint32_t *residency_kept(enum cluster_kernel_id kernel, uint32_t cluster) {
    enum { DEVICES_MAX = 64 };
    static uint32_t kept[DEVICES_MAX][CLUSTER_KERNELS][CLUSTER_BLOCKS_MAX + 1];
    int device = 0;
    if (cudaGetDevice(&device) == cudaSuccess && device < DEVICES_MAX)
        return &kept[device][kernel][cluster];
    cudaGetLastError();
    return NULL;
}

static inline uint32_t residency_of(const struct carve_limits *limits,
                                    enum cluster_kernel_id kernel, uint32_t cluster) {
    const void *const kernels[CLUSTER_KERNELS] = {
        (const void *)(cluster_kernel_pointer)cluster_kernel<6>,
        (const void *)(cluster_kernel_pointer)cluster_kernel<8>,
        (const void *)(dual_kernel_pointer)dual_kernel<6>,
        (const void *)(dual_kernel_pointer)dual_kernel<8>,
    };
    const struct residency_launch launch = { kernels[kernel], cluster, limits->shared_bytes };
    uint32_t *const kept = residency_kept(kernel, cluster);
    return kept ? residency_find(kept, residency_ask, &launch) : 0;
}

static inline struct carve_limits limits_of(const struct cuda_context *context) {
    return { context->capability, (uint32_t)context->multiprocessors,
             (uint32_t)context->shared_bytes, residency_of };
}

/* ---- the choice */

enum carve_method { METHOD_CLUSTER, METHOD_DUAL, METHOD_GRID };

struct method_choice {
    enum carve_method method;
    size_t scratch; /* bytes: for the method, or for any_gpu in its place */
};

/* The quickest for SEARCH; of its pointers only NULL or not NULL counts. */
static inline struct method_choice method_choose(const struct carve_limits *limits,
                                                 const struct seam_search *search) {
    struct cluster_plan cluster;
    struct dual_plan dual;
    struct method_choice choice = { METHOD_GRID, grid_scratch(search) };
    size_t bytes = 0;
    if (cluster_plan_make(&cluster, limits, search, NULL))
        choice.method = METHOD_CLUSTER, bytes = cluster.bytes;
    else if (dual_plan_make(&dual, limits, search, NULL))
        choice.method = METHOD_DUAL, bytes = dual.bytes;
    if (bytes > choice.scratch) choice.scratch = bytes;
    return choice;
}

/* ---- running it; *FITS is false where the blocks do not fit at once and nothing was removed */

template <class PLAN, class MAKE, class QUEUE>
static enum status plan_run(const struct cuda_context *context, const struct carve_limits *limits,
                            const struct seam_search *search, MAKE make, QUEUE queue, bool *fits,
                            struct failure *failure) {
    PLAN plan;
    uint8_t *const scratch = (uint8_t *)search->scratch;
    *fits = make(&plan, limits, search, scratch);
    if (!*fits) return STATUS_OK;
    const enum status status = queue(context, &plan, scratch, fits, failure);
    uint32_t *const kept = *fits ? NULL : residency_kept(plan.kernel, plan.cluster);
    if (kept) __atomic_store_n(kept, 1u, __ATOMIC_RELEASE); /* refused: it is not tried again */
    return status;
}

static inline enum status method_run(const struct cuda_context *context,
                                     const struct carve_limits *limits, enum carve_method method,
                                     const struct seam_search *search, struct failure *failure) {
    bool fits = false;
    enum status status = STATUS_OK;
    if (!search->columns && !search->rows) return STATUS_OK;
    if (method == METHOD_CLUSTER)
        status = plan_run<struct cluster_plan>(context, limits, search, cluster_plan_make,
                                               cluster_queue, &fits, failure);
    if (method == METHOD_DUAL)
        status = plan_run<struct dual_plan>(context, limits, search, dual_plan_make, dual_queue,
                                            &fits, failure);
    return fits || status ? status : grid_run(context, search, failure);
}

#endif
