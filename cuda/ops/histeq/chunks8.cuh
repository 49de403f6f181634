// SPDX-License-Identifier: Apache-2.0
/* chunks8.cuh - loads a block's chunks into registers and stores them. Those of three channels, 48
 * bytes each, are exchanged within the warp where the image is contiguous; see chunk.cuh.
 *
 * Used by:  histogram8.cuh, apply8.cuh.
 */
#ifndef BURIN_HISTEQ_CHUNKS8_CUH
#define BURIN_HISTEQ_CHUNKS8_CUH

#include "cuda/ops/histeq/layout8.cuh"

/* Vectors of this warp's 32 chunks from START on. */
static __device__ __forceinline__ uint32_t warp_vectors(uint32_t start, uint32_t end) {
    const uint32_t first = start + threadIdx.x / 32 * 32;
    return first < end ? 3 * (end - first) : 0;
}

template <class L>
static __device__ __forceinline__ void load_staged(uint32_t (&chunks)[L::CHUNKS][L::WORDS],
                                                   const uint8_t *in, uint32_t start, uint32_t end,
                                                   uint4 *stage) {
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < L::CHUNKS; h++, start += THREADS) {
        const uint32_t vectors = warp_vectors(start, end);
        const uint4 *from = (const uint4 *)in + 3ull * (start + threadIdx.x - lane);
#pragma unroll
        for (int i = 0; i < 3; i++)
            if (32 * i + lane < vectors)
                unpack_vector(chunks[h] + 4 * i, __ldg(from + 32 * i + lane));
    }
#pragma unroll
    for (int h = 0; h < L::CHUNKS; h++) striped_to_blocked(chunks[h], stage);
}

static __device__ __forceinline__ void store_staged(uint32_t *words, uint8_t *out, uint32_t start,
                                                    uint32_t end, uint4 *stage) {
    const uint32_t vectors = warp_vectors(start, end), lane = threadIdx.x % 32;
    uint4 *to = (uint4 *)out + 3ull * (start + threadIdx.x - lane);
    blocked_to_striped(words, stage);
#pragma unroll
    for (int i = 0; i < 3; i++)
        if (32 * i + lane < vectors) __stcs(to + 32 * i + lane, pack_vector(words + 4 * i));
}

/* Loads every thread's chunks from START on, THREADS apart. */
template <int CHANNELS, class L, bool CONTIGUOUS>
static __device__ __forceinline__ void
load_thread_chunks(uint32_t (&chunks)[L::CHUNKS][L::WORDS], const struct batch_image &image,
                   uint32_t start, uint32_t end, uint4 *stage) {
    if constexpr (L::STAGED && CONTIGUOUS) {
        load_staged<L>(chunks, image.in, start, end, stage);
    } else {
#pragma unroll
        for (int h = 0; h < L::CHUNKS; h++) {
            const uint32_t index = start + h * THREADS + threadIdx.x;
            if (index >= end) break;
            const struct chunk_memory memory =
                chunk_memory_of<L::PIXELS, CHANNELS, CHANNELS, CONTIGUOUS>(image, index);
            load_chunk(chunks[h], memory.in, memory.pixels * CHANNELS, CONTIGUOUS || image.aligned);
        }
    }
}

/* Stores this thread's chunk from START on. */
template <int CHANNELS, class L, bool CONTIGUOUS>
static __device__ __forceinline__ void
store_thread_chunk(uint32_t (&words)[L::WORDS], const struct batch_image &image, uint32_t start,
                   uint32_t end, uint4 *stage) {
    if constexpr (L::STAGED && CONTIGUOUS) {
        store_staged(words, image.out, start, end, stage);
    } else {
        const uint32_t index = start + threadIdx.x;
        if (index >= end) return;
        const struct chunk_memory memory =
            chunk_memory_of<L::PIXELS, CHANNELS, CHANNELS, CONTIGUOUS>(image, index);
        store_chunk(words, memory.out, memory.pixels * CHANNELS, CONTIGUOUS || image.aligned);
    }
}

#endif
