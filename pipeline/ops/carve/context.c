// SPDX-License-Identifier: Apache-2.0
/* How it works. All memory is one arena; the same functions count it and lay it out. What outlives
 * a phase comes first. In the first phase nothing is kept yet, so the search uses that room too. */
#include "pipeline/ops/carve/context.h"

#include "pipeline/band.h"
#include "pipeline/ops/carve/picture.h"

#include <string.h>

enum { ROWS_A_LOOK = 32 };

static bool is_masked(const struct op_call *call) {
    return call->aux[CARVE_KEEP].width || call->aux[CARVE_REMOVE].width;
}

/* ---- memory */

static struct image keep_image(struct carve_context *context, uint32_t width, uint32_t height,
                               unsigned channels, unsigned depth) {
    struct image image = image_shape(width, height, channels, depth);
    image.stride = image_row_bytes(&image);
    image.pixels = arena_take(&context->arena, image_bytes(&image));
    return image;
}

uint32_t carve_context_seams(const struct carve_context *context, uint32_t width, uint32_t height) {
    struct carve_phase phase;
    uint32_t seams = 0;
    while (carve_next(width, height, context->goal_width, context->goal_height, &phase)) {
        seams += phase.columns + phase.rows;
        carve_phase_advance(&phase, &width, &height);
    }
    return seams;
}

/* The memory that outlives phases has the size of the picture with which the last phase begins: the
 * picture never shrinks after the first. After one that clears it may grow from any size. */
static void lay_kept(struct carve_context *context) {
    const struct image *in = &context->call->in;
    struct carve_phase phase;
    uint32_t width = in->width, height = in->height, phases = 0, last_width = 0, last_height = 0;
    for (; carve_next(width, height, context->goal_width, context->goal_height, &phase); phases++) {
        last_width = width, last_height = height;
        carve_phase_advance(&phase, &width, &height);
    }
    if (context->clears) last_width = width, last_height = height, phases = 2;
    if (phases > 1 && is_masked(context->call))
        context->later_marks = keep_image(context, last_width, last_height, 1, 8);
    if (phases > 1 && context->drawn) {
        context->later_ids = keep_image(context, last_width, last_height, 4, 8);
        context->work = keep_image(context, last_width, last_height, in->channels, in->depth);
    }
    context->kept = context->arena.used;
}

struct energy_map carve_context_map(const struct carve_context *context, bool turned) {
    const struct image *in = &context->call->in;
    const long *number = context->call->params->number;
    const bool masked = is_masked(context->call);
    return (struct energy_map){ .energy_kind = (int)number[CARVE_ENERGY],
                                .under = background_of(number[CARVE_BACKGROUND], in->channels,
                                                       in->depth),
                                .masked = masked && !context->plain,
                                .weighed = carve_is_weighed(context->call->params, masked),
                                .soft = carve_is_soft(context->call->params, masked),
                                .rigidity = (uint32_t)number[CARVE_RIGIDITY],
                                .turned = turned };
}

/* In the first phase nothing is kept before its seams are found, so the maps that only the search
 * needs lie where that will be. */
void carve_context_lay(struct carve_context *context, const struct carve_phase *phase,
                       uint32_t width, uint32_t height) {
    const bool both = carve_phase_is_both(phase);
    size_t seams = (size_t)phase->columns * height + (size_t)phase->rows * width;
    if (both) seams = width > height ? width : height;
    context->arena.used = context->done ? context->kept : 0;
    context->upright = carve_context_map(context, false);
    context->turned = carve_context_map(context, true);
    if (phase->columns) energy_map_lay(&context->upright, &context->arena, width, height, both);
    if (phase->rows) energy_map_lay(&context->turned, &context->arena, height, width, false);
    if (context->arena.used < context->kept) context->arena.used = context->kept;
    if (phase->columns) energy_map_lay_energy(&context->upright, &context->arena, height);
    if (phase->rows) energy_map_lay_energy(&context->turned, &context->arena, width);
    context->seams = arena_take(&context->arena, seams * sizeof *context->seams);
    context->origins = NULL;
    if (!both)
        context->origins =
            arena_take(&context->arena, phase->columns ? carve_origins_bytes(height, width)
                                                       : carve_origins_bytes(width, height));
}

void carve_context_begin(struct carve_context *context, const struct op_call *call,
                         uint32_t goal_width, uint32_t goal_height, void *memory) {
    const long show = call->params->number[CARVE_SHOW];
    *context = (struct carve_context){
        .call = call,
        .goal_width = goal_width,
        .goal_height = goal_height,
        .drawn = show == CARVE_SHOW_SEAMS,
        .mapped = show == CARVE_SHOW_MAP,
        .clears = call->aux[CARVE_REMOVE].width && show <= CARVE_SHOW_SEAMS &&
                  !call->params->number[CARVE_SOFT] &&
                  carve_may_clear(&call->in, goal_width, goal_height),
        .now = call->in,
        .arena = { .base = memory },
    };
    context->total = carve_context_seams(context, call->in.width, call->in.height);
    lay_kept(context);
}

