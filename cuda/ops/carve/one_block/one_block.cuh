// SPDX-License-Identifier: Apache-2.0
/* one_block.cuh - launches many searches at once, each for one block or a cluster of two.
 *
 * Used by:  abreast.cuh; method.cuh and carve_context.cuh ask what the method takes.
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

/* Dynamic shared memory that a block uses, at most; with what the kernels declare it fits the 99 KB
 * that a block may have on compute capability 8.6, 8.9 and 12.0. */
enum {
    SHARED_DECLARED = sizeof(struct one_block_shared<4>) + 64,
    ONE_BLOCK_DYNAMIC_MAX = BLOCK_WARPS_MAX * RING_ROWS * lane_shape<4>::ROW_BYTES +
                            2 * (ONE_BLOCK_ROWS_MAX + 2 * GAPS_SLACK)
};
static_assert(ONE_BLOCK_DYNAMIC_MAX + SHARED_DECLARED <= 99 * 1024, "shared memory of a block");

/* A block takes SHARED_OF_WARP for each warp, though it uses less, up to SHARED_MOST: so searches
 * leave half of a multiprocessor's registers to other kernels, above all to codecs', which else
 * wait for a search to end. */
enum { SHARED_OF_WARP = 20 << 10, SHARED_MOST = 160 << 10 };

static inline uint32_t one_block_shared_most(const struct cuda_context *context) {
    return min((uint32_t)SHARED_MOST, (uint32_t)context->shared_bytes - SHARED_DECLARED);
}

typedef void (*one_block_pointer)(struct block_searches searches);

/* Searches of one launch. */
struct one_block_group {
    struct block_searches searches;
    uint32_t count, warps, rows; /* the most of any search */
};

/* Puts the longest first, so that none begins when the others end. */
static inline void one_block_add(struct one_block_group *group, const struct block_search *search) {
    const auto cost = [](const struct block_search &one) {
        return (uint64_t)one.width * one.height * one.seam_count;
    };
    uint32_t at = group->count++;
    for (; at > 0 && cost(group->searches.of[at - 1]) < cost(*search); at--)
        group->searches.of[at] = group->searches.of[at - 1];
    group->searches.of[at] = *search;
    if (search->warps > group->warps) group->warps = search->warps;
    if (search->height > group->rows) group->rows = search->height;
}

/* By words of a lane and blocks of a search. */
static inline const void *one_block_kernel_of(int words, bool two) {
    if (words == 3) return (const void *)(one_block_pointer)one_block_kernel<3, 1>;
    return two ? (const void *)(one_block_pointer)one_block_kernel<4, 2>
               : (const void *)(one_block_pointer)one_block_kernel<4, 1>;
}

/* Call it before a turn begins: it may load the kernels. */
static inline enum status one_block_prepare(const struct cuda_context *context,
                                            struct failure *failure) {
    static uint64_t prepared;
    const void *const kernels[] = { one_block_kernel_of(3, false), one_block_kernel_of(4, false),
                                    one_block_kernel_of(4, true) };
    CUDA_TRY(failure, prepare_kernels(kernels, 3, (int)one_block_shared_most(context), &prepared));
    return STATUS_OK;
}

static inline cudaError_t one_block_launch(const struct cuda_context *context, cudaStream_t stream,
                                           int generation, int words, int crowd,
                                           const struct one_block_group *group) {
    if (!group->count) return cudaSuccess;
    /* Two blocks a search are faster while there is a multiprocessor for each search. */
    const bool two = words == 4 && generation >= 90 &&
                     (crowd <= context->multiprocessors || group->warps > BLOCK_WARPS_MAX / 2);
    const uint32_t cluster = two ? 2 : 1, warps = 2 * group->warps / cluster;
    const uint32_t uses =
        warps * RING_ROWS * 128 * (uint32_t)words + 2 * (group->rows + 2 * GAPS_SLACK);
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.gridDim = dim3(cluster * group->count);
    config.blockDim = dim3(32 * warps);
    config.dynamicSmemBytes =
        max(uses, min(warps * SHARED_OF_WARP, one_block_shared_most(context)));
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = two;
    return cudaLaunchKernelEx(&config, (one_block_pointer)one_block_kernel_of(words, two),
                              group->searches);
}

/* Launches the searches, COUNT of them, which all have some columns to remove. GENERATION: as in
 * carve_limits.one_block. CROWD: searches under way, these included. */
static inline cudaError_t one_block_launch_all(const struct cuda_context *context,
                                               cudaStream_t stream, int generation,
                                               const struct block_search *searches, int count,
                                               int crowd) {
    struct one_block_group narrow = {}, wide = {};
    for (int i = 0; i < count; i++)
        one_block_add(block_words(searches[i].width) == 3 ? &narrow : &wide, &searches[i]);
    const cudaError_t error = one_block_launch(context, stream, generation, 4, crowd, &wide);
    return error ? error : one_block_launch(context, stream, generation, 3, crowd, &narrow);
}

#endif
