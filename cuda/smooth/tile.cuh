// SPDX-License-Identifier: Apache-2.0
/* tile.cuh - 8 bit and small windows: a block blurs a tile, across and down, in shared memory.
 *
 * Used by:  cuda/smooth.cu.
 * Threads:  a block for each tile; no block waits for another.
 * Limits:   TILE_REACH_MAX; 48 KB of shared memory.
 *
 * How it works. The tile's rows and as many above and below as the window reaches are laid into
 * shared memory plane by plane, four neighbours of a channel a word, colours multiplied by alpha.
 * Across, four results share the words that their windows lie in; weights are shifted instead of
 * samples, so that a word is four products of one instruction (dp4a). Sums of two rows, 16 bits
 * each, stand in one word, which is two products down (dp2a), for two rows of results that differ
 * in their weights alone. Nothing is rounded between.
 */
#ifndef BURIN_SMOOTH_TILE_CUH
#define BURIN_SMOOTH_TILE_CUH

#include "cuda/batch_chunks.cuh"
#include "cuda/smooth/finish.cuh"
#include "pipeline/reflect.h"

enum {
    TILE_THREADS = 256,
    TILE_ROWS = 32,
    TILE_REACH_MAX = 10,
    TILE_HALO_MAX = (TILE_REACH_MAX + 3) / 4, /* words on either side */
};

template <int TILE_CHANNELS, int TILE_HALO> struct tile_traits {
    static constexpr int CHANNELS = TILE_CHANNELS, HALO = TILE_HALO;
    static constexpr int WIDTH = CHANNELS == 1 ? 128 : 64, GROUPS = WIDTH / FOUR;
    static constexpr int SPAN = GROUPS + 2 * HALO; /* words of a row that are read */
    static constexpr int PITCH = GROUPS + 8;       /* so that two rows of pairs meet in no bank */
    static constexpr int TAPS = 2 * HALO + 1;      /* words that four windows lie in */
};

struct tile_weights {
    uint32_t reach;
    uint32_t across[FOUR][2 * TILE_HALO_MAX + 1]; /* of each result of four, word by word */
    uint32_t down[TILE_REACH_MAX + 1]; /* a pair's two weights for the first row, then the second */
};

/* Where a block's tile lies. */
struct tile_place {
    int x, y; /* its first pixel */
    int top;  /* the first row that is read */
    int rows; /* that are read */
};

/* Shared memory: planes of words, [channel][row][PITCH], then pairs of sums,
 * [channel][pair][GROUPS]; the result takes the planes' place. */
template <class T> static __host__ __device__ constexpr uint32_t tile_plane_words(uint32_t reach) {
    return (TILE_ROWS + 2 * reach) * T::PITCH;
}

template <class T> static __host__ __device__ constexpr uint32_t tile_pairs(uint32_t reach) {
    return TILE_ROWS / 2 + reach;
}

template <class T> static constexpr size_t tile_shared_bytes(uint32_t reach) {
    return T::CHANNELS *
           (4 * tile_plane_words<T>(reach) + sizeof(uint4) * T::GROUPS * tile_pairs<T>(reach));
}

/* ---- planes */

/* Four pixels of row Y from X on, beyond the borders too. */
template <class T>
static __device__ __forceinline__ void load_reflected(uint32_t (&words)[T::CHANNELS],
                                                      const struct batch_image &image,
                                                      const uint8_t *row, int x) {
#pragma unroll
    for (int i = 0; i < FOUR; i++) {
        const uint8_t *pixel = row + reflect(x + i, image.width) * T::CHANNELS;
#pragma unroll
        for (int c = 0; c < T::CHANNELS; c++)
            chunk_set_sample<8>(words, i * T::CHANNELS + c, __ldg(pixel + c));
    }
}

/* Channel C of four pixels. */
template <class T>
static __device__ __forceinline__ uint32_t plane_word(const uint32_t (&words)[T::CHANNELS], int c) {
    constexpr int N = T::CHANNELS;
    if (N == 1) return words[0];
    const int a = c, b = c + N, d = c + 2 * N, e = c + 3 * N;
    const uint32_t low = __byte_perm(words[a / 4], words[b / 4], a % 4 | (4 + b % 4) << 4);
    const uint32_t high = __byte_perm(words[d / 4], words[e / 4], d % 4 | (4 + e % 4) << 4);
    return __byte_perm(low, high, 0x5410);
}

