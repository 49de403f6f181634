// SPDX-License-Identifier: Apache-2.0
/* stage.cuh - pieces of STAGE_ROWS rows of an image in shared memory, as tensor cores take them.
 *
 * Used by:  across.cuh.
 * Threads:  a block's WARPS store a piece together; after a barrier any of them may read it.
 *
 * How it works. Four neighbouring pixels of a row are a word of each plane. Bytes go to shared
 * memory in the image's order, without a register (cp.async). Rows that are summed as they are keep
 * that order, and readers sort them by planes; half of the rows come first, so that they can be
 * summed while the others come. Rows with alpha, and those that are summed with 16 bits, are made
 * ready in registers, and stored plane by plane.
 *
 * The four rows 4 g + i that a lane reads with g = lane / 4 (axis_sum.cuh) are kept in slots
 * 8 i + g, and a slot's words are APART more than its span takes (stage_layout): then no two lanes
 * that are served together share a bank.
 */
#ifndef BURIN_RESIZE_STAGE_CUH
#define BURIN_RESIZE_STAGE_CUH

#include "cuda/ops/resize/matrix.cuh"
#include "cuda/ops/resize/work_pixels.cuh"

enum { STAGE_ROWS = AXIS_PIXELS };

/* The piece to read of an image. */
struct stage_source {
    const uint8_t *in;
    uint32_t stride, width, height, row; /* `row`: the first */
    uint32_t word, words;                /* of four pixels: the first, and the number */
    bool aligned;                        /* rows start at 16 bytes */
};

/* Place of four pixels of a row in the piece: words of WORD_STEP each; each of ROWS_PLANES planes
 * has rows of its own. */
template <class K> struct stage_layout {
    static constexpr uint32_t WORD_STEP = K::PLAIN ? K::WORDS : 1;
    static constexpr uint32_t ROWS_PLANES = K::PLAIN ? 1 : K::PLANES;
    static constexpr uint32_t APART = 4;
};

/* Words between slots, with room for SPAN words of four pixels, a multiple of 8. */
template <class K> static __host__ __device__ inline uint32_t stage_pitch(uint32_t span) {
    return span * stage_layout<K>::WORD_STEP + stage_layout<K>::APART;
}

/* A step may read past the end of the last slot. */
template <class K> static __host__ __device__ inline uint32_t stage_bytes(uint32_t span) {
    return 4 * (stage_layout<K>::ROWS_PLANES * STAGE_ROWS * stage_pitch<K>(span) +
                MATRIX_WORDS * stage_layout<K>::WORD_STEP);
}

static __device__ __forceinline__ uint32_t stage_slot(uint32_t row) {
    return (row & 3) << 3 | row >> 2;
}

/* ---- in the image's order */

/* Copies 16 bytes to shared memory; both addresses are aligned. */
static __device__ __forceinline__ void stage_copy(uint32_t *to, const uint8_t *from) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from)
                 : "memory");
#else
    *(uint4 *)to = __ldg((const uint4 *)from);
#endif
}

/* Makes a group of the copies that the thread has begun since the last call. */
static __device__ __forceinline__ void stage_commit(void) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits for the thread's groups but the last: the half of the rows that is summed first. */
static __device__ __forceinline__ void stage_half(void) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
}

/* Waits for all that the thread has begun to copy. */
static __device__ __forceinline__ void stage_wait(void) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* Copies bytes of a row that begins anywhere. */
static __device__ __forceinline__ void stage_shift(uint32_t *to, const uint8_t *from,
                                                   uint32_t bytes) {
    uint32_t words[4];
    load_unaligned(words, from, bytes);
    *(uint4 *)to = pack_vector(words);
}

/* The piece's first byte in a row, rounded down to the unit of copies. */
template <class K>
static __device__ __forceinline__ uint32_t stage_first_byte(const struct stage_source &source) {
    return source.word * (4 * K::WORDS) & ~15u;
}

/* The end of the bytes to copy, counted from there. */
template <class K>
static __device__ __forceinline__ uint32_t stage_end_byte(const struct stage_source &source) {
    return min((source.word + source.words) * (4 * K::WORDS), source.width * K::PIXEL_BYTES) -
           stage_first_byte<K>(source);
}

/* The distance from a warp's first row, 4 times its number, of the row of INDEX: they are those of
 * every WARPS-th slot, with first rows 4 g + 2 and 4 g + 3. */
template <int WARPS>
static __device__ __forceinline__ constexpr uint32_t stage_apart(uint32_t index) {
    constexpr uint32_t SLOTS = STAGE_ROWS / 4 / WARPS; /* of rows of the same remainder */
    return index % SLOTS * 4 * WARPS + (index / SLOTS ^ 2);
}

enum { STAGE_TURN = 32 * 16 /* bytes of a row that a warp copies at once */ };

/* A warp copies its rows all at once. ALIGNED rows are copied in 16 bytes even at a row's end,
 * within its stride; the surplus meets weights of 0. Each half of the rows is a group. */
