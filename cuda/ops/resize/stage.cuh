// SPDX-License-Identifier: Apache-2.0
/* stage.cuh - pieces of STAGE_ROWS rows of an image in shared memory, as tensor cores want them.
 *
 * Used by:  across.cuh.
 * Threads:  a block's WARPS put a piece there together; any may read it once all are at a barrier.
 *
 * How it works. Four neighbouring pixels of a row are a word of each plane. Bytes get to shared
 * memory as they lie in the image, without a register (cp.async). Those that are summed as they are
 * stay so, and only who reads them sorts them by planes. With alpha whoever has copied pixels
 * multiplies them where they lie, before the barrier, and leaves the planes' words in their place,
 * so that one load reads them all. What is summed with 16 bits is made ready in registers, and lies
 * plane by plane.
 *
 * The four rows 4 g + i that a lane reads with g = lane / 4 (axis_sum.cuh) are kept in slots
 * 8 i + g, and a slot's words are a few more than a multiple of 8: then no two lanes that are
 * served at once meet in a bank.
 */
#ifndef BURIN_RESIZE_STAGE_CUH
#define BURIN_RESIZE_STAGE_CUH

#include "cuda/ops/resize/matrix.cuh"
#include "cuda/ops/resize/work_pixels.cuh"

enum { STAGE_ROWS = AXIS_PIXELS };

/* What is read of an image. */
struct stage_source {
    const uint8_t *in;
    uint32_t stride, width, height, row; /* the first */
    uint32_t word, words;                /* of four pixels: the first, and how many */
    bool aligned;                        /* rows start at 16 bytes */
};

/* Where four pixels of a row begin in what is staged: words of WORD_STEP each; of
 * ROWS_PLANES planes each has its own rows. */
template <class K> struct stage_layout {
    static constexpr uint32_t WORD_STEP = K::BYTEWISE ? K::WORDS : 1;
    static constexpr uint32_t ROWS_PLANES = K::BYTEWISE ? 1 : K::PLANES;
    static constexpr uint32_t APART = K::BYTEWISE && K::ALPHA ? 4 * K::WORDS : 4;
};

/* Words between slots, with room for SPAN words of four pixels, a multiple of 8. */
template <class K> static __host__ __device__ inline uint32_t stage_pitch(uint32_t span) {
    return span * stage_layout<K>::WORD_STEP + stage_layout<K>::APART;
}

/* Behind the last slot a step may read on. */
template <class K> static __host__ __device__ inline uint32_t stage_bytes(uint32_t span) {
    return 4 * (stage_layout<K>::ROWS_PLANES * STAGE_ROWS * stage_pitch<K>(span) +
                MATRIX_WORDS * stage_layout<K>::WORD_STEP);
}

static __device__ __forceinline__ uint32_t stage_slot(uint32_t row) {
    return (row & 3) << 3 | row >> 2;
}

/* ---- as in the image */

/* 16 bytes of memory to shared memory; both are aligned. */
static __device__ __forceinline__ void stage_copy(uint32_t *to, const uint8_t *from) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from)
                 : "memory");
#else
    *(uint4 *)to = __ldg((const uint4 *)from);
#endif
}

/* Of a row that begins anywhere. */
static __device__ __forceinline__ void stage_shift(uint32_t *to, const uint8_t *from,
                                                   uint32_t bytes) {
    uint32_t words[4];
    load_unaligned(words, from, bytes);
    *(uint4 *)to = pack_vector(words);
}

/* The piece's first byte in a row, rounded down to what is copied at once. */
template <class K>
static __device__ __forceinline__ uint32_t stage_first_byte(const struct stage_source &source) {
    return source.word * (4 * K::WORDS) & ~15u;
}

/* And how many bytes from there on are copied. */
template <class K>
static __device__ __forceinline__ uint32_t stage_end_byte(const struct stage_source &source) {
    return min((source.word + source.words) * (4 * K::WORDS), source.width * K::PIXEL_BYTES) -
           stage_first_byte<K>(source);
}

