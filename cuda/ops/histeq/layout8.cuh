// SPDX-License-Identifier: Apache-2.0
/* layout8.cuh - how histeq holds pixels of 8-bit samples: chunks in registers, tables in shared
 * memory, counters in global memory.
 *
 * Used by:  the other files of 8-bit histeq.
 * Limits:   64 KB of shared memory a block, so that every GPU from compute capability 7.5 on can
 *           run it.
 *
 * How it works. A chunk of three channels has 48 bytes; where the image is contiguous, a warp's
 * threads exchange such chunks (chunk.cuh).
 */
#ifndef BURIN_HISTEQ_LAYOUT8_CUH
#define BURIN_HISTEQ_LAYOUT8_CUH

#include "cuda/batch.cuh"
#include "cuda/ops/histeq/fixed_point.h"

enum { THREADS = 512, LAST_WARP = THREADS - 32, LEVELS = 256 };

/* Eight global counters share a 32-byte sector; sectors are 1 KB apart, so that all blocks'
 * additions spread over the L2 cache instead of queueing at one slice of it. */
enum { SECTOR_WORDS = 256, COUNTS_WORDS = LEVELS / 8 * SECTOR_WORDS };
static_assert((int)CUDA_BATCH_MAX <= (int)SECTOR_WORDS,
              "a ticket for each image before the counters");
static_assert(SECTOR_WORDS + 3 * CUDA_BATCH_MAX * COUNTS_WORDS <= CUDA_ZEROED_WORDS,
              "counters of a whole batch");

/* A pair behind a table's first eight counters: the number of pixels with alpha 0. */
enum { HIDDEN_WORD = 8 };

/* Cycles before the first read of the counters: reads queue like additions, so that a block that
 * reads too early delays those that still add. */
enum { FIRST_LOOK_CYCLES = 300 };

/* The layout of one kind of pixels. For the COPIES of a table see equalize8.cuh. */
template <int CHANNELS, int MODE> struct layout8 {
    static constexpr int TABLES = CHANNELS > 2 && MODE == HISTEQ_EACH ? 3 : 1;
    static constexpr bool STAGED = CHANNELS == 3;
    static constexpr int WORDS = STAGED ? 12 : 4; /* of a chunk */
    static constexpr int PIXELS = 4 * WORDS / CHANNELS;
    static constexpr int CHUNKS = STAGED ? 3 : 8; /* that a thread holds at a time */
    static constexpr int STEP = CHUNKS * THREADS;
    /* Copies of a table, each for its own banks; 32 where memory allows it. Three channels need
     * room for the stage too, and have fewer look-ups a byte. */
    static constexpr int COPIES = (STAGED ? 16 : 32) / (TABLES == 1 ? 1 : 2);
    static constexpr int TABLE_WORDS = TABLES * LEVELS * COPIES;
    static constexpr int STAGE_WORDS = STAGED ? WORDS * THREADS : 0;
    static constexpr int SHARED_BYTES = 4 * (TABLE_WORDS + STAGE_WORDS + TABLES * LEVELS + TABLES);
};

struct histeq_rule {
    uint32_t bins;
    int scale;
};

/* A block's shared memory. */
struct shared_memory8 {
    uint32_t *table;   /* [tables][256][copies]: counters first, then new levels or ratios */
    uint4 *stage;      /* [warp][96] vectors that are exchanged; see chunk.cuh */
    uint32_t *cdf;     /* [tables][256] cumulative counts, inclusive */
    uint32_t *cdf_min; /* [tables] cumulative count of the first bin in use */
};

template <class L> static __device__ __forceinline__ struct shared_memory8 shared_memory8_of(void) {
    extern __shared__ uint4 dynamic_shared[];
    uint32_t *table = (uint32_t *)dynamic_shared, *stage = table + L::TABLE_WORDS;
    uint32_t *cdf = stage + L::STAGE_WORDS;
    return { table, (uint4 *)stage + threadIdx.x / 32 * 96, cdf, cdf + L::TABLES * LEVELS };
}

/* The value to look up for pixel P: sample C for `each`, else V. */
template <int CHANNELS, int MODE, int WORDS>
static __device__ __forceinline__ uint32_t lookup_value(const uint32_t (&words)[WORDS], int p,
                                                        int c) {
    const uint32_t red = chunk_sample<8>(words, p * CHANNELS + c);
    if (CHANNELS < 3 || MODE == HISTEQ_EACH) return red;
    const uint32_t green = chunk_sample<8>(words, p * CHANNELS + 1);
    const uint32_t blue = chunk_sample<8>(words, p * CHANNELS + 2);
    return MODE == HISTEQ_LUMA ? luma(red, green, blue) : max(max(red, green), blue);
}

/* Whether pixel P is counted: with alpha, if it is not 0. */
template <int CHANNELS, int WORDS>
static __device__ __forceinline__ bool is_seen(const uint32_t (&words)[WORDS], int p) {
    return CHANNELS % 2 || chunk_sample<8>(words, (p + 1) * CHANNELS - 1);
}

/* Address of a lane's own bank of TABLE. */
template <class L> static __device__ __forceinline__ uint32_t lane_column(const uint32_t *table) {
    return shared_address(table) + threadIdx.x % L::COPIES * 4;
}

/* ---- chunks between memory and registers */

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
