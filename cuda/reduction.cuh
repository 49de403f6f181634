// SPDX-License-Identifier: Apache-2.0
/* reduction.cuh - a batch of images to a number for each colour channel, in one launch.
 *
 * Used by:  cuda/ops/minimum.cu, cuda/ops/maximum.cu, cuda/ops/mean.cu.
 * Fails:    as batch.cuh and check.cuh say.
 * Limits:   sums below 2^64. No block waits for another.
 *
 * How it works. A row is a sequence of samples; a thread reads 16 bytes at a time, several loads
 * under way. With 1, 2 and 4 channels a sample's place among these bytes gives its channel; with 3
 * channels it shifts from chunk to chunk, so that results are kept apart by place and rotated when
 * they are added. Then warps, the block, and all blocks of an image (by atomics
 * on its state among the context's zeroed words) combine theirs. A ticket counts finished chunks;
 * the block that adds the last one writes the values and clears the state. A block that has an
 * image alone needs no state. 0 is the neutral element: a minimum is the maximum of complements,
 * and pixels with alpha 0 become 0. With alpha the pixels that are left are one more result, their
 * number (for a maximum the largest of any thread, which is 0 only if there are none).
 *
 * cuda/skeletons/scalar.cuh would be slower: it calls a function for each sample, which for 64
 * million 8-bit samples takes 23 us for a maximum and 25 for a sum, while memory needs 18 (H200).
 * Here the samples of a word go through one instruction.
 */
#ifndef BURIN_REDUCTION_CUH
#define BURIN_REDUCTION_CUH

#include "cuda/batch.cuh"
#include "pipeline/background.h"

#include <cuda_runtime.h>
#include <stdint.h>

/* ---- the partial result of a thread: adds 16 bytes, and folds to a number for each channel
 *
 * A chunk is four words. Words of the same class hold the same channels at the same places: with
 * three channels there are three classes, and the first word of chunk x has class x % 3. PHASE,
 * 0..2, is the number of chunks of a row by which the samples are shifted; 0 unless there are 3
 * channels. */

/* Item I, a constant, after all have moved on by PHASE places. */
template <class T>
static __device__ __forceinline__ T rotated(const T (&items)[3], int i, uint32_t phase) {
    return phase == 0 ? items[i] : phase == 1 ? items[(i + 2) % 3] : items[(i + 1) % 3];
}

/* ---- the largest */

/* Samples in pairs of 16 bits; bytes are split into the even and the odd ones. */
template <int DEPTH, int CHANNELS> struct largest_partial {
    static constexpr int CLASSES = CHANNELS == 3 ? 3 : DEPTH * CHANNELS == 64 ? 2 : 1;
    static constexpr int PAIRS = DEPTH == 8 ? 2 : 1; /* of a word */
    static constexpr int COLOURS = CHANNELS < 3 ? 1 : 3;
    uint32_t most[PAIRS][CLASSES];

    static __device__ __forceinline__ uint32_t pair(uint32_t word, int p) {
        return DEPTH == 16 ? word : __byte_perm(word, 0, p ? 0x4341 : 0x4240);
    }

    __device__ __forceinline__ void add(const uint32_t (&words)[4], uint32_t phase) {
#pragma unroll
        for (int p = 0; p < PAIRS; p++) {
            uint32_t chunk[CLASSES] = {};
#pragma unroll
            for (int k = 0; k < 4; k++)
                chunk[k % CLASSES] = __vmaxu2(chunk[k % CLASSES], pair(words[k], p));
#pragma unroll
            for (int r = 0; r < CLASSES; r++) {
                if constexpr (CLASSES == 3)
                    most[p][r] = __vmaxu2(most[p][r], rotated(chunk, r, phase));
                else
                    most[p][r] = __vmaxu2(most[p][r], chunk[r]);
            }
        }
    }

    __device__ __forceinline__ void fold(unsigned long long *results) const {
        uint32_t largest[CHANNELS] = {};
#pragma unroll
        for (int r = 0; r < CLASSES; r++)
#pragma unroll
            for (int p = 0; p < PAIRS; p++)
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    const int place = DEPTH == 8 ? 4 * r + 2 * half + p : 2 * r + half;
                    uint32_t &of = largest[place % CHANNELS];
                    of = max(of, half ? most[p][r] >> 16 : most[p][r] & 0xffff);
                }
#pragma unroll
        for (int c = 0; c < COLOURS; c++) results[c] = largest[c];
    }

    static __device__ __forceinline__ unsigned long long combine(unsigned long long a,
                                                                 unsigned long long b) {
        return max(a, b);
    }

    static __device__ __forceinline__ void merge(unsigned long long *to,
                                                 unsigned long long result) {
        atomicMax(to, result);
    }
};

