// SPDX-License-Identifier: Apache-2.0
/* How it works. Count the tile's samples; clip the counts; sum them up as far as each bin, where
 * what the clipping took is given back by formula; scale the sums to levels. */
#include "pipeline/ops/clahe/table.h"

#include "pipeline/reflect.h"
#include "pipeline/rows/histogram.h"
#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"

#include <string.h>

enum { BINS16 = 65536 };

size_t clahe_table_bytes(unsigned depth) {
    return depth == 8 ? 256 : BINS16 * sizeof(uint16_t);
}

size_t clahe_work_bytes(unsigned depth) {
    return depth == 8 ? 256 * sizeof(uint32_t) + sizeof(struct histogram)
                      : BINS16 * sizeof(uint32_t);
}

/* ---- count */

/* Where a tile lies; `inside` of its columns are the image's, the others are reflected. */
struct tile {
    uint32_t left, top, width, height, inside;
};

static struct tile tile_of(const struct clahe_grid *grid, uint32_t x, uint32_t y) {
    struct tile tile = { x * grid->x.tile, y * grid->y.tile, grid->x.tile, grid->y.tile, 0 };
    if (tile.left < grid->x.length) tile.inside = grid->x.length - tile.left;
    if (tile.inside > tile.width) tile.inside = tile.width;
    return tile;
}

static const uint8_t *tile_row(const struct image *gray, const struct tile *tile, uint32_t y) {
    return image_row(gray, reflect((int32_t)(tile->top + y), gray->height));
}

static uint32_t sample_beyond(const struct image *gray, const struct tile *tile, const uint8_t *row,
                              uint32_t x) {
    return sample_get(row, reflect((int32_t)(tile->left + x), gray->width), gray->depth);
}

/* Tiles so small that eight tables are more to clear and sum up than they save. */
static bool is_small(const struct tile *tile) {
    return (uint64_t)tile->width * tile->height < 4096;
}

static void count_each(const struct image *gray, const struct tile *tile, uint32_t *counts) {
    memset(counts, 0, ((size_t)image_max(gray) + 1) * sizeof *counts);
    for (uint32_t y = 0; y < tile->height; y++) {
        const uint8_t *row = tile_row(gray, tile, y);
        for (uint32_t x = 0; x < tile->inside; x++)
            counts[sample_get(row, tile->left + x, gray->depth)]++;
        for (uint32_t x = tile->inside; x < tile->width; x++)
            counts[sample_beyond(gray, tile, row, x)]++;
    }
}

static void count_bytes(const struct image *gray, const struct tile *tile,
                        struct histogram *histogram, uint32_t *counts) {
    memset(histogram, 0, sizeof *histogram);
    for (uint32_t y = 0; y < tile->height; y++) {
        const uint8_t *row = tile_row(gray, tile, y);
        histogram_add(histogram, row + tile->left, tile->inside);
        for (uint32_t x = tile->inside; x < tile->width; x++)
            histogram->table[0][sample_beyond(gray, tile, row, x)]++;
    }
    histogram_counts(histogram, counts);
}

/* ---- clip, sum and scale */

#define INLINE static inline __attribute__((always_inline))

/* Returns what was taken of the counts. */
INLINE uint32_t clip(uint32_t *counts, uint32_t bins, uint32_t limit) {
    uint32_t excess = 0;
    for (uint32_t i = 0; i < bins; i++) {
        const uint32_t count = counts[i], less = count < limit ? count : limit;
        excess += count - less;
        counts[i] = less;
    }
    return excess;
}

/* COUNTS become sums up to each bin, and what the clipping took is given back. */
static void sum_up(uint32_t *counts, uint32_t bins, uint32_t excess) {
    const struct clahe_share share = clahe_share_of(excess, bins);
    uint32_t sum = 0, next = 0, rest = share.rest;
    for (uint32_t i = 0; i < bins; i++) {
        const bool more = i == next && rest > 0;
        sum += counts[i] + share.each + more;
        next += more ? share.step : 0;
        rest -= more;
        counts[i] = sum;
    }
}

INLINE void scale8(const uint32_t *sums, float scale, uint8_t *levels) {
    for (uint32_t i = 0; i < 256; i++) levels[i] = (uint8_t)clahe_level(sums[i], scale, 255);
}

INLINE void scale16(const uint32_t *sums, float scale, uint16_t *levels) {
    for (uint32_t i = 0; i < BINS16; i++) levels[i] = (uint16_t)clahe_level(sums[i], scale, 65535);
}

INLINE void make_levels(const struct clahe_grid *grid, uint32_t *counts, unsigned depth,
                        void *table) {
    const uint32_t bins = depth == 8 ? 256 : BINS16;
    sum_up(counts, bins, grid->limit ? clip(counts, bins, grid->limit) : 0);
    if (depth == 8)
        scale8(counts, grid->scale, table);
    else
        scale16(counts, grid->scale, table);
}

static void make_levels_plain(const struct clahe_grid *grid, uint32_t *counts, unsigned depth,
                              void *table) {
    make_levels(grid, counts, depth, table);
}

#ifdef __x86_64__
AVX2 static void make_levels_avx2(const struct clahe_grid *grid, uint32_t *counts, unsigned depth,
                                  void *table) {
    make_levels(grid, counts, depth, table);
}
#else
#define make_levels_avx2 make_levels_plain
#endif

void clahe_table_make(const struct clahe_grid *grid, const struct image *gray, uint32_t x,
                      uint32_t y, void *work, void *table) {
    const struct tile tile = tile_of(grid, x, y);
    uint32_t *counts = work;
    if (gray->depth == 8 && !is_small(&tile))
        count_bytes(gray, &tile, (struct histogram *)(counts + 256), counts);
    else
        count_each(gray, &tile, counts);
    (simd_has_avx2() ? make_levels_avx2 : make_levels_plain)(grid, counts, gray->depth, table);
}
