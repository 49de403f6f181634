// SPDX-License-Identifier: Apache-2.0
/* vector.cuh - R2V: the samples of a colour channel are counted into a list.
 *
 * Used by:  kernel_source.c and convert_gpu.c, as text around users' operators; launch.cuh; the
 *           ladder of tests/bench/kernels.
 * Limits:   1 to 4 channels of 8 or 16 bits; lists are zero before, and grow by atomicAdd alone.
 * Source:   V. Podlozhnyuk, Histogram calculation in CUDA, 2007: private histograms.
 *
 * How it works. A block has private lists in shared memory, one for each lane of a warp where there
 * is room, and adds them to the image's lists once, at its end. Lists are interleaved, a bin's
 * words one after another: so lanes never share a word or a bank, and noise is no worse than a
 * constant image. Lists that are too long for shared memory are counted in global memory. FUNCTION
 * takes a sample, a list and its length; it counts by burin_count, which knows both kinds of lists.
 */
#ifndef BURIN_SKELETON_VECTOR_CUH
#define BURIN_SKELETON_VECTOR_CUH

#include "cuda/skeletons/pixels.cuh"

enum { VECTOR_THREADS = 512, VECTOR_BLOCKS = 3 /* of a multiprocessor */ };

/* Lists as burin_count of user_function.cuh takes them: in global memory ... */
struct lists_in_place {
    int *first;
    int bins;
    __device__ __forceinline__ int *of(int colour) const {
        return first + colour * bins;
    }
};

/* ... or this lane's copies in shared memory: a flag for that, the bytes from one bin to the next,
 * and the address of the first bin. Each colour has one bin more. */
struct lane_lists {
    uint64_t shared;
    uint32_t address, pitch; /* bytes from one colour to the next */
    __device__ __forceinline__ int *of(int colour) const {
        return (int *)(shared | (address + colour * pitch));
    }
};

static __device__ __forceinline__ struct lane_lists lane_lists_of(const int *lists, int bins,
                                                                  uint32_t copies) {
    const uint32_t address = shared_address(lists) + threadIdx.x % copies * 4;
    return { 1ull << 63 | (uint64_t)(4 * copies) << 48, address, (bins + 1) * 4 * copies };
}

/* One by one: little code. */
template <class P, class LISTS, class FUNCTION>
static __device__ __forceinline__ void count_slowly(const uint32_t (&words)[P::WORDS],
                                                    uint32_t pixels, const LISTS &lists, int bins,
                                                    const FUNCTION &function) {
    uint32_t rest[P::WORDS];
#pragma unroll
    for (int i = 0; i < P::WORDS; i++) rest[i] = words[i];
#pragma unroll 1
    for (uint32_t i = 0; i < pixels; i++) {
#pragma unroll
        for (int c = 0; c < P::COLOURS; c++)
            function(chunk_sample<P::DEPTH>(rest, c), lists.of(c), bins);
        drop_pixel<P>(rest);
    }
}

template <class P, class LISTS, class FUNCTION>
static __device__ __forceinline__ void count_pixels(const uint32_t (&words)[P::WORDS],
                                                    uint32_t pixels, const LISTS &lists, int bins,
                                                    const FUNCTION &function) {
    if (pixels < P::PIXELS) return count_slowly<P>(words, pixels, lists, bins, function);
#pragma unroll
    for (int i = 0; i < P::PIXELS; i++)
#pragma unroll
        for (int c = 0; c < P::COLOURS; c++) {
            const uint32_t sample = chunk_sample<P::DEPTH>(words, i * P::CHANNELS + c);
            /* The mask costs nothing, and shows the compiler an index's range. */
            function(sample & ((1u << P::DEPTH) - 1), lists.of(c), bins);
        }
}

template <class P, class LISTS, class FUNCTION>
static __device__ __forceinline__ void count_image(const struct batch_image &image,
                                                   const LISTS &lists, int bins,
                                                   const FUNCTION &function) {
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

/* Counts into lists in global memory. Additions there take the time, so that this is not unrolled
 * like count_image: that would double the code to compile. */
template <class P, class FUNCTION>
static __device__ __forceinline__ void count_in_place(const struct batch_image &image, int bins,
                                                      const FUNCTION &function) {
    const struct lists_in_place lists = { (int *)image.out, bins };
    uint32_t index = blockIdx.x * VECTOR_THREADS + threadIdx.x;
#pragma unroll 1
    for (; index < image.chunks; index += gridDim.x * VECTOR_THREADS) {
        uint32_t words[P::WORDS];
        const uint32_t pixels = load_pixels<P>(words, image, index);
        count_slowly<P>(words, pixels, lists, bins, function);
    }
}

/* Adds the sums of the block's COPIES to the image's lists. A warp's lanes begin at different
 * copies, which are in different banks. */
static __device__ __forceinline__ void add_lists(const int *shared, int copies, int bins,
                                                 int colours, int *to) {
    for (int i = threadIdx.x; i < bins * colours; i += VECTOR_THREADS) {
        const int *bin = shared + (i + i / bins) * copies;
        int sum = 0;
        for (int k = 0; k < copies; k++) sum += bin[(k + i) & (copies - 1)];
        if (sum) atomicAdd(to + i, sum);
    }
}

/* Image blockIdx.y of the batch, by as many blocks as the grid is wide. COPIES of the lists are in
 * shared memory; 0: they are counted in place, which is the image's output. */
template <class P, int CAPACITY, class FUNCTION>
static __device__ __forceinline__ void count_batch(const struct batch_of<CAPACITY> &batch,
                                                   const FUNCTION &function, int bins, int copies) {
    extern __shared__ int shared_lists[];
    const struct batch_image &image = batch.images[blockIdx.y];
    if (copies == 0) return count_in_place<P>(image, bins, function);
    if (blockIdx.x >= pixel_blocks<P, VECTOR_THREADS>(image)) return;
    for (int i = threadIdx.x; i < copies * (bins + 1) * P::COLOURS; i += VECTOR_THREADS)
        shared_lists[i] = 0;
    __syncthreads();
    count_image<P>(image, lane_lists_of(shared_lists, bins, copies), bins, function);
    __syncthreads();
    add_lists(shared_lists, copies, bins, P::COLOURS, (int *)image.out);
}

/* On the host: bytes of a copy of the lists in shared memory. */
static inline uint64_t vector_copy_bytes(int bins, unsigned colours) {
    return (uint64_t)(bins + 1) * colours * sizeof(int);
}

/* On the host: copies, one for each lane of a warp, or the power of two for which SHARED_BYTES of a
 * multiprocessor have room; 0: for none. */
static inline int vector_copies(int bins, unsigned colours, int shared_bytes) {
    const uint64_t room = shared_bytes / VECTOR_BLOCKS - 1024;
    int copies = 32;
    while (copies && copies * vector_copy_bytes(bins, colours) > room) copies /= 2;
    return copies;
}

#endif
