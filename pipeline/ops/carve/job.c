// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ops/carve/job.h"

#include "pipeline/ops/carve.h"
#include "pipeline/ops/carve/apply.h"
#include "pipeline/sample.h"

#include <string.h>

/* As energies carry them, ENERGY_KEEP times. */
enum { MARK_KEEP = 1, MARK_REMOVE = ENERGY_REMOVE / ENERGY_KEEP };
enum { MASK_LEVEL = 128, ROWS_A_LOOK = 32 };

static bool is_masked(const struct op_call *call) {
    return call->aux[CARVE_KEEP].width || call->aux[CARVE_REMOVE].width;
}

static bool takes_both(const struct carve_phase *phase) {
    return phase->columns && phase->rows;
}

/* What WIDTH x HEIGHT is after PHASE. */
static void advance(const struct carve_phase *phase, uint32_t *width, uint32_t *height) {
    *width = phase->grow ? *width + phase->columns : *width - phase->columns;
    *height = phase->grow ? *height + phase->rows : *height - phase->rows;
}

/* Is there a phase behind PHASE of a picture of WIDTH x HEIGHT? */
static bool is_last(const struct carve_job *job, const struct carve_phase *phase, uint32_t width,
                    uint32_t height) {
    struct carve_phase next;
    advance(phase, &width, &height);
    return !carve_next(width, height, job->goal_width, job->goal_height, &next);
}

/* ---- memory */

static struct image keep_image(struct carve_job *job, uint32_t width, uint32_t height,
                               unsigned channels, unsigned depth) {
    struct image image = image_shape(width, height, channels, depth);
    image.stride = image_row_bytes(&image);
    image.pixels = carve_take(&job->arena, image_bytes(&image));
    return image;
}

/* What outlives phases is as large as the picture that the last one begins with: the picture never
 * shrinks after the first. */
static void lay_kept(struct carve_job *job) {
    const struct image *in = &job->call->in;
    struct carve_phase phase;
    uint32_t width = in->width, height = in->height, phases = 0, last_width = 0, last_height = 0;
    for (; carve_next(width, height, job->goal_width, job->goal_height, &phase); phases++) {
        last_width = width, last_height = height;
        job->total += phase.columns + phase.rows;
        advance(&phase, &width, &height);
    }
    if (phases > 1 && is_masked(job->call))
        job->later_marks = keep_image(job, last_width, last_height, 1, 8);
    if (phases > 1 && job->drawn) {
        job->later_ids = keep_image(job, last_width, last_height, 4, 8);
        job->work = keep_image(job, last_width, last_height, image_colours(in), in->depth);
    }
    job->kept = job->arena.used;
}

static struct carve_plane plane_of(const struct carve_job *job, bool turned) {
    return (struct carve_plane){ .energy_kind = (int)job->call->params->number[CARVE_ENERGY],
                                 .masked = is_masked(job->call),
                                 .turned = turned };
}

/* A side that was left is never come back to. */
static bool is_first(const struct carve_job *job, uint32_t width, uint32_t height) {
    return width == job->call->in.width && height == job->call->in.height;
}

/* In the first phase nothing is kept before its seams are found: where that will be, the search
 * has the planes that it alone needs. */
static void lay_phase(struct carve_job *job, const struct carve_phase *phase, uint32_t width,
                      uint32_t height) {
    const bool both = takes_both(phase);
    size_t seams = (size_t)phase->columns * height + (size_t)phase->rows * width;
    if (both) seams = width > height ? width : height;
    job->arena.used = is_first(job, width, height) ? 0 : job->kept;
    job->upright = plane_of(job, false);
    job->turned = plane_of(job, true);
    if (phase->columns) plane_lay(&job->upright, &job->arena, width, height, both);
    if (phase->rows) plane_lay(&job->turned, &job->arena, height, width, false);
    if (job->arena.used < job->kept) job->arena.used = job->kept;
    if (phase->columns) plane_lay_energy(&job->upright, &job->arena, height);
    if (phase->rows) plane_lay_energy(&job->turned, &job->arena, width);
    job->seams = carve_take(&job->arena, seams * sizeof *job->seams);
    job->origins = NULL;
    if (!both)
        job->origins = carve_take(&job->arena, phase->columns ? carve_origins_bytes(height, width)
                                                              : carve_origins_bytes(width, height));
}

