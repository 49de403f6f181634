// SPDX-License-Identifier: Apache-2.0
/* across.cuh - rows of a batch of images to the wanted width, into an image between.
 *
 * Used by:  resize.cu; sizes and shared memory are across_plan.cuh's.
 * Threads:  a block makes a tile: ACROSS_ROWS rows of some columns. No block waits for another.
 * Limits:   those of table.cuh.
 *
 * How it works. A block reads what its columns need of its rows once, makes it ready (multiplied by
 * alpha, in linear light) and lays it into shared memory plane by plane, four neighbours of a row
 * a word. Then a warp has a column, a lane a row: all lanes use the same weights, and rows lie an
 * odd number of words apart, so that no two lanes meet in a bank. Results go to memory with four
 * rows a word, which is how down.cuh sums them. Where windows are so long that shared memory does
 * not hold them, they come piece by piece; then no warp has more than one column, and keeps its
 * sums.
 *
 * The image between: for each four rows, plane by plane, a word for each column; columns are
 * rounded up to 32, rows to ACROSS_ROWS. It begins with the four rows that hold the first one
 * needed.
 */
#ifndef BURIN_RESIZE_ACROSS_CUH
#define BURIN_RESIZE_ACROSS_CUH

#include "cuda/chunk.cuh"
#include "cuda/ops/resize/axis_sum.cuh"
#include "cuda/ops/resize/table.cuh"
#include "cuda/ops/resize/tiles.cuh"
#include "cuda/ops/resize/work_pixels.cuh"

enum {
    ACROSS_WARPS = 8,
    ACROSS_THREADS = 32 * ACROSS_WARPS,
    ACROSS_ROWS = 32,                     /* a lane for each */
    ACROSS_RESULTS = ACROSS_ROWS / 4 + 1, /* words of a column's results; odd: no bank conflicts */
};

struct across_image {
    const uint8_t *in;
    const uint4 *table;
    uint32_t *between;
    uint32_t in_stride, first_tile;
    uint16_t width, height; /* of the input */
    uint16_t columns;       /* wanted */
    uint16_t words;         /* entries of a target, in the table */
    uint16_t tile_columns, tiles_across;
    uint16_t span;      /* words of a row that a block has room for; odd */
    uint16_t first_row; /* in fours: where the image between begins */
    bool aligned;       /* rows of the input start at whole words */
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
    uint32_t column, columns; /* the first, and how many */
    uint32_t row;             /* of the input */
    uint32_t word, words;     /* of an input row: all that its columns need */
    uint32_t line;            /* of the image between, in fours of rows */
};

static __device__ __forceinline__ struct across_tile
across_tile_of(const struct across_image &image, uint32_t index) {
    struct across_tile tile;
    const uint32_t down = index / image.tiles_across;
    tile.column = (index - down * image.tiles_across) * image.tile_columns;
    tile.columns = min((uint32_t)image.tile_columns, image.columns - tile.column);
    tile.line = down * (ACROSS_ROWS / 4);
    tile.row = 4 * (image.first_row + tile.line);
    const uint32_t last = tile.column + tile.columns - 1;
    const uint32_t end = __ldg(&image.table[(size_t)last * image.words].w);
    tile.word = table_first(__ldg(&image.table[(size_t)tile.column * image.words].w));
    tile.words = table_first(end) + table_words(end) - tile.word;
    return tile;
}

/* ---- into shared memory */

/* A word of one of the tile's rows. */
struct across_place {
    uint32_t row, word;
};

/* The place ACROSS_THREADS further, of rows of COUNT words. */
struct across_step {
    uint32_t count, rows, words;
};

static __device__ __forceinline__ struct across_place across_next(struct across_place place,
                                                                  const struct across_step &step) {
    place.row += step.rows, place.word += step.words;
    const bool over = place.word >= step.count;
    return { place.row + over, place.word - (over ? step.count : 0) };
}

/* Words FIRST and on of the tile's rows, STEP.COUNT of them, a row after the other, plane by plane.
 * A thread has several loads under way. */
template <class K>
static __device__ __forceinline__ void
across_stage(const struct across_batch &batch, const struct across_image &image, uint32_t top,
             uint32_t first, const struct across_step &step, uint32_t *staged) {
    constexpr int LOADS = K::WORDS > 4 ? 2 : 4;
    struct across_place place = { threadIdx.x / step.count, threadIdx.x % step.count };
    while (place.row < ACROSS_ROWS) {
        struct across_place places[LOADS];
        uint32_t words[LOADS][K::WORDS];
#pragma unroll
        for (int i = 0; i < LOADS; i++, place = across_next(place, step)) {
            places[i] = place;
            const uint32_t x = 4 * (first + place.word), y = top + place.row;
            const bool inside = place.row < ACROSS_ROWS && x < image.width && y < image.height;
            work_load(words[i], image.in + (size_t)y * image.in_stride + x * K::PIXEL_BYTES,
                      inside ? min(image.width - x, 4u) * K::PIXEL_BYTES : 0, image.aligned);
        }
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            if (places[i].row >= ACROSS_ROWS) break;
            uint32_t planes[K::PLANES];
            work_planes<K>(planes, words[i], batch.rule);
#pragma unroll
            for (int p = 0; p < K::PLANES; p++)
                staged[(p * ACROSS_ROWS + places[i].row) * image.span + places[i].word] = planes[p];
        }
    }
}

