// SPDX-License-Identifier: Apache-2.0
/* scalar.cuh - R2S: all samples of a colour channel become one number, in one launch.
 *
 * Used by:  kernel_source.c and convert_gpu.c, as text around users' operators; launch.cuh; the
 *           ladder of tests/bench/kernels. Built-in reductions are of cuda/reduction.cuh.
 * Limits:   1 to 4 channels of 8 or 16 bits, numbers of up to 8 bytes. No block waits for another.
 * Source:   M. Harris, Optimizing Parallel Reduction in CUDA, 2007, for the tree of a block; the
 *           last block to finish ends the work, as in threadFenceReduction of NVIDIA's samples.
 *
 * How it works. MAP makes a number of a sample. FUNCTION joins two numbers to one, in any order; it
 * has no neutral element, so a flag marks numbers that do not exist yet. A thread reads whole
 * pixels, 16 or 48 bytes at a time, several loads under way. Warps join their numbers by shuffles,
 * the block through shared memory, and all blocks of an image through memory: a ticket counts
 * finished blocks, and the last one joins the blocks' numbers. Blocks go through an image side by
 * side, as a copy does: with a separate stretch for each, memory is slower.
 */
#ifndef BURIN_SKELETON_SCALAR_CUH
#define BURIN_SKELETON_SCALAR_CUH

#include "cuda/skeletons/pixels.cuh"

enum { SCALAR_THREADS = 512, SCALAR_BLOCKS = 3 /* of a multiprocessor */ };

template <class NUMBER> struct partial_number {
    NUMBER value;
    bool started; /* false: no number yet, and `value` is undefined */
};

template <class NUMBER, class FUNCTION>
static __device__ __forceinline__ void put_together(struct partial_number<NUMBER> &into,
                                                    const struct partial_number<NUMBER> &from,
                                                    const FUNCTION &function) {
    if (!from.started) return;
    into.value = into.started ? function(into.value, from.value) : from.value;
    into.started = true;
}

/* The number of each colour channel. */
template <class NUMBER, int COLOURS> struct partial_numbers {
    struct partial_number<NUMBER> of[COLOURS];
};

/* A sample is its own number, or a user's function makes it: its function object's burin_map. */
template <class NUMBER> struct as_number {
    __device__ __forceinline__ NUMBER operator()(uint32_t sample) const {
        return (NUMBER)sample;
    }
};
template <class FUNCTION> struct mapped_by {
    FUNCTION function;
    __device__ __forceinline__ auto operator()(uint32_t sample) const {
        return function.burin_map(sample);
    }
};

/* ---- one thread */

template <class P, class NUMBER, class FUNCTION, class MAP>
static __device__ __forceinline__ void
add_pixels(struct partial_numbers<NUMBER, P::COLOURS> &numbers, const uint32_t (&words)[P::WORDS],
           uint32_t pixels, const FUNCTION &function, const MAP &map) {
    struct partial_numbers<NUMBER, P::COLOURS> chunk;
#pragma unroll
    for (int c = 0; c < P::COLOURS; c++)
        chunk.of[c] = { map(chunk_sample<P::DEPTH>(words, c)), true };
    if (pixels == P::PIXELS) {
#pragma unroll
        for (int i = 1; i < P::PIXELS; i++)
#pragma unroll
            for (int c = 0; c < P::COLOURS; c++)
                chunk.of[c].value = function(
                    chunk.of[c].value, map(chunk_sample<P::DEPTH>(words, i * P::CHANNELS + c)));
    } else {
        uint32_t rest[P::WORDS];
#pragma unroll
        for (int i = 0; i < P::WORDS; i++) rest[i] = words[i];
#pragma unroll 1
        for (uint32_t i = 1; i < pixels; i++) {
            drop_pixel<P>(rest);
#pragma unroll
            for (int c = 0; c < P::COLOURS; c++)
                chunk.of[c].value =
                    function(chunk.of[c].value, map(chunk_sample<P::DEPTH>(rest, c)));
        }
    }
#pragma unroll
    for (int c = 0; c < P::COLOURS; c++) put_together(numbers.of[c], chunk.of[c], function);
}

template <class P, class NUMBER, class FUNCTION, class MAP>
static __device__ __forceinline__ void
reduce_thread(struct partial_numbers<NUMBER, P::COLOURS> &numbers, const struct batch_image &image,
              const FUNCTION &function, const MAP &map) {
    constexpr uint32_t SHARE = P::LOADS * SCALAR_THREADS;
    uint32_t start = blockIdx.x * SHARE + threadIdx.x;
    for (; start < image.chunks; start += gridDim.x * SHARE) {
        uint32_t words[P::LOADS][P::WORDS], pixels[P::LOADS];
#pragma unroll
        for (int h = 0; h < P::LOADS; h++)
            pixels[h] = load_pixels<P>(words[h], image, start + h * SCALAR_THREADS);
#pragma unroll
        for (int h = 0; h < P::LOADS; h++)
            if (pixels[h]) add_pixels<P, NUMBER>(numbers, words[h], pixels[h], function, map);
    }
}

