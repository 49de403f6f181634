// SPDX-License-Identifier: Apache-2.0
/* across.cuh - scales rows of a batch of images to the wanted width, into an image between.
 *
 * Used by:  weigh.cuh, which chooses sizes and shared memory.
 * Threads:  a block makes a tile: STAGE_ROWS rows of some columns. No block waits for another.
 * Limits:   those of table.cuh.
 *
 * How it works. A block reads the part of its rows that its columns need once, into shared memory;
 * meanwhile a warp reads the first weights that it uses. Then the warp makes groups of eight
 * columns, all planes of one, one half of the rows after the other; in tiles of few groups another
 * warp makes the other half. The first half is summed while the other one's rows come, unless
 * windows are long. Where all windows have one step, a warp loads
 * the weights before the rows arrive, and needs registers for only one channel's sums, so that more
 * blocks run at once. Results are stored with four rows a word, as down.cuh sums them. Windows that
 * are too long for shared memory come piece by piece; then a tile is a single group, and its two
 * warps keep their sums. With alpha across_alpha.cuh divides the work otherwise.
 *
 * A single image's time is mostly that of trips to memory. So where its windows are long, its
 * kernels get a smaller parameter block, which reaches the GPU sooner; and the parameters include
 * the words that tiles need of rows, so that rows are requested before the table arrives. With few
 * blocks the weights of a few steps are loaded ahead too.
 *
 * The image between: for each four rows, plane by plane, a word for each column; columns are
 * rounded up to 32, rows to STAGE_ROWS. It begins with the four rows that hold the first one
 * needed.
 */
#ifndef BURIN_RESIZE_ACROSS_CUH
#define BURIN_RESIZE_ACROSS_CUH

#include "cuda/ops/resize/axis_sum.cuh"
#include "cuda/ops/resize/stage.cuh"
#include "cuda/ops/resize/table.cuh"
#include "cuda/ops/resize/tiles.cuh"

#include <type_traits>

enum {
    ACROSS_COLUMNS = 64,      /* of a tile, at most */
    ACROSS_ALONE_TILES = 48,  /* in a row of tiles, of a single image */
    ACROSS_EXPECTED_STEPS = 4 /* whose weights are requested ahead */
};

struct across_image {
    const uint8_t *in;
    const struct table_group *groups;
    uint32_t *between;
    uint32_t in_stride, first_tile;
    uint32_t share;         /* of tiles_across: see tiles_row() */
    uint16_t width, height; /* of the input */
    uint16_t columns;       /* of the result */
    uint16_t tile_columns, tiles_across;
    uint16_t span;      /* words of a row that a block has room for; a multiple of 8 */
    uint16_t first_row; /* of the image between, in fours */
    bool aligned;       /* rows of the input start at 16 bytes, or at 4 if they are made ready */
};

struct across_batch {
    int count;
    uint32_t share; /* of the first image's tiles */
    struct work_rule rule;
    struct across_image images[CUDA_BATCH_MAX];
};

/* A single image, with the words that each tile in a row of tiles needs, as in struct
 * across_tile. */
struct across_alone {
    int count; /* 1 */
    struct work_rule rule;
    struct across_image images[1];
    uint16_t word[ACROSS_ALONE_TILES], words[ACROSS_ALONE_TILES];
};

/* Words between two planes of the same four rows. */
static __host__ __device__ inline uint32_t between_pitch(uint32_t columns) {
    return (columns + 31) / 32 * 32;
}

/* The work of one block. */
struct across_tile {
    uint32_t column, groups; /* the first column; groups of columns */
    uint32_t word, words;    /* of an input row: all that its columns need */
    uint32_t line;           /* of the image between, in fours of rows */
};

/* Sets all but the tile's words. */
static __device__ __forceinline__ struct across_tile
across_place_of(const struct across_image &image, uint32_t index, uint32_t *across) {
    struct across_tile tile = {};
    const uint32_t down = tiles_row(index, image.tiles_across, image.share);
    *across = index - down * image.tiles_across;
    tile.column = *across * image.tile_columns;
    tile.groups = table_groups(min((uint32_t)image.tile_columns, image.columns - tile.column));
    tile.line = down * (STAGE_ROWS / 4);
    return tile;
}

static __device__ __forceinline__ struct across_tile
across_tile_of(const struct across_image &image, uint32_t index) {
    uint32_t across;
    struct across_tile tile = across_place_of(image, index, &across);
    const struct table_group *const group = image.groups + tile.column / TABLE_GROUP;
    const struct table_group first = table_load(group), last = table_load(group + tile.groups - 1);
    tile.word = first.first;
    tile.words = last.first + last.words - first.first;
    return tile;
}

