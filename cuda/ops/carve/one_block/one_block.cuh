// SPDX-License-Identifier: Apache-2.0
/* one_block.cuh - launches many searches at once, each for one block or a cluster of two.
 *
 * Used by:  beside.cuh; method.cuh and carve_context.cuh ask what the method takes.
 * Fails:    as check.cuh says.
 * Threads:  the lane's.
 * Limits:   layout.cuh's; ONE_BLOCK_SEARCHES_MAX searches a launch; compute capability 8.0, for
 *           clusters 9.0.
 *
 * How it works: blocks wait for no other block but that of their cluster. So any number of searches
 * may be queued: blocks that end make room for the next, and for other kernels.
 */
#ifndef BURIN_CARVE_ONE_BLOCK_CUH
#define BURIN_CARVE_ONE_BLOCK_CUH

#include "cuda/cooperative.cuh"
#include "cuda/ops/carve/launch_kernel.cuh"
#include "cuda/ops/carve/one_block/kernel.cuh"

/* Whether SEARCH is one for this method; of its pointers only NULL or not NULL counts. */
static inline bool one_block_takes(int capability, const struct seam_search *search) {
    const uint32_t warps = block_warps(search->width);
    return capability >= 80 && search->energy == CARVE_GRADIENT && !search->rows &&
           !search->marks && !search->taken && search->height >= 2 &&
           search->height <= ONE_BLOCK_ROWS_MAX &&
           warps <= (capability >= 90 ? BLOCK_WARPS_MAX : BLOCK_WARPS_MAX / 2);
}

/* MEMORY: block_search_bytes(), of which plane 0 is filled, with a column more than the image has.
 */
static inline struct block_search block_search_of(const struct seam_search *search,
                                                  uint8_t *memory) {
    return { memory,
             search->seams,
             search->progress,
             search->done,
             (uint16_t)search->width,
             (uint16_t)search->height,
             (uint16_t)search->columns,
             (uint16_t)block_warps(search->width) };
}

typedef void (*one_block_pointer)(struct block_searches searches);

struct one_block_launch {
    struct block_searches searches;
    uint32_t count, warps, rows; /* the most of any search */
};

/* The longest first, so that none begins when the others end. */
static inline void one_block_add(struct one_block_launch *launch,
                                 const struct block_search *search) {
    const auto cost = [](const struct block_search &one) {
        return (uint64_t)one.width * one.height * one.seam_count;
    };
    uint32_t at = launch->count++;
    for (; at > 0 && cost(launch->searches.of[at - 1]) < cost(*search); at--)
        launch->searches.of[at] = launch->searches.of[at - 1];
    launch->searches.of[at] = *search;
    if (search->warps > launch->warps) launch->warps = search->warps;
    if (search->height > launch->rows) launch->rows = search->height;
}

static inline enum status one_block_queue(const struct cuda_context *context, int generation,
                                          int words, const struct one_block_launch *launch,
                                          cudaStream_t stream, struct failure *failure) {
    static uint64_t prepared;
    const void *const kernels[] = { (const void *)(one_block_pointer)one_block_kernel<3, 1>,
                                    (const void *)(one_block_pointer)one_block_kernel<4, 1>,
                                    (const void *)(one_block_pointer)one_block_kernel<4, 2> };
    const uint32_t most = BLOCK_WARPS_MAX * RING_ROWS * lane_shape<4>::ROW_BYTES +
                          2 * (ONE_BLOCK_ROWS_MAX + 2 * GAPS_SLACK);
    if (!launch->count) return STATUS_OK;
    /* Two blocks a search are faster while there is room for all of them at once. */
    const bool two = words == 4 && generation >= 90 &&
                     (2 * launch->count <= (uint32_t)context->multiprocessors ||
                      launch->warps > BLOCK_WARPS_MAX / 2);
    const uint32_t cluster = two ? 2 : 1, warps = 2 * launch->warps / cluster;
    CUDA_TRY(failure, prepare_kernels(kernels, 3, (int)most, &prepared));
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.gridDim = dim3(cluster * launch->count);
    config.blockDim = dim3(32 * warps);
    config.dynamicSmemBytes =
        warps * RING_ROWS * 128 * (uint32_t)words + 2 * (launch->rows + 2 * GAPS_SLACK);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = two;
    CUDA_TRY(failure, cudaLaunchKernelEx(&config,
                                         (one_block_pointer)kernels[words == 3 ? 0
                                                                    : two      ? 2
                                                                               : 1],
                                         launch->searches));
    return STATUS_OK;
}

/* Queues the searches, COUNT of them, which all have some columns to remove. GENERATION: as in
 * carve_limits.one_block. */
static inline enum status one_block_run(const struct cuda_context *context, int generation,
                                        const struct block_search *searches, int count,
                                        cudaStream_t stream, struct failure *failure) {
    struct one_block_launch narrow = {}, wide = {};
    for (int i = 0; i < count; i++)
        one_block_add(block_words(searches[i].width) == 3 ? &narrow : &wide, &searches[i]);
    const enum status status = one_block_queue(context, generation, 4, &wide, stream, failure);
    return status ? status : one_block_queue(context, generation, 3, &narrow, stream, failure);
}

#endif