/* ---- the sum */

template <int DEPTH, int CHANNELS> struct sum_partial {
    static constexpr int COLOURS = CHANNELS < 3 ? 1 : 3;
    static constexpr int SAMPLES = 128 / DEPTH;
    unsigned long long sums[COLOURS];

    /* 1 in the bytes of word K that belong to channel C, if the chunk is the first of its row. */
    static constexpr __device__ uint32_t byte_mask(int k, int c) {
        uint32_t mask = 0;
        for (int b = 0; b < 4; b++)
            if ((4 * k + b) % CHANNELS == c) mask |= 1u << 8 * b;
        return mask;
    }

    static __device__ __forceinline__ uint32_t chunk_sum(const uint32_t (&words)[4], int c) {
        uint32_t sum = 0;
        if (DEPTH == 8) {
#pragma unroll
            for (int k = 0; k < 4; k++) sum = __dp4a(words[k], byte_mask(k, c), sum);
        } else {
#pragma unroll
            for (int i = 0; i < SAMPLES; i++)
                if (i % CHANNELS == c) sum += i % 2 ? words[i / 2] >> 16 : words[i / 2] & 0xffff;
        }
        return sum;
    }

    /* Chunk x begins with channel x * SAMPLES % 3: phase, or, with 8 samples, twice that. */
    __device__ __forceinline__ void add(const uint32_t (&words)[4], uint32_t phase) {
        uint32_t chunk[COLOURS];
#pragma unroll
        for (int c = 0; c < COLOURS; c++) chunk[c] = chunk_sum(words, c);
        const uint32_t shift = SAMPLES % 3 == 1 ? phase : 2 * phase % 3;
#pragma unroll
        for (int c = 0; c < COLOURS; c++) {
            if constexpr (CHANNELS == 3)
                sums[c] += rotated(chunk, c, shift);
            else
                sums[c] += chunk[c];
        }
    }

    __device__ __forceinline__ void fold(unsigned long long *results) const {
#pragma unroll
        for (int c = 0; c < COLOURS; c++) results[c] = sums[c];
    }

    static __device__ __forceinline__ unsigned long long combine(unsigned long long a,
                                                                 unsigned long long b) {
        return a + b;
    }

    static __device__ __forceinline__ void merge(unsigned long long *to,
                                                 unsigned long long result) {
        atomicAdd(to, result);
    }
};

enum { REDUCTION_THREADS = 512, REDUCTION_BLOCKS = 2 /* a multiprocessor */, REDUCTION_LOADS = 4 };

/* State of one image, zero between launches. */
struct reduction_state {
    unsigned long long results[4];
    uint32_t chunks_done;
};
static_assert(sizeof(struct reduction_state) / 4 * CUDA_BATCH_MAX <= CUDA_ZEROED_WORDS,
              "a state for each image");

/* ---- one thread */

/* Pixels with alpha 0, and all from byte BYTES on, become 0, the others their complements if FLIP.
 * Returns the number of these. */
template <int DEPTH, int CHANNELS, bool FLIP>
static __device__ __forceinline__ uint32_t hide_pixels(uint32_t (&words)[4], uint32_t bytes) {
    constexpr int PIXEL = CHANNELS * DEPTH / 8;
    uint32_t keep[4] = {}, visible = 0;
#pragma unroll
    for (int p = 0; p < 16 / PIXEL; p++) {
        const uint32_t alpha = chunk_sample<DEPTH>(words, (p + 1) * CHANNELS - 1);
        const bool seen = p * PIXEL < bytes && alpha;
        visible += seen;
#pragma unroll
        for (int b = p * PIXEL; b < (p + 1) * PIXEL; b++)
            keep[b / 4] |= seen ? 255u << 8 * (b % 4) : 0;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) words[k] = (FLIP ? ~words[k] : words[k]) & keep[k];
    return visible;
}

/* The chunk's samples; those after the row's end become 0. Returns the number of pixels that can be
 * seen, with alpha. */