/* Tile INDEX of an image of the batch. */
static __device__ __forceinline__ struct across_tile
across_tile_in(const struct across_batch &, const struct across_image &image, uint32_t index) {
    return across_tile_of(image, index);
}

static __device__ __forceinline__ struct across_tile
across_tile_in(const struct across_alone &alone, const struct across_image &image, uint32_t index) {
    uint32_t across;
    struct across_tile tile = across_place_of(image, index, &across);
    tile.word = alone.word[across], tile.words = alone.words[across];
    return tile;
}

/* A warp's part of a tile: a group of columns. */
struct across_part {
    uint32_t first, steps; /* of its group; 0 steps: an idle warp */
    const uint2 *pairs;
    uint32_t half, halves; /* the first half, and the number of halves */
    uint32_t *to;          /* the lane's first word of the image between */
};

/* Both halves of group INDEX. */
template <class K>
static __device__ __forceinline__ struct across_part
across_group_of(const struct across_image &image, const struct across_tile &tile, uint32_t index) {
    struct across_part part = {};
    if (index >= tile.groups) return part;
    const uint32_t column = tile.column + index * TABLE_GROUP, line = tile.line + axis_pixel() / 4;
    const struct table_group *const group = image.groups + column / TABLE_GROUP;
    const struct table_group own = table_load(group);
    part.first = own.first, part.steps = table_steps(own.words);
    part.pairs = table_pairs(group, own);
    part.halves = AXIS_HALVES;
    part.to = image.between + (size_t)(line * K::between::PLANES) * between_pitch(image.columns) +
              column + axis_target();
    return part;
}

template <class K, int WARPS, int STEPS>
static __device__ __forceinline__ struct across_part
across_part_of(const struct across_image &image, const struct across_tile &tile, uint32_t warp) {
    const bool alone = STEPS == 1 || image.tile_columns > WARPS * TABLE_GROUP / AXIS_HALVES;
    struct across_part part = across_group_of<K>(image, tile, alone ? warp : warp / AXIS_HALVES);
    if (!alone) part.half = warp % AXIS_HALVES, part.halves = 1;
    return part;
}

/* Prefetches the lane's weights of a part, or of the first of many steps. */
static __device__ __forceinline__ void across_expect(const struct across_part &part) {
    const uint32_t steps = min(part.steps, (uint32_t)ACROSS_EXPECTED_STEPS);
    for (uint32_t s = 0; s < steps; s++)
#pragma unroll
        for (int d = 0; d < 3; d++)
            asm volatile(
                "prefetch.global.L1 [%0];" ::"l"(part.pairs + TABLE_STEP_PAIRS * s + 32 * d));
}

/* Loads a step's weights. */
static __device__ __forceinline__ void across_load_digits(uint2 (&digits)[3], const uint2 *pairs) {
#pragma unroll
    for (int d = 0; d < 3; d++) digits[d] = overlap_load(pairs + 32 * d);
}

/* Steps whose weights a lane keeps: all of STEPS, or one of any number. */
template <int STEPS> static constexpr int ACROSS_KEPT = STEPS ? STEPS : 1;

/* Loads the weights of HAVE steps, and 0 for the rest. */
template <int STEPS>
static __device__ __forceinline__ void across_load_steps(uint2 (&digits)[STEPS][3],
                                                         const uint2 *pairs, uint32_t have) {
#pragma unroll
    for (uint32_t s = 0; s < STEPS; s++)
#pragma unroll
        for (int d = 0; d < 3; d++)
            digits[s][d] = s == 0 || s < have ? overlap_load(pairs + TABLE_STEP_PAIRS * s + 32 * d)
                                              : make_uint2(0, 0);
}

/* The words of a step: AT is the lane's first, in the first of its two rows. */
template <class K>
static __device__ __forceinline__ void across_read(uint32_t (&planes)[K::PLANES][4],
                                                   const uint32_t *at, uint32_t pitch) {
    constexpr uint32_t HALF = MATRIX_WORDS / 2 * stage_layout<K>::WORD_STEP;
    const uint32_t *const other = at + MATRIX_ROWS / 2 * pitch;
    stage_read<K>(planes, 0, at, pitch);
    stage_read<K>(planes, 1, other, pitch);
    stage_read<K>(planes, 2, at + HALF, pitch);
    stage_read<K>(planes, 3, other + HALF, pitch);
}