static size_t phase_bytes(struct carve_context *context, const struct carve_phase *phase,
                          uint32_t width, uint32_t height, size_t least) {
    carve_context_lay(context, phase, width, height);
    context->done += phase->columns + phase->rows;
    return context->arena.used > least ? context->arena.used : least;
}

size_t carve_context_bytes(struct carve_context *context) {
    const uint32_t goal_width = context->goal_width, goal_height = context->goal_height;
    struct carve_phase phase;
    uint32_t width = context->now.width, height = context->now.height;
    size_t most = context->kept;
    while (carve_next(width, height, goal_width, goal_height, &phase)) {
        most = phase_bytes(context, &phase, width, height, most);
        carve_phase_advance(&phase, &width, &height);
    }
    for (int turned = 0; context->clears && turned < 2; turned++) {
        const struct image *in = &context->now;
        const struct carve_phase clear = { .columns = turned ? 0 : in->width,
                                           .rows = turned ? in->height : 0 };
        const struct carve_phase grow = {
            .columns = turned ? 0 : carve_grow_bound(goal_width),
            .rows = turned ? carve_grow_bound(goal_height) : 0,
            .grow = true,
        };
        context->done = 0;
        most = phase_bytes(context, &clear, in->width, in->height, most);
        most = phase_bytes(context, &grow, goal_width, goal_height, most);
    }
    return most;
}

/* ---- rows, by all threads */

struct rows {
    const struct carve_context *context;
    const struct energy_map *map;
    carve_rows_work *work;
    uint32_t count;
    int pieces;
};

static void rows_piece(void *argument, int index) {
    const struct rows *rows = argument;
    const struct band band = band_of(rows->count, index, rows->pieces);
    for (uint32_t y = band.first; y < band.end; y += ROWS_A_LOOK) {
        if (progress_check(rows->context->call->progress)) return;
        rows->work(rows->context, rows->map, y,
                   band.end - y < ROWS_A_LOOK ? band.end : y + ROWS_A_LOOK);
    }
}

enum status carve_rows(const struct carve_context *context, const struct energy_map *map,
                       uint32_t count, carve_rows_work *work) {
    struct pool *pool = context->call->pool;
    struct rows rows = { context, map, work, count, pool_threads(pool) };
    pool_run(pool, rows_piece, &rows, rows.pieces);
    return progress_check(context->call->progress);
}

/* ---- an energy map of the picture: luma, the marks of masks, energies */

enum { MARK_KEEP = 1, MARK_REMOVE = ENERGY_REMOVE / ENERGY_KEEP };

unsigned carve_mark_at(const struct carve_context *context, uint32_t x, uint32_t y) {
    if (context->marks.pixels) return image_row(&context->marks, y)[x];
    const struct image *keep = &context->call->aux[CARVE_KEEP];
    const struct image *remove = &context->call->aux[CARVE_REMOVE];
    if (context->upright.soft)
        return carve_weight(keep->width ? image_row(keep, y)[x] : 0,
                            remove->width ? image_row(remove, y)[x] : 0);
    return (keep->width && image_row(keep, y)[x] >= CARVE_MASK_LEVEL ? MARK_KEEP : 0) |
           (remove->width && image_row(remove, y)[x] >= CARVE_MASK_LEVEL ? MARK_REMOVE : 0);
}

static void fill_luma(const struct carve_context *context, const struct energy_map *map,
                      uint32_t first, uint32_t end) {
    energy_map_luma_band(map, &context->now, first, end);
    for (uint32_t y = first; map->ids && y < end; y++)
        for (uint32_t x = 0; x < map->width; x++) energy_map_ids(map, y)[x] = y * map->width + x;
}

static void fill_energy(const struct carve_context *context, const struct energy_map *map,
                        uint32_t first, uint32_t end) {
    for (uint32_t y = first; y < end; y++) {
        uint16_t *row = energy_map_energy(map, y);
        memset(row, 0, map->width * sizeof *row);
        for (uint32_t x = 0; map->masked && x < map->width; x++) {
            const unsigned mark =
                map->turned ? carve_mark_at(context, y, x) : carve_mark_at(context, x, y);
            row[x] = (uint16_t)(mark * energy_map_mark(map));
        }
        energy_map_update(map, y, 0, map->width);
    }
}

enum status carve_fill_map(const struct carve_context *context, struct energy_map *map) {
    const struct image *now = &context->now;
    energy_map_begin(map, map->turned ? now->height : now->width,
                     map->turned ? now->width : now->height);
    enum status status = carve_rows(context, map, map->height, fill_luma);
    if (!status && map->energy) status = carve_rows(context, map, map->height, fill_energy);
    return status;
}
