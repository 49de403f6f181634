// SPDX-License-Identifier: Apache-2.0
/* tile.cuh - a tile of the image and all that windows reach beyond it, in shared memory in the
 * image's order: colours multiplied by alpha, rows and columns beyond the borders mirrored.
 *
 * Used by:  strip.cuh.
 * Threads:  a block; each warp has one row of each slab of 8 rows, from its copy until it is ready
 *           for all.
 *
 * How it works. Whole pieces of 16 bytes are copied without passing through registers if rows begin
 * at 16 bytes; rows beyond the borders are copied from their mirror images. Bytes beyond a row's
 * end are mirrored in shared memory: a lane moves the same bytes of each row.
 */
#ifndef BURIN_SMOOTH_TILE_CUH
#define BURIN_SMOOTH_TILE_CUH

#include "cuda/batch_chunks.cuh"
#include "cuda/smooth/finish.cuh"
#include "pipeline/reflect.h"

enum {
    STRIP_THREADS = 256,
    STRIP_BYTES = 32, /* of a row, for a warp */
    STRIP_TILE = STRIP_THREADS / 32 * STRIP_BYTES,
    STRIP_ROWS = 8, /* of a step */
    STRIP_SLOTS_MAX = 4,
    STRIP_REACH_MAX = STRIP_ROWS / 2 * (STRIP_SLOTS_MAX - 1),
};

/* SLOTS: the steps that the windows of 8 rows span. STEPS: of a tile. */
template <int STRIP_CHANNELS, int STRIP_SLOTS, int STRIP_STEPS, bool STRIP_SHARPENS>
struct strip_traits {
    static constexpr int CHANNELS = STRIP_CHANNELS, SLOTS = STRIP_SLOTS, STEPS = STRIP_STEPS;
    static constexpr bool SHARPENS = STRIP_SHARPENS;
    static constexpr int REACH = STRIP_ROWS / 2 * (SLOTS - 1); /* at most */
    static constexpr int HALO = (REACH * CHANNELS + 15) / 16 * 16;
    static constexpr int WORDS = (STRIP_BYTES + 2 * HALO) / 16; /* of a row, that a lane reads */
    static constexpr int PIECES = (STRIP_TILE + 2 * HALO) / 16; /* of a row */
    static constexpr int PITCH = HALO > 32 ? 28 : 20; /* in pieces: 4 more than a multiple of 8 */
    static constexpr int HEIGHT = STEPS * STRIP_ROWS, SLABS = STEPS + SLOTS - 1;
    /* Rows come in groups of GROUP_STEPS steps; the first group has the slabs more that a step
     * reaches. Registers are too few for four steps of four slots in a row. */
    static constexpr int GROUP_STEPS = SLOTS == 4 ? 2 : STEPS / 2, GROUPS = STEPS / GROUP_STEPS;
    static constexpr int FIRST_SLABS = GROUP_STEPS + SLOTS - 1;
    static constexpr int ROW = 16 * PITCH; /* in bytes */
    static constexpr bool ALPHA = CHANNELS % 2 == 0;
    static constexpr int BLOCKS = SLOTS == 4 ? 3 : 4; /* of a multiprocessor */
};

struct strip_place {
    int x, y;  /* the tile's first byte in a row, and its first row */
    int bytes; /* of the image's rows */
};

template <class T> struct strip_memory {
    uint4 tile[T::SLABS * STRIP_ROWS * T::PITCH];
    uint32_t factors[T::ALPHA ? 256 : 1]; /* that divide a colour by alpha */
};

/* ---- into shared memory */

static __device__ __forceinline__ void strip_copy(uint4 *to, const uint8_t *from) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from)
                 : "memory");
#else
    *to = __ldg((const uint4 *)from);
#endif
}

static __device__ __forceinline__ void strip_commit(void) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int PENDING> static __device__ __forceinline__ void strip_wait(void) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

/* Waits until GROUP has arrived. */
template <class T> static __device__ __forceinline__ void strip_wait_for(int group) {
    static_assert(T::GROUPS == 2 || T::GROUPS == 4, "all are here");
    if (group == 0)
        strip_wait<T::GROUPS - 1>();
    else if (T::GROUPS == 2 || group == 3)
        strip_wait<0>();
    else if (group == 2)
        strip_wait<1>();
    else
        strip_wait<2>();
}

/* Ends a group before SLAB, if one ends there. */
template <class T> static __device__ __forceinline__ void strip_commit_before(int slab) {
    if (slab >= T::FIRST_SLABS && (slab - T::FIRST_SLABS) % T::GROUP_STEPS == 0) strip_commit();
}

