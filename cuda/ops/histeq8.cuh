// SPDX-License-Identifier: Apache-2.0
/* histeq8.cuh - histogram equalization of 8-bit samples: count, table and apply in one cooperative
 * launch, one block a multiprocessor.
 *
 * Count:  256 counters stand in shared memory once for each bank, and a lane counts in its own
 * bank: 32 atomic additions of a warp never meet, whether the image is noise or constant. Table:
 * blocks add their counters to global ones. When those sum to the number of pixels nothing is
 *         missing, so the counts are their own barrier: each block reads them until they do, and
 * makes the table for itself. All blocks run at once (cooperative launch), so none waits for ever.
 * Apply:  the table too stands once for each bank. A block goes back over its own part in reverse:
 * what it read last is still in registers, what it read before that in the L2 cache.
 */
#ifndef BURIN_HISTEQ8_CUH
#define BURIN_HISTEQ8_CUH

#include "cuda/launch.cuh"
#include "cuda/ops/histeq_fixed.h"

enum { THREADS = 512, LAST_WARP = THREADS - 32, LEVELS = 256 };

/* Eight global counters share a 32-byte sector; sectors stand 1 KB apart, so that additions of all
 * blocks are spread over the L2 cache instead of queueing at one slice of it. */
enum { SECTOR_WORDS = 256, COUNTS_WORDS = LEVELS / 8 * SECTOR_WORDS };
static_assert(SECTOR_WORDS + 3 * CUDA_BATCH_MAX * COUNTS_WORDS <= CUDA_ZEROED_WORDS,
              "counters of a whole batch");

/* Cycles before the first look at the counters: looks queue like additions, so whoever looks too
 * early holds up those that still add. */
enum { PAUSE = 300 };

/* How pixels of one kind are held. */
template <int CHANNELS, int MODE> struct layout {
    static constexpr int TABLES = CHANNELS > 2 && MODE == HISTEQ_EACH ? 3 : 1;
    static constexpr bool STAGED = CHANNELS == 3;
    static constexpr int WORDS = STAGED ? 12 : 4; /* of a chunk */
    static constexpr int PIXELS = 4 * WORDS / CHANNELS;
    static constexpr int HELD = STAGED ? 3 : 8; /* chunks that a thread has in hand */
    static constexpr int STEP = HELD * THREADS;
    /* Of a table, each for so many banks; all 32 where memory allows it. Three channels need room
     * for the stage too, and have fewer look-ups a byte. */
    static constexpr int COPIES = (STAGED ? 16 : 32) / (TABLES == 1 ? 1 : 2);
    static constexpr int TABLE_WORDS = TABLES * LEVELS * COPIES;
    static constexpr int STAGE_WORDS = STAGED ? WORDS * THREADS : 0;
    static constexpr int SHARED_BYTES = 4 * (TABLE_WORDS + STAGE_WORDS + TABLES * LEVELS + TABLES);
};

struct rule {
    uint32_t bins;
    int scale;
};

/* Shared memory of a block. */
struct desk {
    uint32_t *table; /* [tables][256][copies]: counters first, then new levels or ratios */
    uint4
        *stage; /* [warp][96] vectors on their way between memory and the threads they belong to */
    uint32_t *sums;  /* [tables][256] inclusive */
    uint32_t *first; /* [tables] sum at the first bin in use */
};

template <class L> static __device__ __forceinline__ struct desk desk_make(void) {
    extern __shared__ uint4 shared[];
    uint32_t *table = (uint32_t *)shared, *stage = table + L::TABLE_WORDS;
    uint32_t *sums = stage + L::STAGE_WORDS;
    return { table, (uint4 *)stage + threadIdx.x / 32 * 96, sums, sums + L::TABLES * LEVELS };
}

/* What is looked up for pixel P: sample C for `each`, else V. */
template <int CHANNELS, int MODE, int WORDS>
static __device__ __forceinline__ uint32_t value_of(const uint32_t (&words)[WORDS], int p, int c) {
    const uint32_t red = chunk_get<8>(words, p * CHANNELS + c);
    if (CHANNELS < 3 || MODE == HISTEQ_EACH) return red;
    const uint32_t green = chunk_get<8>(words, p * CHANNELS + 1);
    const uint32_t blue = chunk_get<8>(words, p * CHANNELS + 2);
    return MODE == HISTEQ_LUMA ? luma(red, green, blue) : max(max(red, green), blue);
}

/* Where a lane's own bank of TABLE starts. */
template <class L> static __device__ __forceinline__ uint32_t column_of(const uint32_t *table) {
    return shared_address(table) + threadIdx.x % L::COPIES * 4;
}