void carve_job_begin(struct carve_job *job, const struct op_call *call, uint32_t goal_width,
                     uint32_t goal_height, void *memory) {
    *job = (struct carve_job){
        .call = call,
        .goal_width = goal_width,
        .goal_height = goal_height,
        .drawn = call->params->number[CARVE_SHOW] == CARVE_SHOW_SEAMS,
        .now = call->in,
        .arena = { .base = memory },
    };
    lay_kept(job);
}

size_t carve_job_bytes(struct carve_job *job) {
    struct carve_phase phase;
    uint32_t width = job->now.width, height = job->now.height;
    size_t most = job->kept;
    while (carve_next(width, height, job->goal_width, job->goal_height, &phase)) {
        lay_phase(job, &phase, width, height);
        most = job->arena.used > most ? job->arena.used : most;
        advance(&phase, &width, &height);
    }
    return most;
}

/* ---- rows, by all threads */

typedef void row_work(const struct carve_job *job, const struct carve_plane *plane, uint32_t first,
                      uint32_t end);

struct rows {
    const struct carve_job *job;
    const struct carve_plane *plane;
    row_work *work;
    uint32_t count;
    int parts;
};

static void rows_part(void *argument, int part) {
    const struct rows *rows = argument;
    const struct band band = band_of(rows->count, part, rows->parts);
    for (uint32_t y = band.first; y < band.end; y += ROWS_A_LOOK) {
        if (progress_check(rows->job->call->progress)) return;
        rows->work(rows->job, rows->plane, y,
                   band.end - y < ROWS_A_LOOK ? band.end : y + ROWS_A_LOOK);
    }
}

/* WORK on rows 0 to COUNT - 1 of whatever it is that it works on. */
static enum status all_rows(const struct carve_job *job, const struct carve_plane *plane,
                            uint32_t count, row_work *work) {
    struct pool *pool = job->call->pool;
    struct rows rows = { job, plane, work, count, pool_threads(pool) };
    pool_run(pool, rows_part, &rows, rows.parts);
    return progress_check(job->call->progress);
}

/* ---- planes */

static unsigned mark_at(const struct carve_job *job, uint32_t x, uint32_t y) {
    if (job->marks.pixels) return image_row(&job->marks, y)[x];
    const struct image *keep = &job->call->aux[CARVE_KEEP];
    const struct image *remove = &job->call->aux[CARVE_REMOVE];
    return (keep->width && image_row(keep, y)[x] >= MASK_LEVEL ? MARK_KEEP : 0) |
           (remove->width && image_row(remove, y)[x] >= MASK_LEVEL ? MARK_REMOVE : 0);
}

static void fill_luma(const struct carve_job *job, const struct carve_plane *plane, uint32_t first,
                      uint32_t end) {
    plane_luma_band(plane, &job->now, first, end);
    for (uint32_t y = first; plane->ids && y < end; y++)
        for (uint32_t x = 0; x < plane->width; x++) plane_ids(plane, y)[x] = y * plane->width + x;
}

static void mark_row(const struct carve_job *job, const struct carve_plane *plane, uint32_t y) {
    uint16_t *row = plane_energy(plane, y);
    memset(row, 0, plane->width * sizeof *row);
    for (uint32_t x = 0; plane->masked && x < plane->width; x++)
        row[x] =
            (uint16_t)((plane->turned ? mark_at(job, y, x) : mark_at(job, x, y)) * ENERGY_KEEP);
}

static void fill_energy(const struct carve_job *job, const struct carve_plane *plane,
                        uint32_t first, uint32_t end) {
    for (uint32_t y = first; y < end; y++) {
        mark_row(job, plane, y);
        plane_energies(plane, y, 0, plane->width);
    }
}

static enum status fill_plane(const struct carve_job *job, struct carve_plane *plane) {
    const struct image *now = &job->now;
    plane_begin(plane, plane->turned ? now->height : now->width,
                plane->turned ? now->width : now->height);
    enum status status = all_rows(job, plane, plane->height, fill_luma);
    if (!status && plane->energy) status = all_rows(job, plane, plane->height, fill_energy);
    return status;
}