/* The lane's piece of the tile's rows: a warp has one row of each slab. */
struct strip_pieces {
    const uint8_t *from; /* in the image's first row, continued beyond the borders */
    uint4 *to;
    int y;     /* the first piece's row */
    int bytes; /* of the image, at most 16; 0: no copy */
};

template <class T>
static __device__ __forceinline__ struct strip_pieces
strip_pieces_of(const struct batch_image &image, const struct strip_place &place, uint4 *tile) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, x = place.x - T::HALO + 16 * lane;
    struct strip_pieces pieces;
    pieces.from = image.in + x;
    pieces.to = tile + warp * T::PITCH + lane;
    pieces.y = place.y - T::REACH + warp;
    pieces.bytes = lane < T::PIECES && x >= 0 ? min(place.bytes - x, 16) : 0;
    return pieces;
}

/* All rows lie inside. */
template <class T>
static __device__ __forceinline__ void strip_load_inside(const struct batch_image &image,
                                                         const struct strip_pieces &pieces) {
    const uint8_t *from = pieces.from + (size_t)pieces.y * image.in_stride;
    const size_t step = (size_t)STRIP_ROWS * image.in_stride;
#pragma unroll
    for (int slab = 0; slab < T::SLABS; slab++, from += step) {
        strip_commit_before<T>(slab);
        strip_copy(pieces.to + slab * STRIP_ROWS * T::PITCH, from);
    }
    strip_commit();
}

/* The row that stands for row Y, by one mirror at each border; farther out, any row of the
 * image. */
static __device__ __forceinline__ uint32_t strip_mirrored(int y, int height) {
    const int last = height - 1;
    return (uint32_t)max(last - abs(last - abs(y)), 0);
}

/* Windows reach over either border by less than the image's height. */
template <class T>
static __device__ __forceinline__ void strip_load_border(const struct batch_image &image,
                                                         const struct strip_pieces &pieces) {
#pragma unroll
    for (int slab = 0; slab < T::SLABS; slab++) {
        strip_commit_before<T>(slab);
        const uint32_t y = strip_mirrored(pieces.y + slab * STRIP_ROWS, (int)image.height);
        strip_copy(pieces.to + slab * STRIP_ROWS * T::PITCH,
                   pieces.from + (size_t)y * image.in_stride);
    }
    strip_commit();
}

/* For images lower than windows, and rows that begin anywhere. */
template <class T>
static __device__ __forceinline__ void strip_load_any(const struct batch_image &image,
                                                      struct strip_pieces pieces) {
#pragma unroll 1
    for (int slab = 0; slab < T::SLABS; slab++) {
        strip_commit_before<T>(slab);
        if (pieces.y < (int)image.height + T::REACH) {
            uint32_t words[4];
            load_unaligned(words,
                           pieces.from + (size_t)reflect(pieces.y, image.height) * image.in_stride,
                           (uint32_t)pieces.bytes);
            *pieces.to = pack_vector(words);
        }
        pieces.y += STRIP_ROWS, pieces.to += STRIP_ROWS * T::PITCH;
    }
    strip_commit();
}

template <class T>
static __device__ __forceinline__ void strip_load(const struct batch_image &image,
                                                  const struct strip_place &place, uint4 *tile) {
    const int top = place.y - T::REACH;
    const struct strip_pieces pieces = strip_pieces_of<T>(image, place, tile);
    if (pieces.bytes <= 0) return;
    if (!image.aligned || image.height <= T::REACH)
        strip_load_any<T>(image, pieces);
    else if (top >= 0 && top + T::SLABS * STRIP_ROWS <= (int)image.height)
        strip_load_inside<T>(image, pieces);
    else
        strip_load_border<T>(image, pieces);
}

/* ---- alpha */

/* Two 16-bit halves, each rounded as in premultiply(); the results are their high bytes. */
static __device__ __forceinline__ uint32_t multiply_pair(uint32_t pair, uint32_t alpha) {
    const uint32_t scaled = pair * alpha + 0x800080;
    return scaled + __byte_perm(scaled, 0, 0x4341);
}