/* ---- chunks in hand: of three channels by the warp, where the picture is flat */

/* Vectors of this warp's 32 chunks from START on. */
static __device__ __forceinline__ uint32_t warp_vectors(uint32_t start, uint32_t end) {
    const uint32_t first = start + threadIdx.x / 32 * 32;
    return first < end ? 3 * (end - first) : 0;
}

template <class L>
static __device__ __forceinline__ void load_staged(uint32_t (&held)[L::HELD][L::WORDS],
                                                   const uint8_t *in, uint32_t start, uint32_t end,
                                                   uint4 *stage) {
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < L::HELD; h++, start += THREADS) {
        const uint32_t vectors = warp_vectors(start, end);
        const uint4 *from = (const uint4 *)in + 3ull * (start + threadIdx.x - lane);
#pragma unroll
        for (int i = 0; i < 3; i++)
            if (32 * i + lane < vectors) put_vector(held[h] + 4 * i, __ldg(from + 32 * i + lane));
    }
#pragma unroll
    for (int h = 0; h < L::HELD; h++) hand_over(held[h], stage);
}

static __device__ __forceinline__ void store_staged(uint32_t *words, uint8_t *out, uint32_t start,
                                                    uint32_t end, uint4 *stage) {
    const uint32_t vectors = warp_vectors(start, end), lane = threadIdx.x % 32;
    uint4 *to = (uint4 *)out + 3ull * (start + threadIdx.x - lane);
    hand_back(words, stage);
#pragma unroll
    for (int i = 0; i < 3; i++)
        if (32 * i + lane < vectors) __stcs(to + 32 * i + lane, get_vector(words + 4 * i));
}

/* Every thread's chunks from START on, THREADS apart. */
template <int CHANNELS, class L, bool FLAT>
static __device__ __forceinline__ void load_held(uint32_t (&held)[L::HELD][L::WORDS],
                                                 const struct picture &picture, uint32_t start,
                                                 uint32_t end, uint4 *stage) {
    if constexpr (L::STAGED && FLAT) {
        load_staged<L>(held, picture.in, start, end, stage);
    } else {
#pragma unroll
        for (int h = 0; h < L::HELD; h++) {
            const uint32_t index = start + h * THREADS + threadIdx.x;
            if (index >= end) break;
            const struct spot spot = spot_of<L::PIXELS, CHANNELS, CHANNELS, FLAT>(picture, index);
            load_chunk(held[h], spot.in, spot.pixels * CHANNELS, FLAT || picture.aligned);
        }
    }
}

/* This thread's chunk from START on. */
template <int CHANNELS, class L, bool FLAT>
static __device__ __forceinline__ void store_held(uint32_t (&words)[L::WORDS],
                                                  const struct picture &picture, uint32_t start,
                                                  uint32_t end, uint4 *stage) {
    if constexpr (L::STAGED && FLAT) {
        store_staged(words, picture.out, start, end, stage);
    } else {
        const uint32_t index = start + threadIdx.x;
        if (index >= end) return;
        const struct spot spot = spot_of<L::PIXELS, CHANNELS, CHANNELS, FLAT>(picture, index);
        store_chunk(words, spot.out, spot.pixels * CHANNELS, FLAT || picture.aligned);
    }
}

/* ---- count */

template <int CHANNELS, int MODE, class L>
static __device__ __forceinline__ void count_pixel(const uint32_t (&words)[L::WORDS], int p,
                                                   uint32_t column) {
#pragma unroll
    for (int t = 0; t < L::TABLES; t++)
        shared_increment(column +
                         4 * L::COPIES * (t * LEVELS + value_of<CHANNELS, MODE>(words, p, t)));
}

/* A chunk that is not whole is shifted through the place of its first pixel: less code. */
template <int CHANNELS, int MODE, class L>
static __device__ __forceinline__ void count_chunk(const uint32_t (&words)[L::WORDS],
                                                   uint32_t pixels, uint32_t column) {
    if (pixels == L::PIXELS) {
#pragma unroll
        for (int p = 0; p < L::PIXELS; p++) count_pixel<CHANNELS, MODE, L>(words, p, column);
        return;
    }
    uint32_t rest[L::WORDS];
#pragma unroll
    for (int i = 0; i < L::WORDS; i++) rest[i] = words[i];
#pragma unroll 1
    for (uint32_t p = 0; p < pixels; p++) {
        count_pixel<CHANNELS, MODE, L>(rest, 0, column);
        chunk_shift<CHANNELS>(rest);
    }
}