static enum status find_seams(struct carve_job *job, const struct carve_phase *phase) {
    const int64_t start = clock_ns();
    enum status status = phase->columns ? fill_plane(job, &job->upright) : STATUS_OK;
    if (!status && phase->rows) status = fill_plane(job, &job->turned);
    job->ns[CARVE_AT_ENERGY] += clock_ns() - start;
    if (status) return status;
    struct carve_search search = {
        .upright = phase->columns ? &job->upright : NULL,
        .turned = phase->rows ? &job->turned : NULL,
        .columns = phase->columns,
        .rows = phase->rows,
        .seams = job->seams,
        .red = job->drawn ? &job->call->out : NULL,
        .pool = job->call->pool,
        .progress = job->call->progress,
        .done = job->done,
        .total = job->total,
    };
    status = carve_search(&search);
    job->done = search.done;
    for (int i = 0; i < CARVE_TIMES; i++) job->ns[i] += search.ns[i];
    return status;
}

/* ---- pixels */

/* Where the picture is to be after the present phase. */
static const struct image *picture(const struct carve_job *job) {
    return job->drawn ? &job->work : &job->call->out;
}

/* IN's pixels, without alpha where TO has none. */
static void settle_row(const struct image *in, const struct image *to, uint32_t y) {
    const size_t bytes = image_pixel_bytes(to), step = image_pixel_bytes(in);
    const uint8_t *from = image_row(in, y);
    uint8_t *row = image_row(to, y);
    if (step == bytes)
        memcpy(row, from, image_row_bytes(in));
    else
        for (uint32_t x = 0; x < in->width; x++)
            carve_copy_pixel(row + x * bytes, from + x * step, bytes);
}

/* Before a first phase that grows: pixels and what is told of them, to where they grow. */
static void settle(const struct carve_job *job, const struct carve_plane *plane, uint32_t first,
                   uint32_t end) {
    (void)plane;
    const struct image *in = &job->call->in, *to = picture(job);
    for (uint32_t y = first; y < end; y++) {
        if (to->pixels) settle_row(in, to, y);
        for (uint32_t x = 0; job->later_marks.pixels && x < in->width; x++)
            image_row(&job->later_marks, y)[x] = (uint8_t)mark_at(job, x, y);
        for (uint32_t x = 0; job->later_ids.pixels && x < in->width; x++) {
            const uint32_t id = y * in->width + x;
            memcpy(image_row(&job->later_ids, y) + x * sizeof id, &id, sizeof id);
        }
    }
}

/* After a first phase that shrinks: the marks that are left. */
static void settle_marks(const struct carve_job *job, const struct carve_plane *plane,
                         uint32_t first, uint32_t end) {
    for (uint32_t y = first; y < end; y++)
        for (uint32_t x = 0; x < plane->width; x++) {
            const uint8_t mark = (uint8_t)(plane_energy(plane, y)[x] / ENERGY_KEEP);
            image_row(&job->later_marks, plane->turned ? x : y)[plane->turned ? y : x] = mark;
        }
}

/* Do COUNT ids follow one another? */
static bool is_run(const uint32_t *ids, uint32_t count) {
    uint32_t differences = 0;
    for (uint32_t i = 0; i < count; i++) differences |= ids[i] ^ (ids[0] + i);
    return !differences;
}

/* After a phase of both directions: out := the pixels whose ids are left. Most stand in runs. */
static void gather(const struct carve_job *job, const struct carve_plane *plane, uint32_t first,
                   uint32_t end) {
    enum { RUN = 32 };
    const struct image *in = &job->call->in;
    const size_t bytes = image_pixel_bytes(in);
    for (uint32_t y = first; y < end; y++) {
        const uint32_t *ids = plane_ids(plane, y);
        uint8_t *to = image_row(&job->call->out, y);
        for (uint32_t x = 0; x < plane->width;) {
            const uint8_t *from = image_row(in, ids[x] / in->width) + ids[x] % in->width * bytes;
            if (x + RUN <= plane->width && is_run(ids + x, RUN)) {
                memcpy(to + x * bytes, from, RUN * bytes);
                x += RUN;
            } else {
                carve_copy_pixel(to + x * bytes, from, bytes);
                x++;
            }
        }
    }
}

static void add_edit(struct carve_replay *replay, enum carve_how how, const struct image *from,
                     const struct image *to) {
    if (to->pixels) replay->edits[replay->edit_count++] = (struct carve_edit){ how, *from, *to };
}

