// SPDX-License-Identifier: Apache-2.0
/* resize_dp4a.cuh - resize as it was before tensor cores: both passes by dp4a, which adds four
 * products. 8 bits.
 *
 * Used by:  resize.cu, the ladder.
 * Limits:   those of resample_weights.h.
 *
 * How it works. Of the first pass a block reads what its columns need of its rows once, and lays it
 * into shared memory plane by plane, four neighbours of a row a word. Then a warp has a column, a
 * lane a row: all lanes use the same weights, and rows lie an odd number of words apart, so that no
 * two lanes meet in a bank. Of the second pass a warp has 32 columns of a row.
 */
#ifndef BURIN_RESIZE_DP4A_CUH
#define BURIN_RESIZE_DP4A_CUH

#include "tests/bench/kernels/resize_dp4a_table.cuh"

namespace dp4a {

/* ---- the first pass */

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

/* The output of one block. */
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

/* ---- the second pass */

enum { DOWN_WARPS = 8, DOWN_THREADS = 32 * DOWN_WARPS };

struct down_image {
    const uint32_t *between;
    const uint4 *table;
    uint8_t *out;
    uint32_t out_stride, first_tile;
    uint16_t columns, rows; /* wanted */
    uint16_t words;         /* entries of a target, in the table */
    uint16_t first_row;     /* as of struct across_image */
    uint16_t tiles_across;
};

struct down_batch {
    int count;
    unsigned channels; /* of the results */
    struct work_rule rule;
    struct down_image images[CUDA_BATCH_MAX];
};

/* Row ROW of the picture that is kept, column COLUMN. */
template <class K>
static __device__ __forceinline__ void down_samples(uint32_t (&samples)[K::CHANNELS],
                                                    const struct down_image &image, uint32_t column,
                                                    uint32_t row) {
    const uint4 *const weights = image.table + (size_t)row * image.words;
    const uint32_t pitch = between_pitch(image.columns);
    const uint32_t w = __ldg(&weights->w), words = table_words(w);
    const uint32_t first = table_first(w) - image.first_row;
    const uint32_t *from = image.between + (size_t)first * K::PLANES * pitch + column;
    struct axis_sums<K> sums = {};
#pragma unroll 4
    for (uint32_t k = 0; k < words; k++) {
        uint32_t planes[K::PLANES];
#pragma unroll
        for (int p = 0; p < K::PLANES; p++, from += pitch) planes[p] = __ldg(from);
        axis_add<K>(sums, planes, __ldg(weights + k));
    }
#pragma unroll
    for (int c = 0; c < K::CHANNELS; c++) samples[c] = axis_sample<K>(sums, c);
}

template <class K>
static __global__ void __launch_bounds__(DOWN_THREADS)
    down_kernel(const __grid_constant__ struct down_batch batch) {
    const struct down_image &image = batch.images[tiles_find(batch, blockIdx.x)];
    const uint32_t tile = blockIdx.x - image.first_tile, down = tile / image.tiles_across;
    const uint32_t x = (tile - down * image.tiles_across) * 32 + threadIdx.x % 32;
    const uint32_t y = down * DOWN_WARPS + threadIdx.x / 32;
    uint32_t samples[K::CHANNELS];
    if (x >= image.columns || y >= image.rows) return;
    down_samples<K>(samples, image, x, y);
    work_finish<K>(samples, batch.rule);
    work_store<K>(image.out + (size_t)y * image.out_stride +
                      (size_t)x * batch.channels * (K::DEPTH / 8),
                  batch.channels, samples);
}

/* ---- the host's side */

/* Words of a row that COLUMNS targets in a row need, of WORDS each. */
static inline uint32_t row_span(const struct resample_axis *x, uint32_t columns, uint32_t words) {
    const uint64_t apart = ((uint64_t)columns - 1) * x->from / x->to + 2;
    return ((uint32_t)(apart / 4) + 2 + words) | 1;
}

static inline size_t across_bytes(unsigned planes, uint32_t columns, uint32_t span) {
    return (size_t)planes * (ACROSS_ROWS * span + columns * ACROSS_RESULTS) * 4;
}

/* The widest tile that leaves room for three blocks or more, or two of many planes. Where even a
 * column a warp is too much, its words come in pieces. */
static inline size_t across_choose(struct across_image *image, const struct resample_axis *x,
                                   unsigned planes, size_t shared_bytes) {
    const size_t wanted = (planes <= 2 ? 48 : planes <= 4 ? 72 : 96) << 10;
    const size_t most = wanted < shared_bytes ? wanted : shared_bytes;
    uint32_t columns = x->from <= 4 * (uint64_t)x->to ? 64 : 32;
    uint32_t span = row_span(x, columns, image->words);
    while (columns > ACROSS_WARPS && across_bytes(planes, columns, span) > most)
        columns /= 2, span = row_span(x, columns, image->words);
    if (across_bytes(planes, columns, span) > most)
        span = ((uint32_t)(most / 4 / planes - columns * ACROSS_RESULTS) / ACROSS_ROWS - 1) | 1;
    image->tile_columns = (uint16_t)columns;
    image->span = (uint16_t)span;
    return across_bytes(planes, columns, span);
}

template <class K>
static inline void add_across(const struct cuda_context *context, const struct weighing &weighing,
                              const struct device_table &table, struct tiles<across_batch> *tiles) {
    const uint32_t words = table.note;
    struct across_image image = {};
    image.in = weighing.in.pixels;
    image.table = (const uint4 *)table.memory;
    image.between = weighing.between;
    image.in_stride = (uint32_t)weighing.in.stride;
    image.width = (uint16_t)weighing.in.width;
    image.height = (uint16_t)weighing.in.height;
    image.columns = (uint16_t)weighing.x.count;
    image.words = (uint16_t)words;
    image.first_row = (uint16_t)(resample_span(&weighing.y).first / 4);
    image.aligned = ((uintptr_t)image.in | image.in_stride) % 4 == 0;
    const size_t bytes =
        across_choose(&image, &weighing.x, K::PLANES, (size_t)context->shared_bytes);
    if (bytes > tiles->shared_bytes) tiles->shared_bytes = bytes;
    tiles->shared_most = (size_t)context->shared_bytes;
    tiles_add(tiles, image, tiles_over(image.columns, image.tile_columns),
              between_lines(&weighing.y) / (ACROSS_ROWS / 4));
}

template <class K>
static inline void add_down(const struct weighing &weighing, const struct device_table &table,
                            struct tiles<down_batch> *tiles) {
    struct down_image image = {};
    image.between = weighing.between;
    image.table = (const uint4 *)table.memory;
    image.out = weighing.to.pixels;
    image.out_stride = (uint32_t)weighing.to.stride;
    image.columns = (uint16_t)weighing.x.count;
    image.rows = (uint16_t)weighing.y.count;
    image.words = (uint16_t)table.note;
    image.first_row = (uint16_t)(resample_span(&weighing.y).first / 4);
    tiles_add(tiles, image, tiles_over(image.columns, 32), tiles_over(image.rows, DOWN_WARPS));
}

} // namespace dp4a

#endif
