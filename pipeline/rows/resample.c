// SPDX-License-Identifier: Apache-2.0
/* How it works. The rows that the second pass needs are prepared and resampled one by one into an
 * image between; each row of the result is then a weighted sum of its rows. Both passes share
 * their rows out in bands. */
#include "pipeline/rows/resample.h"

#include "pipeline/band.h"
#include "pipeline/sample.h"

#include <string.h>

enum { BANDS_MAX = 16, ALIGN = 64 };

#define INLINE static inline __attribute__((always_inline))

/* What the threads of one job share. */
struct work {
    const struct resample *job;
    struct resample_weights across, down; /* of an axis that changes */
    struct resample_window columns, rows; /* of `in`, as far as they are needed */
    struct image middle;                  /* row 0 is row rows.first of `in` */
    uint8_t *lines;                       /* one for each band, as wide as `in` or `out` */
    size_t line_bytes;
};

static size_t aligned(size_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- memory */

static size_t axis_bytes(const struct resample_axis *axis) {
    return resample_changes(axis) ? aligned(resample_weights_bytes(axis)) : 0;
}

static struct image middle_shape(const struct resample *job) {
    const struct resample_window rows = resample_span(&job->y);
    struct image middle = image_shape(job->x.count, rows.count, job->in.channels, job->depth);
    middle.stride = aligned(middle.stride);
    return middle;
}

static size_t line_bytes(const struct resample *job) {
    const uint32_t width = resample_span(&job->x).count;
    return aligned((size_t)(width > job->x.count ? width : job->x.count) * job->in.channels *
                   (job->depth / 8));
}

size_t resample_bytes(const struct resample *job) {
    const struct image middle = middle_shape(job);
    return axis_bytes(&job->x) + axis_bytes(&job->y) + image_bytes(&middle) +
           BANDS_MAX * line_bytes(job);
}

static struct work work_make(const struct resample *job) {
    struct work work = { .job = job,
                         .columns = resample_span(&job->x),
                         .rows = resample_span(&job->y),
                         .middle = middle_shape(job),
                         .line_bytes = line_bytes(job) };
    uint8_t *memory = job->scratch;
    if (resample_changes(&job->x)) work.across = resample_weights_make(memory, &job->x);
    memory += axis_bytes(&job->x);
    if (resample_changes(&job->y)) work.down = resample_weights_make(memory, &job->y);
    memory += axis_bytes(&job->y);
    work.middle.pixels = memory;
    work.lines = memory + image_bytes(&work.middle);
    return work;
}

/* ---- along a row: CHANNELS and DEPTH are constants wherever this is called */

INLINE void across(const struct resample_weights *by, const uint8_t *from, uint8_t *to,
                   uint32_t first, unsigned channels, unsigned depth) {
    const uint32_t max = depth == 8 ? 255 : 65535;
    for (uint32_t i = 0; i < by->count; i++) {
        const struct resample_window window = by->windows[i];
        const int32_t *weights = by->weights + (size_t)i * by->pitch;
        int64_t sums[4] = { 0 };
        for (uint32_t k = 0; k < window.count; k++)
            for (unsigned c = 0; c < channels; c++)
                sums[c] +=
                    (int64_t)weights[k] *
                    sample_get(from, (size_t)(window.first - first + k) * channels + c, depth);
        for (unsigned c = 0; c < channels; c++)
            sample_put(to, (size_t)i * channels + c, depth, resample_result(sums[c], max));
    }
}

static void across_row(const struct work *work, uint32_t y, uint8_t *line) {
    const struct resample *job = work->job;
    const uint8_t *from = image_row(&job->in, work->rows.first + y) +
                          work->columns.first * image_pixel_bytes(&job->in);
    uint8_t *to = image_row(&work->middle, y);
    if (!resample_changes(&job->x)) line = to;
    if (job->prepare)
        job->prepare(job->argument, from, line, work->columns.count);
    else if (line == to)
        memcpy(line, from, work->columns.count * image_pixel_bytes(&job->in));
    else
        line = (uint8_t *)from;
    if (line != to)
        SPECIALISE(job->in.channels, job->depth, across, &work->across, line, to,
                   work->columns.first);
}

/* ---- down the columns */

INLINE void down(const struct work *work, uint32_t y, uint8_t *to, unsigned depth) {
    const uint32_t max = depth == 8 ? 255 : 65535;
    const struct resample_window window = work->down.windows[y];
    const int32_t *weights = work->down.weights + (size_t)y * work->down.pitch;
    const size_t samples = (size_t)work->middle.width * work->middle.channels;
    const uint32_t top = window.first - work->rows.first;
    for (size_t i = 0; i < samples; i++) {
        int64_t sum = 0;
        for (uint32_t k = 0; k < window.count; k++)
            sum += (int64_t)weights[k] * sample_get(image_row(&work->middle, top + k), i, depth);
        sample_put(to, i, depth, resample_result(sum, max));
    }
}

static void down_row(const struct work *work, uint32_t y, uint8_t *line) {
    const struct resample *job = work->job;
    uint8_t *out = image_row(&job->out, y), *to = job->finish ? line : out;
    if (!resample_changes(&job->y)) {
        const uint8_t *from = image_row(&work->middle, y);
        if (!job->finish) memcpy(out, from, image_row_bytes(&work->middle));
        line = (uint8_t *)from;
    } else if (job->depth == 8) {
        down(work, y, to, 8);
    } else {
        down(work, y, to, 16);
    }
    if (job->finish) job->finish(job->argument, line, out, job->out.width);
}

/* ---- bands */

static int bands_of(const struct work *work, uint32_t height) {
    return band_count(height, pool_threads(work->job->pool), BANDS_MAX);
}

static void across_band(void *argument, int index) {
    const struct work *work = argument;
    const struct band band = band_of(work->rows.count, index, bands_of(work, work->rows.count));
    for (uint32_t y = band.first; y < band.end && !progress_check(work->job->progress); y++)
        across_row(work, y, work->lines + (size_t)index * work->line_bytes);
}

static void down_band(void *argument, int index) {
    const struct work *work = argument;
    const uint32_t height = work->job->y.count;
    const struct band band = band_of(height, index, bands_of(work, height));
    for (uint32_t y = band.first; y < band.end && !progress_check(work->job->progress); y++)
        down_row(work, y, work->lines + (size_t)index * work->line_bytes);
}

enum status resample_run(const struct resample *job) {
    struct work work = work_make(job);
    pool_run(job->pool, across_band, &work, bands_of(&work, work.rows.count));
    pool_run(job->pool, down_band, &work, bands_of(&work, job->y.count));
    return progress_check(job->progress);
}