/* Multiplies the colours of a word of pixels; alpha, taken as 255 times itself, stays. */
template <int CHANNELS> static __device__ __forceinline__ uint32_t multiply_word(uint32_t word) {
    if (CHANNELS == 4) {
        const uint32_t alpha = word >> 24;
        const uint32_t even = multiply_pair(__byte_perm(word, 0, 0x4240), alpha);
        const uint32_t odd = multiply_pair(__byte_perm(word, 0xff, 0x5451), alpha);
        return __byte_perm(even, odd, 0x7351);
    }
    const uint32_t first = multiply_pair(__byte_perm(word, 0xff, 0x5450), word >> 8 & 0xff);
    const uint32_t second = multiply_pair(__byte_perm(word, 0xff, 0x5452), word >> 24);
    return __byte_perm(first, second, 0x7531);
}

/* ---- borders */

/* Place of byte I beyond the borders: HALO bytes before the tile, then HALO after the image's
 * rows. */
template <class T>
static __device__ __forceinline__ int mirror_place(const struct strip_place &place, int i) {
    return i < T::HALO ? i : place.bytes - place.x + i;
}

/* Place of the byte's twin in the tile's row. Outside the row only where it has no weight. */
template <class T>
static __device__ __forceinline__ uint16_t mirror_source(const struct strip_place &place, int i) {
    constexpr int N = T::CHANNELS;
    const int begin = place.x - T::HALO;
    const int at = begin + mirror_place<T>(place, i) + T::HALO * N; /* not negative */
    const int pixel = (int)reflect(at / N - T::HALO, (uint32_t)place.bytes / N);
    return (uint16_t)min(max(pixel * N + at % N - begin, 0), T::ROW - 1);
}

template <class T>
static __device__ __forceinline__ bool has_border(const struct strip_place &place) {
    return place.x == 0 || place.x + STRIP_TILE + T::HALO > place.bytes;
}

/* Bytes of a row that the lane mirrors: the source in the low half of a word, the target in the
 * high one. */
template <class T> struct strip_mirror {
    static constexpr int COUNT = T::HALO / 16;
    static constexpr uint32_t NONE = UINT32_MAX;
    uint32_t moves[COUNT];
};

template <class T>
static __device__ __forceinline__ struct strip_mirror<T>
strip_mirror_of(const struct strip_place &place) {
    struct strip_mirror<T> mirror;
#pragma unroll
    for (int k = 0; k < mirror.COUNT; k++) {
        const int i = (int)threadIdx.x % 32 + 32 * k, to = mirror_place<T>(place, i);
        const bool none = (i < T::HALO && place.x) || to >= 16 * T::PIECES;
        mirror.moves[k] = none ? mirror.NONE : mirror_source<T>(place, i) | (uint32_t)to << 16;
    }
    return mirror;
}

/* Mirrors COUNT rows, 8 apart. */
template <class T>
static __device__ __forceinline__ void mirror_rows(const struct strip_mirror<T> &mirror,
                                                   uint8_t *row, int count) {
    __syncwarp();
#pragma unroll
    for (int m = 0; m < mirror.COUNT; m++) {
        if (mirror.moves[m] == mirror.NONE) continue;
        const uint8_t *from = row + (mirror.moves[m] & 0xffff);
        uint8_t *to = row + (mirror.moves[m] >> 16);
        uint8_t bytes[T::FIRST_SLABS];
#pragma unroll
        for (int k = 0; k < T::FIRST_SLABS; k++)
            if (k < count) bytes[k] = from[k * STRIP_ROWS * T::ROW];
#pragma unroll
        for (int k = 0; k < T::FIRST_SLABS; k++)
            if (k < count) to[k * STRIP_ROWS * T::ROW] = bytes[k];
    }
}

template <class T> static __device__ __forceinline__ void multiply_rows(uint4 *row, int count) {
    const int lane = threadIdx.x % 32;
    if (lane >= T::PIECES) return;
#pragma unroll 1
    for (uint4 *piece = row + lane; count > 0; count--, piece += STRIP_ROWS * T::PITCH) {
        uint32_t words[4];
        unpack_vector(words, *piece);
#pragma unroll
        for (int i = 0; i < 4; i++) words[i] = multiply_word<T::CHANNELS>(words[i]);
        *piece = pack_vector(words);
    }
}

/* Prepares the warp's rows of COUNT slabs from FIRST on, once they have arrived. */
template <class T>
static __device__ __forceinline__ void
prepare_rows(const struct strip_place &place, const struct strip_mirror<T> &mirror,
             struct strip_memory<T> &memory, int first, int count) {
    uint4 *row = memory.tile + (first * STRIP_ROWS + (int)threadIdx.x / 32) * T::PITCH;
    if (T::ALPHA) multiply_rows<T>(row, count);
    if (has_border<T>(place)) mirror_rows<T>(mirror, (uint8_t *)row, count);
}

#endif
