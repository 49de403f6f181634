// SPDX-License-Identifier: Apache-2.0
/* tile.cuh - a tile of the image and what the windows reach beyond it, in shared memory as they lie
 * in the image: colours multiplied by alpha, rows and columns beyond the borders mirrored.
 *
 * Used by:  strip.cuh.
 * Threads:  a block; each warp has a row of each slab of 8 rows, from the image on until it is
 *           ready for all.
 *
 * How it works. Whole pieces of 16 bytes are copied without passing through registers where rows
 * begin at 16 bytes. What is beyond a row's end is mirrored in shared memory, by a table that the
 * block makes once.
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

/* SLOTS: steps whose rows the windows of 8 rows lie in. STEPS: of a tile. */
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
    static constexpr int FIRST_SLABS = (SLABS + 1) / 2; /* that are waited for first */
    static constexpr int ROW = 16 * PITCH;              /* bytes */
    static constexpr bool ALPHA = CHANNELS % 2 == 0;
    static constexpr int BLOCKS = SLOTS == 4 ? 3 : 4; /* of a multiprocessor */
};

enum { STRIP_ACROSS = 40, STRIP_DOWN = 8 * STRIP_SLOTS_MAX + 6 };

struct strip_weights {
    uint32_t reach;
    /* Bytes: weights by how far a sample lies behind the result's, from HALO + 32 before on. */
    uint32_t across[STRIP_ACROSS];
    /* Of two rows each, a byte and a free one, from 7 above the window's first on. */
    uint32_t down[STRIP_DOWN];
};

struct strip_place {
    int x, y;  /* the tile's first byte in a row, and its first row */
    int bytes; /* of the image's rows */
};

