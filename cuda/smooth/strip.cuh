// SPDX-License-Identifier: Apache-2.0
/* strip.cuh - 8 bits and small windows: a block blurs a tile, each warp a strip of it downwards.
 *
 * Used by:  cuda/smooth.cu.
 * Threads:  a block for each tile; no block waits for another.
 * Limits:   STRIP_REACH_MAX; 48 KB of shared memory.
 *
 * How it works. The tile and all that windows reach beyond it are copied to shared memory in the
 * image's order; each warp copies a row of each step, multiplies the row's colours by alpha and
 * mirrors it beyond the image's borders. Rows come in groups: the first steps are made while rows
 * of later ones are under way. A warp takes 8 rows at a time, as the columns of a matrix of bytes,
 * and multiplies them by a matrix of weights whose rows are 32 bytes of results: sums across, 16
 * bits each. The sums of two rows, one above the other, share a word, low bytes in one half and
 * high bytes in the other; the sums of as many rows as a window has stay in registers. Halves of
 * two such words, as the lanes hold them, are rows of bytes again: high bytes are multiplied by
 * weights, then low bytes by the same weights, added to 256 times the sums of the high ones.
 * Nothing is rounded in between. Samples of other channels have a weight of 0: pixels are never
 * taken apart.
 *
 * In the first product the order of bytes is that in which a lane reads them, 16 at once. Its row g
 * is byte 4 g of the strip, row g + 8 the byte after that, and a second matrix has the next two: so
 * a lane ends with four neighbours. The host makes a table of weights for each sigma, in the order
 * in which lanes load them: gathering them took a third of a warp's instructions.
 */
#ifndef BURIN_SMOOTH_STRIP_CUH
#define BURIN_SMOOTH_STRIP_CUH

#include "cuda/smooth/finish.cuh"
#include "cuda/smooth/tile.cuh"

#include <cuda_runtime.h>
#include <stdint.h>

/* ---- matrices of bytes that a warp's 32 lanes multiply together
 *
 * Tensor cores multiply 16 rows of unsigned bytes by 8 columns of unsigned bytes and add 32-bit
 * integers, exactly. With g = lane / 4 and t = lane % 4 a lane holds, of each 16 bytes of a row or
 * column, bytes 4 t to 4 t + 3: ROWS.x of row g and ROWS.y of row g + 8, COLUMN of column g. It
 * gets the sums of row g in columns 2 t and 2 t + 1, then of row g + 8. */

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
static __device__ __forceinline__ void matrix_quarter(uint32_t &first, uint32_t &second,
                                                      uint32_t row, uint32_t column) {
    asm("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+r"(first), "+r"(second)
        : "r"(row), "r"(column));
}
#endif

/* SUMS += ROWS * COLUMN, 16 bytes of each. */
static __device__ __forceinline__ void matrix_add(uint32_t (&sums)[4], const uint2 &rows,
                                                  uint32_t column) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    matrix_quarter(sums[0], sums[1], rows.x, column);
    matrix_quarter(sums[2], sums[3], rows.y, column);
#else
    asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(rows.x), "r"(rows.y), "r"(column));
#endif
}

/* The same with 32 bytes, in two pieces of 16. */
static __device__ __forceinline__ void matrix_add(uint32_t (&sums)[4], const uint2 &rows,
                                                  const uint2 &more, uint32_t column,
                                                  uint32_t more_column) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    matrix_add(sums, rows, column);
    matrix_add(sums, more, more_column);
#else
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(rows.x), "r"(rows.y), "r"(more.x), "r"(more.y), "r"(column), "r"(more_column));
#endif
}

/* ---- weights of a lane */

/* In the order in which lanes load them. Across: WORDS / 2 pieces of 32 bytes for results 0 and 1,
 * then for 2 and 3. Down: four rows a word. After them the factors that divide a colour by
 * alpha. */
template <class T> struct strip_weights {
    uint4 across[2][T::WORDS / 2][32];
    uint4 down[32];
    uint32_t factors[T::ALPHA ? 256 : 1];
};

template <class T> struct strip_lane { uint4 across[2][T::WORDS / 2], down; };

