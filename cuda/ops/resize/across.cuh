// SPDX-License-Identifier: Apache-2.0
/* across.cuh - rows of a batch of images to the wanted width, into an image between.
 *
 * Used by:  weigh.cuh, which has the sizes and shared memory.
 * Threads:  a block makes a tile: STAGE_ROWS rows of some columns. No block waits for another.
 * Limits:   those of table.cuh.
 *
 * How it works. A block reads what its columns need of its rows once, into shared memory. Then a
 * warp makes MATRIX_ROWS rows of a group of eight columns at a time, of all planes; the weights
 * serve them all. Results go to memory with four rows a word, which is how down.cuh sums them.
 * Where windows are so long that shared memory does not hold them, they come piece by piece; then a
 * tile is a single group, and its two warps keep their sums.
 *
 * The image between: for each four rows, plane by plane, a word for each column; columns are
 * rounded up to 32, rows to STAGE_ROWS. It begins with the four rows that hold the first one
 * needed.
 */
#ifndef BURIN_RESIZE_ACROSS_CUH
#define BURIN_RESIZE_ACROSS_CUH

#include "cuda/ops/resize/axis_sum.cuh"
#include "cuda/ops/resize/overlap.cuh"
#include "cuda/ops/resize/stage.cuh"
#include "cuda/ops/resize/table.cuh"
#include "cuda/ops/resize/tiles.cuh"

struct across_image {
    const uint8_t *in;
    const struct table_group *groups;
    uint32_t *between;
    uint32_t in_stride, first_tile;
    uint16_t width, height; /* of the input */
    uint16_t columns;       /* wanted */
    uint16_t tile_columns, tiles_across;
    uint16_t span;      /* words of a row that a block has room for; a multiple of 8 */
    uint16_t first_row; /* in fours: where the image between begins */
    bool aligned;       /* rows of the input start at 16 bytes, or at 4 where they are made ready */
};

struct across_batch {
    int count;
    struct work_rule rule;
    struct across_image images[CUDA_BATCH_MAX];
};

/* Words between the same row of two columns' fours. */
static __host__ __device__ inline uint32_t between_pitch(uint32_t columns) {
    return (columns + 31) / 32 * 32;
}

/* What one block makes. */
struct across_tile {
    uint32_t column, groups; /* the first column; how many groups */
    uint32_t word, words;    /* of an input row: all that its columns need */
    uint32_t line;           /* of the image between, in fours of rows */
};

static __device__ __forceinline__ struct across_tile
across_tile_of(const struct across_image &image, uint32_t index) {
    struct across_tile tile;
    const uint32_t down = index / image.tiles_across;
    tile.column = (index - down * image.tiles_across) * image.tile_columns;
    tile.groups = table_groups(min((uint32_t)image.tile_columns, image.columns - tile.column));
    tile.line = down * (STAGE_ROWS / 4);
    const struct table_group *const group = image.groups + tile.column / TABLE_GROUP;
    const struct table_group first = table_load(group), last = table_load(group + tile.groups - 1);
    tile.word = first.first;
    tile.words = last.first + last.words - first.first;
    return tile;
}

/* STEPS steps from PAIRS on; AT: the lane's first word, of the first of its two rows. */
template <class K>
static __device__ __forceinline__ void across_add(struct axis_sums<K> &sums, const uint2 *pairs,
                                                  uint32_t steps, const uint32_t *at,
                                                  uint32_t pitch) {
    constexpr uint32_t HALF = MATRIX_WORDS / 2 * stage_layout<K>::WORD_STEP;
    const uint32_t *other = at + MATRIX_ROWS / 2 * pitch;
    uint2 next[3] = { __ldg(pairs), __ldg(pairs + 32), __ldg(pairs + 64) };
    for (uint32_t s = 0; s < steps; s++) {
        const uint2 digits[3] = { next[0], next[1], next[2] };
        uint32_t planes[K::PLANES][4];
        pairs += TABLE_STEP_PAIRS;
#pragma unroll
        for (int d = 0; d < 3 && s + 1 < steps; d++) next[d] = __ldg(pairs + 32 * d);
        stage_read<K>(planes, 0, at, pitch);
        stage_read<K>(planes, 1, other, pitch);
        stage_read<K>(planes, 2, at + HALF, pitch);
        stage_read<K>(planes, 3, other + HALF, pitch);
        axis_add<K>(sums, planes, digits);
        at += 2 * HALF, other += 2 * HALF;
    }
}

