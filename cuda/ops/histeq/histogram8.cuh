// SPDX-License-Identifier: Apache-2.0
/* histogram8.cuh - a block counts its share of an image in shared memory.
 *
 * Used by:  equalize8.cuh, cuda/ops/{histogram,normalize}.cu.
 */
#ifndef BURIN_HISTEQ_HISTOGRAM8_CUH
#define BURIN_HISTEQ_HISTOGRAM8_CUH

#include "cuda/ops/histeq/counters8.cuh"

/* Adds to HIDDEN a pixel with alpha 0. */
template <int CHANNELS, int MODE, class L>
static __device__ __forceinline__ void count_pixel(const uint32_t (&words)[L::WORDS], int p,
                                                   uint32_t column, uint32_t &hidden) {
    const bool seen = is_seen<CHANNELS>(words, p);
    hidden += !seen;
#pragma unroll
    for (int t = 0; t < L::TABLES; t++) {
        const uint32_t value = lookup_value<CHANNELS, MODE>(words, p, t);
        const uint32_t address = column + 4 * L::COPIES * (t * LEVELS + value);
        if (CHANNELS % 2)
            shared_increment(address);
        else
            shared_increment_below(address, !seen, 1);
    }
}

/* An incomplete chunk is shifted so that each pixel in turn is its first: less code. */
template <int CHANNELS, int MODE, class L>
static __device__ __forceinline__ void
count_chunk(const uint32_t (&words)[L::WORDS], uint32_t pixels, uint32_t column, uint32_t &hidden) {
    if (pixels == L::PIXELS) {
#pragma unroll
        for (int p = 0; p < L::PIXELS; p++)
            count_pixel<CHANNELS, MODE, L>(words, p, column, hidden);
        return;
    }
    uint32_t rest[L::WORDS];
#pragma unroll
    for (int i = 0; i < L::WORDS; i++) rest[i] = words[i];
#pragma unroll 1
    for (uint32_t p = 0; p < pixels; p++) {
        count_pixel<CHANNELS, MODE, L>(rest, 0, column, hidden);
        chunk_shift<CHANNELS>(rest);
    }
}

template <class L> static __device__ __forceinline__ void zero_counters(uint32_t *table) {
    for (int i = threadIdx.x; i < L::TABLE_WORDS / 4; i += THREADS)
        ((uint4 *)table)[i] = make_uint4(0, 0, 0, 0);
}

/* At the end CHUNKS still hold the last step's pixels. Returns how many of this thread's pixels are
 * not counted, because they have alpha 0. */
template <int CHANNELS, int MODE, class L, bool CONTIGUOUS>
static __device__ __forceinline__ uint32_t count_range(const struct batch_image &image,
                                                       struct chunk_range range,
                                                       const struct shared_memory8 &shared,
                                                       uint32_t (&chunks)[L::CHUNKS][L::WORDS]) {
    const uint32_t column = lane_column<L>(shared.table);
    uint32_t hidden = 0;
    load_thread_chunks<CHANNELS, L, CONTIGUOUS>(chunks, image, range.first, range.end,
                                                shared.stage);
    zero_counters<L>(shared.table);
    __syncthreads();
    for (uint32_t start = range.first;;) {
#pragma unroll
        for (int h = 0; h < L::CHUNKS; h++) {
            const uint32_t index = start + h * THREADS + threadIdx.x;
            if (index >= range.end) break;
            const struct chunk_memory memory =
                chunk_memory_of<L::PIXELS, CHANNELS, CHANNELS, CONTIGUOUS>(image, index);
            count_chunk<CHANNELS, MODE, L>(chunks[h], memory.pixels, column, hidden);
        }
        if ((start += L::STEP) >= range.end) return hidden;
        load_thread_chunks<CHANNELS, L, CONTIGUOUS>(chunks, image, start, range.end, shared.stage);
    }
}

/* The kernel of an operator that needs a whole image's levels: the block that draws an image's last
 * ticket calls FINISH with the image's number and LEVELS counts a table, in all its threads. */
template <int CHANNELS, int MODE, class FINISH>
static __device__ __forceinline__ void count_levels(const struct batch &batch, uint32_t *counts,
                                                    uint32_t *chunks_done, const FINISH &finish) {
    typedef layout8<CHANNELS, MODE> L;
    const struct shared_memory8 shared = shared_memory8_of<L>();
    const struct chunk_range block = block_chunks(batch);
    const int end = batch_find(batch, block.end - 1) + 1;
    uint32_t chunks[L::CHUNKS][L::WORDS];
    for (int i = batch_find(batch, block.first); i < end; i++) {
        const struct batch_image image = batch.images[i];
        const struct chunk_range range = image_chunks(image, block);
        uint32_t *const image_counts = counts + i * L::TABLES * COUNTS_WORDS;
        if (image.contiguous)
            count_range<CHANNELS, MODE, L, true>(image, range, shared, chunks);
        else
            count_range<CHANNELS, MODE, L, false>(image, range, shared, chunks);
        __syncthreads();
        publish_counts<L>(shared.table, image_counts);
        if (!batch_draw_last_ticket(chunks_done + i, range.end - range.first, image.chunks))
            continue;
        take_counters<L>(image_counts, shared.cdf);
        finish(i, shared.cdf);
        if (threadIdx.x == 0) chunks_done[i] = 0;
        __syncthreads(); /* before the next image's levels */
    }
}

#endif
