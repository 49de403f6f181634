// SPDX-License-Identifier: Apache-2.0
/* energy_map.h - the data of an image in which seams are searched: luma, energies, marks.
 *
 * A map's seams are vertical; horizontal seams are those of a turned map, whose rows are the
 * image's columns. Energies are the same turned or not, since each is symmetric in x and y, except
 * forward ones. Every row of luma repeats its border pixels ENERGY_MARGIN columns to both sides.
 *
 * Used by:  context.c lays it out and fills it; seam_search.c removes seams from it; tiles.c.
 * Owns:     nothing; all memory is the operator's scratch.
 * Threads:  each has its own rows, unless the map is narrow.
 */
#ifndef BURIN_CARVE_ENERGY_MAP_H
#define BURIN_CARVE_ENERGY_MAP_H

#include "pipeline/arena.h"
#include "pipeline/background.h"
#include "pipeline/image.h"
#include "pipeline/ops/carve/definition.h"
#include "pipeline/ops/carve/dp_row.h"

#include <stdbool.h>
#include <stdint.h>

enum { UPPER, LOWER, HALVES };

/* Columns of luma read on each side of a run of pixels; elements behind a run's end that may be
 * read, and written in energies. */
enum { ENERGY_MARGIN = 2, ENERGY_SLACK = 48 };

/* Maps laid out for fewer columns belong to one thread: loading a row's last vector reads into the
 * next row, which another thread might be closing up. Two threads gain nothing there. */
enum { ENERGY_MAP_NARROW = 224 };

struct tile;

struct energy_map {
    uint32_t width, height; /* present size */
    int energy_kind;        /* CARVE_GRADIENT... */
    struct background under;
    bool masked; /* energies carry marks */
    /* A weighed search's `energy` has marks or weights alone, to be added to energies that are
     * computed when they are needed. */
    bool weighed, soft;
    uint32_t rigidity;
    bool turned;
    size_t stride;     /* elements from row to row of luma, energy and ids */
    uint8_t *luma;     /* column 0 of row 0 */
    uint16_t *energy;  /* NULL: made row by row on demand */
    uint32_t *ids;     /* NULL, or a map of ids that is carved along */
    uint64_t *parents; /* dp_next_row's, `words` a row */
    size_t words;
    uint8_t *costs[HALVES][2]; /* column 0 of two rows a half */
    uint16_t *line[HALVES];    /* energies of one row, where no map stores them, or not all */
    struct tile *tiles;        /* of wide maps (tiles.h), else NULL */
    uint32_t bordered;         /* columns of the tiles whose borders are saved; 0: of none */

    enum cost_bits bits;
    const void *last[HALVES]; /* costs of the rows next to the middle */
    struct dp_meeting met;
    uint16_t *seam;  /* the seam's column in every row */
    bool open;       /* most rows of luma and all of energy still contain the seam's pixel */
    bool open_whole; /* all rows of luma do */
};

/* Lays out a map for at most WIDTH x HEIGHT pixels; luma and ids are still to be filled. */
void energy_map_lay(struct energy_map *map, struct arena *arena, uint32_t width, uint32_t height,
                    bool with_ids);

/* Lays out the energies too, where they are stored, to be filled. They carry the marks, which are
 * needed after the search, when everything else from energy_map_lay but the ids is free again. */
void energy_map_lay_energy(struct energy_map *map, struct arena *arena, uint32_t height);

/* Sets the map's size, at most that of its layout. */
void energy_map_begin(struct energy_map *map, uint32_t width, uint32_t height);

static inline bool energy_map_is_narrow(const struct energy_map *map) {
    return map->stride < ENERGY_MAP_NARROW + 2 * ENERGY_MARGIN;
}

static inline uint8_t *energy_map_luma(const struct energy_map *map, uint32_t y) {
    return map->luma + (size_t)y * map->stride;
}

static inline uint16_t *energy_map_energy(const struct energy_map *map, uint32_t y) {
    return map->energy + (size_t)y * map->stride;
}

static inline uint32_t *energy_map_ids(const struct energy_map *map, uint32_t y) {
    return map->ids + (size_t)y * map->stride;
}

/* The last row of the upper half. */
static inline uint32_t energy_map_middle(const struct energy_map *map) {
    return (map->height - 1) / 2;
}

/* Returns the rows of a half, from its end to the middle. */
static inline uint32_t energy_map_half_rows(const struct energy_map *map, int half) {
    const uint32_t upper = energy_map_middle(map) + 1;
    return half == UPPER ? upper : map->height - upper;
}

/* Returns the image's row that is row I of a half. */
static inline uint32_t energy_map_half_row(const struct energy_map *map, int half, uint32_t i) {
    return half == UPPER ? i : map->height - 1 - i;
}

/* Returns what a mark counts in a stored energy, or a weight. */
static inline uint32_t energy_map_mark(const struct energy_map *map) {
    return map->soft ? CARVE_WEIGHT : ENERGY_KEEP;
}

/* Returns the costs of the steps from row BEFORE of a weighed search to row Y. */
static inline struct dp_steps energy_map_steps(const struct energy_map *map, uint32_t y,
                                               uint32_t before) {
    return (struct dp_steps){ energy_map_luma(map, y), energy_map_luma(map, before), map->rigidity,
                              map->energy_kind == CARVE_FORWARD ? 255 : 0 };
}

static inline void energy_map_pad_left(uint8_t *row) {
    for (int i = 1; i <= ENERGY_MARGIN; i++) *(row - i) = row[0];
}

static inline void energy_map_pad_right(uint8_t *row, uint32_t width) {
    for (int i = 0; i < ENERGY_MARGIN; i++) row[width + (uint32_t)i] = row[width - 1];
}

/* Fills luma, with padding, of image rows FIRST to END - 1, or of columns where the map is turned.
 */
void energy_map_luma_band(const struct energy_map *map, const struct image *image, uint32_t first,
                          uint32_t end);

enum { ENERGY_MAP_RUN = 128 };

/* Computes energies of COUNT columns, at most ENERGY_MAP_RUN, from FIRST on in row Y, from the
 * present luma. */
void energy_map_compute(const struct energy_map *map, uint32_t y, uint32_t first, uint32_t count,
                        uint16_t energies[ENERGY_MAP_RUN + ENERGY_SLACK]);

/* Stores those energies of columns FIRST to END - 1 of row Y in the map; marks stay. Nothing to do
 * in a weighed search. */
void energy_map_update(const struct energy_map *map, uint32_t y, uint32_t first, uint32_t end);

/* The same for any COUNT; writes up to ENERGY_SLACK more. */
void energy_map_run(const struct energy_map *map, uint32_t y, uint32_t first, uint32_t count,
                    uint16_t *energies);

/* Returns the energies of row Y, from the map or computed into the half's line. */
const uint16_t *energy_map_energy_row(const struct energy_map *map, uint32_t y, int half);

#endif
