// SPDX-License-Identifier: Apache-2.0
/* seam_search.h - finds seams one after the other and takes them out of a map, or of two that are
 * one image, upright and turned.
 *
 * Used by:  ops/carve.c.
 * Fails:    STATUS_CANCELLED, STATUS_DEADLINE: the maps are unfit for anything then.
 * Threads:  at most four of the pool's, as a team that stays together.
 */
#ifndef BURIN_CARVE_SEAM_SEARCH_H
#define BURIN_CARVE_SEAM_SEARCH_H

#include "pipeline/image.h"
#include "pipeline/ops/carve/energy_map.h"
#include "pipeline/pool.h"
#include "pipeline/progress.h"

/* Where the time went. */
enum { CARVE_AT_ENERGY, CARVE_AT_SEAM, CARVE_AT_TRACE, CARVE_AT_REMOVE, CARVE_TIMES };

struct seam_search {
    struct energy_map *upright, *turned; /* NULL where no seam goes that way */
    uint32_t columns, rows;              /* seams to take: vertical, horizontal */

    /* One map: seam s crosses row y of it, when it is taken, in column seams[s * height + y]. Two
     * maps: room for one seam of either; upright->ids says what is left. */
    uint16_t *seams;
    const struct image *red; /* two maps: where to paint the ids that go; NULL: nowhere */

    struct pool *pool;
    struct progress *progress;
    uint32_t done, total; /* seams, over all searches */
    int64_t ns[CARVE_TIMES];
};

/* STATUS_CANCELLED or STATUS_DEADLINE leave the maps unfit for anything. */
enum status seam_search_run(struct seam_search *search);

#endif