template <class L> static __device__ __forceinline__ void clear(uint32_t *table) {
    for (int i = threadIdx.x; i < L::TABLE_WORDS / 4; i += THREADS)
        ((uint4 *)table)[i] = make_uint4(0, 0, 0, 0);
}

/* The last step's chunks stay in HELD. */
template <int CHANNELS, int MODE, class L, bool FLAT>
static __device__ __forceinline__ void count_part(const struct picture &picture, struct chunks part,
                                                  const struct desk &desk,
                                                  uint32_t (&held)[L::HELD][L::WORDS]) {
    const uint32_t column = column_of<L>(desk.table);
    load_held<CHANNELS, L, FLAT>(held, picture, part.first, part.end, desk.stage);
    clear<L>(desk.table);
    __syncthreads();
    for (uint32_t start = part.first;;) {
#pragma unroll
        for (int h = 0; h < L::HELD; h++) {
            const uint32_t index = start + h * THREADS + threadIdx.x;
            if (index >= part.end) break;
            const struct spot spot = spot_of<L::PIXELS, CHANNELS, CHANNELS, FLAT>(picture, index);
            count_chunk<CHANNELS, MODE, L>(held[h], spot.pixels, column);
        }
        if ((start += L::STEP) >= part.end) break;
        load_held<CHANNELS, L, FLAT>(held, picture, start, part.end, desk.stage);
    }
}

/* Global counter of LEVEL. */
static __device__ __forceinline__ uint32_t counter_of(uint32_t level) {
    return level / 8 * SECTOR_WORDS + level % 8;
}

/* Two threads sum one level's copies; they start at such places that eight neighbours read from all
 * banks. Tables follow one another, in shared and in global memory. Two levels are one addition of
 * 64 bits: no sum reaches 2^32, so nothing is carried over. */
template <class L>
static __device__ __forceinline__ void merge(const uint32_t *table, uint32_t *counts) {
    constexpr unsigned VECTORS = L::COPIES / 4, HALF = VECTORS / 2;
    for (unsigned i = threadIdx.x; i < 2 * L::TABLES * LEVELS; i += THREADS) {
        const unsigned level = i / 2;
        const uint4 *row = (const uint4 *)table + level * VECTORS + i % 2 * HALF;
        uint32_t sum = 0;
#pragma unroll
        for (unsigned k = 0; k < HALF; k++) {
            const uint4 four = row[(k + level * VECTORS / 8) % HALF];
            sum += four.x + four.y + four.z + four.w;
        }
        sum += __shfl_xor_sync(~0u, sum, 1);
        const unsigned long long pair = (uint64_t)__shfl_down_sync(~0u, sum, 2) << 32 | sum;
        if (pair && i % 4 == 0) atomicAdd((unsigned long long *)(counts + counter_of(level)), pair);
    }
}

/* ---- table */

static __device__ __forceinline__ void read_counts(const uint32_t *counts, uint32_t (&c)[8]) {
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
                 : "l"(counts));
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(c[4]), "=r"(c[5]), "=r"(c[6]), "=r"(c[7])
                 : "l"(counts + 4));
}

/* Last of the levels that share a bin with LEVEL. */
static __device__ __forceinline__ uint32_t bin_last(uint32_t level, uint32_t bins) {
    if (bins >= LEVELS) return level;
    const uint32_t bin = histeq_bin(level, bins, LEVELS - 1);
    return ((bin + 1) * LEVELS + bins - 1) / bins - 1;
}

/* One warp, 8 levels a lane: waits until COUNTS holds all pixels, leaves inclusive sums. */
static __device__ void scan_counts(const uint32_t *counts, uint32_t pixels, uint32_t bins,
                                   uint32_t *sums, uint32_t *first) {
    const unsigned lane = threadIdx.x % 32;
    uint32_t c[8], own, upto, since = (uint32_t)clock();
    while ((uint32_t)clock() - since < PAUSE) {
    }
    for (;;) {
        read_counts(counts + lane * SECTOR_WORDS, c);
        own = 0;
#pragma unroll
        for (int i = 0; i < 8; i++) c[i] = own += c[i];
        upto = own;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const uint32_t left = __shfl_up_sync(~0u, upto, step);
            if (lane >= step) upto += left;
        }
        if (__shfl_sync(~0u, upto, 31) == pixels) break;
    }
    int used = 0; /* levels before the lane's first one in use */
