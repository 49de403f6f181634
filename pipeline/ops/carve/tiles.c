// SPDX-License-Identifier: Apache-2.0
/* How it works. A tile keeps two rows of costs: of its own columns, and of TILE_STEP columns on
 * either side. In each row one more of the latter is wrong, since nothing is known of the columns
 * beyond them; after TILE_STEP rows they are copied from the neighbours. A tile leaves its
 * outermost costs in one of two places by turns: a neighbour may be one step behind, not two.
 * Columns outside the image have no tile; there a row ends as a whole row does (dp_row.h).
 *
 * `steps` counts the steps that are done, and is all that others wait for. `busy` is held for one
 * step: a thread that loses its core holds up its tile and, step by step, more of them, but no work
 * is lost. */
#include "pipeline/ops/carve/tiles.h"

#include <stdatomic.h>
#include <string.h>

enum { LEFT, RIGHT, SIDES, TILE_LEAST = 128, WORD = 32, LINE = 64, ROWS_AHEAD = 8 };

struct tile {
    _Alignas(LINE) atomic_uint steps; /* the neighbours look at it all the time */
    _Alignas(LINE) atomic_flag busy;
    uint32_t first, end;      /* its own columns */
    uint8_t *costs[2];        /* of two rows by turns, from its first column on */
    uint16_t *energies;       /* of a row, where the map stores none */
    uint64_t *parents;        /* of a row */
    uint8_t *edges[2][SIDES]; /* costs of its outermost columns, after even and odd steps */
    uint8_t *borders[2];      /* luma of its first column, by rows of the half; two by turns */
};

static uint32_t rounded(uint32_t width, uint32_t multiple) {
    return (width + multiple - 1) / multiple * multiple;
}

/* Returns the columns of a tile: whole lines of luma; of wide maps whole lines of parents too. */
static uint32_t tile_width(uint32_t width) {
    const uint32_t part = rounded((width + TILES_MOST - 1) / TILES_MOST, LINE);
    if (part > LINE * 3) return rounded(part, LINE * 4);
    return part > TILE_LEAST ? part : TILE_LEAST;
}

/* ---- memory */

/* A row with TILE_STEP columns before the first, and what dp_row.h may touch around them. */
static void *take_row(struct arena *arena, uint32_t columns, size_t element) {
    const size_t before = DP_MARGIN + TILE_STEP;
    uint8_t *row = arena_take(arena, (before + columns + TILE_STEP + DP_SLACK) * element);
    return row ? row + before * element : NULL;
}

static void lay_tile(const struct energy_map *map, struct tile *tile, struct arena *arena,
                     uint32_t columns, uint32_t height) {
    const size_t bytes = cost_bytes(map->masked ? COST_64 : COST_32);
    struct tile made = { .busy = ATOMIC_FLAG_INIT };
    for (int i = 0; i < 2; i++) made.costs[i] = take_row(arena, columns, bytes);
    if (map->line[UPPER] || !arena->base) made.energies = take_row(arena, columns, 2);
    made.parents = arena_take(arena, (columns / WORD + 4) * sizeof *made.parents);
    for (int i = 0; i < 2; i++)
        for (int side = 0; side < SIDES; side++)
            made.edges[i][side] = arena_take(arena, TILE_STEP * bytes);
    for (int i = 0; i < 2; i++) made.borders[i] = arena_take(arena, (height + 1) / 2 + LINE);
    if (arena->base) *tile = made;
}

void tiles_lay(struct energy_map *map, struct arena *arena, uint32_t width, uint32_t height) {
    map->tiles = NULL;
    if (width < TILED_WIDTH || height < TILED_HEIGHT) return;
    struct tile *tiles = arena_take(arena, HALVES * TILES_MOST * sizeof *tiles);
    for (int i = 0; i < HALVES * TILES_MOST; i++)
        lay_tile(map, tiles ? &tiles[i] : NULL, arena, tile_width(width), height);
    map->tiles = tiles;
    map->bordered = 0;
}

/* ---- closing up */