/* A warp copies every WARPS-th row, all at once. Where rows are ALIGNED, 16 bytes are copied also
 * where a row ends, which are still its stride's; they meet weights of 0. */
template <class K, int WARPS, bool ALIGNED>
static __device__ __forceinline__ void stage_bytes_of(const struct stage_source &source,
                                                      uint32_t pitch, uint32_t *staged) {
    const uint32_t first = stage_first_byte<K>(source), end = stage_end_byte<K>(source);
    const uint32_t row_bytes = source.width * K::PIXEL_BYTES;
    const uint32_t row = threadIdx.x / 32, rows = source.height - source.row;
    const uint8_t *const from = source.in + (size_t)(source.row + row) * source.stride + first;
    uint32_t *const to = staged + stage_slot(row) * pitch;
    for (uint32_t b = threadIdx.x % 32 * 16; b < end; b += 32 * 16)
#pragma unroll
        for (uint32_t r = 0; r < STAGE_ROWS; r += WARPS) {
            if (row + r >= rows) break;
            uint32_t *const slot = to + stage_slot(r) * pitch + b / 4;
            if (ALIGNED)
                stage_copy(slot, from + (r * source.stride + b));
            else
                stage_shift(slot, from + (r * source.stride + b), min(row_bytes - first - b, 16u));
        }
}

/* ---- as in the image, with alpha */

/* 16 bytes of pixels become words of each plane. */
template <class K> static __device__ __forceinline__ void stage_multiply(uint32_t *at) {
    uint32_t words[4];
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
    *(uint4 *)at = pack_vector(words);
}

/* What the thread has copied. */
template <class K, int WARPS>
static __device__ __forceinline__ void stage_multiply_all(const struct stage_source &source,
                                                          uint32_t pitch, uint32_t *staged) {
    const uint32_t end = stage_end_byte<K>(source), rows = source.height - source.row;
    const uint32_t row = threadIdx.x / 32;
    uint32_t *const to = staged + stage_slot(row) * pitch;
    for (uint32_t b = threadIdx.x % 32 * 16; b < end; b += 32 * 16)
#pragma unroll
        for (uint32_t r = 0; r < STAGE_ROWS; r += WARPS) {
            if (row + r >= rows) break;
            stage_multiply<K>(to + stage_slot(r) * pitch + b / 4);
        }
}

/* ---- made ready */

/* A word of one of the rows. */
struct stage_place {
    uint32_t row, word;
};

/* The place of the thread's next word, of rows of COUNT words. */
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

static __device__ __forceinline__ void stage_wait(void) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* Until what the thread has begun to copy is there, and ready. */
template <class K, int WARPS>
static __device__ __forceinline__ void stage_finish(const struct stage_source &source,
                                                    uint32_t pitch, uint32_t *staged) {
    stage_wait();
    if constexpr (K::BYTEWISE && K::ALPHA) stage_multiply_all<K, WARPS>(source, pitch, staged);
}

/* Where word SOURCE.WORD + WORD of SLOT lies. */
template <class K>
static __device__ __forceinline__ const uint32_t *stage_at(const struct stage_source &source,
                                                           uint32_t pitch, const uint32_t *staged,
                                                           uint32_t slot, uint32_t word) {
    const uint32_t skipped =
        K::BYTEWISE ? (source.word * (4 * K::WORDS) - stage_first_byte<K>(source)) / 4 : 0;
    return staged + slot * pitch + skipped + word * stage_layout<K>::WORD_STEP;
}

/* The word of each plane that lies AT, as one of the four words of a lane. */
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
    } else if constexpr (K::BYTEWISE && K::CHANNELS == 4) {
        const uint4 words = *(const uint4 *)at;
        planes[0][index] = words.x, planes[1][index] = words.y;
        planes[2][index] = words.z, planes[3][index] = words.w;
    } else if constexpr (K::BYTEWISE) {
        const uint2 words = *(const uint2 *)at;
        planes[0][index] = words.x, planes[1][index] = words.y;
    } else {
#pragma unroll
        for (int p = 0; p < K::PLANES; p++) planes[p][index] = at[p * (STAGE_ROWS * pitch)];
    }
}

#endif