template <int DEPTH, int CHANNELS, bool FLIP, bool CONTIGUOUS>
static __device__ __forceinline__ uint32_t load_samples(uint32_t (&words)[4],
                                                        const struct batch_image &image,
                                                        uint32_t index) {
    constexpr int SAMPLES = 128 / DEPTH, BYTES = DEPTH / 8;
    const struct chunk_memory memory =
        chunk_memory_of<SAMPLES, BYTES, BYTES, CONTIGUOUS>(image, index);
    const uint32_t bytes = memory.pixels * BYTES;
    load_chunk(words, memory.in, bytes, CONTIGUOUS || image.aligned);
    if constexpr (CHANNELS % 2 == 0) {
        return hide_pixels<DEPTH, CHANNELS, FLIP>(words, bytes);
    } else {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (FLIP) words[k] = ~words[k];
            if (CONTIGUOUS || bytes == 16) continue;
            const uint32_t rest = bytes > 4 * k ? bytes - 4 * k : 0;
            words[k] &= rest < 4 ? (1u << 8 * rest) - 1 : ~0u;
        }
        return 0;
    }
}

/* Chunk INDEX's place in its row, as far as three channels shift with it. */
template <int CHANNELS, bool CONTIGUOUS>
static __device__ __forceinline__ uint32_t chunk_phase(const struct batch_image &image,
                                                       uint32_t index) {
    if (CHANNELS != 3) return 0;
    return (CONTIGUOUS ? index : chunk_position_of(image, index).x) % 3;
}

template <int DEPTH, int CHANNELS, bool FLIP, bool CONTIGUOUS, class PARTIAL>
static __device__ __forceinline__ void reduce_range(const struct batch_image &image,
                                                    struct chunk_range range, PARTIAL &partial,
                                                    uint32_t &visible) {
    constexpr uint32_t STEP = REDUCTION_LOADS * REDUCTION_THREADS;
    uint32_t start = range.first + threadIdx.x;
    uint32_t words[REDUCTION_LOADS][4];
    for (; start + STEP - REDUCTION_THREADS < range.end; start += STEP) {
#pragma unroll
        for (int h = 0; h < REDUCTION_LOADS; h++)
            visible += load_samples<DEPTH, CHANNELS, FLIP, CONTIGUOUS>(
                words[h], image, start + h * REDUCTION_THREADS);
#pragma unroll
        for (int h = 0; h < REDUCTION_LOADS; h++)
            partial.add(words[h],
                        chunk_phase<CHANNELS, CONTIGUOUS>(image, start + h * REDUCTION_THREADS));
    }
    for (; start < range.end; start += REDUCTION_THREADS) {
        visible += load_samples<DEPTH, CHANNELS, FLIP, CONTIGUOUS>(words[0], image, start);
        partial.add(words[0], chunk_phase<CHANNELS, CONTIGUOUS>(image, start));
    }
}

/* ---- one block */

/* Combines the block's results, in thread 0. */
template <int NUMBERS, class PARTIAL>
static __device__ __forceinline__ void reduce_block(unsigned long long (&results)[NUMBERS]) {
    __shared__ unsigned long long warps[REDUCTION_THREADS / 32][NUMBERS];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int c = 0; c < NUMBERS; c++) {
        for (int step = 16; step; step /= 2)
            results[c] = PARTIAL::combine(results[c], __shfl_xor_sync(~0u, results[c], step));
        if (lane == 0) warps[warp][c] = results[c];
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < NUMBERS && warp == 0; c++) {
        results[c] = lane < REDUCTION_THREADS / 32 ? warps[lane][c] : 0;
        for (int step = REDUCTION_THREADS / 64; step; step /= 2)
            results[c] = PARTIAL::combine(results[c], __shfl_xor_sync(~0u, results[c], step));
    }
    __syncthreads(); /* before the next image's warps write there */
}

/* ---- all blocks */

/* Called by thread 0: adds RESULTS of CHUNKS chunks; true, with the image's results, where they are
 * complete. The fence before the ticket publishes the additions; the one after it makes all
 * additions visible to the thread that drew the last ticket. */
