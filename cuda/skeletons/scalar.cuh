// SPDX-License-Identifier: Apache-2.0
/* scalar.cuh - R2S: all samples of a colour channel become one number, in one launch.
 *
 * Used by:  users' operators, in text that is compiled while the program runs; the ladder of
 *           tests/bench/kernels.
 * Limits:   1 to 4 channels of 8 or 16 bits, numbers of up to 8 bytes. No block waits for another.
 * Source:   M. Harris, Optimizing Parallel Reduction in CUDA, 2007, for the tree of a block; the
 *           last block to finish ends the work, as in threadFenceReduction of NVIDIA's samples.
 *
 * How it works. FUNCTION takes two numbers to one, in any order; it has no neutral element, so that
 * whoever has nothing yet says so. A thread reads whole pixels, 16 or 48 bytes at a time, several
 * loads in flight. Warps put their numbers together by shuffles, the block through shared memory,
 * and all blocks of an image through memory: a ticket counts the chunks that are in, and the block
 * that brings the last of them puts the blocks' numbers together.
 */
#ifndef BURIN_SKELETON_SCALAR_CUH
#define BURIN_SKELETON_SCALAR_CUH

#include "cuda/skeletons/pixels.cuh"

enum { SCALAR_THREADS = 512, SCALAR_BLOCKS = 2 /* a multiprocessor */ };