#pragma unroll
    for (int i = 0; i < 8; i++) {
        used += c[i] == 0;
        c[i] += upto - own;
    }
    ((uint4 *)sums)[2 * lane] = make_uint4(c[0], c[1], c[2], c[3]);
    ((uint4 *)sums)[2 * lane + 1] = make_uint4(c[4], c[5], c[6], c[7]);
    __syncwarp();
    if (own && upto == own) *first = sums[bin_last(8 * lane + used, bins)];
}

/* New level of LEVEL, or what a colour is multiplied by. */
template <int CHANNELS, int MODE>
static __device__ __forceinline__ uint32_t entry_of(const uint32_t *sums, uint32_t first,
                                                    uint32_t pixels, uint32_t level,
                                                    struct rule rule) {
    const bool identity = rule.scale == HISTEQ_MINMAX && first == pixels;
    const uint32_t next = identity ? level
                                   : histeq_quantile_fixed(sums[bin_last(level, rule.bins)], first,
                                                           pixels, LEVELS - 1, rule.scale);
    if (CHANNELS < 3 || MODE == HISTEQ_EACH) return next;
    return histeq_ratio(level, next, MODE == HISTEQ_VALUE ? HISTEQ_VALUE_BITS : HISTEQ_LUMA_BITS);
}

/* Each warp makes its share of the levels of each table and spreads them over the copies. */
template <int CHANNELS, int MODE, class L>
static __device__ __forceinline__ void make_tables(uint32_t pixels, struct rule rule,
                                                   const struct desk &desk) {
    constexpr int SHARE = LEVELS * 32 / THREADS;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int t = 0; t < L::TABLES; t++) {
        const uint32_t entry = entry_of<CHANNELS, MODE>(desk.sums + t * LEVELS, desk.first[t],
                                                        pixels, SHARE * warp + lane % SHARE, rule);
        uint4 *rows = (uint4 *)desk.table + (t * LEVELS + SHARE * warp) * L::COPIES / 4;
#pragma unroll
        for (int i = lane; i < SHARE * L::COPIES / 4; i += 32) {
            const uint32_t copy = __shfl_sync(~0u, entry, i / (L::COPIES / 4));
            rows[i] = make_uint4(copy, copy, copy, copy);
        }
    }
}

/* ---- apply */

/* R, G and B times V' / V. */
template <int CHANNELS, int MODE, class L>
static __device__ __forceinline__ void map_colour(const uint32_t (&in)[L::WORDS],
                                                  uint32_t (&out)[L::WORDS], int p, uint32_t column,
                                                  uint32_t black) {
    constexpr int BITS = MODE == HISTEQ_VALUE ? HISTEQ_VALUE_BITS : HISTEQ_LUMA_BITS;
    const uint32_t value = value_of<CHANNELS, MODE>(in, p, 0);
    const uint32_t ratio = shared_read(column + 4 * L::COPIES * value);
    const uint32_t addend = histeq_addend(value, black, BITS);
#pragma unroll
    for (int i = p * CHANNELS; i < p * CHANNELS + 3; i++) {
        const uint32_t product = histeq_product(chunk_get<8>(in, i), ratio, addend);
        if (MODE == HISTEQ_VALUE)
            chunk_put_byte<3>(out, i, product);
        else
            chunk_put_byte<0>(out, i, min(product >> BITS, LEVELS - 1));
    }
}

/* Alpha stays as it stands in OUT, a copy of IN. */
template <int CHANNELS, int MODE, class L>
static __device__ __forceinline__ void map_chunk(const uint32_t (&in)[L::WORDS],
                                                 uint32_t (&out)[L::WORDS], uint32_t column,
                                                 uint32_t black) {
#pragma unroll
    for (int i = 0; i < L::WORDS; i++) out[i] = in[i];
#pragma unroll
    for (int p = 0; p < L::PIXELS; p++) {
        if (CHANNELS > 2 && MODE != HISTEQ_EACH) {
            map_colour<CHANNELS, MODE, L>(in, out, p, column, black);
        } else {
#pragma unroll
            for (int t = 0; t < L::TABLES; t++) {
                const uint32_t sample = chunk_get<8>(in, p * CHANNELS + t);
                chunk_put_byte<0>(out, p * CHANNELS + t,
                                  shared_read(column + 4 * L::COPIES * (t * LEVELS + sample)));
            }
        }
    }
}

