// SPDX-License-Identifier: Apache-2.0
/* strip.cuh - 8 bit and small windows: a block blurs a tile, each warp a strip of it downwards.
 *
 * Used by:  cuda/smooth.cu.
 * Threads:  a block for each tile; no block waits for another.
 * Limits:   STRIP_REACH_MAX; 48 KB of shared memory.
 *
 * How it works. The tile and what the windows reach beyond it come to shared memory as they lie in
 * the image, a row of each step by each warp, which then multiplies its rows' colours by alpha and
 * mirrors them beyond the image's borders; all begin with the first half of the rows while the
 * second is under way. A warp takes 8 rows at a time, as the columns of a matrix of bytes, and
 * multiplies them by a matrix of weights whose rows are 32 bytes of results: sums across, 16 bits
 * each, of which two that lie one above the other are packed into a word. These words, as they
 * stand in the lanes, are rows of bytes again. The sums of as many rows as a window has stay in
 * registers and are multiplied by weights of the low bytes, and by weights of the high ones.
 * Nothing is rounded between. Samples of other channels have a weight of 0: pixels are never taken
 * apart.
 *
 * In the first product the order of bytes is that in which a lane reads them, 16 at once; weights
 * are put into the same order. Its row g is byte 4 g of the strip, row g + 8 the byte behind that,
 * and a second matrix has the next two: so a lane ends with four neighbours.
 */
#ifndef BURIN_SMOOTH_STRIP_CUH
#define BURIN_SMOOTH_STRIP_CUH

#include "cuda/smooth/finish.cuh"
#include "cuda/smooth/matrix.cuh"
#include "cuda/smooth/tile.cuh"

/* ---- weights of a lane */

template <class T> struct strip_lane {
    uint32_t across[FOUR][T::WORDS]; /* of each of four results */
    uint32_t down[T::SLOTS];         /* of low bytes; those of high ones are a byte further */
};

/* Words of a row that the lane reads, number I of them: 16 bytes at once, of the last 32 bytes 8.
 */
template <class T> static __device__ __forceinline__ int strip_word(int i, int t) {
    const int whole = T::WORDS / 4 * 4;
    return i < whole ? i / 4 * 16 + 4 * t + i % 4 : whole * 4 + 2 * t + i % 4;
}

template <class T>
static __device__ __forceinline__ void
strip_lane_weights(struct strip_lane<T> &lane, const uint32_t *across, const uint32_t *down) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < T::WORDS; i++) {
        const uint32_t *at = across + 8 + strip_word<T>(i, t) - g;
#pragma unroll
        for (int q = 0; q < FOUR; q++) lane.across[q][i] = __funnelshift_l(at[-1], at[0], 8 * q);
    }
#pragma unroll
    for (int a = 0; a < T::SLOTS; a++) lane.down[a] = down[8 * a + 2 * t - g + 7];
}

/* ---- sums */

/* Sums of 8 rows across, packed: of each of four results those of rows 2 t and 2 t + 1. FROM is
 * where the lane begins to read. */
template <class T>
static __device__ __forceinline__ void sum_across(uint32_t (&packed)[FOUR], const uint8_t *from,
                                                  const struct strip_lane<T> &lane) {
    uint32_t words[T::WORDS], sums[2][4] = {};
    unpack_vector(words, *(const uint4 *)from);
    if (T::WORDS == 8) unpack_vector(words + T::WORDS - 4, *(const uint4 *)(from + 64));
    if (T::WORDS == 6) {
        const uint2 last = *(const uint2 *)(from + 64 - 8 * (threadIdx.x % 4));
        words[T::WORDS - 2] = last.x, words[T::WORDS - 1] = last.y;
    }
#pragma unroll
    for (int i = 0; i < T::WORDS; i += 2)
#pragma unroll
        for (int j = 0; j < 2; j++)
            matrix_add(sums[j], make_uint2(lane.across[2 * j][i], lane.across[2 * j + 1][i]),
                       make_uint2(lane.across[2 * j][i + 1], lane.across[2 * j + 1][i + 1]),
                       words[i], words[i + 1]);
#pragma unroll
    for (int q = 0; q < FOUR; q++)
        packed[q] = sums[q / 2][q % 2 * 2] + (sums[q / 2][q % 2 * 2 + 1] << 16);
}

