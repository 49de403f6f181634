// SPDX-License-Identifier: Apache-2.0
/* How it works. Bands of the result's rows are made apart from each other. A band goes down the
 * source: some rows at a time are prepared and resampled into a ring, as many as the next window
 * needs; then the window's row of the result is made of the ring's. So what lies between the
 * passes stays in the cache, and a job's memory does not grow with its height. Rows at the border
 * of two bands are resampled by both: bands are large enough for that to be less than half of
 * their work. */
#include "pipeline/rows/resample.h"

#include "pipeline/band.h"
#include "pipeline/rows/resample_way.h"
#include "pipeline/rows/simd.h"

#include <string.h>

enum { BANDS_MAX = 16, BAND_ROWS = 64, ALIGN = 64 };

static size_t aligned(size_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- the ways */

static const struct resample_way *const ways[] = {
    &resample_plain,
#ifdef __x86_64__
    &resample_avx2,
    &resample_vnni,
#endif
};
enum { WAYS = sizeof ways / sizeof *ways };

static const struct resample_way *way_of_machine(void) {
    if (simd_has_vnni()) return ways[WAYS - 1];
    return simd_has_avx2() ? ways[WAYS > 1] : &resample_plain;
}

/* ---- an axis as a way reads it */

/* In int32_t. A window that begins with the last pixel of a cell ends in one cell more. */
static size_t side_pitch(const struct resample_way *way, const struct resample_axis *axis) {
    const size_t pixels = (size_t)resample_pitch(axis) + way->cell - 1;
    return (pixels + way->cell - 1) / way->cell * way->cell_words;
}

static size_t side_bytes(const struct resample_way *way, const struct resample_axis *axis) {
    if (!resample_changes(axis)) return 0;
    return aligned(resample_weights_bytes(axis)) +
           aligned(axis->count * side_pitch(way, axis) * sizeof(int32_t));
}

/* The weights of one window, into cells of which OFFSET pixels stand before its first. */
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

/* The ring holds the longest window, and the rows that may come with its last one. */
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

/* Of a row of PIXELS pixels. */
static size_t row_bytes(const struct resample_layout *layout, uint32_t pixels) {
    return aligned((size_t)pixels * layout->job->in.channels * (layout->job->depth / 8));
}

/* Of one band: the ring, what the way needs, rows prepared, the row to be finished. */
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

/* However many threads there are. */
static int bands_most(const struct resample_layout *layout) {
    const uint32_t rows = layout->rows.count, made = layout->job->y.count;
    const uint32_t window = resample_changes(&layout->job->y) ? resample_pitch(&layout->job->y) : 1;
    const uint32_t most = smaller(rows / window, larger(rows, made) / BAND_ROWS);
    return (int)smaller(BANDS_MAX, larger(1, smaller(most, made)));
}

static size_t bytes_of(const struct resample *job, const struct resample_way *way) {
    const struct resample_layout layout = layout_make(job, way);
    return side_bytes(way, &job->x) + side_bytes(way, &job->y) +
           (size_t)bands_most(&layout) * band_bytes(&layout);
}

/* Whichever way it will be. */
size_t resample_bytes(const struct resample *job) {
    size_t most = 0;
    for (int i = 0; i < WAYS; i++) {
        const size_t bytes = bytes_of(job, ways[i]);
        if (bytes > most) most = bytes;
    }
    return most;
}

/* ---- a band */

struct work {
    struct resample_layout layout;
    uint8_t *memory; /* band_bytes for each */
    int bands;
};

struct strip {
    const struct resample_layout *layout;
    uint8_t *ring, *workspace, *prepared, *finished;
    uint32_t start; /* the row that the ring began with; rows are counted from layout->rows.first */
    uint32_t made;  /* rows before this one are in the ring, or were */
};

static struct strip strip_make(const struct work *work, int index) {
    const struct resample_layout *layout = &work->layout;
    struct strip strip = { .layout = layout,
                           .ring = work->memory + (size_t)index * band_bytes(layout) };
    strip.workspace = strip.ring + aligned(layout->ring_cells * layout->ring_step);
    strip.prepared = strip.workspace + layout->workspace_bytes;
    strip.finished = strip.prepared + layout->way->rows * row_bytes(layout, layout->columns.count);
    return strip;
}

/* Where row Y of the span begins, prepared. */
static const uint8_t *row_of(const struct strip *strip, uint32_t y, uint32_t slot) {
    const struct resample_layout *layout = strip->layout;
    const struct resample *job = layout->job;
    const uint8_t *row = image_row(&job->in, layout->rows.first + y) +
                         layout->columns.first * image_pixel_bytes(&job->in);
    if (!job->prepare) return row;
    uint8_t *to = strip->prepared + slot * row_bytes(layout, layout->columns.count);
    job->prepare(job->argument, row, to, layout->columns.count);
    return to;
}

/* The next rows into the ring; END is the first that is not needed now, nor in this band if it is
 * the band's last. What stands in for rows past the last one has no weight. */
static void make_rows(struct strip *strip) {
    const struct resample_layout *layout = strip->layout;
    const struct resample_way *way = layout->way;
    const uint32_t slot = (strip->made - strip->start) / way->cell % layout->ring_cells;
    const uint8_t *rows[RESAMPLE_ROWS_MAX];
    for (uint32_t i = 0; i < way->rows; i++)
        rows[i] =
            strip->made + i < layout->rows.count ? row_of(strip, strip->made + i, i) : rows[i - 1];
    way->across(layout, rows, strip->workspace, strip->ring + slot * layout->ring_step);
    strip->made += way->rows;
}

/* Rows of the ring, by cells, that row Y of the result is made of. */
static struct resample_window window_of(const struct resample_layout *layout, uint32_t y) {
    if (layout->y.windows) return layout->y.windows[y];
    return (struct resample_window){ y / layout->way->cell, 1 };
}

static void make_result(const struct strip *strip, uint32_t y, struct resample_window window) {
    const struct resample_layout *layout = strip->layout;
    const struct resample *job = layout->job;
    const uint32_t cell = layout->way->cell;
    const uint32_t slot = (window.first - strip->start / cell) % layout->ring_cells;
    uint8_t *out = image_row(&job->out, y);
    layout->way->down(layout, strip->ring, slot, y % cell, y, job->finish ? strip->finished : out);
    if (job->finish) job->finish(job->argument, strip->finished, out, job->out.width);
}

static void run_band(void *argument, int index) {
    const struct work *work = argument;
    const struct resample_layout *layout = &work->layout;
    const uint32_t cell = layout->way->cell;
    const struct band band = band_of(layout->job->y.count, index, work->bands);
    struct strip strip = strip_make(work, index);
    strip.start = strip.made = window_of(layout, band.first).first * cell;
    for (uint32_t y = band.first; y < band.end && !progress_check(layout->job->progress); y++) {
        const struct resample_window window = window_of(layout, y);
        while (strip.made < smaller((window.first + window.count) * cell, layout->rows.count))
            make_rows(&strip);
        make_result(&strip, y, window);
    }
}

enum status resample_run(const struct resample *job) {
    const struct resample_way *way = way_of_machine();
    struct work work = { .layout = layout_make(job, way) };
    uint8_t *memory = job->scratch;
    work.layout.x = side_make(way, memory, &job->x);
    memory += side_bytes(way, &job->x);
    work.layout.y = side_make(way, memory, &job->y);
    work.memory = memory + side_bytes(way, &job->y);
    work.bands = band_count(job->y.count, pool_threads(job->pool), bands_most(&work.layout));
    pool_run(job->pool, run_band, &work, work.bands);
    return progress_check(job->progress);
}