/* Word I of those that the lane reads of a row: 16 bytes at once, of the last 32 bytes 8. */
template <class T> static __host__ __device__ __forceinline__ int strip_word(int i, int t) {
    const int whole = T::WORDS / 4 * 4;
    return i < whole ? i / 4 * 16 + 4 * t + i % 4 : whole * 4 + 2 * t + i % 4;
}

template <class T>
static __device__ __forceinline__ void strip_load_lane(struct strip_lane<T> &lane,
                                                       const struct strip_weights<T> *weights) {
    const int i = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
        for (int k = 0; k < T::WORDS / 2; k++) lane.across[j][k] = __ldg(&weights->across[j][k][i]);
    lane.down = __ldg(&weights->down[i]);
}

/* ---- sums */

/* Sums of 8 rows across, packed: of each of four results those of rows 2 t and 2 t + 1, their low
 * bytes below their high ones. FROM: where the lane begins to read. */
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
        for (int j = 0; j < 2; j++) {
            const uint4 &rows = lane.across[j][i / 2];
            matrix_add(sums[j], make_uint2(rows.x, rows.y), make_uint2(rows.z, rows.w), words[i],
                       words[i + 1]);
        }
#pragma unroll
    for (int q = 0; q < FOUR; q++)
        packed[q] = __byte_perm(sums[q / 2][q % 2 * 2], sums[q / 2][q % 2 * 2 + 1], 0x5140);
}

/* Low bytes of the sums in rows 2 t and 2 t + 1 of slab OLD, then of YOUNG; or their high ones. */
static __device__ __forceinline__ uint32_t plane_bytes(uint32_t old, uint32_t young, bool high) {
    return __byte_perm(old, young, high ? 0x7632 : 0x5410);
}

static __device__ __forceinline__ uint2 plane_rows(const uint32_t (&old)[FOUR],
                                                   const uint32_t (&young)[FOUR], int j,
                                                   bool high) {
    return make_uint2(plane_bytes(old[2 * j], young[2 * j], high),
                      plane_bytes(old[2 * j + 1], young[2 * j + 1], high));
}

/* Adds to SUMS the share of results 2 J and 2 J + 1 in the sums' low bytes, or in the high ones.
 * RING: of slabs, the oldest in slot FIRST. */
template <class T>
static __device__ __forceinline__ void add_plane(uint32_t (&sums)[4],
                                                 const uint32_t (&ring)[T::SLOTS][FOUR], int j,
                                                 const uint4 &weights, int first, bool high) {
    const uint2 rows = plane_rows(ring[first], ring[(first + 1) % T::SLOTS], j, high);
    const uint32_t(&third)[FOUR] = ring[(first + 2) % T::SLOTS];
    if (T::SLOTS == 4) {
        const uint2 more = plane_rows(third, ring[(first + 3) % T::SLOTS], j, high);
        matrix_add(sums, rows, more, weights.x, weights.y);
        return;
    }
    matrix_add(sums, rows, weights.x);
    if (T::SLOTS == 3)
        matrix_add(sums, make_uint2(third[2 * j], third[2 * j + 1]), high ? weights.z : weights.y);
}

/* Four results in rows 2 t and 2 t + 1; the third byte of each sum is the result. */
template <class T>
static __device__ __forceinline__ void sum_down(uint32_t (&totals)[2][FOUR],
                                                const uint32_t (&ring)[T::SLOTS][FOUR],
                                                const uint4 &weights, int first) {
#pragma unroll
    for (int j = 0; j < 2; j++) {
        uint32_t sums[4] = {};
        add_plane<T>(sums, ring, j, weights, first, true);
#pragma unroll
        for (int i = 0; i < 4; i++) sums[i] = sums[i] * 256 + (1 << 15);
        add_plane<T>(sums, ring, j, weights, first, false);
#pragma unroll
        for (int i = 0; i < 4; i++) totals[i % 2][2 * j + i / 2] = sums[i];
    }
}

/* ---- results */

/* The place of a lane's results: four samples in each of two rows. */
struct strip_target {
    uint8_t *above, *below;
    int rows, count; /* of the image from here on: rows, at most FOUR samples */
    int whole_rows;  /* rows whose FOUR samples may be written as a word */
};