template <class NUMBER> struct partial_number {
    NUMBER value;
    bool started; /* false: nothing yet, and `value` says nothing */
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

/* ---- one thread */

template <class P, class NUMBER, class FUNCTION>
static __device__ __forceinline__ void
add_pixels(struct partial_numbers<NUMBER, P::COLOURS> &numbers, const uint32_t (&words)[P::WORDS],
           uint32_t pixels, const FUNCTION &function) {
    struct partial_numbers<NUMBER, P::COLOURS> chunk;
#pragma unroll
    for (int c = 0; c < P::COLOURS; c++)
        chunk.of[c] = { (NUMBER)chunk_sample<P::DEPTH>(words, c), true };
    if (pixels == P::PIXELS) {
#pragma unroll
        for (int i = 1; i < P::PIXELS; i++)
#pragma unroll
            for (int c = 0; c < P::COLOURS; c++)
                chunk.of[c].value = function(
                    chunk.of[c].value, (NUMBER)chunk_sample<P::DEPTH>(words, i * P::CHANNELS + c));
    } else {
        uint32_t rest[P::WORDS];
#pragma unroll
        for (int i = 0; i < P::WORDS; i++) rest[i] = words[i];
#pragma unroll 1
        for (uint32_t i = 1; i < pixels; i++) {
            chunk_shift<P::PIXEL_BYTES>(rest);
#pragma unroll
            for (int c = 0; c < P::COLOURS; c++)
                chunk.of[c].value =
                    function(chunk.of[c].value, (NUMBER)chunk_sample<P::DEPTH>(rest, c));
        }
    }
#pragma unroll
    for (int c = 0; c < P::COLOURS; c++) put_together(numbers.of[c], chunk.of[c], function);
}

template <class P, class NUMBER, class FUNCTION>
static __device__ __forceinline__ void
reduce_thread(struct partial_numbers<NUMBER, P::COLOURS> &numbers, const struct batch_image &image,
              struct chunk_range range, const FUNCTION &function) {
    constexpr uint32_t STEP = P::LOADS * SCALAR_THREADS;
    for (uint32_t start = range.first + threadIdx.x; start < range.end; start += STEP) {
        uint32_t words[P::LOADS][P::WORDS], pixels[P::LOADS];
#pragma unroll
        for (int h = 0; h < P::LOADS; h++)
            pixels[h] = load_pixels<P>(words[h], image, start + h * SCALAR_THREADS, range.end);
#pragma unroll
        for (int h = 0; h < P::LOADS; h++)
            if (pixels[h]) add_pixels<P, NUMBER>(numbers, words[h], pixels[h], function);
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

/* The warp's number in its first thread. */
template <class NUMBER, class FUNCTION>
static __device__ __forceinline__ void reduce_warp(struct partial_number<NUMBER> &number,
                                                   const FUNCTION &function) {
#pragma unroll
    for (int step = 16; step; step /= 2)
        put_together(number, shuffled_down(number, step), function);
}

/* The block's numbers in its first thread. */
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

/* The block that has chunk CHUNK of the batch: batch_divide's, backwards. */
template <int CAPACITY>
static __device__ __forceinline__ uint32_t block_of_chunk(const struct batch_of<CAPACITY> &batch,
                                                          uint32_t chunk) {
    const uint32_t larger = batch.larger_blocks * (batch.block_chunks + 1);
    if (chunk < larger) return chunk / (batch.block_chunks + 1);
    return batch.larger_blocks + (chunk - larger) / batch.block_chunks;
}

/* Image I's numbers of all blocks, once the last of them are in: true in the block that brings
 * those, whose first thread has the result. Blocks and images both rise along the batch, so their
 * sum is a number that no other pair has. The fence before the ticket publishes what a block
 * writes; the one behind it lets all of it be seen by whoever has drawn the last. */
template <class NUMBER, int COLOURS, int CAPACITY, class FUNCTION>
static __device__ __forceinline__ bool
reduce_blocks(struct partial_numbers<NUMBER, COLOURS> &numbers,
              const struct batch_of<CAPACITY> &batch, int i, uint32_t chunks,
              struct partial_numbers<NUMBER, COLOURS> *partials, uint32_t *chunks_done,
              const FUNCTION &function) {
    __shared__ bool is_last;
    const struct batch_image &image = batch.images[i];
    if (chunks == image.chunks) return true;
    if (threadIdx.x == 0) {
        partials[blockIdx.x + i] = numbers;
        __threadfence();
        is_last = atomicAdd(chunks_done + i, chunks) + chunks == image.chunks;
        __threadfence();
    }
    __syncthreads();
    if (!is_last) return false;
    if (threadIdx.x == 0) chunks_done[i] = 0;
    const uint32_t first = block_of_chunk(batch, image.first_chunk);
    const uint32_t last = block_of_chunk(batch, image.first_chunk + image.chunks - 1);
#pragma unroll
    for (int c = 0; c < COLOURS; c++) numbers.of[c].started = false;
    for (uint32_t block = first + threadIdx.x; block <= last; block += SCALAR_THREADS)
#pragma unroll
        for (int c = 0; c < COLOURS; c++) {
            const volatile struct partial_number<NUMBER> *from = &partials[block + i].of[c];
            put_together(numbers.of[c], partial_number<NUMBER>{ from->value, true }, function);
        }
    reduce_block<NUMBER, COLOURS>(numbers, function);
    return true;
}

/* PARTIALS: as many as there are blocks and images together. CHUNKS_DONE: a word for each image,
 * zero between launches. An image's values are written where its output would be. */
template <class P, class NUMBER, class VALUE, int CAPACITY, class FUNCTION>
static __device__ __forceinline__ void
reduce_batch(const struct batch_of<CAPACITY> &batch, const FUNCTION &function,
             struct partial_numbers<NUMBER, P::COLOURS> *partials, uint32_t *chunks_done) {
    const struct chunk_range block = block_chunks(batch);
    const int end = batch_find(batch, block.end - 1) + 1;
    for (int i = batch_find(batch, block.first); i < end; i++) {
        const struct batch_image &image = batch.images[i];
        const struct chunk_range range = image_chunks(image, block);
        struct partial_numbers<NUMBER, P::COLOURS> numbers = {};
        reduce_thread<P, NUMBER>(numbers, image, range, function);
        reduce_block<NUMBER, P::COLOURS>(numbers, function);
        const bool done = reduce_blocks<NUMBER, P::COLOURS>(
            numbers, batch, i, range.end - range.first, partials, chunks_done, function);
        if (!done || threadIdx.x) continue;
#pragma unroll
        for (int c = 0; c < P::COLOURS; c++) ((VALUE *)image.out)[c] = (VALUE)numbers.of[c].value;
    }
}

#endif
