// SPDX-License-Identifier: Apache-2.0
/* How it works. Each plane is processed from the top down: the tables of one row of tiles are made,
 * then the rows of samples between its middles and those of the row above are looked up. So only
 * two rows of tables are kept, and the samples just counted are still in the cache. Threads share
 * the tiles of a row, then its samples. */
#include "pipeline/ops/clahe.h"

#include "pipeline/op.h"
#include "pipeline/ops/clahe/blend.h"
#include "pipeline/ops/clahe/plane.h"
#include "pipeline/reflect.h"
#include "pipeline/rows/alpha.h"
#include "pipeline/rows/histogram.h"
#include "pipeline/rows/simd.h"
#include "pipeline/sample.h"

#include <string.h>

static const struct param params[] = {
    [CLAHE_TILES] = { .name = "tiles",
                      .summary = "Tiles across and down, each with a histogram of its own",
                      .unit = "tiles",
                      .type = PARAM_INT,
                      .min = 1,
                      .max = CLAHE_TILES_MAX,
                      .def = 8 },
    [CLAHE_CLIP] = { .name = "clip",
                     .summary = "How many times the mean a bin may have, which limits contrast; 0: "
                                "any",
                     .type = PARAM_DECIMAL,
                     .min = 0,
                     .max = 100000,
                     .def = 2000 },
    [CLAHE_CHANNEL] = { .name = "channel",
                        .summary = "What is equalized in a colour image: HSV value, luma, or each "
                                   "channel on its own",
                        .type = PARAM_CHOICE,
                        .choices = { "value", "luma", "each" } },
    [CLAHE_BACKGROUND] = BACKGROUND_PARAM("Colour of a tile where every pixel has alpha 0"),
    { .name = NULL },
};

enum { WORKERS_MAX = 16, BAND_ROWS = 16 };

enum { BINS16 = 65536 };

/* Bytes of one table, which has a new level for each level. */
static size_t table_bytes(unsigned depth) {
    return depth == 8 ? 256 : BINS16 * sizeof(uint16_t);
}

/* ---- a tile's samples, counted */

/* A tile's place; the columns beyond the first `inside` are reflected. */
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

/* Counts the pixels of GRAY that can be seen in IN, which has alpha. Returns their number; where
 * there are none, the tile has the value NONE. */
