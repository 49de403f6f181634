// SPDX-License-Identifier: Apache-2.0
/* How it works. A phase of one direction is replayed: which pixels stay is found again from the
 * seams' positions, line by line, and whole runs are copied. A phase of both directions has no such
 * order; there the map's ids say where each pixel that is left came from. */
#include "pipeline/ops/carve/picture.h"

#include "pipeline/ops/carve/replay.h"

#include <string.h>

const struct image *carve_picture(const struct carve_context *context) {
    return context->drawn ? &context->work : &context->call->out;
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
static void settle_rows(const struct carve_context *context, const struct energy_map *map,
                        uint32_t first, uint32_t end) {
    (void)map;
    const struct image *in = &context->call->in, *to = carve_picture(context);
    for (uint32_t y = first; y < end; y++) {
        if (to->pixels) settle_row(in, to, y);
        for (uint32_t x = 0; context->later_marks.pixels && x < in->width; x++)
            image_row(&context->later_marks, y)[x] = (uint8_t)carve_mark_at(context, x, y);
        for (uint32_t x = 0; context->later_ids.pixels && x < in->width; x++) {
            const uint32_t id = y * in->width + x;
            memcpy(image_row(&context->later_ids, y) + x * sizeof id, &id, sizeof id);
        }
    }
}

/* After a first phase that shrinks: the marks that are left. */
static void settle_marks(const struct carve_context *context, const struct energy_map *map,
                         uint32_t first, uint32_t end) {
    for (uint32_t y = first; y < end; y++)
        for (uint32_t x = 0; x < map->width; x++) {
            const uint8_t mark = (uint8_t)(energy_map_energy(map, y)[x] / ENERGY_KEEP);
            image_row(&context->later_marks, map->turned ? x : y)[map->turned ? y : x] = mark;
        }
}

/* Do COUNT ids follow one another? */
static bool is_run(const uint32_t *ids, uint32_t count) {
    uint32_t differences = 0;
    for (uint32_t i = 0; i < count; i++) differences |= ids[i] ^ (ids[0] + i);
    return !differences;
}

/* After a phase of both directions: out := the pixels whose ids are left. Most stand in runs. */
static void gather(const struct carve_context *context, const struct energy_map *map,
                   uint32_t first, uint32_t end) {
    enum { RUN = 32 };
    const struct image *in = &context->call->in;
    const size_t bytes = image_pixel_bytes(in);
    for (uint32_t y = first; y < end; y++) {
        const uint32_t *ids = energy_map_ids(map, y);
        uint8_t *to = image_row(&context->call->out, y);
        for (uint32_t x = 0; x < map->width;) {
            const uint8_t *from = image_row(in, ids[x] / in->width) + ids[x] % in->width * bytes;
            if (x + RUN <= map->width && is_run(ids + x, RUN)) {
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

static enum status replay_seams(struct carve_context *context, const struct carve_phase *phase) {
    const bool across = phase->rows > 0;
    struct carve_replay replay = {
        .seams = context->seams,
        .count = across ? phase->rows : phase->columns,
        .lines = across ? context->now.width : context->now.height,
        .length = across ? context->now.height : context->now.width,
        .across = across,
        .red = context->drawn ? &context->call->out : NULL,
        .ids = context->ids.pixels ? &context->ids : NULL,
        .map = context->mapped ? &context->call->out : NULL,
        .origins = context->origins,
        .pool = context->call->pool,
        .progress = context->call->progress,
    };
    const struct image *to = carve_picture(context);
    if (context->mapped) return carve_replay(&replay);
    add_edit(&replay, phase->grow ? CARVE_MEAN : CARVE_TAKE, &context->now, to);
    add_edit(&replay, phase->grow ? CARVE_BLANK : CARVE_TELL, &context->call->in,
             &context->later_ids);
    if (phase->grow) add_edit(&replay, CARVE_COPY, &context->now, &context->later_marks);
    return carve_replay(&replay);
}

static void clear_rows(const struct carve_context *context, const struct energy_map *map,
                       uint32_t first, uint32_t end) {
    (void)map;
    const struct image *out = &context->call->out;
    for (uint32_t y = first; y < end; y++) memset(image_row(out, y), 0, image_row_bytes(out));
}

enum status carve_picture_change(struct carve_context *context, const struct carve_phase *phase) {
    const struct energy_map *map = phase->columns ? &context->upright : &context->turned;
    enum status status = STATUS_OK;
    if (context->mapped) {
        status = carve_rows(context, NULL, context->call->out.height, clear_rows);
        return status ? status : replay_seams(context, phase);
    }
    if (carve_phase_is_both(phase))
        return context->drawn ? STATUS_OK : carve_rows(context, map, map->height, gather);
    if (phase->grow && context->now.pixels == context->call->in.pixels)
        status = carve_rows(context, NULL, context->now.height, settle_rows);
    if (!phase->grow && context->later_marks.pixels)
        status = carve_rows(context, map, map->height, settle_marks);
    return status ? status : replay_seams(context, phase);
}

enum status carve_picture_copy(const struct carve_context *context) {
    return carve_rows(context, NULL, context->now.height,
                      context->mapped ? clear_rows : settle_rows);
}