/* Backwards over the same steps as count_part; IN_HAND: the last one's chunks are still in HELD. */
template <int CHANNELS, int MODE, class L, bool FLAT>
static __device__ __forceinline__ void map_part(const struct picture &picture, struct chunks part,
                                                const struct desk &desk, uint32_t black,
                                                bool in_hand, uint32_t (&held)[L::HELD][L::WORDS]) {
    const uint32_t column = column_of<L>(desk.table);
    uint32_t start = part.first + (part.end - part.first - 1) / L::STEP * L::STEP;
    if (!in_hand) load_held<CHANNELS, L, FLAT>(held, picture, start, part.end, desk.stage);
    for (;;) {
#pragma unroll
        for (int h = 0; h < L::HELD; h++) {
            const uint32_t first = start + h * THREADS;
            if (first >= part.end) break;
            uint32_t out[L::WORDS];
            map_chunk<CHANNELS, MODE, L>(held[h], out, column, black);
            store_held<CHANNELS, L, FLAT>(out, picture, first, part.end, desk.stage);
        }
        if (start == part.first) return;
        start -= L::STEP;
        load_held<CHANNELS, L, FLAT>(held, picture, start, part.end, desk.stage);
    }
}

/* ---- run */

/* New level of V = 0, where the table holds ratios. */
template <int CHANNELS, int MODE>
static __device__ __forceinline__ uint32_t black_level(const struct desk &desk, uint32_t pixels,
                                                       struct rule rule) {
    if (CHANNELS < 3 || MODE == HISTEQ_EACH || rule.scale == HISTEQ_MINMAX) return 0;
    return histeq_quantile_fixed(desk.sums[bin_last(0, rule.bins)], 0, pixels, LEVELS - 1,
                                 rule.scale);
}

/* The last block that has read COUNTS leaves zeros behind. */
static __device__ __forceinline__ void leave_zeros(uint32_t *counts, int tables, uint32_t ticket) {
    if (threadIdx.x < LAST_WARP) return;
    if (__shfl_sync(~0u, ticket, 0) != gridDim.x - 1) return;
    for (uint32_t i = threadIdx.x - LAST_WARP; i < tables * LEVELS; i += 32)
        counts[counter_of(i)] = 0;
}

/* Parameters in the order of use: the batch's beginning shares a line of constants with them. MOST:
 * pictures that there is room for. One has a kernel of its own, since parameters cost time: a
 * launch with those of a whole batch, 3.7 KB, takes 0.2 us more. */
template <int CHANNELS, int MODE, int MOST>
static __global__ void __launch_bounds__(THREADS, 1)
    equalize_kernel(struct rule rule, uint32_t *counts, uint32_t *left,
                    const __grid_constant__ struct batch_of<MOST> batch) {
    typedef layout<CHANNELS, MODE> L;
    const struct desk desk = desk_make<L>();
    const struct chunks share = block_share(batch);
    const int begin = picture_at(batch, share.first), end = picture_at(batch, share.end - 1) + 1;
    const int warp = threadIdx.x / 32;
    uint32_t held[L::HELD][L::WORDS], ticket = 0;
    for (int i = begin; i < end; i++) {
        const struct picture picture = batch.pictures[i];
        const struct chunks part = picture_part(picture, share);
        if (picture.flat)
            count_part<CHANNELS, MODE, L, true>(picture, part, desk, held);
        else
            count_part<CHANNELS, MODE, L, false>(picture, part, desk, held);
        __syncthreads();
        merge<L>(desk.table, counts + i * L::TABLES * COUNTS_WORDS);
        if (i + 1 < end) __syncthreads();
    }
    for (int i = end; i-- > begin;) {
        const struct picture picture = batch.pictures[i];
        const struct chunks part = picture_part(picture, share);
        if (warp < L::TABLES)
            scan_counts(counts + (i * L::TABLES + warp) * COUNTS_WORDS, picture.pixels, rule.bins,
                        desk.sums + warp * LEVELS, desk.first + warp);
        __syncthreads();
        /* Wraps to 0. Of atomicAdd the compiler makes one for the warp, whose number all await. */
        if (i == begin && threadIdx.x == LAST_WARP) ticket = atomicInc(left, gridDim.x - 1);
        make_tables<CHANNELS, MODE, L>(picture.pixels, rule, desk);
        __syncthreads();
        const uint32_t black = black_level<CHANNELS, MODE>(desk, picture.pixels, rule);
        const bool in_hand = i == end - 1;
        if (picture.flat)
            map_part<CHANNELS, MODE, L, true>(picture, part, desk, black, in_hand, held);
        else
            map_part<CHANNELS, MODE, L, false>(picture, part, desk, black, in_hand, held);
        if (i > begin) __syncthreads();
    }
    leave_zeros(counts, batch.count * L::TABLES, ticket);
}

#endif