static struct tile *tile_of(const struct energy_map *map, int half, int number) {
    return &map->tiles[half * TILES_MOST + number];
}

uint32_t tiles_columns(const struct energy_map *map) {
    return tile_width(map->width);
}

void tiles_save(const struct energy_map *map, int half, int number, int parity) {
    const struct tile *tile = tile_of(map, half, number);
    const uint32_t rows = energy_map_half_rows(map, half);
    for (uint32_t i = 0; i < rows; i++)
        tile->borders[parity][i] =
            energy_map_luma(map, energy_map_half_row(map, half, i))[tile->first];
}

void tiles_close(const struct energy_map *map, int half, int number, int count, int parity) {
    const struct tile *tile = tile_of(map, half, number);
    const uint32_t rows = energy_map_half_rows(map, half), end = tile->end;
    const bool last = number + 1 == count;
    for (uint32_t i = 0; i < rows; i++) {
        const uint32_t y = energy_map_half_row(map, half, i), x = map->seam[y];
        const uint32_t from = x > tile->first ? x : tile->first;
        uint8_t *luma = energy_map_luma(map, y);
        if (i + ROWS_AHEAD < rows && x < end) { /* lines that the neighbours' caches have too */
            const uint8_t *const ahead =
                energy_map_luma(map, energy_map_half_row(map, half, i + ROWS_AHEAD));
            __builtin_prefetch(ahead + tile->first, 1);
            __builtin_prefetch(ahead + end - 1, 1);
        }
        if (last) {
            memmove(luma + from, luma + from + 1, end - from + ENERGY_MARGIN);
            if (x == end) energy_map_pad_right(luma, end);
        } else if (x < end) {
            memmove(luma + from, luma + from + 1, end - 1 - from);
            luma[end - 1] = tile[1].borders[parity][i];
        }
        if (x == 0 && number == 0) energy_map_pad_left(luma);
        tile->borders[!parity][i] = luma[tile->first];
    }
}

/* ---- a pass */

int tiles_begin(const struct energy_map *map) {
    if (!map->tiles || map->width < TILED_WIDTH || map->height < TILED_HEIGHT) return 0;
    const uint32_t columns = tile_width(map->width);
    const int count = (int)((map->width + columns - 1) / columns);
    for (int half = 0; half < HALVES; half++)
        for (int i = 0; i < count; i++) {
            struct tile *tile = tile_of(map, half, i);
            tile->first = (uint32_t)i * columns;
            tile->end = i + 1 < count ? tile->first + columns : map->width;
            atomic_store_explicit(&tile->steps, 0, memory_order_relaxed);
        }
    return count;
}

/* A tile's columns with those of its neighbours. */
struct reach {
    uint32_t first, before, width; /* `before`: of the left neighbour */
};

static struct reach reach_of(const struct energy_map *map, const struct tile *tile) {
    const uint32_t before = tile->first ? TILE_STEP : 0;
    const uint32_t left = map->width - tile->end, after = left < TILE_STEP ? left : TILE_STEP;
    return (struct reach){ tile->first - before, before, before + tile->end - tile->first + after };
}

/* Copies the costs that the neighbours left after step STEP into ROW. */
static void take_edges(const struct energy_map *map, const struct tile *tile,
                       const struct reach *reach, uint32_t step, uint8_t *row) {
    const size_t bytes = cost_bytes(map->bits);
    const uint32_t own = tile->end - tile->first, after = reach->width - reach->before - own;
    if (reach->before)
        memcpy(row - TILE_STEP * bytes, tile[-1].edges[step % 2][RIGHT], TILE_STEP * bytes);
    if (after) memcpy(row + own * bytes, tile[1].edges[step % 2][LEFT], after * bytes);
}

/* Only a half's last tile may have fewer than TILE_STEP columns: it has no right neighbour. */
static void leave_edges(const struct energy_map *map, const struct tile *tile, uint32_t step,
                        const uint8_t *row) {
    const size_t bytes = cost_bytes(map->bits);
    const uint32_t own = tile->end - tile->first, some = own < TILE_STEP ? own : TILE_STEP;
    memcpy(tile->edges[step % 2][LEFT], row, some * bytes);
    memcpy(tile->edges[step % 2][RIGHT], row + (own - some) * bytes, some * bytes);
}

