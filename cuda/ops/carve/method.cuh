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

#include "cuda/ops/carve/any_gpu/any_gpu.cuh"
#include "cuda/ops/carve/fast_both_axes/fast_both_axes.cuh"
#include "cuda/ops/carve/fast_one_axis/fast_one_axis.cuh"
#include "cuda/ops/carve/one_block/one_block.cuh"
#include "cuda/ops/carve/weighed/weighed.cuh"

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
static inline uint32_t *residency_kept(int kernel, uint32_t cluster) {
    enum { DEVICES_MAX = 64 };
    static uint32_t kept[DEVICES_MAX][FAST_KERNELS + 1][CLUSTER_BLOCKS_MAX + 1];
    int device = 0;
    if (cudaGetDevice(&device) == cudaSuccess && device < DEVICES_MAX)
        return &kept[device][kernel][cluster];
    cudaGetLastError();
    return NULL;
}

static inline uint32_t residency_of(const struct carve_limits *limits, enum fast_kernel_id kernel,
                                    uint32_t cluster) {
    const void *const kernels[FAST_KERNELS] = {
        (const void *)one_axis_kernel<6, struct axis_args>,
        (const void *)one_axis_kernel<8, struct axis_args>,
        (const void *)one_axis_kernel<6, struct masked_args>,
        (const void *)one_axis_kernel<8, struct masked_args>,
        (const void *)(both_axes_kernel_pointer)both_axes_kernel<6>,
        (const void *)(both_axes_kernel_pointer)both_axes_kernel<8>,
    };
    const struct residency_launch launch = { kernels[kernel], cluster, limits->shared_bytes };
    uint32_t *const kept = residency_kept(kernel, cluster);
    return kept ? residency_find(kept, residency_ask, &launch) : 0;
}

/* Compiled for an older generation than 8.0 the kernel is empty. */
static inline bool one_block_ask(const void *, uint32_t *generation) {
    struct cudaFuncAttributes facts;
    const cudaError_t error = cudaFuncGetAttributes(
        &facts, (const void *)(one_block_pointer)one_block_kernel<4, 1, PLAIN>);
    if (error) cudaGetLastError();
    *generation = error || facts.ptxVersion < 80 ? 0 : (uint32_t)facts.ptxVersion;
    return !error;
}

static inline struct carve_limits limits_of(const struct cuda_context *context) {
    uint32_t *const kept = residency_kept(FAST_KERNELS, 0);
    const int compiled = kept ? (int)residency_find(kept, one_block_ask, NULL) : 0;
    return { context->capability, (uint32_t)context->multiprocessors,
             (uint32_t)context->shared_bytes, residency_of, min(context->capability, compiled) };
}

/* ---- the choice */

/* METHOD_ONE_BLOCK: for images abreast; abreast.cuh runs these. */
enum carve_method {
    METHOD_FAST_ONE_AXIS,
    METHOD_FAST_BOTH_AXES,
    METHOD_ANY_GPU,
    METHOD_ONE_BLOCK,
    METHOD_WEIGHED
};

struct method_choice {
    enum carve_method method;
    size_t scratch; /* bytes: for the method, or for any_gpu in its place */
};

/* The quickest for SEARCH; of its pointers only NULL or not NULL counts. */
static inline struct method_choice method_choose(const struct carve_limits *limits,
                                                 const struct seam_search *search) {
    struct one_axis_plan one;
    struct both_axes_plan both;
    if (search->weighed) return { METHOD_WEIGHED, weighed_scratch(search) };
    struct method_choice choice = { METHOD_ANY_GPU, any_gpu_scratch(search) };
    size_t bytes = 0;
    if (one_axis_plan_make(&one, limits, search, NULL))
        choice.method = METHOD_FAST_ONE_AXIS, bytes = one.bytes;
    else if (both_axes_plan_make(&both, limits, search, NULL))
        choice.method = METHOD_FAST_BOTH_AXES, bytes = both.bytes;
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
    if (search->weighed) return weighed_run(context, search, failure);
    if (method == METHOD_FAST_ONE_AXIS)
        status = plan_run<struct one_axis_plan>(context, limits, search, one_axis_plan_make,
                                                one_axis_queue, &fits, failure);
    if (method == METHOD_FAST_BOTH_AXES)
        status = plan_run<struct both_axes_plan>(context, limits, search, both_axes_plan_make,
                                                 both_axes_queue, &fits, failure);
    return fits || status ? status : any_gpu_run(context, search, failure);
}

#endif