/* LINE and COLUMN: the first of what the warp has summed. */
template <class K>
static __device__ __forceinline__ void across_write(const struct across_image &image,
                                                    const struct axis_sums<K> &sums, uint32_t line,
                                                    uint32_t column) {
    const uint32_t pitch = between_pitch(image.columns);
    uint32_t words[K::PLANES];
    axis_words<K>(words, sums);
    uint32_t *const to = image.between + (size_t)(line + threadIdx.x % 32 / 8) * K::PLANES * pitch +
                         column + axis_target();
#pragma unroll
    for (int p = 0; p < K::PLANES; p++) to[p * pitch] = words[p];
}

/* The warp's part of the tile, as far as the piece SOURCE goes, DONE words behind the tile's first:
 * a multiple of 8. */
template <class K>
static __device__ __forceinline__ void
across_groups(const struct across_image &image, const struct across_tile &tile,
              const struct stage_source &source, uint32_t done, const uint32_t *staged,
              struct axis_sums<K> &sums) {
    constexpr uint32_t HALVES = STAGE_ROWS / MATRIX_ROWS;
    const uint32_t lane = threadIdx.x % 32, pitch = stage_pitch<K>(image.span);
    for (uint32_t i = threadIdx.x / 32; i < HALVES * tile.groups; i += STAGE_THREADS / 32) {
        const uint32_t half = i % HALVES, column = tile.column + i / HALVES * TABLE_GROUP;
        const struct table_group *const group = image.groups + column / TABLE_GROUP;
        const struct table_group own = table_load(group);
        const uint32_t before = done / MATRIX_WORDS, steps = table_steps(own.words);
        if (before >= steps) continue;
        const uint32_t now = min(steps - before, (uint32_t)image.span / MATRIX_WORDS);
        if (done == 0) sums = {};
        across_add<K>(sums, table_pairs(group, own) + before * TABLE_STEP_PAIRS, now,
                      stage_at<K>(source, pitch, staged, half * MATRIX_ROWS + lane / 4,
                                  own.first + done - source.word + lane % 4),
                      pitch);
        if (before + now == steps)
            across_write<K>(image, sums, tile.line + half * (MATRIX_ROWS / 4), column);
    }
}

template <class K>
static __device__ __forceinline__ void across_block(const struct across_batch &batch) {
    extern __shared__ uint4 across_shared[];
    uint32_t *const staged = (uint32_t *)across_shared;
    const struct across_image &image = batch.images[tiles_find(batch, blockIdx.x)];
    const struct across_tile tile = across_tile_of(image, blockIdx.x - image.first_tile);
    struct stage_source source = {};
    source.in = image.in, source.stride = image.in_stride, source.aligned = image.aligned;
    source.width = image.width, source.height = image.height;
    source.row = 4 * (image.first_row + tile.line);
    struct axis_sums<K> sums;
    overlap_begin();
    for (uint32_t done = 0; done < tile.words; done += image.span) {
        if (done) __syncthreads(); /* the last piece is read */
        source.word = tile.word + done;
        source.words = min(tile.words - done, (uint32_t)image.span);
        stage<K>(source, batch.rule, stage_pitch<K>(image.span), staged);
        __syncthreads();
        across_groups<K>(image, tile, source, done, staged, sums);
    }
}

template <class K>
static __global__ void __launch_bounds__(STAGE_THREADS)
    across_kernel(const __grid_constant__ struct across_batch batch) {
    across_block<K>(batch);
}

#endif
