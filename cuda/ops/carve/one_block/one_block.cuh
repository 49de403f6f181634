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

/* Sobel comes first: SEARCH may have masks too, and then is not one for this method. */
static inline enum search_kind search_kind_of(const struct seam_search *search) {
    if (search->energy == CARVE_GRADIENT) return search->marks ? MASKED : PLAIN;
    return search->energy == CARVE_SOBEL3 ? SOBEL3 : SOBEL5;
}

/* Whether SEARCH is one for this method; of its pointers only NULL or not NULL counts. */
static inline bool one_block_takes(int capability, const struct seam_search *search) {
    const uint32_t warps = block_warps(search->width);
    const bool sobel = sobel_reach(search_kind_of(search)) > 0;
    return capability >= 80 && !search->rows && !(sobel && search->marks) &&
           search->height >= (sobel ? 4 : 2) &&
           search->height <= (search->marks ? +MASKED_ROWS_MAX : +ONE_BLOCK_ROWS_MAX) &&
           warps <= (capability >= 90 ? BLOCK_WARPS_MAX : BLOCK_WARPS_MAX / 2);
}

/* MEMORY: block_search_bytes(), of which plane 0 is filled, with as many columns more than the
 * image has as its energy needs (carve_reach).
 * MASKS: enum pixel_flag; then the flags are filled, and TAKEN is where block_search has it. */
static inline struct block_search block_search_of(const struct seam_search *search, uint8_t *memory,
                                                  uint32_t masks, uint32_t *taken) {
    return { memory,
             search->seams,
             search->progress,
             taken,
             search->done,
             (uint16_t)search->width,
             (uint16_t)search->height,
             (uint16_t)search->columns,
             (uint16_t)(search->clears ? search->least : search->columns),
             (uint8_t)block_warps(search->width),
             (uint8_t)masks,
             (uint8_t)search_kind_of(search) };
}

/* Dynamic shared memory that a block uses, at most; with what the kernels declare it fits the 99 KB
 * that a block may have on compute capability 8.6, 8.9 and 12.0. */
HOST_DEVICE constexpr uint32_t one_block_dynamic(uint32_t warps, uint32_t ring, uint32_t rows) {
    return warps * ring + 2 * (rows + 2 * GAPS_SLACK);
}

enum {
    ONE_BLOCK_DYNAMIC_MAX =
        one_block_dynamic(BLOCK_WARPS_MAX, ring_shape<4, PLAIN>::BYTES, ONE_BLOCK_ROWS_MAX),
    MASKED_DYNAMIC_MAX =
        one_block_dynamic(BLOCK_WARPS_MAX, ring_shape<4, MASKED>::BYTES, MASKED_ROWS_MAX)
};
static_assert(ONE_BLOCK_DYNAMIC_MAX + sizeof(struct one_block_shared<4, PLAIN>) + 64 <= 99 * 1024,
              "shared memory of a block");
static_assert(MASKED_DYNAMIC_MAX + sizeof(struct one_block_shared<4, MASKED>) + 64 <= 99 * 1024,
              "shared memory of a block with masks");

/* A block takes SHARED_OF_WARP for each warp, though it uses less, up to SHARED_MOST: so searches
 * leave half of a multiprocessor's registers to other kernels, above all to codecs', which else
 * wait for a search to end. */
enum { SHARED_OF_WARP = 20 << 10, SHARED_MOST = 160 << 10 };

template <search_kind KIND> static inline uint32_t shared_most(const struct cuda_context *context) {
    const size_t declared = sizeof(struct one_block_shared<4, KIND>) + 64;
    return min((uint32_t)SHARED_MOST, (uint32_t)(context->shared_bytes - declared));
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

/* By words of a lane and blocks of a search. By sobel a lane always has 4. */
template <search_kind KIND> static inline const void *one_block_kernel_of(int words, bool two) {
    constexpr int FEW = sobel_reach(KIND) ? 4 : 3;
    if (words == 3) return (const void *)(one_block_pointer)one_block_kernel<FEW, 1, KIND>;
    return two ? (const void *)(one_block_pointer)one_block_kernel<4, 2, KIND>
               : (const void *)(one_block_pointer)one_block_kernel<4, 1, KIND>;
}

template <search_kind KIND>
static inline cudaError_t one_block_prepare_kernels(const struct cuda_context *context) {
    static uint64_t prepared;
    const void *const kernels[] = { one_block_kernel_of<KIND>(3, false),
                                    one_block_kernel_of<KIND>(4, false),
                                    one_block_kernel_of<KIND>(4, true) };
    return prepare_kernels(kernels, 3, (int)shared_most<KIND>(context), &prepared);
}

/* Call it before a turn begins: it may load the kernels. */
static inline enum status one_block_prepare(const struct cuda_context *context,
                                            struct failure *failure) {
    CUDA_TRY(failure, one_block_prepare_kernels<PLAIN>(context));
    CUDA_TRY(failure, one_block_prepare_kernels<MASKED>(context));
    CUDA_TRY(failure, one_block_prepare_kernels<SOBEL3>(context));
    CUDA_TRY(failure, one_block_prepare_kernels<SOBEL5>(context));
    return STATUS_OK;
}

template <int WORDS, search_kind KIND>
static inline cudaError_t one_block_launch(const struct cuda_context *context, cudaStream_t stream,
                                           int generation, int crowd,
                                           const struct one_block_group *group) {
    if (!group->count) return cudaSuccess;
    /* Two blocks a search are faster while there is a multiprocessor for each search. */
    const bool two = WORDS == 4 && generation >= 90 &&
                     (crowd <= context->multiprocessors || group->warps > BLOCK_WARPS_MAX / 2);
    const uint32_t cluster = two ? 2 : 1, warps = 2 * group->warps / cluster;
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.gridDim = dim3(cluster * group->count);
    config.blockDim = dim3(32 * warps);
    config.dynamicSmemBytes =
        max(one_block_dynamic(warps, ring_shape<WORDS, KIND>::BYTES, group->rows),
            min(warps * SHARED_OF_WARP, shared_most<KIND>(context)));
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = two;
    return cudaLaunchKernelEx(&config, (one_block_pointer)one_block_kernel_of<KIND>(WORDS, two),
                              group->searches);
}

/* Launches the searches, COUNT of them, which all have some columns to remove. GENERATION: as in
 * carve_limits.one_block. CROWD: searches under way, these included. */
static inline cudaError_t one_block_launch_all(const struct cuda_context *context,
                                               cudaStream_t stream, int generation,
                                               const struct block_search *searches, int count,
                                               int crowd) {
    struct one_block_group groups[SEARCH_KINDS][2] = {}; /* [kind][narrow] */
    for (int i = 0; i < count; i++) {
        const enum search_kind kind = (enum search_kind)searches[i].kind;
        one_block_add(&groups[kind][block_words(searches[i].width, kind) == 3], &searches[i]);
    }
    cudaError_t error = cudaSuccess;
    const auto launch = [&](auto function, const struct one_block_group *group) {
        if (!error) error = function(context, stream, generation, crowd, group);
    };
    launch(one_block_launch<4, SOBEL5>, &groups[SOBEL5][0]);
    launch(one_block_launch<4, SOBEL3>, &groups[SOBEL3][0]);
    launch(one_block_launch<4, MASKED>, &groups[MASKED][0]);
    launch(one_block_launch<4, PLAIN>, &groups[PLAIN][0]);
    launch(one_block_launch<3, MASKED>, &groups[MASKED][1]);
    launch(one_block_launch<3, PLAIN>, &groups[PLAIN][1]);
    return error;
}

#endif
