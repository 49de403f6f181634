// SPDX-License-Identifier: Apache-2.0
/* vector.cuh - R2V: the samples of a colour channel are counted into a list.
 *
 * Used by:  kernel_source.c and convert_gpu.c, as text around users' operators; launch.cuh; the
 *           ladder of tests/bench/kernels.
 * Limits:   1 to 4 channels of 8 or 16 bits; lists are zero before, and grow by atomicAdd alone.
 * Source:   V. Podlozhnyuk, Histogram calculation in CUDA, 2007: a histogram for each warp.
 *
 * How it works. A block has private lists in shared memory, one for each warp where there is room,
 * and adds them to the image's lists once, at its end. The hardware merges additions of 1 to the
 * same word, so that a constant image is no worse than noise. Lists that are too long for shared
 * memory are counted where they are. FUNCTION takes a sample, a list and its length.
 */
#ifndef BURIN_SKELETON_VECTOR_CUH
#define BURIN_SKELETON_VECTOR_CUH

#include "cuda/skeletons/pixels.cuh"

enum { VECTOR_THREADS = 512, VECTOR_BLOCKS = 3 /* a multiprocessor */ };

/* One by one: little code. */
template <class P, class FUNCTION>
static __device__ __forceinline__ void count_slowly(const uint32_t (&words)[P::WORDS],
                                                    uint32_t pixels, int *lists, int bins,
                                                    const FUNCTION &function) {
    uint32_t rest[P::WORDS];
#pragma unroll
    for (int i = 0; i < P::WORDS; i++) rest[i] = words[i];
#pragma unroll 1
    for (uint32_t i = 0; i < pixels; i++) {
#pragma unroll
        for (int c = 0; c < P::COLOURS; c++)
            function(chunk_sample<P::DEPTH>(rest, c), lists + c * bins, bins);
        drop_pixel<P>(rest);
    }
}

template <class P, class FUNCTION>
static __device__ __forceinline__ void count_pixels(const uint32_t (&words)[P::WORDS],
                                                    uint32_t pixels, int *lists, int bins,
                                                    const FUNCTION &function) {
    if (pixels < P::PIXELS) return count_slowly<P>(words, pixels, lists, bins, function);
#pragma unroll
    for (int i = 0; i < P::PIXELS; i++)
#pragma unroll
        for (int c = 0; c < P::COLOURS; c++)
            function(chunk_sample<P::DEPTH>(words, i * P::CHANNELS + c), lists + c * bins, bins);
}

template <class P, class FUNCTION>
static __device__ __forceinline__ void count_image(const struct batch_image &image, int *lists,
                                                   int bins, const FUNCTION &function) {
    constexpr uint32_t SHARE = P::LOADS * VECTOR_THREADS;
    uint32_t start = blockIdx.x * SHARE + threadIdx.x;
    for (; start < image.chunks; start += gridDim.x * SHARE) {
        uint32_t words[P::LOADS][P::WORDS], pixels[P::LOADS];
#pragma unroll
        for (int h = 0; h < P::LOADS; h++)
            pixels[h] = load_pixels<P>(words[h], image, start + h * VECTOR_THREADS);
#pragma unroll
        for (int h = 0; h < P::LOADS; h++)
            if (pixels[h]) count_pixels<P>(words[h], pixels[h], lists, bins, function);
    }
}

/* Into lists in global memory. Additions there are what takes time, so that this is not unrolled as
 * count_image is: it would double what there is to compile. */
template <class P, class FUNCTION>
static __device__ __forceinline__ void count_in_place(const struct batch_image &image, int *lists,
                                                      int bins, const FUNCTION &function) {
    uint32_t index = blockIdx.x * VECTOR_THREADS + threadIdx.x;
#pragma unroll 1
    for (; index < image.chunks; index += gridDim.x * VECTOR_THREADS) {
        uint32_t words[P::WORDS];
        const uint32_t pixels = load_pixels<P>(words, image, index);
        count_slowly<P>(words, pixels, lists, bins, function);
    }
}

/* Adds the sum of COUNT copies of the block's lists, LENGTH words each, to the image's. */
static __device__ __forceinline__ void add_lists(const int *copies, int count, int length,
                                                 int *to) {
    for (int i = threadIdx.x; i < length; i += VECTOR_THREADS) {
        int sum = 0;
        for (int k = 0; k < count; k++) sum += copies[k * length + i];
        if (sum) atomicAdd(to + i, sum);
    }
}

/* Image blockIdx.y of the batch, by as many blocks as the grid is wide. COPIES of the lists are in
 * shared memory; 0: they are counted where they are, which is where the image's output would be. */
template <class P, int CAPACITY, class FUNCTION>
static __device__ __forceinline__ void count_batch(const struct batch_of<CAPACITY> &batch,
                                                   const FUNCTION &function, int bins, int copies) {
    extern __shared__ int shared_lists[];
    const struct batch_image &image = batch.images[blockIdx.y];
    const int length = bins * P::COLOURS;
    if (copies == 0) return count_in_place<P>(image, (int *)image.out, bins, function);
    if (blockIdx.x >= pixel_blocks<P, VECTOR_THREADS>(image)) return;
    for (int i = threadIdx.x; i < copies * length; i += VECTOR_THREADS) shared_lists[i] = 0;
    __syncthreads();
    count_image<P>(image, shared_lists + threadIdx.x / 32 % copies * length, bins, function);
    __syncthreads();
    add_lists(shared_lists, copies, length, (int *)image.out);
}

/* On the host: copies of lists of LENGTH words, one for each warp, or as many as there is room for
 * in SHARED_BYTES of a multiprocessor. */
static inline int vector_copies(uint64_t length, int shared_bytes) {
    const uint64_t room = shared_bytes / VECTOR_BLOCKS - 1024;
    const uint64_t copies = room / (length * sizeof(int)), most = VECTOR_THREADS / 32;
    return (int)(copies < most ? copies : most);
}

#endif