static uint32_t count_visible(const struct image *in, const struct image *gray,
                              const struct tile *tile, uint32_t none, uint32_t *counts) {
    uint32_t visible = 0;
    memset(counts, 0, ((size_t)image_max(gray) + 1) * sizeof *counts);
    for (uint32_t y = 0; y < tile->height; y++) {
        const uint8_t *row = tile_row(gray, tile, y), *pixels = tile_row(in, tile, y);
        for (uint32_t x = 0; x < tile->width; x++) {
            const uint32_t at = reflect((int32_t)(tile->left + x), gray->width);
            const uint32_t seen =
                sample_visible(pixels, (size_t)at * in->channels, in->channels, in->depth);
            counts[sample_get(row, at, gray->depth)] += seen;
            visible += seen;
        }
    }
    if (visible) return visible;
    return counts[none] = tile->width * tile->height;
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

/* ---- counts are clipped, summed up to each bin, and scaled to levels */

#define INLINE static inline __attribute__((always_inline))

/* Returns the counts that were cut off. */
INLINE uint32_t clip(uint32_t *counts, uint32_t bins, uint32_t limit) {
    uint32_t excess = 0;
    for (uint32_t i = 0; i < bins; i++) {
        const uint32_t count = counts[i], less = count < limit ? count : limit;
        excess += count - less;
        counts[i] = less;
    }
    return excess;
}

/* Replaces COUNTS by the sums up to each bin, with EXCESS spread over all bins. */
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

/* ---- scratch */

/* Sizes of the parts of the scratch, in bytes and in order. */
struct layout {
    size_t weights;    /* of the columns, then of the rows: floats */
    size_t tables;     /* one row of tables, of which there are two */
    size_t work, band; /* for each worker: counts, and rows of new levels */
    size_t plane;
};

static size_t rounded(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static struct clahe_grid grid_of(const struct params *values, const struct image *in) {
    return clahe_grid_of(in->width, in->height, (uint32_t)values->number[CLAHE_TILES],
                         (uint32_t)values->number[CLAHE_CLIP], image_max(in));
}

/* A gray image is read and written directly, without a plane in between. */
static struct layout layout_of(const struct image *in, const struct clahe_grid *grid) {
    const size_t row = rounded((size_t)in->width * (in->depth / 8));
    return (struct layout){
        .weights = rounded(((size_t)in->width + in->height) * sizeof(float)),
        .tables = grid->x.tiles * table_bytes(in->depth),
        .work = in->depth == 8 ? 256 * sizeof(uint32_t) + sizeof(struct histogram)
                               : BINS16 * sizeof(uint32_t),
        .band = in->channels == 1 ? 0 : BAND_ROWS * row,
        .plane = in->channels == 1 ? 0 : in->height * row,
    };
}

static size_t clahe_scratch(const struct op_call *call) {
    const struct clahe_grid grid = grid_of(call->params, &call->in);
    const struct layout size = layout_of(&call->in, &grid);
    return size.weights + 2 * size.tables + WORKERS_MAX * (size.work + size.band) + size.plane;
}

/* ---- one plane */

struct equalizing {
    const struct op_call *call;
    struct clahe_grid grid;
    struct layout size;
    struct clahe_plane plane;
    struct image gray; /* the plane, or the input itself */
    uint32_t none;     /* the background's value in the plane */
    int workers;
    float *right, *down;
    uint8_t *tables[2]; /* of even and of odd rows of tiles */
    uint8_t *work, *band;
    uint32_t row;         /* of tiles or of cells */
    uint32_t first, end;  /* the cell's rows of samples */
    uint32_t next, count; /* the next piece, atomic, and the number of pieces */
};

/* Runs WORK on all workers; they share COUNT pieces through `next`. */
static void share(struct equalizing *all, void (*work)(void *all, int worker), uint32_t count) {
    all->next = 0;
    all->count = count;
    pool_run(all->call->pool, work, all, all->workers);
}

static bool take(struct equalizing *all, uint32_t *piece) {
    *piece = __atomic_fetch_add(&all->next, 1, __ATOMIC_RELAXED);
    return *piece < all->count && !progress_check(all->call->progress);
}

static uint32_t bands(uint32_t rows) {
    return (rows + BAND_ROWS - 1) / BAND_ROWS;
}

static uint32_t rows_left(uint32_t first, uint32_t end) {
    return end - first < BAND_ROWS ? end - first : BAND_ROWS;
}

static struct image rows_of(struct image image, uint32_t first, uint32_t rows) {
    image.pixels = image_row(&image, first);
    image.height = rows;
    return image;
}

static void take_planes(void *argument, int worker) {
    struct equalizing *all = argument;
    const struct image *in = &all->call->in;
    (void)worker;
    for (uint32_t piece; take(all, &piece);) {
        const uint32_t first = piece * BAND_ROWS, end = first + rows_left(first, in->height);
        for (uint32_t y = first; y < end; y++)
            clahe_plane_take(all->plane, image_row(in, y), image_row(&all->gray, y), in->width,
                             in->channels, in->depth);
    }
}

static uint8_t *table_of(const struct equalizing *all, uint32_t row, uint32_t tile) {
    return all->tables[row % 2] + tile * table_bytes(all->call->in.depth);
}

/* Makes the table of tile X of the present row. WORK is aligned to 64 bytes. */
static void make_table(const struct equalizing *all, uint32_t x, void *work, void *table) {
    const struct image *in = &all->call->in, *gray = &all->gray;
    const struct tile tile = tile_of(&all->grid, x, all->row);
    struct clahe_grid grid = all->grid;
    uint32_t *counts = work;
    const bool small = (uint64_t)tile.width * tile.height < 4096; /* eight tables cost more */
    if (image_has_alpha(in))
        grid = clahe_grid_visible(grid, count_visible(in, gray, &tile, all->none, counts),
                                  (uint32_t)all->call->params->number[CLAHE_CLIP], image_max(in));
    else if (gray->depth == 8 && !small)
        count_bytes(gray, &tile, (struct histogram *)(counts + 256), counts);
    else
        count_each(gray, &tile, counts);
    (simd_has_avx2() ? make_levels_avx2 : make_levels_plain)(&grid, counts, gray->depth, table);
}

static void make_tables(void *argument, int worker) {
    struct equalizing *all = argument;
    for (uint32_t tile; take(all, &tile);)
        make_table(all, tile, all->work + (size_t)worker * all->size.work,
                   table_of(all, all->row, tile));
}

/* Looks up rows of the plane from FIRST on, cell by cell, into LEVELS. */
static void look_up(const struct equalizing *all, uint32_t first, const struct image *levels) {
    const struct clahe_side *x = &all->grid.x, *y = &all->grid.y;
    const uint32_t upper = clahe_first_tile(all->row), lower = clahe_second_tile(all->row, y->of);
    const struct image gray = rows_of(all->gray, first, levels->height);
    for (uint32_t cell = 0, start = 0; cell < x->cells; cell++) {
        const uint32_t end = clahe_cell_start(x, cell + 1);
        const uint32_t left = clahe_first_tile(cell), right = clahe_second_tile(cell, x->of);
        const struct clahe_blend blend = {
            .upper = { table_of(all, upper, left), table_of(all, upper, right) },
            .lower = { table_of(all, lower, left), table_of(all, lower, right) },
            .right = all->right + start,
            .down = all->down + first,
        };
        struct image from = gray, to = *levels;
        from.width = to.width = end - start;
        from.pixels += start * image_pixel_bytes(&from);
        to.pixels += start * image_pixel_bytes(&to);
        clahe_blend_rows(&blend, &from, &to);
        start = end;
    }
}

static void put_rows(const struct equalizing *all, uint32_t first, const struct image *levels) {
    const struct image *in = &all->call->in, *out = &all->call->out;
    const bool alpha = image_has_alpha(in) && all->plane.channel == 0;
    for (uint32_t y = 0; y < levels->height; y++) {
        const uint8_t *from = image_row(in, first + y);
        uint8_t *to = image_row(out, first + y);
        clahe_plane_put(all->plane, from, image_row(levels, y), to, in->width, in->channels,
                        in->depth);
        if (alpha) alpha_keep(from, to, in->width, in->channels, in->depth);
    }
}

static void equalize_rows(void *argument, int worker) {
    struct equalizing *all = argument;
    const bool direct = all->call->in.channels == 1;
    for (uint32_t piece; take(all, &piece);) {
        const uint32_t first = all->first + piece * BAND_ROWS, rows = rows_left(first, all->end);
        struct image levels = all->gray;
        levels.pixels = all->band + (size_t)worker * all->size.band;
        levels = direct ? rows_of(all->call->out, first, rows) : rows_of(levels, 0, rows);
        look_up(all, first, &levels);
        if (!direct) put_rows(all, first, &levels);
    }
}

static void equalize_plane(struct equalizing *all) {
    const struct image *in = &all->call->in;
    const struct clahe_side *y = &all->grid.y;
    if (in->channels > 1) share(all, take_planes, bands(in->height));
    for (uint32_t cell = 0; cell < y->cells && !progress_check(all->call->progress); cell++) {
        all->row = cell;
        if (cell < y->tiles) share(all, make_tables, all->grid.x.tiles);
        all->first = clahe_cell_start(y, cell);
        all->end = clahe_cell_start(y, cell + 1);
        share(all, equalize_rows, bands(all->end - all->first));
    }
}

/* ---- run */

static void make_weights(const struct clahe_side *side, float *weights) {
    for (uint32_t i = 0; i < side->length; i++)
        weights[i] = clahe_place_of(i, side->inverse).second;
}

static void place_scratch(struct equalizing *all) {
    const struct image *in = &all->call->in;
    uint8_t *at = all->call->scratch;
    all->right = (float *)at;
    all->down = all->right + in->width;
    all->tables[0] = at += all->size.weights;
    all->tables[1] = at += all->size.tables;
    all->work = at += all->size.tables;
    all->band = at += WORKERS_MAX * all->size.work;
    all->gray = *in;
    if (in->channels == 1) return;
    all->gray.pixels = at + WORKERS_MAX * all->size.band;
    all->gray.channels = 1;
    all->gray.stride = all->size.plane / in->height;
}

static enum status clahe_run(struct op_call *call) {
    const struct image *in = &call->in;
    struct equalizing all = { .call = call, .grid = grid_of(call->params, in) };
    const int threads = pool_threads(call->pool);
    all.workers = threads < WORKERS_MAX ? threads : WORKERS_MAX;
    all.size = layout_of(in, &all.grid);
    place_scratch(&all);
    make_weights(&all.grid.x, all.right);
    make_weights(&all.grid.y, all.down);
    all.plane.mode = in->channels < 3 ? CLAHE_EACH : (int)call->params->number[CLAHE_CHANNEL];
    const struct background background =
        background_of(call->params->number[CLAHE_BACKGROUND], in->channels, in->depth);
    const unsigned planes = all.plane.mode == CLAHE_EACH ? image_colours(in) : 1;
    for (unsigned c = 0; c < planes; c++) {
        all.plane.channel = c;
        all.none = clahe_background(&background, all.plane.mode, c);
        equalize_plane(&all);
    }
    return progress_check(call->progress);
}

/* Counts the bins of all tables as pixels: 16-bit tables may have many more bins than the image has
 * pixels. */
static uint32_t clahe_passes(const struct params *values, const struct image *in) {
    const struct clahe_grid grid = grid_of(values, in);
    const bool each = values->number[CLAHE_CHANNEL] == CLAHE_EACH;
    const uint64_t bins = (uint64_t)grid.x.tiles * grid.y.tiles * (image_max(in) + 1);
    const uint64_t passes = 1 + bins / image_pixels(in);
    return (uint32_t)(each ? image_colours(in) * passes : passes);
}

const struct op op_clahe = {
    .name = "clahe",
    .title = "Local contrast",
    .group = OP_TONE,
    .summary = "Histogram equalization of tiles with limited contrast (CLAHE), as OpenCV has it",
    .params = params,
    .passes = clahe_passes,
    .scratch = clahe_scratch,
    .run = clahe_run,
};
