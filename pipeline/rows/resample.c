// SPDX-License-Identifier: Apache-2.0
/* How it works. Bands of the result's rows are independent. A band walks down the source: a few
 * rows at a time are prepared and resampled into a ring, as many as the next window needs; then the
 * window's row of the result is made from the ring. So the data between the passes stays in the
 * cache, and a job's memory does not grow with its height. Rows at the border of two bands are
 * resampled by both; bands are large enough to keep that below half of their work. If windows are
 * so high, or rows so wide, that a walk's memory would not stay in the cache, the result is made in
 * strips of columns, one after the other, each a job of its own. */
#include "pipeline/rows/resample.h"

#include "pipeline/band.h"
#include "pipeline/rows/resample_way.h"
#include "pipeline/rows/simd.h"

#include <string.h>

enum { BANDS_MAX = 16, BAND_ROWS = 64, BANDS_BYTES = 1 << 26, ALIGN = 64 };

/* A strip is narrower than the image if its ring or workspace would exceed STRIP_BYTES, but has at
 * least STRIP_PIXELS pixels of the result, since windows overlap at its borders. */
enum { STRIP_BYTES = 1 << 20, STRIP_PIXELS = 32 };

static size_t aligned(size_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- the ways */

#ifdef __x86_64__
enum { WAYS = 3 };
static const struct resample_way *const ways[][WAYS] = {
    { &resample_plain, &resample_avx2, &resample_vnni },
    { &resample_alpha_plain, &resample_alpha_avx2, &resample_alpha_vnni },
    { &resample_alpha_plain, &resample_alpha_plain, &resample_alpha_wide },
};
#else
enum { WAYS = 1 };
static const struct resample_way *const ways[][WAYS] = { { &resample_plain },
                                                         { &resample_alpha_plain },
                                                         { &resample_alpha_plain } };
#endif

/* The ways for a job, the plain one first. */
static const struct resample_way *const *ways_for(const struct resample *job) {
    return ways[job->alpha ? job->depth / 8 : 0];
}

static const struct resample_way *way_of_machine(const struct resample *job) {
    if (simd_has_vnni()) return ways_for(job)[WAYS - 1];
    return ways_for(job)[simd_has_avx2() ? WAYS > 1 : 0];
}

/* ---- an axis as a way reads it */

/* Returns the pitch in int32_t. A window that begins with the last pixel of a cell ends in one more
 * cell. */
static size_t side_pitch(const struct resample_way *way, const struct resample_axis *axis) {
    const size_t pixels = (size_t)resample_pitch(axis) + way->cell - 1;
    return (pixels + way->cell - 1) / way->cell * way->cell_words;
}

static size_t side_bytes(const struct resample_way *way, const struct resample_axis *axis) {
    if (!resample_changes(axis)) return 0;
    return aligned(resample_weights_bytes(axis)) +
           aligned(axis->count * side_pitch(way, axis) * sizeof(int32_t));
}

/* Encodes the weights of one window into cells; OFFSET pixels precede it in its first cell. */
static void encode(const struct resample_way *way, const int32_t *weights, uint32_t count,
                   uint32_t offset, int32_t *words) {
    for (uint32_t done = 0; done < offset + count; done += way->cell, words += way->cell_words) {
        int32_t cell[RESAMPLE_CELL_MAX] = { 0 };
        for (uint32_t i = 0; i < way->cell; i++)
            if (done + i >= offset && done + i < offset + count)
                cell[i] = weights[done + i - offset];
        way->encode(cell, words);
    }
}

static struct resample_side side_make(const struct resample_way *way, uint8_t *memory,
                                      const struct resample_axis *axis) {
    if (!resample_changes(axis)) return (struct resample_side){ NULL, NULL, 0 };
    const struct resample_weights plain = resample_weights_make(memory, axis);
    const uint32_t start = resample_span(axis).first;
    struct resample_side side = { plain.windows, plain.weights, plain.pitch };
    if (way->encode) {
        side.weights = (int32_t *)(memory + aligned(resample_weights_bytes(axis)));
        side.pitch = side_pitch(way, axis);
    }
    for (uint32_t i = 0; i < axis->count; i++) {
        struct resample_window *window = &side.windows[i];
        const uint32_t offset = (window->first - start) % way->cell;
        if (way->encode)
            encode(way, plain.weights + (size_t)i * plain.pitch, window->count, offset,
                   side.weights + i * side.pitch);
        window->first = (window->first - start) / way->cell;
        window->count = (offset + window->count + way->cell - 1) / way->cell;
    }
    return side;
}

/* ---- memory */

/* The ring holds the longest window and the rows that may come with its last one. */
static uint32_t ring_cells(const struct resample_way *way, const struct resample_axis *axis) {
    const uint32_t window =
        resample_changes(axis) ? (uint32_t)(side_pitch(way, axis) / way->cell_words) : 0;
    const uint32_t step = way->rows / way->cell;
    return (window + step + step - 1) / step * step;
}

static struct resample_layout layout_make(const struct resample *job,
                                          const struct resample_way *way) {
    struct resample_layout layout = { .job = job,
                                      .way = way,
                                      .columns = resample_span(&job->x),
                                      .rows = resample_span(&job->y),
                                      .samples = (size_t)job->x.count * job->in.channels,
                                      .ring_cells = ring_cells(way, &job->y) };
    layout.ring_step = way->ring_step(&layout);
    layout.workspace_bytes = aligned(way->workspace(&layout));
    return layout;
}

static size_t row_bytes(const struct resample_layout *layout, uint32_t pixels) {
    return aligned((size_t)pixels * layout->job->in.channels * (layout->job->depth / 8));
}

/* Returns the bytes of one band: the ring, the workspace, prepared rows, the row to be finished. */
static size_t band_bytes(const struct resample_layout *layout) {
    return aligned(layout->ring_cells * layout->ring_step) + layout->workspace_bytes +
           layout->way->rows * row_bytes(layout, layout->columns.count) +
           row_bytes(layout, layout->job->x.count);
}

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static uint32_t smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* Returns the most bands for any number of threads; together they take BANDS_BYTES, or one takes
 * what it needs. */
static int bands_most(const struct resample_layout *layout) {
    const uint32_t rows = layout->rows.count, made = layout->job->y.count;
    const uint32_t window = resample_changes(&layout->job->y) ? resample_pitch(&layout->job->y) : 1;
    const uint32_t worthwhile = smaller(rows / window, larger(rows, made) / BAND_ROWS);
    const uint32_t most = smaller(BANDS_MAX, (uint32_t)(BANDS_BYTES / band_bytes(layout)));
    return (int)larger(1, smaller(smaller(worthwhile, made), most));
}

/* ---- strips */

/* Returns the columns of the result in a strip; the last one may have fewer. */
static uint32_t strip_width(const struct resample *job, const struct resample_way *way) {
    const struct resample_layout layout = layout_make(job, way);
    const size_t ring = layout.ring_cells * layout.ring_step;
    const size_t most = ring > layout.workspace_bytes ? ring : layout.workspace_bytes;
    const uint32_t strips = (uint32_t)((most + STRIP_BYTES - 1) / STRIP_BYTES);
    const uint32_t width = (job->x.count + strips - 1) / strips;
    return larger(STRIP_PIXELS, (width + 15) / 16 * 16);
}

/* Returns the job for WIDTH columns from FIRST on, or as many as there are. Image memory is not
 * used. */
static struct resample strip_of(const struct resample *job, uint32_t first, uint32_t width) {
    struct resample strip = *job;
    strip.x.first += first;
    strip.x.count = strip.out.width = smaller(width, job->x.count - first);
    return strip;
}

static size_t strip_bytes(const struct resample *strip, const struct resample_way *way) {
    const struct resample_layout layout = layout_make(strip, way);
    return side_bytes(way, &strip->x) + side_bytes(way, &strip->y) +
           (size_t)bands_most(&layout) * band_bytes(&layout);
}

size_t resample_bytes(const struct resample *job) {
    size_t most = 0;
    for (int i = 0; i < WAYS; i++) {
        const struct resample_way *way = ways_for(job)[i];
        const uint32_t width = strip_width(job, way);
        for (uint32_t x = 0; x < job->x.count; x += width) {
            const struct resample strip = strip_of(job, x, width);
            const size_t bytes = strip_bytes(&strip, way);
            if (bytes > most) most = bytes;
        }
    }
    return most;
}

/* ---- a band */

struct work {
    struct resample_layout layout;
    uint8_t *memory; /* band_bytes for each */
    int bands;
};

struct walk {
    const struct resample_layout *layout;
    uint8_t *ring, *workspace, *prepared, *finished;
    uint32_t start; /* the first row of the ring; rows count from layout->rows.first */
    uint32_t made;  /* rows before this one are in the ring, or were */
};

static struct walk walk_make(const struct work *work, int index) {
    const struct resample_layout *layout = &work->layout;
    struct walk walk = { .layout = layout,
                         .ring = work->memory + (size_t)index * band_bytes(layout) };
    walk.workspace = walk.ring + aligned(layout->ring_cells * layout->ring_step);
    walk.prepared = walk.workspace + layout->workspace_bytes;
    walk.finished = walk.prepared + layout->way->rows * row_bytes(layout, layout->columns.count);
    return walk;
}

/* Returns row Y of the span, prepared. */
static const uint8_t *row_of(const struct walk *walk, uint32_t y, uint32_t slot) {
    const struct resample_layout *layout = walk->layout;
    const struct resample *job = layout->job;
    const uint8_t *row = image_row(&job->in, layout->rows.first + y) +
                         layout->columns.first * image_pixel_bytes(&job->in);
    if (!job->prepare) return row;
    uint8_t *to = walk->prepared + slot * row_bytes(layout, layout->columns.count);
    job->prepare(job->argument, row, to, layout->columns.count);
    return to;
}

/* Makes the next rows of the ring. Stand-ins for rows past the last have no weight. */
static void make_rows(struct walk *walk) {
    const struct resample_layout *layout = walk->layout;
    const struct resample_way *way = layout->way;
    const uint32_t slot = (walk->made - walk->start) / way->cell % layout->ring_cells;
    const uint8_t *rows[RESAMPLE_ROWS_MAX];
    for (uint32_t i = 0; i < way->rows; i++)
        rows[i] =
            walk->made + i < layout->rows.count ? row_of(walk, walk->made + i, i) : rows[i - 1];
    way->across(layout, rows, walk->workspace, walk->ring + slot * layout->ring_step);
    walk->made += way->rows;
}

/* Returns the cells of the ring from which row Y of the result is made. */
static struct resample_window window_of(const struct resample_layout *layout, uint32_t y) {
    if (layout->y.windows) return layout->y.windows[y];
    return (struct resample_window){ y / layout->way->cell, 1 };
}

static void make_result(const struct walk *walk, uint32_t y, struct resample_window window) {
    const struct resample_layout *layout = walk->layout;
    const struct resample *job = layout->job;
    const uint32_t cell = layout->way->cell;
    const uint32_t slot = (window.first - walk->start / cell) % layout->ring_cells;
    uint8_t *out = image_row(&job->out, y);
    layout->way->down(layout, walk->ring, slot, y % cell, y, job->finish ? walk->finished : out);
    if (job->finish) job->finish(job->argument, walk->finished, out, job->out.width);
}

static void run_band(void *argument, int index) {
    const struct work *work = argument;
    const struct resample_layout *layout = &work->layout;
    const uint32_t cell = layout->way->cell;
    const struct band band = band_of(layout->job->y.count, index, work->bands);
    struct walk walk = walk_make(work, index);
    walk.start = walk.made = window_of(layout, band.first).first * cell;
    for (uint32_t y = band.first; y < band.end && !progress_check(layout->job->progress); y++) {
        const struct resample_window window = window_of(layout, y);
        const uint32_t end = smaller((window.first + window.count) * cell, layout->rows.count);
        while (walk.made < end && !progress_check(layout->job->progress)) make_rows(&walk);
        make_result(&walk, y, window);
    }
}

static void run_strip(const struct resample *strip, const struct resample_way *way) {
    struct work work = { .layout = layout_make(strip, way) };
    uint8_t *memory = strip->scratch;
    work.layout.x = side_make(way, memory, &strip->x);
    memory += side_bytes(way, &strip->x);
    work.layout.y = side_make(way, memory, &strip->y);
    work.memory = memory + side_bytes(way, &strip->y);
    work.bands = band_count(strip->y.count, pool_threads(strip->pool), bands_most(&work.layout));
    pool_run(strip->pool, run_band, &work, work.bands);
}

enum status resample_run(const struct resample *job) {
    const struct resample_way *way = way_of_machine(job);
    const uint32_t width = strip_width(job, way);
    for (uint32_t x = 0; x < job->x.count && !progress_check(job->progress); x += width) {
        struct resample strip = strip_of(job, x, width);
        strip.out.pixels += x * image_pixel_bytes(&job->out);
        run_strip(&strip, way);
    }
    return progress_check(job->progress);
}