/* SUMS += what results 2 J and 2 J + 1 have of the slabs in the ring, oldest first. */
template <class T>
static __device__ __forceinline__ void add_down(uint32_t (&sums)[4],
                                                const uint32_t (&ring)[T::SLOTS][FOUR], int j,
                                                const uint32_t (&weights)[T::SLOTS]) {
#pragma unroll
    for (int a = 0; a < T::SLOTS; a += 2) {
        const uint2 rows = make_uint2(ring[a][2 * j], ring[a][2 * j + 1]);
        const int b = (a + 1) % T::SLOTS;
        if (a + 1 < T::SLOTS)
            matrix_add(sums, rows, make_uint2(ring[b][2 * j], ring[b][2 * j + 1]), weights[a],
                       weights[b]);
        else
            matrix_add(sums, rows, weights[a]);
    }
}

/* Four results in rows 2 t and 2 t + 1; the third byte of each sum is the result. */
template <class T>
static __device__ __forceinline__ void sum_down(uint32_t (&totals)[2][FOUR],
                                                const uint32_t (&ring)[T::SLOTS][FOUR],
                                                const uint32_t (&weights)[T::SLOTS]) {
    uint32_t high_weights[T::SLOTS];
#pragma unroll
    for (int a = 0; a < T::SLOTS; a++) high_weights[a] = weights[a] << 8;
#pragma unroll
    for (int j = 0; j < 2; j++) {
        uint32_t low[4] = { 1 << 15, 1 << 15, 1 << 15, 1 << 15 }, high[4] = {};
        add_down<T>(low, ring, j, weights);
        add_down<T>(high, ring, j, high_weights);
#pragma unroll
        for (int i = 0; i < 4; i++) totals[i % 2][2 * j + i / 2] = high[i] * 256 + low[i];
    }
}

/* ---- results */

/* Where a lane puts its results: four samples in each of two rows. */
struct strip_target {
    uint8_t *out;
    uint32_t stride;
    int rows, count; /* of the image from here on: rows, at most FOUR samples */
    bool whole;      /* a word */
};

static __device__ __forceinline__ struct strip_target
strip_target_of(const struct batch_image &image, const struct strip_place &place) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const int x = place.x + (int)threadIdx.x / 32 * STRIP_BYTES + 4 * g, y = place.y + 2 * t;
    struct strip_target target;
    target.stride = image.out_stride;
    target.out = image.out + (size_t)y * image.out_stride + x;
    target.count = min(place.bytes - x, (int)FOUR);
    target.rows = target.count > 0 ? (int)image.height - y : 0;
    target.whole = target.count == FOUR && image.aligned;
    return target;
}

/* What the image has where the target is, ROW below. */
static __device__ __forceinline__ uint32_t strip_original(const struct batch_image &image,
                                                          const struct strip_place &place,
                                                          const struct strip_target &target,
                                                          int row) {
    const int x = place.x + (int)threadIdx.x / 32 * STRIP_BYTES + (int)threadIdx.x % 32 / 4 * 4;
    const size_t y = image.height - (uint32_t)target.rows + (uint32_t)row;
    uint32_t words[1];
    load_unaligned(words, image.in + y * image.in_stride + x, (uint32_t)target.count);
    return words[0];
}

/* ORIGINAL: the tile's word of shared memory, which has not the colours of images with alpha. */
template <class T>
static __device__ __forceinline__ uint32_t
strip_result(const struct batch_image &image, const struct strip_place &place,
             const struct strip_target &target, int row, const struct finish_rule &rule,
             const uint32_t *original, const uint32_t *factors, const uint32_t (&totals)[FOUR]) {
    const uint32_t word = finish_word<T::CHANNELS>(totals, factors);
    if (!T::SHARPENS || target.rows <= row) return word;
    return sharpen_word<T::CHANNELS>(
        T::ALPHA ? strip_original(image, place, target, row) : *original, word, rule.sharpen);
}

static __device__ __forceinline__ void strip_put(const struct strip_target &target, uint32_t above,
                                                 uint32_t below) {
    uint8_t *out = target.out;
    if (target.whole && target.rows > 1) {
        *(uint32_t *)out = above;
        *(uint32_t *)(out + target.stride) = below;
        return;
    }
    const int rows = min(target.rows, 2);
#pragma unroll 1
    for (int row = 0; row < rows; row++, above = below, out += target.stride)
#pragma unroll 1
        for (int i = 0; i < target.count; i++) out[i] = (uint8_t)(above >> 8 * i);
}

