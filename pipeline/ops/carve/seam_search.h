// SPDX-License-Identifier: Apache-2.0
/* seam_search.h - finds seams one after the other and removes them from one map, or from two, the
 * same image upright and turned.
 *
 * Used by:  ops/carve.c.
 * Owns:     nothing.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE; the maps are then unusable.
 * Threads:  the pool's, as a team that stays together: at most four, more for large images
 *           (tiles.h).
 */
#ifndef BURIN_CARVE_SEAM_SEARCH_H
#define BURIN_CARVE_SEAM_SEARCH_H

#include "pipeline/image.h"
#include "pipeline/ops/carve/energy_map.h"
#include "pipeline/pool.h"
#include "pipeline/progress.h"

/* Kinds of time that are measured. */
enum { CARVE_AT_ENERGY, CARVE_AT_SEAM, CARVE_AT_TRACE, CARVE_AT_REMOVE, CARVE_TIMES };

struct seam_search {
    struct energy_map *upright, *turned; /* NULL: no seams of that direction */
    uint32_t columns, rows;              /* seams to remove: vertical, horizontal */
    bool clears;    /* one masked map: stops before a seam without marked pixels, but only once */
    uint32_t least; /* this many are taken */
    uint32_t taken; /* out, for one map: the seams removed */

    /* One map: seam s crossed row y in column seams[s * height + y] when it was removed. Two maps:
     * room for one seam; upright->ids has the result. */
    uint16_t *seams;
    const struct image *red; /* two maps: image in which removed ids become red; NULL: none */

    struct pool *pool;
    struct progress *progress;
    uint32_t done, total; /* seams, over all searches */
    int64_t ns[CARVE_TIMES];
};

enum status seam_search_run(struct seam_search *search);

#endif
