// SPDX-License-Identifier: Apache-2.0
/* tiles.cuh - a batch of images as tiles, the work of a block each: counted, found, launched.
 *
 * Used by:  across.cuh, down.cuh, smart.cuh, resize.cu, smartcrop.cu: their batches have `count`
 *           and `images`, and each image the number of its `first_tile`.
 * Fails:    STATUS_TOO_LARGE where there are more tiles than blocks of a launch; as check.cuh says.
 * Limits:   CUDA_BATCH_MAX images; a kernel's parameters have 4 KiB.
 *
 * How it works. A launch has a block for each tile of all images; a block finds its image by
 * halves, mostly with a good first guess. From compute capability 9.0 on a kernel may begin while
 * the one before it ends; before that overlap_*() do nothing, and kernels run one by one.
 */
#ifndef BURIN_RESIZE_TILES_CUH
#define BURIN_RESIZE_TILES_CUH

#include "cuda/check.cuh"
#include "cuda/cuda_limits.h"

#include <cuda_runtime.h>
#include <stdint.h>

/* ---- a kernel that begins while the one before it ends */

enum { OVERLAP_CAPABILITY = 90 };

/* Once all blocks have called this, those of the next kernel may begin where there is room. */
static __device__ __forceinline__ void overlap_begin(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/* Results of the kernel before are read only after this. */
static __device__ __forceinline__ void overlap_wait(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Loads what no earlier kernel writes; volatile, so that it may come before overlap_wait(). */
static __device__ __forceinline__ uint2 overlap_load(const uint2 *from) {
    uint2 pair;
    asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(pair.x), "=r"(pair.y) : "l"(from));
    return pair;
}

/* ---- on the GPU */

/* The image that TILE belongs to. GUESS: its number if all images are like the first. */
template <class B>
static __device__ inline int tiles_find(const B &batch, uint32_t tile, uint32_t guess) {
    const uint32_t count = (uint32_t)batch.count;
    if (count == 1) return 0;
    if (guess < count && batch.images[guess].first_tile <= tile &&
        (guess + 1 == count || tile < batch.images[guess + 1].first_tile))
        return (int)guess;
    int low = 0, high = batch.count;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (batch.images[middle].first_tile <= tile)
            low = middle;
        else
            high = middle;
    }
    return low;
}

template <class B> static __device__ inline int tiles_find(const B &batch, uint32_t tile) {
    return tiles_find(batch, tile, batch.count > 1 ? tile / batch.images[1].first_tile : 0);
}

/* The same for whole images; a batch may have room for only one. */
template <class B>
static __device__ __forceinline__ const auto &tiles_image(const B &batch, uint32_t tile) {
    if constexpr (sizeof batch.images == sizeof batch.images[0])
        return batch.images[0];
    else
        return batch.images[tiles_find(batch, tile, __umulhi(tile, batch.share))];
}

/* TILE / ACROSS by ACROSS' share: the product is at most 1 too large, as the share is rounded
 * up. */
static __device__ __forceinline__ uint32_t tiles_row(uint32_t tile, uint32_t across,
                                                     uint32_t share) {
    const uint32_t row = share ? __umulhi(tile, share) : tile;
    return row * across > tile ? row - 1 : row;
}

/* ---- on the host */

/* A number's product with this has the number divided BY something in its upper half: 2^32 / BY,
 * rounded up; 0 for 1, which has no such factor. */
static inline uint32_t tiles_share(uint32_t by) {
    return by > 1 ? (uint32_t)((((uint64_t)1 << 32) + by - 1) / by) : 0;
}

static inline uint32_t tiles_over(uint32_t pixels, uint32_t side) {
    return (pixels + side - 1) / side;
}

/* A batch under construction. */
template <class B> struct tiles {
    B batch;
    uint64_t count;      /* tiles so far */
    size_t shared_bytes; /* of the image that needs most */
    size_t shared_most;  /* the same for all launches of a kernel: it is set once for all lanes */
    bool overlaps;       /* the kernel may begin while the one before it ends */
};

/* ALL, with BATCH in place of its own. */
template <class B, class A>
static inline struct tiles<B> tiles_with(const struct tiles<A> &all, const B &batch) {
    return { batch, all.count, all.shared_bytes, all.shared_most, all.overlaps };
}

/* Adds an image of ACROSS x DOWN tiles. */
template <class B, class I>
static inline void tiles_add(struct tiles<B> *tiles, I image, uint32_t across, uint32_t down) {
    image.first_tile = (uint32_t)tiles->count;
    image.tiles_across = (uint16_t)across;
    tiles->batch.images[tiles->batch.count++] = image;
    tiles->count += (uint64_t)across * down;
}

template <class B>
static inline enum status tiles_launch(const struct tiles<B> &tiles, void (*kernel)(B),
                                       unsigned threads, cudaStream_t stream,
                                       struct failure *failure) {
    static_assert(sizeof(B) <= 4096, "an older GPU's kernel gets no more");
    if (tiles.batch.count == 0) return STATUS_OK;
    if (tiles.count > INT32_MAX)
        return fail(failure, STATUS_TOO_LARGE, "too many pixels for one batch on the GPU");
    if (tiles.shared_bytes > 48 << 10)
        CUDA_TRY(failure, cudaFuncSetAttribute((const void *)kernel,
                                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               (int)tiles.shared_most));
    cudaLaunchAttribute overlap = {};
    cudaLaunchConfig_t config = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = (unsigned)tiles.count;
    config.blockDim = threads;
    config.dynamicSmemBytes = tiles.shared_bytes;
    config.stream = stream;
    config.attrs = &overlap;
    config.numAttrs = tiles.overlaps;
    CUDA_TRY(failure, cudaLaunchKernelEx(&config, kernel, tiles.batch));
    return STATUS_OK;
}

#endif