template <class T>
static __device__ __forceinline__ void multiply_alpha(uint32_t (&words)[T::CHANNELS]) {
    constexpr int N = T::CHANNELS;
#pragma unroll
    for (int i = 0; i < FOUR * N; i++) {
        if (i % N == N - 1) continue;
        const uint32_t alpha = chunk_sample<8>(words, i / N * N + N - 1);
        chunk_set_sample<8>(words, i, premultiply(chunk_sample<8>(words, i), alpha, 8));
    }
}

template <class T>
static __device__ __forceinline__ void tile_load(const struct batch_image &image,
                                                 const struct tile_place &place, uint32_t *planes) {
    const uint32_t plane = place.rows * T::PITCH;
    for (int i = threadIdx.x; i < place.rows * T::SPAN; i += TILE_THREADS) {
        const int line = i / T::SPAN, word = i % T::SPAN;
        const int x = place.x + FOUR * (word - T::HALO);
        const uint8_t *row =
            image.in + (size_t)reflect(place.top + line, image.height) * image.in_stride;
        uint32_t words[T::CHANNELS] = {};
        if (x >= 0 && x + FOUR <= (int)image.width)
            load_unaligned(words, row + x * T::CHANNELS, FOUR * T::CHANNELS);
        else
            load_reflected<T>(words, image, row, x);
        if (T::CHANNELS % 2 == 0) multiply_alpha<T>(words);
#pragma unroll
        for (int c = 0; c < T::CHANNELS; c++)
            planes[c * plane + line * T::PITCH + word] = plane_word<T>(words, c);
    }
}

/* ---- across */

/* Sums of four neighbours in two rows; each is at most 255 * 256. */
template <class T>
static __device__ __forceinline__ uint4 sum_pair(const uint32_t *row,
                                                 const struct tile_weights &weights) {
    uint32_t first[FOUR] = {}, second[FOUR] = {};
#pragma unroll
    for (int k = 0; k < T::TAPS; k++) {
        const uint32_t above = row[k], below = row[T::PITCH + k];
#pragma unroll
        for (int i = 0; i < FOUR; i++) {
            first[i] = __dp4a(above, weights.across[i][k], first[i]);
            second[i] = __dp4a(below, weights.across[i][k], second[i]);
        }
    }
    return make_uint4(first[0] | second[0] << 16, first[1] | second[1] << 16,
                      first[2] | second[2] << 16, first[3] | second[3] << 16);
}

template <class T>
static __device__ __forceinline__ void tile_across(const struct tile_weights &weights, int rows,
                                                   const uint32_t *planes, uint4 *sums) {
    const int pairs = rows / 2;
    for (int i = threadIdx.x; i < T::CHANNELS * pairs * T::GROUPS; i += TILE_THREADS) {
        const int line = i / T::GROUPS; /* of all planes, in pairs */
        sums[i] = sum_pair<T>(planes + 2 * line * T::PITCH + i % T::GROUPS, weights);
    }
}

/* ---- down */

struct down_sums {
    uint32_t first[FOUR], second[FOUR]; /* of two rows */
};

/* From PAIR on, T::GROUPS apart. The third byte of each sum is the result. */
template <class T>
static __device__ __forceinline__ struct down_sums sum_down(const uint4 *pair,
                                                            const struct tile_weights &weights) {
    struct down_sums sums;
#pragma unroll
    for (int i = 0; i < FOUR; i++) sums.first[i] = sums.second[i] = 1 << 15;
    for (uint32_t k = 0; k <= weights.reach; k++, pair += T::GROUPS) {
        const uint32_t weight = weights.down[k];
        const uint4 four = *pair;
        const uint32_t words[FOUR] = { four.x, four.y, four.z, four.w };
#pragma unroll
        for (int i = 0; i < FOUR; i++) {
            sums.first[i] = __dp2a_lo(words[i], weight, sums.first[i]);
            sums.second[i] = __dp2a_hi(words[i], weight, sums.second[i]);
        }
    }
    return sums;
}

