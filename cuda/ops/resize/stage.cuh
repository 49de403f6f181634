// SPDX-License-Identifier: Apache-2.0
/* stage.cuh - pieces of STAGE_ROWS rows of an image in shared memory, as tensor cores take them.
 *
 * Used by:  across.cuh.
 * Threads:  a block's WARPS store a piece together; after a barrier any of them may read it.
 *
 * How it works. Four neighbouring pixels of a row are a word of each plane. Bytes go to shared
 * memory in the image's order, without a register (cp.async). Rows that are summed as they are keep
 * that order, and readers sort them by planes; half of the rows come first, so that they can be
 * summed while the others come. With alpha, the thread that copied pixels multiplies them in place,
 * before the barrier, and replaces them by the planes' words. Rows that are summed with 16 bits are
 * made ready in registers, and stored plane by plane.
 *
 * The four rows 4 g + i that a lane reads with g = lane / 4 (axis_sum.cuh) are kept in slots
 * 8 i + g, and a slot's words are APART more than its span takes (stage_layout): then no two lanes
 * that are served together share a bank.
 *
 * A matrix takes a lane's words of a plane from neighbouring registers, those of two rows next to
 * each other. So where pixels are multiplied, a plane's words of rows 4 g + 2 k and 4 g + 2 k + 1
 * become a pair, which one load reads. The first row's slot keeps the pairs of the first half of
 * the planes, the second row's slot the others. With RGBA that is two pairs for each word: they
 * swap places where g & 2, again for the banks.
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
    static constexpr uint32_t WORD_STEP = K::BYTEWISE ? K::WORDS : 1;
    static constexpr uint32_t ROWS_PLANES = K::BYTEWISE ? 1 : K::PLANES;
    static constexpr uint32_t APART = K::PAIRED ? 4 * K::WORDS : 4;
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

/* Waits for all groups of the thread but the last LEFT, or the last MOST if that is less. */
template <int MOST> static __device__ __forceinline__ void stage_wait_but(uint32_t left) {
    if constexpr (MOST > 0)
        if (left < MOST) return stage_wait_but<MOST - 1>(left);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(MOST) : "memory");
#endif
}

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

/* A warp's rows: WARP's first one, and the distance from it of the one of INDEX. They are pairs
 * that are eight rows apart, or those of every WARPS-th slot, with first rows 4 g + 2 and 4 g +
 * 3. */
template <class K> static __device__ __forceinline__ uint32_t stage_row(uint32_t warp) {
    return K::PAIRED ? warp / 4 * 16 + warp % 4 * 2 : 4 * warp;
}

template <class K, int WARPS>
static __device__ __forceinline__ constexpr uint32_t stage_apart(uint32_t index) {
    constexpr uint32_t SLOTS = STAGE_ROWS / 4 / WARPS; /* of rows of the same remainder */
    return K::PAIRED ? index / 4 * 16 + index / 2 % 2 * 8 + index % 2
                     : index % SLOTS * 4 * WARPS + (index / SLOTS ^ 2);
}

enum {
    STAGE_TURN = 32 * 16, /* bytes of a row that a warp copies at once */
    STAGE_LOTS = 4        /* turns under way, at most, while one is multiplied */
};

/* The end of the turns for END bytes. */
static __device__ __forceinline__ uint32_t stage_turns(uint32_t end) {
    return (end + STAGE_TURN - 1) / STAGE_TURN * STAGE_TURN;
}

/* A warp copies its rows all at once. ALIGNED rows are copied in 16 bytes even at a row's end,
 * within its stride; the surplus meets weights of 0. Bytes that will be multiplied come in a group
 * for each turn, the same number for all lanes; others in one group for each half of the rows. */
template <class K, int WARPS, bool ALIGNED>
static __device__ __forceinline__ void stage_bytes_of(const struct stage_source &source,
                                                      uint32_t pitch, uint32_t *staged) {
    constexpr uint32_t HALVES = K::PAIRED ? 1 : 2, ROWS = STAGE_ROWS / WARPS / HALVES;
    const uint32_t first = stage_first_byte<K>(source), end = stage_end_byte<K>(source);
    const uint32_t row_bytes = source.width * K::PIXEL_BYTES;
    const uint32_t row = stage_row<K>(threadIdx.x / 32), rows = source.height - source.row;
    const uint8_t *const from = source.in + (size_t)(source.row + row) * source.stride + first;
    uint32_t *const to = staged + stage_slot(row) * pitch;
#pragma unroll
    for (uint32_t half = 0; half < HALVES; half++) {
#pragma unroll 1
        for (uint32_t b = threadIdx.x % 32 * 16; b < (K::PAIRED ? stage_turns(end) : end);
             b += STAGE_TURN) {
#pragma unroll
            for (uint32_t i = 0; i < ROWS; i++) {
                const uint32_t r = stage_apart<K, WARPS>(half * ROWS + i);
                if (row + r >= rows || (K::PAIRED && b >= end)) continue;
                uint32_t *const slot = to + stage_slot(r) * pitch + b / 4;
                const uint8_t *const bytes = from + (r * source.stride + b);
                if (ALIGNED)
                    stage_copy(slot, bytes);
                else
                    stage_shift(slot, bytes, min(row_bytes - first - b, 16u));
            }
            if (K::PAIRED) stage_commit();
        }
        if (!K::PAIRED) stage_commit();
    }
}