/* The energies of the tile's reach in row Y. */
static const uint16_t *energies_of(const struct energy_map *map, const struct tile *tile,
                                   const struct reach *reach, uint32_t y) {
    if (map->energy) return energy_map_energy(map, y) + reach->first;
    uint16_t *energies = tile->energies - reach->before;
    energy_map_run(map, y, reach->first, reach->width, energies);
    return energies;
}

static void do_step(const struct energy_map *map, int half, const struct tile *tile,
                    uint32_t step) {
    const size_t bytes = cost_bytes(map->bits);
    const struct reach reach = reach_of(map, tile);
    const uint32_t rows = energy_map_half_rows(map, half), first = step * TILE_STEP;
    const uint32_t end = rows < first + TILE_STEP ? rows : first + TILE_STEP;
    const uint32_t words = (tile->end - tile->first + WORD - 1) / WORD;
    for (uint32_t i = end; i < rows && i < end + TILE_STEP; i++) { /* of the neighbours */
        const uint8_t *luma = energy_map_luma(map, energy_map_half_row(map, half, i));
        __builtin_prefetch(luma + reach.first);
        __builtin_prefetch(luma + tile->end);
    }
    if (step) take_edges(map, tile, &reach, step - 1, tile->costs[(first - 1) % 2]);
    for (uint32_t i = first; i < end; i++) {
        const uint32_t y = energy_map_half_row(map, half, i);
        const uint16_t *energies = energies_of(map, tile, &reach, y);
        uint8_t *next = tile->costs[i % 2] - reach.before * bytes;
        const uint8_t *before = tile->costs[(i + 1) % 2] - reach.before * bytes;
        if (i == 0) {
            dp_first_row(map->bits, energies, next, reach.width);
            continue;
        }
        dp_next_row(map->bits, before, energies, next, tile->parents, reach.width);
        memcpy(map->parents + y * map->words + tile->first / WORD,
               tile->parents + reach.before / WORD, words * sizeof *tile->parents);
    }
    const uint8_t *last = tile->costs[(end - 1) % 2];
    leave_edges(map, tile, step, last);
    if (end == rows)
        memcpy(map->costs[half][0] + tile->first * bytes, last, (tile->end - tile->first) * bytes);
}

/* Whether the neighbours have done STEP steps too. */
static bool is_ready(const struct tile *tile, int number, int count, uint32_t step) {
    return (number == 0 || atomic_load_explicit(&tile[-1].steps, memory_order_acquire) >= step) &&
           (number + 1 == count ||
            atomic_load_explicit(&tile[1].steps, memory_order_acquire) >= step);
}

bool tiles_step(const struct energy_map *map, int half, int number, int count, bool *done) {
    struct tile *tile = tile_of(map, half, number);
    const uint32_t rows = energy_map_half_rows(map, half);
    const uint32_t steps = (rows + TILE_STEP - 1) / TILE_STEP;
    uint32_t step = atomic_load_explicit(&tile->steps, memory_order_acquire);
    if (step == steps || !is_ready(tile, number, count, step)) return false;
    if (atomic_flag_test_and_set_explicit(&tile->busy, memory_order_acquire)) return false;
    step = atomic_load_explicit(&tile->steps, memory_order_acquire);
    const bool ready = step < steps && is_ready(tile, number, count, step);
    if (ready) {
        do_step(map, half, tile, step);
        atomic_store_explicit(&tile->steps, step + 1, memory_order_release);
        *done = step + 1 == steps;
    }
    atomic_flag_clear_explicit(&tile->busy, memory_order_release);
    return ready;
}

void tiles_end(struct energy_map *map) {
    for (int half = 0; half < HALVES; half++) {
        map->last[half] = map->costs[half][0];
        dp_end_row(map->bits, map->costs[half][0], map->width);
    }
}