template <int NUMBERS, class PARTIAL>
static __device__ __forceinline__ bool add_to_state(struct reduction_state *state, uint32_t chunks,
                                                    uint32_t all_chunks,
                                                    unsigned long long (&results)[NUMBERS]) {
    if (chunks == all_chunks) return true;
#pragma unroll
    for (int c = 0; c < NUMBERS; c++) PARTIAL::merge(&state->results[c], results[c]);
    __threadfence();
    if (atomicAdd(&state->chunks_done, chunks) + chunks != all_chunks) return false;
    __threadfence();
#pragma unroll
    for (int c = 0; c < NUMBERS; c++) {
        results[c] = __ldcg(&state->results[c]);
        state->results[c] = 0;
    }
    state->chunks_done = 0;
    return true;
}

/* OP: `partial<DEPTH, CHANNELS>`, FLIP, and the conversion of a result to a value. */
template <int DEPTH, int CHANNELS, class OP>
static __global__ void __launch_bounds__(REDUCTION_THREADS, REDUCTION_BLOCKS)
    reduction_kernel(const __grid_constant__ struct batch batch, struct reduction_state *states,
                     const __grid_constant__ struct background background) {
    typedef typename OP::template partial<DEPTH, CHANNELS> partial_type;
    constexpr bool ALPHA = CHANNELS % 2 == 0;
    constexpr int COLOURS = CHANNELS < 3 ? 1 : 3, NUMBERS = COLOURS + ALPHA;
    const struct chunk_range block = block_chunks(batch);
    const int end = batch_find(batch, block.end - 1) + 1;
    for (int i = batch_find(batch, block.first); i < end; i++) {
        const struct batch_image image = batch.images[i];
        const struct chunk_range range = image_chunks(image, block);
        partial_type partial = {};
        uint32_t visible = 0;
        if (image.contiguous)
            reduce_range<DEPTH, CHANNELS, OP::FLIP, true>(image, range, partial, visible);
        else
            reduce_range<DEPTH, CHANNELS, OP::FLIP, false>(image, range, partial, visible);
        unsigned long long results[NUMBERS];
        partial.fold(results);
        if (ALPHA) results[NUMBERS - 1] = visible;
        reduce_block<NUMBERS, partial_type>(results);
        if (threadIdx.x || !add_to_state<NUMBERS, partial_type>(states + i, range.end - range.first,
                                                                image.chunks, results))
            continue;
        const uint64_t pixels =
            ALPHA ? results[NUMBERS - 1] : (uint64_t)(image.width / CHANNELS) * image.height;
#pragma unroll
        for (int c = 0; c < COLOURS; c++)
            ((typename OP::value *)image.out)[c] =
                pixels ? OP::template value_of<DEPTH>(results[c], pixels)
                       : (typename OP::value)background.sample[c];
    }
}

/* ---- host */

template <int DEPTH, class OP>
static void reduction_launch(const struct cuda_context *context, unsigned channels,
                             struct batch *batch, const struct background &background) {
    struct reduction_state *states = (struct reduction_state *)context->zeroed;
    const unsigned blocks =
        batch_divide(batch, REDUCTION_THREADS, REDUCTION_BLOCKS * context->multiprocessors);
    const cudaStream_t stream = context->stream;
    void (*const kernels[4])(struct batch, struct reduction_state *, struct background) = {
        reduction_kernel<DEPTH, 1, OP>, reduction_kernel<DEPTH, 2, OP>,
        reduction_kernel<DEPTH, 3, OP>, reduction_kernel<DEPTH, 4, OP>
    };
    kernels[channels - 1]<<<blocks, REDUCTION_THREADS, 0, stream>>>(*batch, states, background);
}

/* NAME: the kernel's in the timing report. */
template <class OP>
static enum status reduction_run(const struct cuda_context *context, const struct op_call *calls,
                                 int count, const char *name) {
    struct op_call samples[CUDA_BATCH_MAX];
    struct batch batch;
    batch_sample_calls(samples, calls, count);
    const enum status status = batch_init_values(&batch, samples, count, 128 / calls[0].in.depth);
    if (status) return status;
    const struct image &in = calls[0].in;
    const struct background background =
        background_of(calls[0].params->number[BACKGROUND_ONLY], in.channels, in.depth);
    if (in.depth == 8)
        reduction_launch<8, OP>(context, in.channels, &batch, background);
    else
        reduction_launch<16, OP>(context, in.channels, &batch, background);
    CUDA_LAUNCHED(calls[0].failure);
    cuda_record_kernel(context, name);
    return STATUS_OK;
}

#endif