/* Results of four pixels in row LINE of the tile. */
template <class T>
static __device__ __forceinline__ void put_four(struct four_pixels<T::CHANNELS> &four,
                                                const struct batch_image &image,
                                                const struct tile_place &place, int line, int group,
                                                const struct finish_rule &rule, uint32_t *out) {
    const int x = place.x + FOUR * group, y = place.y + line;
    if (x >= (int)image.width || y >= (int)image.height) return;
    const uint8_t *in = image.in + (size_t)y * image.in_stride + x * T::CHANNELS;
    uint32_t words[T::CHANNELS] = {};
    finish_four<T::CHANNELS, 8>(words, four, rule, in, min(image.width - x, (uint32_t)FOUR));
    uint32_t *to = out + (line * T::GROUPS + group) * T::CHANNELS;
#pragma unroll
    for (int c = 0; c < T::CHANNELS; c++) to[c] = words[c];
}

template <class T>
static __device__ __forceinline__ void
tile_down(const struct batch_image &image, const struct tile_place &place,
          const struct tile_weights &weights, const struct finish_rule &rule, const uint4 *sums,
          uint32_t *out) {
    for (int i = threadIdx.x; i < TILE_ROWS / 2 * T::GROUPS; i += TILE_THREADS) {
        struct four_pixels<T::CHANNELS> first, second;
#pragma unroll
        for (int c = 0; c < T::CHANNELS; c++) {
            const struct down_sums down =
                sum_down<T>(sums + c * (place.rows / 2) * T::GROUPS + i, weights);
#pragma unroll
            for (int k = 0; k < FOUR; k++)
                first.sample[c][k] = down.first[k] >> 16,
                second.sample[c][k] = down.second[k] >> 16;
        }
        const int line = i / T::GROUPS * 2, group = i % T::GROUPS;
        put_four<T>(first, image, place, line, group, rule, out);
        put_four<T>(second, image, place, line + 1, group, rule, out);
    }
}

template <class T>
static __device__ __forceinline__ void
tile_store(const struct batch_image &image, const struct tile_place &place, const uint32_t *out) {
    constexpr int VECTORS = T::WIDTH * T::CHANNELS / 16; /* of a row */
    for (int i = threadIdx.x; i < TILE_ROWS * VECTORS; i += TILE_THREADS) {
        const int y = place.y + i / VECTORS;
        const uint32_t at = place.x * T::CHANNELS + i % VECTORS * 16;
        const uint32_t end = image.width * T::CHANNELS;
        if (y >= (int)image.height || at >= end) continue;
        uint32_t words[4];
        unpack_vector(words, ((const uint4 *)out)[i]);
        store_chunk(words, image.out + (size_t)y * image.out_stride + at, min(end - at, 16u),
                    image.aligned);
    }
}

/* ---- the kernel */

/* Chunks of the batch are tiles. */
template <class T>
static __global__ void __launch_bounds__(TILE_THREADS)
    tile_kernel(const __grid_constant__ struct batch_of<CUDA_BATCH_MAX> batch,
                const __grid_constant__ struct tile_weights weights,
                const __grid_constant__ struct finish_rule rule) {
    extern __shared__ uint4 tile_memory[];
    const struct batch_image &image = batch.images[batch_find(batch, blockIdx.x)];
    const struct chunk_position position = chunk_position_of(image, blockIdx.x - image.first_chunk);
    struct tile_place place;
    place.x = (int)position.x * T::WIDTH, place.y = (int)position.y * TILE_ROWS;
    place.top = place.y - (int)weights.reach, place.rows = TILE_ROWS + 2 * (int)weights.reach;
    uint32_t *planes = (uint32_t *)tile_memory;
    uint4 *sums = (uint4 *)(planes + T::CHANNELS * tile_plane_words<T>(weights.reach));
    tile_load<T>(image, place, planes);
    __syncthreads();
    tile_across<T>(weights, place.rows, planes, sums);
    __syncthreads();
    tile_down<T>(image, place, weights, rule, sums, planes);
    __syncthreads();
    tile_store<T>(image, place, planes);
}

#endif
