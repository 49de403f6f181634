// SPDX-License-Identifier: Apache-2.0
/* tiles.h - the halves of a map, cut into tiles of columns that several threads sweep at once.
 *
 * Used by:  seam_search.c, where a team has more threads than there are halves; energy_map.c lays
 *           the tiles out.
 * Owns:     nothing; memory is the map's.
 * Threads:  tiles_step: any number; tiles_close and tiles_save: one a tile, while none sweeps;
 *           tiles_begin and tiles_end: one, alone.
 * Limits:   maps of TILED_WIDTH x TILED_HEIGHT or more.
 *
 * A step of a tile is TILE_STEP rows. A tile has as many columns of its neighbours too, so that it
 * needs their costs only from step to step: it goes on once both have done the step before.
 * The seam before is closed up by tiles too, so that a thread that keeps its tile from seam to seam
 * finds its pixels in its own cache.
 */
#ifndef BURIN_CARVE_TILES_H
#define BURIN_CARVE_TILES_H

#include "pipeline/ops/carve/energy_map.h"

/* TILES_MOST: of a half. */
enum { TILED_WIDTH = 512, TILED_HEIGHT = 128, TILES_MOST = 8, TILE_STEP = 32 };

/* Lays out the tiles of a map of at most WIDTH x HEIGHT. */
void tiles_lay(struct energy_map *map, struct arena *arena, uint32_t width, uint32_t height);

/* Cuts the map, in its present width, for a pass. Returns the number of tiles of a half; 0: the map
 * is too small. */
int tiles_begin(const struct energy_map *map);

/* Does the next step of the half's tile NUMBER, of COUNT. Returns false if that is not possible
 * now: its neighbours are behind, another thread has it, or all is done. Sets *DONE if this was its
 * last. */
bool tiles_step(const struct energy_map *map, int half, int number, int count, bool *done);

/* After tiles_begin: closes up the luma of the half's tile NUMBER, of COUNT, after each tile's
 * borders were saved: the tile's last pixel was its right neighbour's first. PARITY alternates from
 * seam to seam. Saves the borders for the next one. Not for maps that store energies. */
void tiles_close(const struct energy_map *map, int half, int number, int count, int parity);

/* Saves the tile's border, for the PARITY of the next tiles_close. */
void tiles_save(const struct energy_map *map, int half, int number, int parity);

/* Returns the columns of a tile of the map in its present width. */
uint32_t tiles_columns(const struct energy_map *map);

/* After the last step: the costs of the half's last row are in the map's. */
void tiles_end(struct energy_map *map);

#endif