template <class T> struct strip_memory {
    uint4 tile[T::SLABS * STRIP_ROWS * T::PITCH];
    uint32_t across[STRIP_ACROSS], down[STRIP_DOWN];
    uint32_t factors[T::ALPHA ? 256 : 1]; /* that take alpha out of a colour */
    uint16_t mirror[2 * T::HALO];         /* where in a row bytes beyond the borders come from */
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

/* Until all but the PENDING last groups have come. */
template <int PENDING> static __device__ __forceinline__ void strip_wait(void) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

/* The lane's piece of the tile's rows: a warp has one of each slab. */
struct strip_pieces {
    const uint8_t *from; /* in the image as if it went on beyond its borders; then 8 rows below */
    uint4 *to;
    size_t step; /* bytes from a row to the one 8 below */
    int bytes;   /* of the image, at most 16; none: nothing is wanted */
};

template <class T>
static __device__ __forceinline__ struct strip_pieces
strip_pieces_of(const struct batch_image &image, const struct strip_place &place, int y,
                uint4 *tile) {
    const int lane = threadIdx.x % 32, x = place.x - T::HALO + 16 * lane;
    struct strip_pieces pieces;
    pieces.from = image.in + (ptrdiff_t)y * image.in_stride + x;
    pieces.to = tile + threadIdx.x / 32 * T::PITCH + lane;
    pieces.step = (size_t)STRIP_ROWS * image.in_stride;
    pieces.bytes = lane < T::PIECES && x >= 0 ? min(place.bytes - x, 16) : 0;
    return pieces;
}

/* All rows lie inside. */
template <class T>
static __device__ __forceinline__ void strip_load_inside(struct strip_pieces pieces) {
#pragma unroll
    for (int slab = 0; slab < T::SLABS; slab++, pieces.from += pieces.step) {
        if (slab == T::FIRST_SLABS) strip_commit();
        if (pieces.bytes > 0) strip_copy(pieces.to + slab * STRIP_ROWS * T::PITCH, pieces.from);
    }
    strip_commit();
}

/* Rows beyond a border, or that begin anywhere. */
template <class T>
static __device__ __forceinline__ void strip_load_any(const struct batch_image &image, int y,
                                                      int reach, struct strip_pieces pieces) {
    const int height = (int)image.height;
#pragma unroll 1
    for (int slab = 0; slab < T::SLABS; slab++, y += STRIP_ROWS) {
        if (slab == T::FIRST_SLABS) strip_commit();
        const uint8_t *from = pieces.from;
        if (y < 0 || y >= height)
            from += ((ptrdiff_t)reflect(y, image.height) - y) * (ptrdiff_t)image.in_stride;
        if (pieces.bytes > 0 && y < height + reach) {
            if (image.aligned) {
                strip_copy(pieces.to, from);
            } else {
                uint32_t words[4];
                load_unaligned(words, from, (uint32_t)pieces.bytes);
                *pieces.to = pack_vector(words);
            }
        }
        pieces.from += pieces.step, pieces.to += STRIP_ROWS * T::PITCH;
    }
    strip_commit();
}

template <class T>
static __device__ __forceinline__ void strip_load(const struct batch_image &image,
                                                  const struct strip_place &place, int reach,
                                                  uint4 *tile) {
    const int top = place.y - reach, y = top + (int)threadIdx.x / 32;
    const struct strip_pieces pieces = strip_pieces_of<T>(image, place, y, tile);
    if (image.aligned && top >= 0 && top + T::SLABS * STRIP_ROWS <= (int)image.height)
        strip_load_inside<T>(pieces);
    else
        strip_load_any<T>(image, y, reach, pieces);
}

/* ---- alpha */

/* Two 16-bit halves, each rounded as premultiply() does; the results are their high bytes. */
static __device__ __forceinline__ uint32_t multiply_pair(uint32_t pair, uint32_t alpha) {
    const uint32_t scaled = pair * alpha + 0x800080;
    return scaled + __byte_perm(scaled, 0, 0x4341);
}

/* Colours of a word of pixels; alpha, taken as 255 times itself, stays. */
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

/* floor(255 c / alpha) = c * factor >> 24 for c <= alpha, as the error of 2^24 / alpha, at most 1,
 * times 255 * 254 is less than 2^24 / alpha. Sums of colours are never above those of alpha. */
static __device__ __forceinline__ uint32_t alpha_factor(uint32_t alpha) {
    return alpha == 0 || alpha == 255 ? 1 << 24 : 255 * ((1 << 24) / alpha + 1);
}

/* ---- borders */

/* Byte I of those beyond the borders: HALO before the tile, then HALO behind the image's rows. */
template <class T>
static __device__ __forceinline__ int mirror_place(const struct strip_place &place, int i) {
    return i < T::HALO ? i : place.bytes - place.x + i;
}

/* Where in the tile's row the byte's twin is. Beyond the row only where it has no weight. */
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

/* Of COUNT rows, 8 apart. */
template <class T>
static __device__ __forceinline__ void
mirror_rows(const struct strip_place &place, const uint16_t *mirror, uint8_t *row, int count) {
    __syncwarp();
#pragma unroll 1
    for (int i = threadIdx.x % 32; i < 2 * T::HALO; i += 32) {
        const int from = mirror[i], to = mirror_place<T>(place, i);
        if ((i < T::HALO && place.x) || to >= 16 * T::PIECES) continue;
        uint8_t bytes[T::FIRST_SLABS];
#pragma unroll
        for (int k = 0; k < T::FIRST_SLABS; k++)
            if (k < count) bytes[k] = row[k * STRIP_ROWS * T::ROW + from];
#pragma unroll
        for (int k = 0; k < T::FIRST_SLABS; k++)
            if (k < count) row[k * STRIP_ROWS * T::ROW + to] = bytes[k];
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

/* The warp's rows of COUNT slabs from FIRST on, once they have come. */
template <class T>
static __device__ __forceinline__ void prepare_rows(const struct strip_place &place,
                                                    struct strip_memory<T> &memory, int first,
                                                    int count) {
    uint4 *row = memory.tile + (first * STRIP_ROWS + (int)threadIdx.x / 32) * T::PITCH;
    if (T::ALPHA) multiply_rows<T>(row, count);
    if (has_border<T>(place)) mirror_rows<T>(place, memory.mirror, (uint8_t *)row, count);
}

#endif