/* The place of the lane's results in a row of the tile. */
static __device__ __forceinline__ int strip_byte(void) {
    static_assert(STRIP_BYTES == 32, "a byte for each lane");
    return (int)threadIdx.x & ~3;
}

static __device__ __forceinline__ struct strip_target
strip_target_of(const struct batch_image &image, const struct strip_place &place) {
    const int x = place.x + strip_byte(), y = place.y + 2 * (int)(threadIdx.x % 4);
    struct strip_target target;
    target.above = image.out + (size_t)y * image.out_stride + x;
    target.below = target.above + image.out_stride;
    target.count = min(place.bytes - x, (int)FOUR);
    target.rows = target.count > 0 ? (int)image.height - y : 0;
    target.whole_rows = target.count == FOUR && image.aligned ? target.rows : 0;
    return target;
}

/* Whether some words of the image's rows are incomplete. */
static __device__ __forceinline__ bool is_ragged(const struct batch_image &image) {
    return !image.aligned || image.width % FOUR;
}

/* The image's word at the target, ROW rows below. */
static __device__ __forceinline__ uint32_t strip_original(const struct batch_image &image,
                                                          const struct strip_place &place,
                                                          const struct strip_target &target,
                                                          int row) {
    const int x = place.x + strip_byte();
    const size_t y = image.height - (uint32_t)target.rows + (uint32_t)row;
    uint32_t words[1];
    load_unaligned(words, image.in + y * image.in_stride + x, (uint32_t)target.count);
    return words[0];
}

/* ORIGINAL: the tile's word of shared memory, whose colours are already multiplied by alpha if
 * there is any. */
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

/* RAGGED: some lanes have incomplete words. */
static __device__ __forceinline__ void strip_put(const struct strip_target &target, bool ragged,
                                                 uint32_t above, uint32_t below) {
    if (target.whole_rows > 0) *(uint32_t *)target.above = above;
    if (target.whole_rows > 1) *(uint32_t *)target.below = below;
    if (!ragged || target.rows == target.whole_rows) return;
#pragma unroll 1
    for (int i = 0; i < target.count; i++) {
        if (target.rows > 0) target.above[i] = (uint8_t)(above >> 8 * i);
        if (target.rows > 1) target.below[i] = (uint8_t)(below >> 8 * i);
    }
}

/* ---- the kernel */

/* Shared by the steps. */
template <class T> struct strip_walk {
    const struct batch_image &image;
    const struct strip_place place;
    const struct finish_rule &rule;
    struct strip_memory<T> &memory;
    struct strip_lane<T> lane;
    uint32_t ring[T::SLOTS][FOUR]; /* sums across */
    const uint8_t *from;           /* where the lane reads the group's first slab */
    const uint32_t *original;      /* the first result's word in the tile */
    struct strip_target target;
};

/* Step S of a group, whose first slots hold the sums of the group before. */
template <class T>
static __device__ __forceinline__ void strip_step(struct strip_walk<T> &walk, int s, bool ragged) {
    uint32_t totals[2][FOUR];
    sum_across<T>(walk.ring[(s + T::SLOTS - 1) % T::SLOTS],
                  walk.from + (s + T::SLOTS - 1) * STRIP_ROWS * T::ROW, walk.lane);
    sum_down<T>(totals, walk.ring, walk.lane.down, s % T::SLOTS);
    const uint32_t above = strip_result<T>(walk.image, walk.place, walk.target, 0, walk.rule,
                                           walk.original, walk.memory.factors, totals[0]);
    const uint32_t below =
        strip_result<T>(walk.image, walk.place, walk.target, 1, walk.rule,
                        walk.original + T::ROW / 4, walk.memory.factors, totals[1]);
    strip_put(walk.target, ragged, above, below);
    const size_t step = (size_t)STRIP_ROWS * walk.image.out_stride;
    walk.target.above += step, walk.target.below += step, walk.target.rows -= STRIP_ROWS;
    walk.target.whole_rows -= STRIP_ROWS;
    walk.original += STRIP_ROWS * T::ROW / 4;
}