/* ---- the kernel */

template <class T> struct strip_walk {
    uint32_t ring[T::SLOTS][FOUR]; /* sums across, the newest last */
    const uint8_t *from;           /* where the lane reads the next slab */
    const uint32_t *original;      /* the first result's word in the tile */
    struct strip_target target;
};

template <class T>
static __device__ __forceinline__ void
strip_step(struct strip_walk<T> &walk, const struct batch_image &image,
           const struct strip_place &place, const struct strip_lane<T> &lane,
           const struct finish_rule &rule, const uint32_t *factors, bool whole) {
#pragma unroll
    for (int a = 0; a + 1 < T::SLOTS; a++)
#pragma unroll
        for (int q = 0; q < FOUR; q++) walk.ring[a][q] = walk.ring[a + 1][q];
    sum_across<T>(walk.ring[T::SLOTS - 1], walk.from, lane);
    walk.from += STRIP_ROWS * T::ROW;
    if (!whole) return;
    uint32_t totals[2][FOUR];
    sum_down<T>(totals, walk.ring, lane.down);
    const uint32_t above =
        strip_result<T>(image, place, walk.target, 0, rule, walk.original, factors, totals[0]);
    const uint32_t below = strip_result<T>(image, place, walk.target, 1, rule,
                                           walk.original + T::ROW / 4, factors, totals[1]);
    strip_put(walk.target, above, below);
    walk.target.out += STRIP_ROWS * walk.target.stride, walk.target.rows -= STRIP_ROWS;
    walk.original += STRIP_ROWS * T::ROW / 4;
}

template <class T>
static __device__ __forceinline__ void
strip_run(const struct batch_image &image, const struct strip_place &place,
          const struct finish_rule &rule, int reach, struct strip_memory<T> &memory) {
    struct strip_lane<T> lane;
    strip_lane_weights<T>(lane, memory.across, memory.down);
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const uint8_t *tile = (const uint8_t *)memory.tile + (int)threadIdx.x / 32 * STRIP_BYTES;
    struct strip_walk<T> walk = {};
    walk.from = tile + g * T::ROW + 16 * t;
    walk.original = (const uint32_t *)(tile + (reach + 2 * t) * T::ROW + T::HALO) + g;
    walk.target = strip_target_of(image, place);
#pragma unroll 1
    for (int slab = 0; slab < T::SLABS; slab++) {
        if (slab == 0 || slab == T::FIRST_SLABS) {
            slab == 0 ? strip_wait<1>() : strip_wait<0>();
            prepare_rows<T>(place, memory, slab,
                            slab == 0 ? T::FIRST_SLABS : T::SLABS - T::FIRST_SLABS);
            __syncthreads();
        }
        strip_step<T>(walk, image, place, lane, rule, memory.factors, slab >= T::SLOTS - 1);
    }
}

/* Chunks of the batch are tiles, an image's pixels its samples. */
template <class T, int CAPACITY>
static __global__ void __launch_bounds__(STRIP_THREADS, T::BLOCKS)
    strip_kernel(const __grid_constant__ struct batch_of<CAPACITY> batch,
                 const __grid_constant__ struct strip_weights weights,
                 const __grid_constant__ struct finish_rule rule) {
    __shared__ struct strip_memory<T> memory;
    const struct batch_image &image = batch.images[batch_find(batch, blockIdx.x)];
    const struct chunk_position position = chunk_position_of(image, blockIdx.x - image.first_chunk);
    const struct strip_place place = { (int)position.x * STRIP_TILE, (int)position.y * T::HEIGHT,
                                       (int)image.width };
    const int reach = (int)weights.reach, i = (int)threadIdx.x;
    strip_load<T>(image, place, reach, memory.tile);
    if (i < STRIP_ACROSS) memory.across[i] = weights.across[i];
    if (i < STRIP_DOWN) memory.down[i] = weights.down[i];
    if (T::ALPHA) memory.factors[i] = alpha_factor((uint32_t)i);
    if (i < 2 * T::HALO && has_border<T>(place)) memory.mirror[i] = mirror_source<T>(place, i);
    __syncthreads();
    strip_run<T>(image, place, rule, reach, memory);
}

#endif