/* Adds STEPS steps from PAIRS on, of which DIGITS are the first. */
template <class K>
static __device__ __forceinline__ void across_add(struct axis_sums<K> &sums, uint2 (&digits)[3],
                                                  const uint2 *pairs, uint32_t steps,
                                                  const uint32_t *at, uint32_t pitch) {
#pragma unroll 1
    for (uint32_t s = steps;;) {
        uint32_t planes[K::PLANES][4];
        across_read<K>(planes, at, pitch);
        axis_add<K>(sums, planes, digits);
        if (--s == 0) return;
        pairs += TABLE_STEP_PAIRS;
        across_load_digits(digits, pairs);
        at += MATRIX_WORDS * stage_layout<K>::WORD_STEP;
    }
}

/* Stores both halves' words, or only the half's bytes of them. */
template <class K>
static __device__ __forceinline__ void across_write(const struct across_part &part,
                                                    const uint32_t (&words)[K::PLANES][2],
                                                    uint32_t pitch) {
    if (part.halves == AXIS_HALVES) {
#pragma unroll
        for (int p = 0; p < K::PLANES; p++)
            *(uint2 *)(part.to + p * pitch) = make_uint2(words[p][0], words[p][1]);
        return;
    }
    uint16_t *const to = (uint16_t *)part.to + (part.half == 0);
#pragma unroll
    for (int p = 0; p < K::PLANES; p++) {
        to[2 * p * pitch] = (uint16_t)words[p][0];
        to[2 * p * pitch + 2] = (uint16_t)words[p][1];
    }
}

/* Address of the lane's first word of a part and half; in pieces, DONE words of the tile come
 * before. */
template <class K>
static __device__ __forceinline__ const uint32_t *
across_at(const struct across_part &part, const struct stage_source &source, uint32_t pitch,
          const uint32_t *staged, uint32_t half, uint32_t done) {
    const uint32_t lane = threadIdx.x % 32;
    return stage_at<K>(source, pitch, staged, (AXIS_HALVES - 1 - half) * MATRIX_ROWS + lane / 4,
                       part.first + done - source.word + lane % 4);
}

/* One half of a part, of a tile that is staged whole. STEPS: the most steps, whose weights are
 * DIGITS; 0: any number, and weights are loaded here. */
template <class K, int STEPS>
static __device__ __forceinline__ void
across_half(uint32_t (&words)[K::PLANES][2], uint2 (&digits)[ACROSS_KEPT<STEPS>][3],
            const struct across_part &part, const struct stage_source &source, uint32_t pitch,
            const uint32_t *staged, uint32_t half) {
    const uint32_t *const at = across_at<K>(part, source, pitch, staged, half, 0);
    if constexpr (STEPS > 0) {
        constexpr uint32_t STEP = MATRIX_WORDS * stage_layout<K>::WORD_STEP;
        uint32_t planes[STEPS][K::PLANES][4];
#pragma unroll
        for (uint32_t s = 0; s < STEPS; s++)
            across_read<K>(planes[s], at + (s ? min(s, part.steps - 1) : 0) * STEP, pitch);
        axis_short<K, STEPS>(words, planes, digits);
    } else {
        if (half == part.half || part.steps > 1) across_load_digits(digits[0], part.pairs);
        struct axis_sums<K> sums = axis_begin<K>();
        across_add<K>(sums, digits[0], part.pairs, part.steps, at, pitch);
        axis_words<K>(words, sums);
    }
}

/* The part of a tile whose rows come SPAN words at a time. Rare, and not inlined, since it would
 * take registers from the others. */
template <class K, int WARPS>
static __device__ __noinline__ void across_pieces(struct across_part part, struct across_tile tile,
                                                  uint32_t span, struct stage_source source,
                                                  const struct work_rule &rule, uint32_t *staged,
                                                  uint32_t to_pitch) {
    const uint32_t pitch = stage_pitch<K>(span), most = span / MATRIX_WORDS;
    const uint2 *pairs = part.pairs;
    struct axis_sums<K> sums = axis_begin<K>();
    uint32_t left = part.steps, words[K::PLANES][2] = {};
    for (uint32_t done = 0; done < tile.words; done += span) {
        const uint32_t steps = min(left, most);
        __syncthreads(); /* all have read the last piece */
        source.word = tile.word + done;
        source.words = min(tile.words - done, span);
        stage<K, WARPS>(source, rule, pitch, staged);
        stage_wait();
        __syncthreads();
        if (steps == 0) continue;
        uint2 digits[3];
        across_load_digits(digits, pairs);
        across_add<K>(sums, digits, pairs, steps,
                      across_at<K>(part, source, pitch, staged, part.half, done), pitch);
        pairs += steps * TABLE_STEP_PAIRS, left -= steps;
    }
    if (!part.steps) return;
    axis_words<K>(words, sums);
    across_write<K>(part, words, to_pitch);
}