/* ---- one block */

template <class NUMBER>
static __device__ __forceinline__ struct partial_number<NUMBER>
shuffled_down(const struct partial_number<NUMBER> &number, int step) {
    struct partial_number<NUMBER> other;
    other.started = __shfl_down_sync(~0u, (int)number.started, step);
    if constexpr (sizeof(NUMBER) == 8)
        other.value = (NUMBER)__shfl_down_sync(~0u, (long long)number.value, step);
    else
        other.value = (NUMBER)__shfl_down_sync(~0u, (int)number.value, step);
    return other;
}

/* Leaves the warp's number in its first thread. Called once or twice a block: it is not unrolled,
 * which would be a quarter of the code to compile. */
template <class NUMBER, class FUNCTION>
static __device__ __forceinline__ void reduce_warp(struct partial_number<NUMBER> &number,
                                                   const FUNCTION &function) {
#pragma unroll 1
    for (int step = 16; step; step /= 2)
        put_together(number, shuffled_down(number, step), function);
}

/* Leaves the block's numbers in its first thread. */
template <class NUMBER, int COLOURS, class FUNCTION>
static __device__ __forceinline__ void
reduce_block(struct partial_numbers<NUMBER, COLOURS> &numbers, const FUNCTION &function) {
    __shared__ struct partial_number<NUMBER> warps[SCALAR_THREADS / 32][COLOURS];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int c = 0; c < COLOURS; c++) {
        reduce_warp(numbers.of[c], function);
        if (lane == 0) warps[warp][c] = numbers.of[c];
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < COLOURS && warp == 0; c++) {
        numbers.of[c] =
            lane < SCALAR_THREADS / 32 ? warps[lane][c] : partial_number<NUMBER>{ 0, false };
        reduce_warp(numbers.of[c], function);
    }
    __syncthreads(); /* before the warps write there again */
}

/* ---- all blocks */

/* Joins an image's numbers once all its BLOCKS have stored theirs: true in the last block, whose
 * first thread has the result. The fence before the ticket publishes a block's numbers; the one
 * after it makes all of them visible to the block that drew the last ticket. */
template <class NUMBER, int COLOURS, class FUNCTION>
static __device__ __forceinline__ bool
reduce_blocks(struct partial_numbers<NUMBER, COLOURS> &numbers, unsigned blocks,
              struct partial_numbers<NUMBER, COLOURS> *partials, uint32_t *blocks_done,
              const FUNCTION &function) {
    __shared__ bool is_last;
    if (blocks == 1) return true;
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = numbers;
        __threadfence();
        is_last = atomicAdd(blocks_done, 1) == blocks - 1;
        __threadfence();
    }
    __syncthreads();
    if (!is_last) return false;
    if (threadIdx.x == 0) *blocks_done = 0;
#pragma unroll
    for (int c = 0; c < COLOURS; c++) numbers.of[c].started = false;
    for (unsigned block = threadIdx.x; block < blocks; block += SCALAR_THREADS)
#pragma unroll
        for (int c = 0; c < COLOURS; c++) {
            const volatile struct partial_number<NUMBER> *from = &partials[block].of[c];
            put_together(numbers.of[c], partial_number<NUMBER>{ from->value, true }, function);
        }
    reduce_block<NUMBER, COLOURS>(numbers, function);
    return true;
}

/* Image blockIdx.y of the batch, by as many blocks as the grid is wide. PARTIALS: one for each
 * block. BLOCKS_DONE: a word for each image, zero between launches. The values replace the image's
 * output. */
template <class P, class NUMBER, class VALUE, int CAPACITY, class FUNCTION,
          class MAP = struct as_number<NUMBER>>
static __device__ __forceinline__ void
reduce_batch(const struct batch_of<CAPACITY> &batch, const FUNCTION &function,
             struct partial_numbers<NUMBER, P::COLOURS> *partials, uint32_t *blocks_done,
             const MAP &map = MAP()) {
    const struct batch_image &image = batch.images[blockIdx.y];
    const unsigned blocks = min(gridDim.x, pixel_blocks<P, SCALAR_THREADS>(image));
    if (blockIdx.x >= blocks) return;
    struct partial_numbers<NUMBER, P::COLOURS> numbers = {};
    reduce_thread<P, NUMBER>(numbers, image, function, map);
    reduce_block<NUMBER, P::COLOURS>(numbers, function);
    const bool done = reduce_blocks<NUMBER, P::COLOURS>(
        numbers, blocks, partials + blockIdx.y * gridDim.x, blocks_done + blockIdx.y, function);
    if (!done || threadIdx.x) return;
#pragma unroll
    for (int c = 0; c < P::COLOURS; c++) ((VALUE *)image.out)[c] = (VALUE)numbers.of[c].value;
}

#endif