/* Moves the oldest sums to slot 0. */
template <class T>
static __device__ __forceinline__ void strip_turn(uint32_t (&ring)[T::SLOTS][FOUR], int oldest) {
    uint32_t turned[T::SLOTS][FOUR];
#pragma unroll
    for (int i = 0; i < T::SLOTS * FOUR; i++)
        turned[i / FOUR][i % FOUR] = ring[(i / FOUR + oldest) % T::SLOTS][i % FOUR];
#pragma unroll
    for (int i = 0; i < T::SLOTS * FOUR; i++) ring[i / FOUR][i % FOUR] = turned[i / FOUR][i % FOUR];
}

template <class T>
static __device__ __forceinline__ void strip_group(struct strip_walk<T> &walk, bool ragged) {
#pragma unroll
    for (int s = 0; s < T::GROUP_STEPS; s++) strip_step<T>(walk, s, ragged);
    walk.from += T::GROUP_STEPS * STRIP_ROWS * T::ROW;
    strip_turn<T>(walk.ring, T::GROUP_STEPS % T::SLOTS);
}

template <class T>
static __device__ __forceinline__ void strip_run(struct strip_walk<T> &walk,
                                                 const struct strip_mirror<T> &mirror) {
    const bool ragged = is_ragged(walk.image);
#pragma unroll 1
    for (int group = 0; group < T::GROUPS; group++) {
        strip_wait_for<T>(group);
        prepare_rows<T>(walk.place, mirror, walk.memory,
                        group == 0 ? 0 : group * T::GROUP_STEPS + T::SLOTS - 1,
                        group == 0 ? T::FIRST_SLABS : T::GROUP_STEPS);
        __syncthreads();
        if (group == 0)
#pragma unroll
            for (int a = 0; a + 1 < T::SLOTS; a++)
                sum_across<T>(walk.ring[a], walk.from + a * STRIP_ROWS * T::ROW, walk.lane);
        strip_group<T>(walk, ragged);
    }
}

/* The block's tile. A batch numbers its tiles; a single image's tiles are the blocks of the
 * grid. */
template <class T, int CAPACITY>
static __device__ __forceinline__ struct strip_place
strip_place_of(const struct batch_image &image) {
    if (CAPACITY == 1)
        return { (int)blockIdx.x * STRIP_TILE, (int)blockIdx.y * T::HEIGHT, (int)image.width };
    const struct chunk_position position = chunk_position_of(image, blockIdx.x - image.first_chunk);
    return { (int)position.x * STRIP_TILE, (int)position.y * T::HEIGHT, (int)image.width };
}

/* Chunks of the batch are tiles, an image's pixels its samples. */
template <class T, int CAPACITY>
static __global__ void __launch_bounds__(STRIP_THREADS, T::BLOCKS)
    strip_kernel(const __grid_constant__ struct batch_of<CAPACITY> batch,
                 const struct strip_weights<T> *weights,
                 const __grid_constant__ struct finish_rule rule) {
    __shared__ struct strip_memory<T> memory;
    const struct batch_image &image =
        batch.images[CAPACITY == 1 ? 0 : batch_find(batch, blockIdx.x)];
    struct strip_walk<T> walk = {
        image, strip_place_of<T, CAPACITY>(image), rule, memory
    };
    strip_load<T>(image, walk.place, memory.tile);
    strip_load_lane<T>(walk.lane, weights);
    if (T::ALPHA) memory.factors[threadIdx.x] = __ldg(&weights->factors[threadIdx.x]);
    struct strip_mirror<T> mirror;
    if (has_border<T>(walk.place)) mirror = strip_mirror_of<T>(walk.place);
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const uint8_t *tile = (const uint8_t *)memory.tile + (int)threadIdx.x / 32 * STRIP_BYTES;
    walk.from = tile + g * T::ROW + 16 * t;
    walk.original = (const uint32_t *)(tile + (T::REACH + 2 * t) * T::ROW + T::HALO) + g;
    walk.target = strip_target_of(image, walk.place);
    strip_run<T>(walk, mirror);
}

#endif