template <class K, int WARPS, bool ALIGNED>
static __device__ __forceinline__ void stage_bytes_of(const struct stage_source &source,
                                                      uint32_t pitch, uint32_t *staged) {
    constexpr uint32_t HALVES = 2, ROWS = STAGE_ROWS / WARPS / HALVES;
    const uint32_t first = stage_first_byte<K>(source), end = stage_end_byte<K>(source);
    const uint32_t row_bytes = source.width * K::PIXEL_BYTES;
    const uint32_t row = threadIdx.x / 32 * 4, rows = source.height - source.row;
    const uint8_t *const from = source.in + (size_t)(source.row + row) * source.stride + first;
    uint32_t *const to = staged + stage_slot(row) * pitch;
#pragma unroll
    for (uint32_t half = 0; half < HALVES; half++) {
#pragma unroll 1
        for (uint32_t b = threadIdx.x % 32 * 16; b < end; b += STAGE_TURN) {
#pragma unroll
            for (uint32_t i = 0; i < ROWS; i++) {
                const uint32_t r = stage_apart<WARPS>(half * ROWS + i);
                if (row + r >= rows) continue;
                uint32_t *const slot = to + stage_slot(r) * pitch + b / 4;
                const uint8_t *const bytes = from + (r * source.stride + b);
                if (ALIGNED)
                    stage_copy(slot, bytes);
                else
                    stage_shift(slot, bytes, min(row_bytes - first - b, 16u));
            }
        }
        stage_commit();
    }
}

/* ---- made ready */

/* A word of one of the rows. */
struct stage_place {
    uint32_t row, word;
};

/* The distance to the thread's next word, in rows of COUNT words. */
struct stage_step {
    uint32_t count, rows, words;
};

static __device__ __forceinline__ struct stage_place stage_next(struct stage_place place,
                                                                const struct stage_step &step) {
    place.row += step.rows, place.word += step.words;
    const bool over = place.word >= step.count;
    return { place.row + over, place.word - (over ? step.count : 0) };
}

template <class K>
static __device__ __forceinline__ void stage_load(uint32_t (&words)[K::WORDS],
                                                  const struct stage_source &source,
                                                  const struct stage_place &place) {
    const uint32_t x = 4 * (source.word + place.word), y = source.row + place.row;
    const bool inside = place.row < STAGE_ROWS && x < source.width && y < source.height;
    work_load(words, source.in + (size_t)y * source.stride + x * K::PIXEL_BYTES,
              inside ? min(source.width - x, 4u) * K::PIXEL_BYTES : 0, source.aligned);
}

/* A thread has several loads under way. */
template <class K, int WARPS>
static __device__ __forceinline__ void stage_planes(const struct stage_source &source,
                                                    const struct work_rule &rule, uint32_t pitch,
                                                    uint32_t *staged) {
    constexpr int LOADS = K::WORDS > 4 ? 2 : 4;
    const uint32_t count = source.words;
    const struct stage_step step = { count, WARPS * 32 / count, WARPS * 32 % count };
    struct stage_place place = { threadIdx.x / count, threadIdx.x % count };
    while (place.row < STAGE_ROWS) {
        struct stage_place places[LOADS];
        uint32_t words[LOADS][K::WORDS];
#pragma unroll
        for (int i = 0; i < LOADS; i++, place = stage_next(place, step)) {
            places[i] = place;
            stage_load<K>(words[i], source, place);
        }
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            if (places[i].row >= STAGE_ROWS) break;
            uint32_t planes[K::PLANES];
            work_planes<K>(planes, words[i], rule);
#pragma unroll
            for (int p = 0; p < K::PLANES; p++)
                staged[(p * STAGE_ROWS + stage_slot(places[i].row)) * pitch + places[i].word] =
                    planes[p];
        }
    }
}

/* ---- either */

template <class K, int WARPS>
static __device__ __forceinline__ void stage(const struct stage_source &source,
                                             const struct work_rule &rule, uint32_t pitch,
                                             uint32_t *staged) {
    if constexpr (!K::PLAIN)
        stage_planes<K, WARPS>(source, rule, pitch, staged);
    else if (source.aligned)
        stage_bytes_of<K, WARPS, true>(source, pitch, staged);
    else
        stage_bytes_of<K, WARPS, false>(source, pitch, staged);
}

/* Address of word SOURCE.WORD + WORD of SLOT. */
template <class K>
static __device__ __forceinline__ const uint32_t *stage_at(const struct stage_source &source,
                                                           uint32_t pitch, const uint32_t *staged,
                                                           uint32_t slot, uint32_t word) {
    const uint32_t skipped =
        K::PLAIN ? (source.word * (4 * K::WORDS) - stage_first_byte<K>(source)) / 4 : 0;
    return staged + slot * pitch + skipped + word * stage_layout<K>::WORD_STEP;
}

/* The word of each plane AT, as one of the four words of a lane. */
template <class K>
static __device__ __forceinline__ void stage_read(uint32_t (&planes)[K::PLANES][4], int index,
                                                  const uint32_t *at, uint32_t pitch) {
    if constexpr (K::PLAIN) {
        uint32_t words[K::WORDS];
#pragma unroll
        for (int w = 0; w < K::WORDS; w++) words[w] = at[w];
#pragma unroll
        for (int p = 0; p < K::PLANES; p++)
            planes[p][index] = gather_bytes(words, p, K::PIXEL_BYTES);
    } else {
#pragma unroll
        for (int p = 0; p < K::PLANES; p++) planes[p][index] = at[p * (STAGE_ROWS * pitch)];
    }
}

#endif