/* ---- sums */

/* Adds words FROM..END-1 of a window; STAGED is the lane's row, word FROM of it. */
template <class K>
static __device__ __forceinline__ void across_add(struct axis_sums<K> &sums, const uint4 *weights,
                                                  uint32_t words, const uint32_t *staged,
                                                  uint32_t plane_words) {
#pragma unroll 4
    for (uint32_t k = 0; k < words; k++) {
        uint32_t planes[K::PLANES];
#pragma unroll
        for (int p = 0; p < K::PLANES; p++) planes[p] = staged[p * plane_words + k];
        axis_add<K>(sums, planes, __ldg(weights + k));
    }
}

/* A column's results, a byte for each row. */
template <class K>
static __device__ __forceinline__ void across_keep(const struct axis_sums<K> &sums,
                                                   uint8_t *results, uint32_t plane_bytes) {
#pragma unroll
    for (int c = 0; c < K::CHANNELS; c++) {
        const uint32_t sample = axis_sample<K>(sums, c);
#pragma unroll
        for (int b = 0; b < K::BYTES; b++)
            results[(c * K::BYTES + b) * plane_bytes] = (uint8_t)(sample >> 8 * (K::BYTES - 1 - b));
    }
}

/* All columns of the warp, as far as words FIRST..FIRST+COUNT-1 of the rows go. */
template <class K>
static __device__ __forceinline__ void
across_columns(const struct across_image &image, const struct across_tile &tile, uint32_t first,
               uint32_t count, const uint32_t *staged, uint32_t span, uint8_t *results,
               struct axis_sums<K> &sums) {
    const uint32_t lane = threadIdx.x % 32, end = first + count;
    for (uint32_t i = threadIdx.x / 32; i < tile.columns; i += ACROSS_WARPS) {
        const uint4 *const weights = image.table + (size_t)(tile.column + i) * image.words;
        const uint32_t w = __ldg(&weights->w), window = table_first(w);
        const uint32_t window_end = window + table_words(w);
        const uint32_t from = max(window, first), to = min(window_end, end);
        if (from >= to) continue;
        if (from == window) sums = {};
        across_add<K>(sums, weights + (from - window), to - from,
                      staged + lane * span + (from - first), ACROSS_ROWS * span);
        if (to == window_end)
            across_keep<K>(sums, results + i * (4 * ACROSS_RESULTS) + lane,
                           image.tile_columns * (4 * ACROSS_RESULTS));
    }
}

/* ---- out of shared memory */

template <class K>
static __device__ __forceinline__ void across_write(const struct across_image &image,
                                                    const struct across_tile &tile,
                                                    const uint32_t *results) {
    const uint32_t lane = threadIdx.x % 32, pitch = between_pitch(image.columns);
    constexpr uint32_t LINES = ACROSS_ROWS / 4 * K::PLANES;
    for (uint32_t l = threadIdx.x / 32; l < LINES; l += ACROSS_WARPS) {
        const uint32_t four = l / K::PLANES, plane = l % K::PLANES;
        const uint32_t *const from = results + plane * image.tile_columns * ACROSS_RESULTS + four;
        uint32_t *const to =
            image.between + ((size_t)(tile.line + four) * K::PLANES + plane) * pitch + tile.column;
        for (uint32_t i = lane; i < tile.columns; i += 32) to[i] = from[i * ACROSS_RESULTS];
    }
}

template <class K>
static __global__ void __launch_bounds__(ACROSS_THREADS)
    across_kernel(const __grid_constant__ struct across_batch batch) {
    extern __shared__ uint32_t across_shared[];
    const struct across_image &image = batch.images[tiles_find(batch, blockIdx.x)];
    const struct across_tile tile = across_tile_of(image, blockIdx.x - image.first_tile);
    uint32_t *const results = across_shared + K::PLANES * ACROSS_ROWS * image.span;
    struct axis_sums<K> sums;
    for (uint32_t done = 0; done < tile.words; done += image.span) {
        const uint32_t first = tile.word + done, count = min(tile.words - done, image.span);
        if (done) __syncthreads(); /* the last piece is read */
        const struct across_step step = { count, ACROSS_THREADS / count, ACROSS_THREADS % count };
        across_stage<K>(batch, image, tile.row, first, step, across_shared);
        __syncthreads();
        across_columns<K>(image, tile, first, count, across_shared, image.span, (uint8_t *)results,
                          sums);
    }
    __syncthreads();
    across_write<K>(image, tile, results);
}

#endif