static enum status replay_seams(struct carve_job *job, const struct carve_phase *phase) {
    const bool across = phase->rows > 0;
    struct carve_replay replay = {
        .seams = job->seams,
        .count = across ? phase->rows : phase->columns,
        .lines = across ? job->now.width : job->now.height,
        .length = across ? job->now.height : job->now.width,
        .across = across,
        .red = job->drawn ? &job->call->out : NULL,
        .ids = job->ids.pixels ? &job->ids : NULL,
        .origins = job->origins,
        .pool = job->call->pool,
        .progress = job->call->progress,
    };
    const struct image *to = picture(job);
    add_edit(&replay, phase->grow ? CARVE_MEAN : CARVE_TAKE, &job->now, to);
    add_edit(&replay, phase->grow ? CARVE_BLANK : CARVE_TELL, &job->call->in, &job->later_ids);
    if (phase->grow) add_edit(&replay, CARVE_COPY, &job->now, &job->later_marks);
    return carve_replay(&replay);
}

static enum status change_pixels(struct carve_job *job, const struct carve_phase *phase) {
    const struct carve_plane *plane = phase->columns ? &job->upright : &job->turned;
    enum status status = STATUS_OK;
    if (takes_both(phase))
        return job->drawn ? STATUS_OK : all_rows(job, plane, plane->height, gather);
    if (phase->grow && job->now.pixels == job->call->in.pixels)
        status = all_rows(job, NULL, job->now.height, settle);
    if (!phase->grow && job->later_marks.pixels)
        status = all_rows(job, plane, plane->height, settle_marks);
    return status ? status : replay_seams(job, phase);
}

/* ---- the way */

static enum status run_phase(struct carve_job *job, const struct carve_phase *phase) {
    uint32_t width = job->now.width, height = job->now.height;
    lay_phase(job, phase, width, height);
    enum status status = find_seams(job, phase);
    if (status) return status;
    if (is_last(job, phase, width, height)) {
        job->work.pixels = NULL;
        job->later_marks.pixels = job->later_ids.pixels = NULL;
    }
    const int64_t start = clock_ns();
    status = change_pixels(job, phase);
    job->ns[CARVE_AT_REMOVE] += clock_ns() - start;
    advance(phase, &width, &height);
    job->now = *picture(job);
    job->now.width = width;
    job->now.height = height;
    job->marks = job->later_marks;
    job->ids = job->later_ids;
    return status;
}

enum status carve_job_run(struct carve_job *job) {
    static const char *const names[] = { "energy", "seam", "trace", "remove" };
    struct carve_phase phase;
    enum status status = STATUS_OK;
    if (!job->drawn && !job->total) return all_rows(job, NULL, job->now.height, settle);
    while (!status &&
           carve_next(job->now.width, job->now.height, job->goal_width, job->goal_height, &phase))
        status = run_phase(job, &phase);
    for (int i = 0; i < CARVE_TIMES; i++)
        timing_span(job->call->timing, names[i], 1, ns_to_ms(job->ns[i]));
    return status;
}

/* ---- show=energy */

static void draw_energy(const struct carve_job *job, const struct carve_plane *plane,
                        uint32_t first, uint32_t end) {
    const struct image *in = &job->call->in, *out = &job->call->out;
    uint16_t energies[PLANE_RUN + ENERGY_SLACK];
    for (uint32_t y = first; y < end; y++)
        for (uint32_t x = 0; x < in->width; x++) {
            if (x % PLANE_RUN == 0)
                plane_run(plane, y, x, in->width - x < PLANE_RUN ? in->width - x : PLANE_RUN,
                          energies);
            const uint32_t energy = energies[x % PLANE_RUN];
            const uint32_t shown = (energy < 255 ? energy : 255) * (out->depth == 16 ? 257 : 1);
            sample_put(image_row(out, y), (size_t)x * out->channels, out->depth, shown);
            if (image_has_alpha(out))
                sample_put(
                    image_row(out, y), (size_t)x * 2 + 1, out->depth,
                    sample_get(image_row(in, y), (size_t)(x + 1) * in->channels - 1, in->depth));
        }
}

size_t carve_draw_energy_bytes(struct carve_job *job) {
    job->arena.used = 0;
    job->upright = plane_of(job, false);
    plane_lay(&job->upright, &job->arena, job->now.width, job->now.height, false);
    return job->arena.used;
}

enum status carve_draw_energy(struct carve_job *job) {
    const int64_t start = clock_ns();
    carve_draw_energy_bytes(job);
    enum status status = fill_plane(job, &job->upright);
    if (!status) status = all_rows(job, &job->upright, job->now.height, draw_energy);
    timing_span(job->call->timing, "energy", 1, ns_to_ms(clock_ns() - start));
    return status;
}