/* ---- in the image's order, with alpha */

/* Words of the pixels AT, one plane after another. */
template <class K>
static __device__ __forceinline__ void stage_multiply(uint32_t (&words)[4], const uint32_t *at) {
    unpack_vector(words, *(const uint4 *)at);
#pragma unroll
    for (int w = 0; w < 4; w += K::WORDS) {
        uint32_t pixels[K::WORDS], planes[K::PLANES];
#pragma unroll
        for (int i = 0; i < K::WORDS; i++) pixels[i] = words[w + i];
        work_multiply<K>(planes, pixels);
#pragma unroll
        for (int i = 0; i < K::WORDS; i++) words[w + i] = planes[i];
    }
}

/* 16 bytes of pixels of two rows become pairs. */
template <class K>
static __device__ __forceinline__ void stage_pair(uint32_t *first, uint32_t *second, bool turned) {
    uint32_t words[2][4], pairs[2][4];
    stage_multiply<K>(words[0], first);
    stage_multiply<K>(words[1], second);
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int from = K::PLANES == 4 ? 2 * half + i : half + 2 * i;
            const int to = K::PLANES == 4 && turned ? 1 - i : i;
            pairs[half][2 * to] = words[0][from];
            pairs[half][2 * to + 1] = words[1][from];
        }
    *(uint4 *)first = pack_vector(pairs[0]);
    *(uint4 *)second = pack_vector(pairs[1]);
}

/* Multiplies what the thread has copied, while more comes. */
template <class K, int WARPS>
static __device__ __forceinline__ void stage_pairs(const struct stage_source &source,
                                                   uint32_t pitch, uint32_t *staged) {
    const uint32_t end = stage_end_byte<K>(source), rows = source.height - source.row;
    const uint32_t row = stage_row<K>(threadIdx.x / 32);
    uint32_t *const to = staged + stage_slot(row) * pitch;
#pragma unroll 1
    for (uint32_t b = threadIdx.x % 32 * 16; b < stage_turns(end); b += STAGE_TURN) {
        stage_wait_but<STAGE_LOTS>((stage_turns(end) - 1 - b) / STAGE_TURN);
#pragma unroll
        for (uint32_t i = 0; i < STAGE_ROWS / WARPS; i += 2) {
            const uint32_t r = stage_apart<K, WARPS>(i);
            if (row + r >= rows || b >= end) break;
            uint32_t *const first = to + stage_slot(r) * pitch + b / 4;
            stage_pair<K>(first, first + stage_slot(1) * pitch, r & 8);
        }
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
    if constexpr (!K::BYTEWISE)
        stage_planes<K, WARPS>(source, rule, pitch, staged);
    else if (source.aligned)
        stage_bytes_of<K, WARPS, true>(source, pitch, staged);
    else
        stage_bytes_of<K, WARPS, false>(source, pitch, staged);
}

/* Waits for the half of the rows that is summed first, where no pixels are multiplied. */
static __device__ __forceinline__ void stage_half(void) {
    stage_wait_but<1>(1);
}

/* Waits for all that the thread has begun to copy, and makes it ready. */
template <class K, int WARPS>
static __device__ __forceinline__ void stage_finish(const struct stage_source &source,
                                                    uint32_t pitch, uint32_t *staged) {
    if constexpr (K::PAIRED)
        stage_pairs<K, WARPS>(source, pitch, staged);
    else
        stage_wait();
}

/* Address of word SOURCE.WORD + WORD of SLOT. */
template <class K>
static __device__ __forceinline__ const uint32_t *stage_at(const struct stage_source &source,
                                                           uint32_t pitch, const uint32_t *staged,
                                                           uint32_t slot, uint32_t word) {
    const uint32_t skipped =
        K::BYTEWISE ? (source.word * (4 * K::WORDS) - stage_first_byte<K>(source)) / 4 : 0;
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

/* The pair of each plane, as words INDEX and INDEX + 1: FIRST is in the first row's slot and SECOND
 * in the other's. */
template <class K>
static __device__ __forceinline__ void stage_read_pairs(uint32_t (&planes)[K::PLANES][4], int index,
                                                        const uint32_t *first,
                                                        const uint32_t *second) {
    constexpr int EACH = K::PLANES / 2;
    const int turned = EACH == 2 ? threadIdx.x / 4 & 2 : 0; /* g & 2 */
#pragma unroll
    for (int p = 0; p < K::PLANES; p++) {
        const uint32_t *const slot = p < EACH ? first : second;
        const uint2 pair = *(const uint2 *)(slot + (p % EACH ? 2 - turned : turned));
        planes[p][index] = pair.x, planes[p][index + 1] = pair.y;
    }
}

#endif
