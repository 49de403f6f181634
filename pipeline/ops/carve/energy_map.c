// SPDX-License-Identifier: Apache-2.0
/* How it works. All rows of a map stand in one arena: luma with its border repeated, energies only
 * where they are kept (masks, Sobel, or no AVX2), parents two bits a pixel, and two rows of costs
 * for each half. Luma of a turned map is made tile by tile, so that reading and writing both stay
 * in the cache. */
#include "pipeline/ops/carve/energy_map.h"

#include "pipeline/ops/carve/luma_row.h"
#include "pipeline/rows/simd.h"

enum { LUMA_MARGIN = 32, TILE = 32 };

static size_t rounded(size_t count, size_t multiple) {
    return (count + multiple - 1) / multiple * multiple;
}

/* A row of WIDTH elements with a margin in front and slack behind. */
static void *take_line(struct arena *arena, uint32_t width, size_t element) {
    uint8_t *line = arena_take(arena, (DP_MARGIN + (size_t)width + DP_SLACK) * element);
    return line ? line + DP_MARGIN * element : NULL;
}

/* Are energies kept in a map, not made row by row? */
static bool is_stored(const struct energy_map *map) {
    return map->masked || map->energy_kind != CARVE_GRADIENT || !simd_has_avx2();
}

/* From row to row. Rows of narrow maps share their margins, which would else be most of them. */
static size_t stride_of(uint32_t width) {
    if (width < ENERGY_MAP_NARROW) return width + (size_t)2 * ENERGY_MARGIN;
    return rounded(LUMA_MARGIN + (size_t)width + ENERGY_MARGIN, LUMA_MARGIN);
}

static size_t cells_of(const struct energy_map *map, uint32_t height) {
    return map->stride * height + ENERGY_SLACK;
}

void energy_map_lay(struct energy_map *map, struct arena *arena, uint32_t width, uint32_t height,
                    bool with_ids) {
    const enum cost_bits widest = map->masked ? COST_64 : COST_32;
    map->stride = stride_of(width);
    map->words = (width + 31) / 32;
    const size_t cells = cells_of(map, height);
    uint8_t *luma = arena_take(arena, LUMA_MARGIN + cells);
    map->luma = luma ? luma + LUMA_MARGIN : NULL;
    map->ids = with_ids ? arena_take(arena, cells * sizeof *map->ids) : NULL;
    map->parents = arena_take(arena, map->words * height * sizeof *map->parents);
    for (int half = 0; half < HALVES; half++) {
        for (int row = 0; row < 2; row++)
            map->costs[half][row] = take_line(arena, width, cost_bytes(widest));
        map->line[half] = is_stored(map) ? NULL : take_line(arena, width, sizeof *map->line[half]);
    }
}

void energy_map_lay_energy(struct energy_map *map, struct arena *arena, uint32_t height) {
    if (is_stored(map))
        map->energy = arena_take(arena, cells_of(map, height) * sizeof *map->energy);
}

void energy_map_begin(struct energy_map *map, uint32_t width, uint32_t height) {
    map->width = width;
    map->height = height;
    map->open = false;
    map->bits = map->masked ? COST_64 : COST_16;
}

/* ---- luma */

/* Image columns FIRST to END - 1, at most TILE, as rows. */
static void turn_luma(const struct energy_map *map, const struct image *image, uint32_t first,
                      uint32_t end) {
    uint8_t tile[TILE][TILE];
    for (uint32_t top = 0; top < image->height; top += TILE) {
        const uint32_t rows = image->height - top < TILE ? image->height - top : TILE;
        for (uint32_t y = 0; y < rows; y++)
            carve_luma_row(image, top + y, first, end - first, tile[y]);
        for (uint32_t x = first; x < end; x++)
            for (uint32_t y = 0; y < rows; y++)
                energy_map_luma(map, x)[top + y] = tile[y][x - first];
    }
}

void energy_map_luma_band(const struct energy_map *map, const struct image *image, uint32_t first,
                          uint32_t end) {
    for (uint32_t x = first; map->turned && x < end; x += TILE)
        turn_luma(map, image, x, end - x < TILE ? end : x + TILE);
    for (uint32_t y = first; y < end; y++) {
        if (!map->turned) carve_luma_row(image, y, 0, image->width, energy_map_luma(map, y));
        energy_map_pad_left(energy_map_luma(map, y));
        energy_map_pad_right(energy_map_luma(map, y), map->width);
    }
}

/* ---- energies */

static void rows_around(const struct energy_map *map, uint32_t y, uint32_t x,
                        const uint8_t *rows[5]) {
    for (uint32_t i = 0; i < 5; i++) {
        const uint32_t above = y + i < 2 ? 0 : y + i - 2;
        const uint32_t row = above < map->height ? above : map->height - 1;
        rows[i] = energy_map_luma(map, row) + x;
    }
}

void energy_map_compute(const struct energy_map *map, uint32_t y, uint32_t first, uint32_t count,
                        uint16_t energies[ENERGY_MAP_RUN + ENERGY_SLACK]) {
    const uint8_t *rows[5];
    rows_around(map, y, first, rows);
    energy_run(map->energy_kind, rows, count, energies);
}

void energy_map_update(const struct energy_map *map, uint32_t y, uint32_t first, uint32_t end) {
    uint16_t fresh[ENERGY_MAP_RUN + ENERGY_SLACK];
    uint16_t *row = energy_map_energy(map, y);
    for (uint32_t x = first; x < end; x += ENERGY_MAP_RUN) {
        const uint32_t count = end - x < ENERGY_MAP_RUN ? end - x : ENERGY_MAP_RUN;
        energy_map_compute(map, y, x, count, fresh);
        for (uint32_t i = 0; i < count; i++)
            row[x + i] = (uint16_t)((row[x + i] & ~(unsigned)ENERGY_BITS) | fresh[i]);
    }
}

const uint16_t *energy_map_energy_row(const struct energy_map *map, uint32_t y, int half) {
    if (map->energy) return energy_map_energy(map, y);
    const uint8_t *rows[5];
    rows_around(map, y, 0, rows);
    energy_run(map->energy_kind, rows, map->width, map->line[half]);
    return map->line[half];
}
