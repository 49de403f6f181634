// SPDX-License-Identifier: Apache-2.0
/* How it works. Plane by plane, from the top down: the tables of a row of tiles are made, then the
 * rows of samples between the middles of these tiles and those above are looked up; so no more than
 * two rows of tables are kept, and what was counted is still in the cache. Threads share the tiles
 * of a row, then its samples. */
#include "pipeline/ops/clahe.h"

#include "pipeline/op.h"
#include "pipeline/ops/clahe/blend.h"
#include "pipeline/ops/clahe/plane.h"
#include "pipeline/ops/clahe/table.h"
#include "pipeline/rows/alpha.h"

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
    { .name = NULL },
};

/* A thread takes so many rows at a time. */
enum { WORKERS_MAX = 16, BAND_ROWS = 16 };

/* ---- scratch */

/* Bytes of its parts, and their order. */
struct layout {
    size_t weights;    /* of the columns, then of the rows: floats */
    size_t tables;     /* a row of them, of which there are two */
    size_t work, band; /* of each worker: for counting, and rows of new levels */
    size_t plane;
};

static size_t rounded(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static struct clahe_grid grid_of(const struct params *values, const struct image *in) {
    return clahe_grid_of(in->width, in->height, (uint32_t)values->number[CLAHE_TILES],
                         (uint32_t)values->number[CLAHE_CLIP], image_max(in));
}

/* Gray goes from the input to the output, without a plane between. */
static struct layout layout_of(const struct image *in, const struct clahe_grid *grid) {
    const size_t row = rounded((size_t)in->width * (in->depth / 8));
    return (struct layout){
        .weights = rounded(((size_t)in->width + in->height) * sizeof(float)),
        .tables = grid->x.tiles * clahe_table_bytes(in->depth),
        .work = clahe_work_bytes(in->depth),
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
    int workers;
    float *right, *down;
    uint8_t *tables[2]; /* of the even and of the odd row of tiles */
    uint8_t *work, *band;
    uint32_t row;         /* of tiles, or of cells */
    uint32_t first, end;  /* rows of samples of that cell */
    uint32_t next, count; /* what is given out next, atomic, and how many there are */
};

/* COUNT pieces by WORK, which takes them by `next`. */
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
    return all->tables[row % 2] + tile * clahe_table_bytes(all->call->in.depth);
}

static void make_tables(void *argument, int worker) {
    struct equalizing *all = argument;
    for (uint32_t tile; take(all, &tile);)
        clahe_table_make(&all->grid, &all->gray, tile, all->row,
                         all->work + (size_t)worker * all->size.work,
                         table_of(all, all->row, tile));
}

/* ROWS of the plane from FIRST on, cell by cell, into LEVELS. */
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
    const unsigned planes = all.plane.mode == CLAHE_EACH ? image_colours(in) : 1;
    for (unsigned c = 0; c < planes; c++) {
        all.plane.channel = c;
        equalize_plane(&all);
    }
    return progress_check(call->progress);
}

/* Bins of all tables count as pixels: tables of 16 bits may have many more. */
static uint32_t clahe_passes(const struct params *values, const struct image *in) {
    const struct clahe_grid grid = grid_of(values, in);
    const bool each = values->number[CLAHE_CHANNEL] == CLAHE_EACH;
    const uint64_t bins = (uint64_t)grid.x.tiles * grid.y.tiles * (image_max(in) + 1);
    const uint64_t passes = 1 + bins / image_pixels(in);
    return (uint32_t)(each ? image_colours(in) * passes : passes);
}

const struct op op_clahe = {
    .name = "clahe",
    .summary = "Histogram equalization of tiles with limited contrast (CLAHE), as OpenCV has it",
    .params = params,
    .passes = clahe_passes,
    .scratch = clahe_scratch,
    .run = clahe_run,
};