static __device__ __forceinline__ struct stage_source
across_source(const struct across_image &image, const struct across_tile &tile) {
    struct stage_source source = {};
    source.in = image.in, source.stride = image.in_stride, source.aligned = image.aligned;
    source.width = image.width, source.height = image.height;
    source.row = 4 * (image.first_row + tile.line);
    source.word = tile.word, source.words = tile.words;
    return source;
}

/* Work while rows come. With STEPS: loads the weights of the part itself, and requests those of the
 * NEXT, if there is one. */
template <class K, int WARPS, int STEPS>
static __device__ __forceinline__ void
across_ahead(uint2 (&digits)[ACROSS_KEPT<STEPS>][3], const struct across_part &part,
             struct across_part &next, const struct across_image &image,
             const struct across_tile &tile) {
    if (!part.steps) return;
    if constexpr (STEPS == 0) return across_expect(part);
    across_load_steps(digits, part.pairs, part.steps);
    if (WARPS * TABLE_GROUP >= ACROSS_COLUMNS) return;
    next = across_part_of<K, WARPS, STEPS>(image, tile, threadIdx.x / 32 + WARPS);
    if (next.steps) across_expect(next);
}

/* STEPS: no window has more, and the tile is staged whole; 0: any number. HALVES: half of the rows
 * are summed while the others come. */
template <class K, int WARPS, int STEPS, bool HALVES, class B>
static __device__ __forceinline__ void across_block(const B &batch) {
    constexpr bool ALONE = std::is_same<B, across_alone>::value;
    extern __shared__ uint4 across_shared[];
    uint32_t *const staged = (uint32_t *)across_shared;
    const struct across_image &image = tiles_image(batch, blockIdx.x);
    const struct across_tile tile = across_tile_in(batch, image, blockIdx.x - image.first_tile);
    uint32_t warp = threadIdx.x / 32, words[K::PLANES][2] = {};
    struct across_part part = {}, next = {};
    if (!ALONE) part = across_part_of<K, WARPS, STEPS>(image, tile, warp);
    const struct stage_source source = across_source(image, tile);
    const uint32_t pitch = stage_pitch<K>(image.span), to_pitch = between_pitch(image.columns);
    uint2 digits[ACROSS_KEPT<STEPS>][3] = {};
    overlap_begin();
    if constexpr (STEPS == 0)
        if (tile.words > image.span) {
            if (ALONE) part = across_part_of<K, WARPS, STEPS>(image, tile, warp);
            return across_pieces<K, WARPS>(part, tile, image.span, source, batch.rule, staged,
                                           to_pitch);
        }
    stage<K, WARPS>(source, batch.rule, pitch, staged);
    if (ALONE) part = across_part_of<K, WARPS, STEPS>(image, tile, warp);
    across_ahead<K, WARPS, STEPS>(digits, part, next, image, tile);
    if constexpr (HALVES)
        stage_half();
    else
        stage_wait();
    __syncthreads();
    if (part.steps && part.half == 0)
        across_half<K, STEPS>(words, digits, part, source, pitch, staged, 0);
    if constexpr (HALVES) {
        stage_wait();
        __syncthreads();
    }
    while (part.steps) {
        if (part.half + part.halves == AXIS_HALVES)
            across_half<K, STEPS>(words, digits, part, source, pitch, staged, 1);
        across_write<K>(part, words, to_pitch);
        if (WARPS * TABLE_GROUP >= ACROSS_COLUMNS || part.halves == 1) break;
        part = STEPS ? next : across_part_of<K, WARPS, STEPS>(image, tile, warp += WARPS);
        next.steps = 0;
        if (!part.steps) break;
        if (STEPS) across_load_steps(digits, part.pairs, part.steps);
#pragma unroll
        for (int p = 0; p < 2 * K::PLANES; p++) words[p / 2][p % 2] = 0;
        across_half<K, STEPS>(words, digits, part, source, pitch, staged, 0);
    }
}

#endif
