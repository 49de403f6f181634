// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ops/carve/map_fill.h"

#include <string.h>

enum { MARK_KEEP = 1, MARK_REMOVE = ENERGY_REMOVE / ENERGY_KEEP, MASK_LEVEL = 128 };

unsigned carve_mark_at(const struct carve_context *context, uint32_t x, uint32_t y) {
    if (context->marks.pixels) return image_row(&context->marks, y)[x];
    const struct image *keep = &context->call->aux[CARVE_KEEP];
    const struct image *remove = &context->call->aux[CARVE_REMOVE];
    return (keep->width && image_row(keep, y)[x] >= MASK_LEVEL ? MARK_KEEP : 0) |
           (remove->width && image_row(remove, y)[x] >= MASK_LEVEL ? MARK_REMOVE : 0);
}

static void fill_luma(const struct carve_context *context, const struct energy_map *map,
                      uint32_t first, uint32_t end) {
    energy_map_luma_band(map, &context->now, first, end);
    for (uint32_t y = first; map->ids && y < end; y++)
        for (uint32_t x = 0; x < map->width; x++) energy_map_ids(map, y)[x] = y * map->width + x;
}

static void mark_row(const struct carve_context *context, const struct energy_map *map,
                     uint32_t y) {
    uint16_t *row = energy_map_energy(map, y);
    memset(row, 0, map->width * sizeof *row);
    for (uint32_t x = 0; map->masked && x < map->width; x++)
        row[x] =
            (uint16_t)((map->turned ? carve_mark_at(context, y, x) : carve_mark_at(context, x, y)) *
                       ENERGY_KEEP);
}

static void fill_energy(const struct carve_context *context, const struct energy_map *map,
                        uint32_t first, uint32_t end) {
    for (uint32_t y = first; y < end; y++) {
        mark_row(context, map, y);
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
